"""Queries that nobody should send: an answer or a clear refusal, within a second, never a failure.

Each leaves the memory as it was, and the next search works.
"""

import random
import time
from typing import Any

import httpx
import pytest

from conftest import MakeKey, asking
from memoryd.daemon import Daemon
from wire import JSON, MEBIBYTE, assert_problem, post, storing_nothing

SEARCH = "/api/v1/search"
SECONDS = 3.0  # of computing; what grows faster than its length takes minutes
TEXTS = [
    "We ship on Friday.",
    "'; drop table events; --",
    "🎉🎉🎉",
    "مرحبا بالعالم، هذا اختبار",
    "שלום עולם",
    "?!... --- ...",
]


async def ask(client: httpx.AsyncClient, **body: Any) -> httpx.Response:
    """The answer, which must come in time."""
    started = time.process_time()
    answer = await client.post(SEARCH, json=body)
    assert time.process_time() - started < SECONDS
    return answer


async def remember(client: httpx.AsyncClient) -> None:
    """Something to search in, and a search that has loaded the model."""
    for at, text in enumerate(TEXTS):
        await post(client, session_id=f"s{at}", content={"text": text})
    answer = await client.post(SEARCH, json={"query": "ship"})
    assert answer.status_code == 200, answer.text


ANSWERED = {
    "a blank": " ",
    "line breaks": "\r\n\t\n",
    "a space of another width": "\u3000\u2003",
    "characters that are not seen": "\u200b\u200d\ufeff" * 50,
    "only stop words": "what did the and of it to be or not to be",
    "only punctuation": "?!.,;:-()[]{}<>/\\|\"'`~@#$%^&*_+=",
    "only emoji": "😀🎉👩‍👩‍👧‍👦🏳️‍🌈",
    "SQL": "'; drop table memoryd.events cascade; select * from memoryd.keys; --",
    "a pattern of LIKE": "%_%",
    "a query of tsquery": "ship & !friday | (a <-> b):*",
    "a regular expression": "(a+)+$" * 500,
    "right to left": "مرحبا بالعالم",
    "right to left with overrides": "\u202eזה מבחן\u202c שלום",
    "mixed directions": "ship שלום Friday مرحبا",
    "numbers": " ".join(str(number) for number in range(4_000)),
    "10,000 terms": "".join(chr(0x4E00 + number) for number in range(10_000)),
    "10,000 words": "a " * 10_000,
    "one word of 20,000 letters": "a" * 20_000,
    "combining marks": "e" + "\u0301" * 19_999,
    "brackets": "(" * 20_000,
    "a path of 5,000 folders": "a.b/" * 5_000,
    "dashes": "-" * 20_000,
    "thousands of dates": "1 may 2023 " * 1_800,
    "thousands of weeks": "last week " * 2_000,
    "thousands of befores": "before the after " * 1_100,
    "case folding that grows": "ŉ" * 20_000,
    "compatibility that grows": "\ufdfa" * 20_000,
    "a template": "{{7*7}} ${jndi:ldap://x} <script>alert(1)</script>",
}


@pytest.mark.parametrize("what", ANSWERED)
async def test_a_strange_query_gets_an_answer(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, what: str
) -> None:
    await remember(client)
    async with storing_nothing(daemon, tenant):
        answer = await ask(client, query=ANSWERED[what], explain=True)
        after = await ask(client, query="when do we ship?")

    assert answer.status_code == 200, answer.text
    assert all(0 <= found["score"] <= 1 for found in answer.json()["results"])
    assert after.json()["results"][0]["text"] == "We ship on Friday."


async def test_random_text_gets_an_answer(client: httpx.AsyncClient) -> None:
    await remember(client)
    draw = random.Random(7)
    letters = [code for code in range(1, 0x2FFFF) if not 0xD800 <= code < 0xE000]
    statuses = set()
    for size in (1, 2, 3, 10, 100, 1_000, 5_000):
        query = "".join(chr(draw.choice(letters)) for _ in range(size))
        statuses.add((await ask(client, query=query)).status_code)

    assert statuses == {200}


FOUND = {
    "right to left": ("بالعالم", 3),
    "Hebrew": ("עולם", 4),
    "SQL": ("drop table events", 1),
}


@pytest.mark.parametrize("what", FOUND)
async def test_a_strange_text_is_found(client: httpx.AsyncClient, what: str) -> None:
    query, place = FOUND[what]
    await remember(client)
    answer = await ask(client, query=query)

    assert TEXTS[place] in [found["text"] for found in answer.json()["results"]]


async def test_a_body_of_a_million_characters_is_searched_at_once(
    client: httpx.AsyncClient,
) -> None:
    draw = random.Random(3)
    words = ["".join(draw.sample("abcdefghijklmnop", 7)) for _ in range(2_000)]
    text = " ".join(draw.choice(words) for _ in range(125_000)) + " zanzibar"
    await remember(client)
    await post(client, session_id="long", content={"text": text})
    at_once = await client.post(SEARCH, json={"query": "zanzibar"})  # analyses it, once
    again = await ask(client, query="zanzibar")

    assert at_once.status_code == 200
    for answer in (at_once, again):
        assert any(found["text"].endswith("zanzibar") for found in answer.json()["results"])


WEIGHTS = {"alpha": 1, "beta": 0, "gamma": 0}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no query": ({}, "query"),
    "an empty query": ({"query": ""}, "query"),
    "100 KB": ({"query": "ship " * 20_000}, "query"),
    "10,000 terms of some length": ({"query": " ".join(map(str, range(10_000)))}, "query"),
    "NUL": ({"query": "\0"}, "query"),
    "NUL inside": ({"query": "we\0ship"}, "query"),
    "a number": ({"query": 5}, "query"),
    "a list": ({"query": ["ship"]}, "query"),
    "nothing at all": ({"query": None}, "query"),
    "limit 0": ({"limit": 0}, "limit"),
    "a negative limit": ({"limit": -1}, "limit"),
    "a limit of 201": ({"limit": 201}, "limit"),
    "a huge limit": ({"limit": 10**30}, "limit"),
    "half a limit": ({"limit": 1.5}, "limit"),
    "an unknown field": ({"querry": "ship"}, "querry"),
    "an unknown filter": ({"filters": {"colour": "red"}}, "filters.colour"),
    "a filter with NUL": ({"filters": {"tag": "a\0b"}}, "filters.tag"),
    "an empty filter": ({"filters": {"session_id": ""}}, "filters.session_id"),
    "a long filter": ({"filters": {"agent_id": "a" * 256}}, "filters.agent_id"),
    "filters as a list": ({"filters": []}, "filters"),
    "no filters": ({"filters": None}, "filters"),
    "since yesterday": ({"filters": {"since": "yesterday"}}, "filters.since"),
    "since a number": ({"filters": {"since": 1_700_000_000}}, "filters.since"),
    "until without a zone": ({"filters": {"until": "2026-05-01T00:00:00"}}, "filters.until"),
    "as of -1": ({"as_of": -1}, "as_of"),
    "as of 2^63": ({"as_of": 2**63}, "as_of"),
    "as of garbage": ({"as_of": "garbage"}, "as_of"),
    "as of an empty text": ({"as_of": ""}, "as_of"),
    "as of half": ({"as_of": 1.5}, "as_of"),
    "as of a list": ({"as_of": [1]}, "as_of"),
    "as of a day without a time": ({"as_of": "2026-05-01T00:00:00"}, "as_of"),
    "as of the end of the calendar": ({"as_of": "9999-12-31T23:59:59-14:00"}, "as_of"),
    "as of the year 1": ({"as_of": "0001-01-01T00:00:00+14:00"}, "as_of"),
    "now at the end of the calendar": ({"now": "9999-12-31T23:59:59Z"}, "now"),
    "now in the year 1": ({"now": "0001-01-01T00:00:00+14:00"}, "now"),
    "an unknown intent": ({"intent": "guess"}, "intent"),
    "an unknown channel": ({"channel": "loud"}, "channel"),
    "a weight of NaN": ({"scoring": {**WEIGHTS, "alpha": "NaN"}}, "scoring.alpha"),
    "a weight without end": ({"scoring": {**WEIGHTS, "beta": "Infinity"}}, "scoring.beta"),
    "a weight that is true": ({"scoring": {**WEIGHTS, "alpha": True}}, "scoring.alpha"),
    "a weight as a text": ({"scoring": {**WEIGHTS, "beta": "1"}}, "scoring.beta"),
    "a negative weight": ({"scoring": {**WEIGHTS, "gamma": -0.1}}, "scoring.gamma"),
    "a huge weight": ({"scoring": {**WEIGHTS, "alpha": 1e300}}, "scoring.alpha"),
    "a weight too few": ({"scoring": {"alpha": 1, "beta": 0}}, "scoring.gamma"),
    "a weight too many": ({"scoring": {**WEIGHTS, "delta": 1}}, "scoring.delta"),
}


@pytest.mark.parametrize("what", REFUSED)
async def test_what_cannot_be_meant_is_refused_by_name(
    client: httpx.AsyncClient, what: str
) -> None:
    given, field = REFUSED[what]
    query = {} if what == "no query" else {"query": "ship"}
    answer = await ask(client, **{**query, **given})

    assert_problem(answer, 422, field)


@pytest.mark.parametrize(
    "body",
    [
        b'{"query": "\\ud800"}',
        b'{"query": "\\udc00\\ud800"}',
        b'{"query": "ship", "scoring": {"alpha": NaN, "beta": 0, "gamma": 0}}',
        b'{"query": "ship", "limit": 1e999}',
        b'{"query": "\xff"}',
        b'{"query": ',
        b"",
        b"[" * 100_000,
    ],
    ids=lambda body: repr(body[:30]),
)
async def test_what_is_no_json_is_refused(client: httpx.AsyncClient, body: bytes) -> None:
    answer = await client.post(SEARCH, content=body, headers=JSON)

    assert answer.status_code in (400, 422)
    assert answer.json()["field"] in ("body", "limit")


async def test_a_body_over_the_limit_is_refused(client: httpx.AsyncClient) -> None:
    answer = await ask(client, query="x" * (9 * MEBIBYTE))

    assert_problem(answer, 413, "body")


ODD: dict[str, tuple[dict[str, Any], bool]] = {
    "since after until": (
        {"filters": {"since": "2027-01-01T00:00:00Z", "until": "2020-01-01T00:00:00Z"}},
        False,
    ),
    "a session of nobody": ({"filters": {"session_id": "nobody's"}}, False),
    "a kind of no event": ({"filters": {"kind": "gossip"}}, False),
    "a tag of nobody": ({"filters": {"tag": "'; drop table chunks; --"}}, False),
    "as of a position in the future": ({"as_of": 2**62 - 1}, True),
    "as of a time in the future": ({"as_of": "2999-01-01T00:00:00Z"}, True),
    "as of the beginning": ({"as_of": 0}, False),
    "as of long ago": ({"as_of": "1950-01-01T00:00:00Z"}, False),
    "weights of nothing": ({"scoring": {"alpha": 0, "beta": 0, "gamma": 0}}, True),
    "now long ago": ({"now": "1900-01-02T00:00:00Z", "intent": "recent"}, True),
    "now far ahead": ({"now": "8999-12-31T00:00:00Z", "intent": "recent"}, True),
}


@pytest.mark.parametrize("what", ODD)
async def test_an_odd_wish_is_granted(client: httpx.AsyncClient, what: str) -> None:
    given, found = ODD[what]
    query = "what did we say since may, in the last 3 weeks, on 31 december, on friday?"
    await remember(client)
    answer = await ask(client, query=query, **given)

    assert answer.status_code == 200, answer.text
    assert bool(answer.json()["results"]) == found


async def test_an_empty_memory_gives_an_empty_answer(client: httpx.AsyncClient) -> None:
    answer = (await ask(client, query="anything at all?")).json()

    assert (answer["results"], answer["candidates"], answer["position"]) == ([], 0, 0)


async def test_a_key_sees_only_what_it_is_pinned_to(
    client: httpx.AsyncClient, url: str, tenant: str, make_key: MakeKey
) -> None:
    await post(client, user_id="ada", channel="private")
    async with asking(url, await make_key(tenant, user_id="bob")) as bob:
        own = await ask(bob, query="when do we ship?")
        user = await ask(bob, query="ship", user_id="ada")
        foreign = await ask(bob, query="ship", tenant_id="default")

    assert own.json()["results"] == []
    assert_problem(user, 403, "user_id")
    assert_problem(foreign, 403, "tenant_id")
