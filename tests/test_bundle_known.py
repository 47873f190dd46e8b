"""What a daemon knows from the bundle before is not read again, and never shown when it changed."""

from typing import Any

import httpx
import pytest

from conftest import MakeKey, asking
from memoryd.core import context, db, read, views
from memoryd.core.model import Reader
from memoryd.daemon import Daemon
from test_bundle import build, record, section
from test_bundle_race import compared

UNKNOWN = ("texts", "tasks", "decisions", "handoffs", "hidden")


async def gathered(daemon: Daemon, tenant: str, known: str | None) -> dict[str, Any]:
    reader = Reader(tenant_id=tenant)
    about = (*read.eyes(reader), "default", "s1", None, *context.TURNS, *context.MOST, known)
    async with db.snapshot(daemon.pool, tenant) as conn:
        return dict(await conn.fetchrow(db.query("context.gather"), *about) or {})


async def test_what_is_known_is_not_read_again(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    await record(client, kind="decision", content={"decision": "Use PostgreSQL."})
    first = await gathered(daemon, tenant, None)
    await record(client, content={"text": "Good morning."})
    again = await gathered(daemon, tenant, first["version"])

    assert len(first["decisions"]) == 1
    assert [again[name] for name in UNKNOWN] == [None] * 5
    assert len(again["turns"]) == 1


async def changed(client: httpx.AsyncClient, what: str) -> None:
    """The desk that `laid` has laid, with one thing on it changed."""
    if what == "view":
        answer = await client.put("/api/v1/views/rules.project", json={"text": "New rule."})
    elif what == "task":
        task = {"task_id": (await client.get("/api/v1/tasks")).json()["tasks"][0]["task_id"]}
        answer = await client.post("/api/v1/tasks", json={**task, "status": "done"})
    elif what == "decision":
        answer = await client.post("/api/v1/decisions", json={"decision": "New decision."})
    elif what == "handoff":
        handoff = (await client.get("/api/v1/handoffs")).json()["handoffs"][0]["handoff_id"]
        answer = await client.post(f"/api/v1/handoffs/{handoff}/reject", json={"note": "No."})
    else:
        answer = await client.post("/api/v1/erasures", json={"session_id": "s9", "sweep": False})
    assert answer.status_code in (200, 201), answer.text


async def laid(client: httpx.AsyncClient) -> None:
    await client.put("/api/v1/views/rules.project", json={"text": "Old rule."})
    await record(client, kind="task_update", content={"title": "Old task"})
    await record(client, kind="decision", content={"decision": "Old one."}, session_id="s9")
    packet = {"agent_id": "planner", "to_agent": "default", "note": "Old note."}
    assert (await client.post("/api/v1/handoffs", json=packet)).status_code == 201


SHOWS = {  # what is on the desk then, in which section
    "view": ("rules", "New rule.", "Old rule."),
    "task": ("task_state", "", "Old task"),
    "decision": ("decision_ledger", "New decision.", ""),
    "handoff": ("handoff_packet", "", "Old note."),
    "erasure": ("decision_ledger", "", "Old one."),
}


@pytest.mark.parametrize("question", [None, "what is old?"])
@pytest.mark.parametrize("what", SHOWS)
async def test_what_changed_is_seen_by_the_next_bundle(
    url: str, tenant: str, make_key: MakeKey, what: str, question: str | None
) -> None:
    name, now, before = SHOWS[what]
    asked: dict[str, Any] = {"query_text": question} if question else {}
    async with asking(url, await make_key(tenant, role="admin")) as client:
        await laid(client)
        old = str(section(await build(client, **asked), name))
        await changed(client, what)
        new = str(section(await build(client, **asked), name))

    assert before in old and (not now or now not in old)
    assert now in new and (not before or before not in new)


async def test_the_past_is_read_whatever_is_known_of_the_present(client: httpx.AsyncClient) -> None:
    await laid(client)
    old = await build(client)
    await changed(client, "view")
    await build(client)
    past = await build(client, as_of=old["provenance"]["position"], now=old["provenance"]["now"])

    assert compared(past) == compared(old)


async def test_nobody_is_given_what_another_reader_knows(client: httpx.AsyncClient) -> None:
    await laid(client)
    await build(client)
    others = [
        await build(client, channel="public"),
        await build(client, agent_id="planner"),
        await build(client, user_id="bob"),
    ]

    assert [len(section(one, "decision_ledger")) for one in others] == [0, 1, 0]
    assert [len(section(one, "handoff_packet")) for one in others] == [0, 0, 1]  # it is shared


async def test_a_rebuild_makes_a_daemon_read_anew(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    await laid(client)
    first = await gathered(daemon, tenant, None)
    async with db.tenant(daemon.pool, tenant) as conn:
        await conn.execute(db.query("index.begin_epoch"), tenant)
    again = await gathered(daemon, tenant, first["version"])

    assert again["decisions"] == first["decisions"] is not None


async def test_no_more_readers_are_kept_than_is_said(
    client: httpx.AsyncClient, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "KNOWN", 2)
    await laid(client)
    daemon.searcher.known.clear()
    shown = [await build(client, session_id=session) for session in ("a", "b", "a", "c", "b")]

    assert [session for _, session in daemon.searcher.known] == ["c", "b"]
    assert all(section(one, "rules")[0]["text"].endswith("Old rule.") for one in shown)


async def test_what_is_long_is_read_each_time(client: httpx.AsyncClient, daemon: Daemon) -> None:
    rule = {"text": "Be brief. " * (context.KNOWN_LONG // 10)}
    answer = await client.put("/api/v1/views/rules.project", json=rule)
    assert answer.status_code == 200, answer.text
    shown = [await build(client, session_id="long") for _ in range(2)]

    assert compared(shown[0])["sections"] == compared(shown[1])["sections"]
    assert not any(known for (_, name), known in daemon.searcher.known.items() if name == "long")


def test_every_kind_that_changes_what_is_gathered_is_asked_for() -> None:
    """Summaries, memories and references have tables that `gather` does not read."""
    elsewhere = {"summary", "memory", "artifact"}
    asked = db.query("context.gather").partition("unnest(array[")[2].partition("]")[0]

    assert set(views._CHANGES) - elsewhere | {"erasure"} == set(asked.replace("'", "").split(", "))
