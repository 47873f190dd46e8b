"""Summaries over HTTP: what they may cite, who sees them, when they are stale."""

import asyncio
from typing import Any

import httpx
import pytest

import conftest
from conftest import MakeKey
from memoryd.core import db
from memoryd.core.model import Reader
from memoryd.daemon import Daemon
from memoryd.ledger import texts
from wire import EVENTS, SUMMARIES, assert_problem, post, storing_nothing, write_view


def body(*cites: str, **given: Any) -> dict[str, Any]:
    return {"session_id": "s1", "text": "They ship on Friday.", "cites": list(cites), **given}


async def sum_up(client: httpx.AsyncClient, *cites: str, **given: Any) -> dict[str, Any]:
    answer = await client.post(SUMMARIES, json=body(*cites, **given))
    assert answer.status_code == 201, answer.text
    recorded: dict[str, Any] = answer.json()
    return recorded


async def is_stale(client: httpx.AsyncClient, recorded: dict[str, Any]) -> bool:
    found = (await client.get(f"{SUMMARIES}/{recorded['summary_id']}")).json()
    (listed,) = (await client.get(SUMMARIES)).json()["summaries"]
    assert listed == found
    stale: bool = found["stale"]
    return stale


async def test_a_summary_is_an_event_that_cites_its_sources(client: httpx.AsyncClient) -> None:
    first, second = await post(client), await post(client)
    cites = [first["event_id"], second["event_id"]]
    recorded = await sum_up(client, *cites, agent_id="planner", tags=["weekly"])
    event = (await client.get(f"{EVENTS}/{recorded['event_id']}")).json()
    found = (await client.get(f"{SUMMARIES}/{recorded['summary_id']}")).json()

    assert set(recorded) == {"summary_id", "event_id", "chunk_ids", "created_at"}
    assert recorded["summary_id"] == recorded["event_id"].replace("evt_", "sum_")
    assert (event["kind"], event["refs"], event["tags"]) == ("summary", cites, ["weekly"])
    assert event["actor"] == {"type": "agent", "id": "planner"}
    assert event["content"] == {"about": "s1", "text": "They ship on Friday."}
    assert (found["cites"], found["session_id"], found["stale"]) == (cites, "s1", False)


async def test_a_summary_is_found_and_weighs_less_than_its_source(
    client: httpx.AsyncClient,
) -> None:
    source = await post(client, content={"text": "The parrot ships on Friday."})
    made = await sum_up(client, source["event_id"], text="The parrot ships on Friday.")
    found = await client.post(
        "/api/v1/search", json={"query": "when does the parrot ship", "intent": "default"}
    )

    ranked = [one["event_id"] for one in found.json()["results"]]
    assert ranked == [source["event_id"], made["event_id"]]


async def test_summaries_are_listed_by_session_newest_first(client: httpx.AsyncClient) -> None:
    source = (await post(client))["event_id"]
    made = [(await sum_up(client, source, text=f"sum {n}"))["summary_id"] for n in range(3)]
    await sum_up(client, source, session_id="s2")
    first = (await client.get(SUMMARIES, params={"session_id": "s1", "limit": 2})).json()
    asked = {"session_id": "s1", "cursor": first["next"]}
    second = (await client.get(SUMMARIES, params=asked)).json()
    both = (await client.get(SUMMARIES)).json()

    assert [one["summary_id"] for one in first["summaries"]] == made[:0:-1]
    assert [one["summary_id"] for one in second["summaries"]] == made[:1]
    assert second["next"] is None
    assert len(both["summaries"]) == 4


async def test_a_retry_stores_nothing_new(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    source = (await post(client))["event_id"]
    first = await sum_up(client, source, idempotency_key="k1")
    async with storing_nothing(daemon, tenant):
        again = await sum_up(client, source, idempotency_key="k1")

    assert again == first


CITED = [
    # of the event: channel, user, sensitivity; of the summary: channel, user, sensitivity; taken
    (("public", "ada", "none"), ("public", "bob", "none"), True),
    (("public", "ada", "low"), ("public", "bob", "low"), True),
    (("public", "ada", "low"), ("public", "bob", "none"), False),
    (("public", "ada", "high"), ("public", "bob", "high"), False),
    (("team", "ada", "none"), ("public", "ada", "none"), False),
    (("agent", "ada", "none"), ("public", "ada", "none"), False),
    (("private", "ada", "none"), ("public", "ada", "none"), False),
    (("private", "ada", "none"), ("team", "ada", "none"), False),
    (("private", "ada", "none"), ("agent", "ada", "none"), False),
    (("private", "ada", "none"), ("private", "ada", "none"), True),
    (("private", "ada", "none"), ("private", "bob", "none"), False),
    (("private", "ada", "high"), ("private", "ada", "high"), True),
    (("private", "ada", "high"), ("private", "ada", "low"), False),
    (("team", "ada", "high"), ("team", "bob", "high"), True),
    (("team", "ada", "high"), ("agent", "bob", "high"), False),
    (("agent", "ada", "low"), ("team", "bob", "low"), True),
    (("public", "ada", "secret"), ("private", "ada", "high"), False),
]
SHAPE = ("channel", "user_id", "sensitivity")


@pytest.mark.parametrize(("event", "summary", "taken"), CITED, ids=str)
async def test_a_summary_tells_nobody_what_he_may_not_see(
    client: httpx.AsyncClient, event: tuple[str], summary: tuple[str], taken: bool
) -> None:
    open_to_all = (await post(client, channel="public"))["event_id"]
    source = (await post(client, **dict(zip(SHAPE, event, strict=True))))["event_id"]
    given = body(open_to_all, source, **dict(zip(SHAPE, summary, strict=True)))
    answer = await client.post(SUMMARIES, json=given)

    if taken:
        assert answer.status_code == 201, answer.text
    else:
        assert source in assert_problem(answer, 422, "cites.1")["detail"]


async def test_what_is_hidden_and_what_is_not_there_are_refused_alike(
    client: httpx.AsyncClient,
) -> None:
    hidden = (await post(client, channel="private"))["event_id"]
    missing = "evt_00000000000000000000000000"
    answers = [
        await client.post(SUMMARIES, json=body(one, channel="public")) for one in (hidden, missing)
    ]

    assert answers[0].text.replace(hidden, "X") == answers[1].text.replace(missing, "X")


async def test_another_tenants_event_cannot_be_cited(
    client: httpx.AsyncClient, url: str, tenant: str, make_key: MakeKey
) -> None:
    async with conftest.asking(url, await make_key(f"{tenant}-other")) as other:
        foreign = (await post(other))["event_id"]

    assert_problem(await client.post(SUMMARIES, json=body(foreign)), 422, "cites.0")


async def test_a_summary_is_seen_as_its_channel_and_user_allow(client: httpx.AsyncClient) -> None:
    source = (await post(client, user_id="ada"))["event_id"]
    made = await sum_up(client, source, user_id="ada")
    address = f"{SUMMARIES}/{made['summary_id']}"
    own = await client.get(address, params={"user_id": "ada"})
    others = [
        await client.get(address, params=params)
        for params in ({"user_id": "bob"}, {"user_id": "ada", "channel": "public"})
    ]

    assert own.status_code == 200
    for answer in others:
        assert_problem(answer, 404)
    assert (await client.get(SUMMARIES, params={"user_id": "bob"})).json()["summaries"] == []


async def test_it_is_stale_when_a_cited_decision_is_superseded(client: httpx.AsyncClient) -> None:
    old = await post(client, kind="decision", content={"decision": "Use MySQL."})
    made = await sum_up(client, old["event_id"])
    before = await is_stale(client, made)
    supersedes = old["event_id"].replace("evt_", "dec_")
    content = {"decision": "Use PostgreSQL.", "supersedes": supersedes}
    await post(client, kind="decision", content=content)

    assert (before, await is_stale(client, made)) == (False, True)


async def test_it_is_stale_when_a_cited_task_moved_on(client: httpx.AsyncClient) -> None:
    task = await post(client, kind="task_update", content={"title": "Ship"})
    made = await sum_up(client, task["event_id"])
    before = await is_stale(client, made)
    task_id = task["event_id"].replace("evt_", "tsk_")
    await post(client, kind="task_update", content={"task_id": task_id, "status": "done"})

    assert (before, await is_stale(client, made)) == (False, True)


async def test_it_is_stale_when_a_cited_view_was_edited(client: httpx.AsyncClient) -> None:
    view = await write_view(client, "rules.project", "Be brief.")
    made = await sum_up(client, view["version"])
    before = await is_stale(client, made)
    await write_view(client, "rules.project", "Be kind.")

    assert (before, await is_stale(client, made)) == (False, True)


async def test_it_is_stale_when_a_cited_event_is_gone(
    client: httpx.AsyncClient, daemon: Daemon
) -> None:
    kept, gone = (await post(client))["event_id"], (await post(client))["event_id"]
    made = await sum_up(client, kept, gone)
    before = await is_stale(client, made)
    owner = await db.connect(daemon.target, None)
    async with owner.transaction():
        await owner.execute("set local session_replication_role = replica")
        await owner.execute("delete from events where event_id = $1", gone)
    await owner.close()

    assert (before, await is_stale(client, made)) == (False, True)


async def test_other_changes_make_nothing_stale(client: httpx.AsyncClient) -> None:
    message = await post(client)
    decision = await post(client, kind="decision", content={"decision": "Use MySQL."})
    other = await post(client, kind="task_update", content={"title": "Ship"})
    made = await sum_up(client, message["event_id"], decision["event_id"])
    task_id = other["event_id"].replace("evt_", "tsk_")
    await post(client, kind="task_update", content={"task_id": task_id, "status": "done"})
    await write_view(client, "rules.project", "Be kind.")

    assert await is_stale(client, made) is False


async def test_stale_is_as_of_a_position(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    view = await write_view(client, "rules.project", "one")
    await sum_up(client, view["version"])
    await write_view(client, "rules.project", "two")
    async with db.tenant(daemon.pool, tenant) as conn:
        reader = Reader(tenant_id=tenant)
        then = [await texts.summaries(conn, reader, as_of=position) for position in (1, 2, 3)]

    assert [[one.stale for one in found] for found in then] == [[], [False], [True]]


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"text": " "}, 422, "text"),
        ({"text": "a\0b"}, 422, "text"),
        ({"text": "x" * 100_001}, 422, "text"),
        ({"cites": []}, 422, "cites"),
        ({"cites": ["evt_1"] * 257}, 422, "cites"),
        ({"cites": [0] * 100_000}, 422, "cites"),
        ({"cites": ["a\0b"]}, 422, "cites.0"),
        ({"cites": "evt_1"}, 422, "cites"),
        ({"session_id": ""}, 422, "session_id"),
        ({"sensitivity": "secret"}, 422, "sensitivity"),
        ({"kind": "message"}, 422, "kind"),
        ({"tenant_id": "another"}, 403, "tenant_id"),
        ({"ts": "9000-01-01T00:00:00Z"}, 422, "ts"),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_what_is_no_summary_is_refused(
    client: httpx.AsyncClient,
    daemon: Daemon,
    tenant: str,
    change: dict[str, Any],
    status: int,
    field: str,
) -> None:
    source = (await post(client))["event_id"]
    async with storing_nothing(daemon, tenant):
        answer = await client.post(SUMMARIES, json=body(source) | change)

    assert_problem(answer, status, field)


async def test_many_at_once_are_all_kept(client: httpx.AsyncClient) -> None:
    source = (await post(client))["event_id"]
    await asyncio.gather(*(sum_up(client, source, text=f"sum {n}") for n in range(10)))

    assert len((await client.get(SUMMARIES)).json()["summaries"]) == 10
