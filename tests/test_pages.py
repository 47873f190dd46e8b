"""Pages of the log: filters, cursors, and who sees what."""

import asyncio
from itertools import pairwise
from typing import Any

import httpx
import pytest

import conftest
import make
from conftest import MakeKey
from wire import (
    BATCH,
    EVENTS,
    assert_problem,
    listed,
    post,
    texts,
)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"session_id": "s2"}, ["two", "four"]),
        ({"kind": "decision"}, ["three"]),
        ({"actor": "bob"}, ["two", "three"]),
        ({"tag": "red"}, ["one", "two"]),
        ({"since": "2024-01-02T00:00:00Z"}, ["two", "three", "four"]),
        ({"until": "2024-01-02T00:00:00Z"}, ["one"]),
        ({"since": "2024-01-02T00:00:00Z", "until": "2024-01-04T00:00:00+00:00"}, ["two", "three"]),
        ({"session_id": "s2", "tag": "red", "actor": "bob", "kind": "message"}, ["two"]),
        ({"tag": "re"}, []),
        ({"session_id": "S2"}, []),
    ],
)
async def test_filters_restrict_a_page(
    client: httpx.AsyncClient, filters: dict[str, str], expected: list[str]
) -> None:
    ada, bob = {"type": "human", "id": "ada"}, {"type": "agent", "id": "bob"}
    drafts = [
        {"actor": ada, "tags": ["red"], "content": {"text": "one"}},
        {"actor": bob, "tags": ["red", "blue"], "content": {"text": "two"}, "session_id": "s2"},
        {"actor": bob, "content": {"decision": "Go.", "text": "three"}, "kind": "decision"},
        {"actor": ada, "content": {"text": "four"}, "session_id": "s2"},
    ]
    events = [
        make.body(**{"ts": f"2024-01-0{day}T00:00:00Z", **draft})
        for day, draft in enumerate(drafts, 1)
    ]
    assert (await client.post(BATCH, json={"events": events})).status_code == 201

    assert await texts(client, order="oldest", **filters) == expected
    assert await texts(client, **filters) == expected[::-1]


async def fill(client: httpx.AsyncClient, prefix: str, events: int) -> None:
    drafts = [make.body(content={"text": f"{prefix} {number}"}) for number in range(events)]
    answer = await client.post(BATCH, json={"events": drafts})
    assert answer.status_code == 201


async def pages(client: httpx.AsyncClient, order: str, limit: int) -> list[list[tuple[int, str]]]:
    """Every page to the last, while the loop turns for others."""
    found = []
    cursor: str | None = None
    while True:
        params: dict[str, Any] = {"order": order, "limit": limit} | (
            {"cursor": cursor} if cursor else {}
        )
        page = (await client.get(EVENTS, params=params)).json()
        assert set(page) == {"events", "next"}
        found.append([(one["position"], one["content"]["text"]) for one in page["events"]])
        cursor = page["next"]
        if cursor is None:
            return found


@pytest.mark.parametrize("order", ["newest", "oldest"])
async def test_pages_cover_everything_once_while_another_writes(
    client: httpx.AsyncClient, url: str, tenant: str, make_key: MakeKey, order: str
) -> None:
    await fill(client, "before", 60)
    async with conftest.asking(url, await make_key(tenant)) as other:
        writing = asyncio.create_task(_write_slowly(other))
        found = await pages(client, order, 7)
        await writing

    seen = [one for page in found for one in page]
    assert len(seen) == len(set(seen))
    assert all(len(page) == 7 for page in found[:-1])
    positions = [position for position, _ in seen]
    assert positions == sorted(positions, reverse=order == "newest")
    assert all(abs(one - other) == 1 for one, other in pairwise(positions))
    before = [text for _, text in seen if text.startswith("before")]
    assert len(before) == 60
    if order == "oldest":
        assert len(seen) > 60, "a follower meets what was written meanwhile"


async def _write_slowly(client: httpx.AsyncClient) -> None:
    for number in range(20):
        await post(client, content={"text": f"meanwhile {number}"})


async def test_following_from_the_last_position_finds_what_came_since(
    client: httpx.AsyncClient,
) -> None:
    await fill(client, "old", 3)
    last = (await listed(client))[0]["position"]
    await fill(client, "new", 2)

    assert await texts(client, order="oldest", cursor=str(last)) == ["new 0", "new 1"]


async def test_the_last_page_has_no_next(client: httpx.AsyncClient) -> None:
    await fill(client, "e", 4)
    exact = (await client.get(EVENTS, params={"limit": 4})).json()
    short = (await client.get(EVENTS, params={"limit": 3})).json()

    assert (len(exact["events"]), exact["next"]) == (4, None)
    assert (len(short["events"]), short["next"]) == (3, "2")


async def test_an_empty_log_is_an_empty_page(client: httpx.AsyncClient) -> None:
    answer = await client.get(EVENTS)

    assert answer.json() == {"events": [], "next": None}


@pytest.mark.parametrize(
    ("params", "field", "limit"),
    [
        ({"limit": "0"}, "limit", "1"),
        ({"limit": "1001"}, "limit", "1000"),
        ({"limit": "many"}, "limit", None),
        ({"order": "random"}, "order", "'newest' or 'oldest'"),
        ({"cursor": "-1"}, "cursor", "^[0-9]{1,18}$"),
        ({"cursor": "9" * 19}, "cursor", "^[0-9]{1,18}$"),
        ({"cursor": "1 or 1=1"}, "cursor", "^[0-9]{1,18}$"),
        ({"since": "yesterday"}, "since", None),
        ({"since": "2024-01-01T00:00:00"}, "since", None),
        ({"channel": "loud"}, "channel", "'private', 'public', 'team' or 'agent'"),
        ({"session_id": ""}, "session_id", "1"),
        ({"tag": "x" * 256}, "tag", "255"),
    ],
)
async def test_a_page_asked_for_wrongly_is_refused(
    client: httpx.AsyncClient, params: dict[str, str], field: str, limit: str | None
) -> None:
    answer = await client.get(EVENTS, params=params)

    assert assert_problem(answer, 422, field).get("limit") == limit


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
async def test_the_ends_of_the_calendar_may_be_asked_for(
    client: httpx.AsyncClient, name: str, moment: str
) -> None:
    await post(client)
    found = await listed(client, **{name: moment})

    assert len(found) == ((name == "since") == (moment < "1"))


CHANNELS = ("public", "team", "agent", "private")
SEEN = {  # channel of the reader → what it sees of ada's and bob's rows; ada asks
    "public": {"public none", "public low"},
    "agent": {f"{channel} {level}" for channel in CHANNELS[:3] for level in ("none", "low")},
    "team": {f"{channel} {level}" for channel in CHANNELS[:3] for level in ("none", "low", "high")},
    "private": {f"{channel} {level}" for channel in CHANNELS for level in ("none", "low", "high")},
}


@pytest.mark.parametrize("channel", CHANNELS)
async def test_a_reader_sees_what_its_channel_and_user_allow(
    client: httpx.AsyncClient, channel: str
) -> None:
    drafts = [
        make.body(channel=place, sensitivity=level, user_id=user, content={"text": user})
        for user in ("ada", "bob")
        for place in CHANNELS
        for level in ("none", "low", "high", "secret")
    ]
    recorded = (await client.post(BATCH, json={"events": drafts})).json()["events"]
    eyes = {"channel": channel, "user_id": "ada"}
    found = await listed(client, limit=100, **eyes)
    statuses = [
        (await client.get(f"{EVENTS}/{one['event_id']}", params=eyes)).status_code
        for one in recorded
    ]

    seen = {(one["user_id"], f"{one['channel']} {one['sensitivity']}") for one in found}
    public = {what for what in SEEN[channel] if not what.startswith("private")}
    assert seen == {("ada", what) for what in SEEN[channel]} | {("bob", what) for what in public}
    listed_ids = {one["event_id"] for one in found}
    assert statuses == [200 if one["event_id"] in listed_ids else 404 for one in recorded]


async def test_pages_of_what_is_visible_are_full(client: httpx.AsyncClient) -> None:
    mixed = [make.body(user_id=user) for user in ("ada", "bob") * 10]
    await client.post(BATCH, json={"events": mixed})
    found = await listed(client, user_id="ada", limit=10)

    assert [one["user_id"] for one in found] == ["ada"] * 10


async def test_nothing_shows_a_secret(client: httpx.AsyncClient) -> None:
    recorded = await post(client, sensitivity="secret", content={"text": "hunter2"}, tags=["pw"])
    answers = [
        await client.get(EVENTS, params={"channel": channel, "user_id": "default"})
        for channel in CHANNELS
    ]
    one = await client.get(f"{EVENTS}/{recorded['event_id']}")

    assert recorded["chunk_ids"] == []
    assert [answer.json()["events"] for answer in answers] == [[]] * 4
    assert_problem(one, 404)
