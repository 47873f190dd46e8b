"""Search as a client sees it: the answer, filters, time, visibility, and what was just written."""

import asyncio
import random
from string import ascii_lowercase
from typing import Any

import httpx
import pytest

import make
import wire
from conftest import MakeKey, asking
from memoryd.daemon import Daemon
from wire import BATCH, post

SEARCH = "/api/v1/search"
SMALL_TALK = [
    "Nothing much happened in the meeting, we had tea and cake.",
    "The printer on the second floor is out of paper again.",
    "Could you water the plants while I am away?",
    "The new chairs for the office arrive on Thursday.",
    "I read a long article about sailing boats.",
    "The lift is being repaired until the end of the month.",
]


async def ask(client: httpx.AsyncClient, query: str, **given: Any) -> dict[str, Any]:
    answer = await client.post(SEARCH, json={"query": query, **given})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def texts(client: httpx.AsyncClient, query: str, **given: Any) -> list[str]:
    return [one["text"] for one in (await ask(client, query, **given))["results"]]


async def say(client: httpx.AsyncClient, *texts: str, **given: Any) -> None:
    """Each in a session of its own, so that none is another's neighbour."""
    events = [
        make.body(**{"session_id": f"s-{at}", "content": {"text": text}, **given})
        for at, text in enumerate(texts)
    ]
    answer = await client.post(BATCH, json={"events": events})
    assert answer.status_code == 201, answer.text


async def test_an_answer_has_the_shape_of_the_wire(client: httpx.AsyncClient) -> None:
    recorded = await post(client, tags=["release"], ts="2026-04-01T09:30:00Z")
    answer = await ask(client, "when do we ship?")

    assert set(answer) == {"results", "pending_vectors", "candidates", "position", "degraded"}
    assert (answer["candidates"], answer["position"], answer["degraded"]) == (1, 1, None)
    [found] = answer["results"]
    assert found.pop("score") > 0
    assert found == {
        "chunk_id": recorded["chunk_ids"][0],
        "event_id": recorded["event_id"],
        "session_id": "s1",
        "ts": "2026-04-01T09:30:00Z",
        "kind": "message",
        "actor_type": "human",
        "actor_id": "ada",
        "trust": "human",
        "tags": ["release"],
        "token_est": 5,
        "text": "We ship on Friday.",
        "parts": None,
    }


async def test_what_was_written_is_found_by_the_next_search_while_sixteen_clients_write(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    """Some chunks have vectors by then and the new one has not: it comes first all the same."""
    await say(client, *SMALL_TALK)
    await wire.embedded(daemon, tenant)

    async def write_and_ask(number: int) -> list[tuple[str, list[str]]]:
        draw, wrong = random.Random(number), []
        for _ in range(6):
            words = " ".join("".join(draw.sample(ascii_lowercase, 9)) for _ in range(2))
            text = f"Please note: {words} is the word of the day."
            await post(client, session_id=f"client-{number}", content={"text": text})
            first = (await texts(client, words))[:1]
            wrong += [(words, first)] if first != [text] else []
        return wrong

    wrong = await asyncio.gather(*(write_and_ask(number) for number in range(16)))

    assert wrong == [[]] * 16


FILTERED = [
    {"session_id": "s-2"},
    {"agent_id": "planner"},
    {"user_id": "bob"},
    {"kind": "decision"},
    {"tag": "topic:release"},
    {"since": "2026-03-01T00:00:00Z"},
    {"since": "2026-02-10T00:00:00Z", "until": "2026-03-10T00:00:01Z"},
]


@pytest.mark.parametrize("filters", FILTERED, ids=str)
async def test_a_filter_leaves_what_it_names(
    client: httpx.AsyncClient, filters: dict[str, str]
) -> None:
    common = [make.body(session_id=f"s-{n}", ts="2026-02-01T00:00:00Z") for n in range(2)]
    named = make.body(
        session_id="s-2",
        agent_id="planner",
        user_id="bob",
        channel="team",
        kind="decision",
        content={"decision": "We ship on Monday."},
        tags=["topic:release", "topic:other"],
        ts="2026-03-10T00:00:00Z",
    )
    await client.post(BATCH, json={"events": [*common, named]})
    everything = await texts(client, "when do we ship?")
    filtered = await texts(client, "when do we ship?", filters=filters)

    assert len(everything) == 3
    assert filtered == ["We ship on Monday."]


async def test_a_moment_is_compared_to_the_microsecond(client: httpx.AsyncClient) -> None:
    await post(client, ts="2026-04-01T09:30:00.700Z")
    moment = "2026-04-01T09:30:00.500Z"
    since = await texts(client, "when do we ship?", filters={"since": moment})
    until = await texts(client, "when do we ship?", filters={"until": moment})

    assert (len(since), len(until)) == (1, 0)


async def test_as_of_a_position_shows_what_was_known_then(client: httpx.AsyncClient) -> None:
    await post(client, content={"text": "We ship on Friday."})
    await post(client, content={"text": "We ship on Monday."})
    then = await ask(client, "when do we ship?", as_of=1)
    start = await ask(client, "when do we ship?", as_of=0)
    ahead = await ask(client, "when do we ship?", as_of=1_000_000)

    assert [one["text"] for one in then["results"]] == ["We ship on Friday."]
    assert (len(start["results"]), len(ahead["results"])) == (0, 2)
    assert (start["position"], then["position"], ahead["position"]) == (0, 1, 2)


async def test_as_of_a_time_is_the_time_of_recording(client: httpx.AsyncClient) -> None:
    first = await post(client, ts="2020-01-01T00:00:00Z")
    await post(client, ts="2019-01-01T00:00:00Z", content={"text": "We ship on Monday."})
    then = await texts(client, "when do we ship?", as_of=first["created_at"])
    before = await texts(client, "when do we ship?", as_of="2020-06-01T00:00:00Z")

    assert then == ["We ship on Friday."]
    assert before == []


async def test_a_limit_takes_the_best(client: httpx.AsyncClient) -> None:
    await say(client, *SMALL_TALK, "We ship on Friday.")
    few = await texts(client, "when do we ship?", limit=2)
    all_of_them = await texts(client, "when do we ship?", limit=200)

    assert all_of_them[:2] == few and few[0] == "We ship on Friday."


@pytest.mark.parametrize(
    ("given", "weights"),
    [
        ({}, (1.0, 0.0, 0.0)),
        ({"intent": "default"}, (0.6, 0.3, 0.1)),
        ({"intent": "decide"}, (0.6, 0.1, 0.3)),
        ({"scoring": {"alpha": 0.25, "beta": 2, "gamma": 0}, "intent": "decide"}, (0.25, 2, 0)),
    ],
    ids=str,
)
async def test_the_parts_explain_the_score(
    client: httpx.AsyncClient,
    daemon: Daemon,
    tenant: str,
    given: dict[str, Any],
    weights: tuple[float, float, float],
) -> None:
    await say(client, *SMALL_TALK, "We ship on Friday.", ts="2026-04-01T00:00:00Z")
    await wire.embedded(daemon, tenant)
    answer = await ask(
        client, "when do we ship?", explain=True, now="2027-04-01T00:00:00Z", **given
    )

    assert len(answer["results"]) == 7
    for found in answer["results"]:
        parts = found["parts"]
        assert set(parts) >= {"semantic", "recency", "importance", "bm25", "pooled", "maxsim"}
        assert all(0 <= parts[name] <= 1 for name in ("semantic", "recency", "importance"))
        assert (parts["recency"], parts["importance"]) == (pytest.approx(0.5), 0.4)
        three = zip(weights, ("semantic", "recency", "importance"), strict=True)
        total = sum(weight * parts[name] for weight, name in three)
        assert found["score"] == pytest.approx(total, abs=5e-6)


async def test_others_private_rows_and_other_tenants_are_absent(
    client: httpx.AsyncClient, url: str, tenant: str, make_key: MakeKey
) -> None:
    await post(client, user_id="ada", channel="private", content={"text": "Ada ships on Friday."})
    await post(client, user_id="bob", channel="private", content={"text": "Bob ships on Monday."})
    await post(client, user_id="bob", channel="public", content={"text": "We ship in May."})
    await post(client, user_id="bob", channel="team", content={"text": "We ship to Rome."})
    async with asking(url, await make_key(f"{tenant}-other")) as other:
        await post(other, content={"text": "They ship on Sunday."})
        theirs = await texts(other, "who ships when?")
    ada = await texts(client, "who ships when?", user_id="ada", channel="private")
    public = await texts(client, "who ships when?", user_id="ada", channel="public")

    assert set(ada) == {"Ada ships on Friday.", "We ship in May.", "We ship to Rome."}
    assert public == ["We ship in May."]
    assert theirs == ["They ship on Sunday."]


@pytest.mark.parametrize(
    ("query", "month"),
    [
        ("what did we decide in February?", 2),
        ("what did we decide in March 2026?", 3),
        ("what did we decide last week?", 4),
    ],
)
async def test_time_words_prefer_events_of_that_time(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, query: str, month: int
) -> None:
    for at in (2, 3, 4):
        said = {"ts": f"2026-0{at}-22T12:00:00Z", "content": {"text": "We decided on the plan."}}
        await post(client, session_id=f"month-{at}", **said)
    await say(client, *SMALL_TALK)
    await wire.embedded(daemon, tenant)
    answer = await ask(client, query, now="2026-05-01T12:00:00Z", explain=True)

    first = answer["results"][0]
    assert first["ts"].startswith(f"2026-0{month}-22")
    assert first["parts"]["date"] == 0.2


async def test_an_old_relevant_event_beats_a_recent_irrelevant_one(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    old = "The database password rotation runs every ninety days."
    await post(client, session_id="old", content={"text": old}, ts="2019-01-01T00:00:00Z")
    await say(client, *SMALL_TALK)
    await wire.embedded(daemon, tenant)
    found = await texts(client, "how often is the database password rotated?", intent="default")

    assert found[0] == old


WRITTEN = {
    "Chinese": ("数据库 迁移", "我们昨天完成了数据库的迁移工作。"),
    "Japanese": ("会議の資料", "明日の会議の資料を印刷してください。"),
    "Korean": ("데이터베이스", "데이터베이스를 새 서버로 옮겼습니다."),
    "German": ("Haus", "Die Häuser am See wurden verkauft."),
    "Russian": ("серверы", "Мы перенесли базу на новый сервер."),
    "Arabic": ("الخادم", "تم نقل قاعدة البيانات إلى الخادم الجديد."),
    "camelCase": ("user by id", "It fails in getUserById when the cache is cold."),
    "snake_case": ("max retry count", "Set max_retry_count to five."),
    "kebab-case": ("dry run", "Call it with --dry-run first."),
    "a file path": ("parser.py", "The bug is in src/core/parser.py, line 12."),
    "a whole path": ("/etc/nginx/nginx.conf", "I edited /etc/nginx/nginx.conf by hand."),
    "an error code": ("E11000", "The insert died with E11000 duplicate key."),
    "an e-mail address": ("ada@example.org", "Write to ada@example.org for a key."),
    "a URL": ("https://wiki.example.org/oncall?id=7", "See https://wiki.example.org/oncall?id=7"),
    "a part of a URL": ("wiki oncall", "See https://wiki.example.org/oncall?id=7"),
    "emoji beside": ("launch 🚀", "🚀🚀 The launch is tonight 🎉"),
}


@pytest.mark.parametrize("what", WRITTEN)
async def test_each_way_of_writing_is_found(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, what: str
) -> None:
    query, text = WRITTEN[what]
    await say(client, *SMALL_TALK)
    await wire.embedded(daemon, tenant)
    await post(client, session_id="new", content={"text": text})
    at_once = await texts(client, query)
    await wire.embedded(daemon, tenant)
    later = await texts(client, query)

    assert at_once[0] == text
    assert later[0] == text
