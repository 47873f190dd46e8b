"""Decisions over HTTP: recording, supersession, lineage, conflicts, retries."""

import asyncio

import httpx
import pytest

import conftest
import make
from conftest import MakeKey
from memoryd.core import db, record
from memoryd.custody import rebuild
from memoryd.daemon import Daemon
from wire import (
    BATCH,
    DECISIONS,
    EVENTS,
    assert_problem,
    count,
    decide,
    decided,
    found,
    post,
    storing_nothing,
)

QUERY = f"{DECISIONS}/query"


async def test_a_decision_is_answered_with_every_field(client: httpx.AsyncClient) -> None:
    said = {
        "decision": "Use PostgreSQL.",
        "scope": "global",
        "subject": "database",
        "rationale": ["one log", "durable"],
        "constraints": ["offline"],
        "alternatives": ["SQLite"],
        "consequences": ["a server to run"],
        "refs": ["evt_1", "chk_2"],
        "session_id": "s1",
        "user_id": "ada",
        "agent_id": "planner",
        "channel": "team",
        "sensitivity": "low",
        "ts": "2026-01-02T03:04:05Z",
    }
    answer = await decide(client, **said, tags=["db"], actor={"type": "human", "id": "ada"})
    event = (await client.get(f"{EVENTS}/{answer['event_id']}")).json()

    assert answer == {
        **said,
        "decision_id": f"dec_{answer['event_id'][4:]}",
        "event_id": event["event_id"],
        "position": 1,
        "status": "active",
        "supersedes": None,
        "superseded_by": None,
        "conflicts": [],
        "chunk_ids": answer["chunk_ids"],
        "created_at": event["recorded_at"],
    }
    assert [one[:4] for one in answer["chunk_ids"]] == ["chk_"]
    assert (event["kind"], event["tags"], event["actor"]["id"]) == ("decision", ["db"], "ada")


async def test_what_a_decision_omits_is_the_default(
    url: str, tenant: str, make_key: MakeKey
) -> None:
    async with conftest.asking(url, await make_key(tenant, agent_id="planner")) as client:
        answer = await decide(client)
        event = (await client.get(f"{EVENTS}/{answer['event_id']}")).json()

    names = ("session_id", "user_id", "agent_id", "channel", "sensitivity", "scope", "subject")
    assert [answer[name] for name in names] == [
        *("default", "default", "planner", "private", "none", "project", None)
    ]
    assert event["actor"] == {"type": "agent", "id": "planner"}
    assert event["content"] == {"decision": "Use PostgreSQL.", "scope": "project"}


async def test_a_superseded_decision_leaves_the_ledger_and_keeps_its_lineage(
    client: httpx.AsyncClient,
) -> None:
    first = await decide(client, decision="Use SQLite.")
    second = await decide(client, decision="Use MySQL.", supersedes=first["decision_id"])
    third = await decide(client, decision="Use PostgreSQL.", supersedes=second["decision_id"])
    chain = [one["decision_id"] for one in (first, second, third)]

    assert await decided(client) == ["Use PostgreSQL."]
    assert await decided(client, status="superseded") == ["Use MySQL.", "Use SQLite."]
    assert await decided(client, status="all") == ["Use PostgreSQL.", "Use MySQL.", "Use SQLite."]
    for place, decision_id in enumerate(chain):
        one = await found(client, decision_id)
        assert [other["decision_id"] for other in one["lineage"]["ancestors"]] == chain[:place]
        assert [other["decision_id"] for other in one["lineage"]["descendants"]] == chain[place:][
            1:
        ]
        assert one["status"] == ("active" if place == 2 else "superseded")
        assert (one["supersedes"], one["superseded_by"]) == (
            chain[place - 1] if place else None,
            chain[place + 1] if place < 2 else None,
        )


async def test_superseding_what_was_superseded_names_what_to_supersede(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    first = await decide(client)
    second = await decide(client, supersedes=first["decision_id"])
    async with storing_nothing(daemon, tenant):
        answer = await client.post(
            DECISIONS, json={"decision": "Late.", "supersedes": first["decision_id"]}
        )

    problem = assert_problem(answer, 409, "supersedes")
    assert second["decision_id"] in problem["detail"]


async def test_two_clients_superseding_one_decision_do_not_both_succeed(
    client: httpx.AsyncClient,
) -> None:
    old = await decide(client, decision="Ship on Monday.")
    bodies = [
        {"decision": f"Ship on {day}.", "supersedes": old["decision_id"]}
        for day in ("Tuesday", "Friday")
    ]
    answers = await asyncio.gather(*(client.post(DECISIONS, json=body) for body in bodies))

    assert sorted(answer.status_code for answer in answers) == [201, 409]
    (won,) = [answer.json() for answer in answers if answer.status_code == 201]
    (lost,) = [answer for answer in answers if answer.status_code == 409]
    assert won["decision_id"] in assert_problem(lost, 409, "supersedes")["detail"]
    assert await decided(client) == [won["decision"]]


async def test_a_conflict_is_reported_and_not_applied(client: httpx.AsyncClient) -> None:
    tabs = await decide(client, decision="Indent with tabs.", subject="Indentation")
    other = await decide(client, decision="Ship on Friday.", subject="release")
    spaces = await decide(client, decision="Use four spaces.", subject=" indentation ")

    shown = {name: tabs[name] for name in tabs if name not in ("chunk_ids", "created_at")}
    assert spaces["conflicts"] == [shown]
    assert other["conflicts"] == []
    assert len(await decided(client)) == 3
    assert (await found(client, spaces["decision_id"]))["conflicts"] == [tabs["decision_id"]]


async def test_what_is_superseded_or_of_another_scope_is_no_conflict(
    client: httpx.AsyncClient,
) -> None:
    tabs = await decide(client, subject="indentation")
    await decide(client, subject="indentation", scope="user")
    spaces = await decide(client, subject="indentation", supersedes=tabs["decision_id"])

    assert spaces["conflicts"] == []


async def test_an_event_of_kind_decision_does_the_same(client: httpx.AsyncClient) -> None:
    first = await decide(client, decision="Use MySQL.", subject="database")
    content = {"decision": "Use PostgreSQL.", "supersedes": first["decision_id"]}
    recorded = await post(client, kind="decision", content={**content, "subject": "database"})
    third = await decide(client, decision="Use SQLite.", subject="database")

    second = await found(client, f"dec_{recorded['event_id'][4:]}")
    assert await decided(client) == ["Use SQLite.", "Use PostgreSQL."]
    assert [one["decision"] for one in second["lineage"]["ancestors"]] == ["Use MySQL."]
    assert [one["decision_id"] for one in third["conflicts"]] == [second["decision_id"]]


async def test_a_retry_answers_as_the_first_time_even_after_a_change(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    await decide(client, decision="Use MySQL.", subject="database")
    body = {"decision": "Use SQLite.", "subject": "database", "idempotency_key": "k"}
    first = await client.post(DECISIONS, json=body)
    await decide(client, supersedes=first.json()["decision_id"])
    before = await count(daemon, tenant)
    again = await client.post(DECISIONS, json=body)
    other = await client.post(DECISIONS, json={**body, "decision": "Use DuckDB."})

    assert (again.status_code, again.json()) == (201, first.json())
    assert [one["status"] for one in again.json()["conflicts"]] == ["active"]
    assert_problem(other, 409, "idempotency_key")
    assert await count(daemon, tenant) == before


async def test_the_ledger_survives_a_restart_and_a_rebuild(database: db.Target) -> None:
    async with conftest.running(database) as client:
        old = await decide(client, decision="Use MySQL.", subject="database")
        await decide(client, supersedes=old["decision_id"], subject="database")
        await decide(client, decision="Use SQLite.", subject="database")
        before = (await client.get(QUERY, params={"status": "all"})).json()
        line = await found(client, old["decision_id"])
    (outcome,) = await rebuild.rebuild(database, lambda *_: None)
    async with conftest.running(database) as client:
        after = (await client.get(QUERY, params={"status": "all"})).json()
        same = await found(client, old["decision_id"])

    assert outcome.equal
    assert (after, same) == (before, line)
    assert len(after["decisions"]) == 3


@pytest.mark.parametrize("sensitivity", ["none", "high"])
async def test_a_conflict_is_found_however_many_decisions_lie_between(
    database: db.Target, sensitivity: str
) -> None:
    async with conftest.running(database) as client:
        tabs = await decide(
            client, decision="Tabs.", subject="The  Indentation", sensitivity=sensitivity
        )
        await bury(client, subject="other", sensitivity=sensitivity)
        spaces = await decide(
            client, decision="Spaces.", subject="the indentation", sensitivity=sensitivity
        )
    (outcome,) = await rebuild.rebuild(database, lambda *_: None)

    assert [one["decision_id"] for one in spaces["conflicts"]] == [tabs["decision_id"]]
    assert outcome.equal


async def test_a_conflict_is_found_however_often_the_decision_was_repeated(
    client: httpx.AsyncClient,
) -> None:
    tabs = await decide(client, decision="Tabs.", subject="indentation")
    await bury(client, decision="Spaces.", subject="indentation")
    again = await decide(client, decision="Spaces.", subject="indentation")

    assert [one["decision_id"] for one in again["conflicts"]] == [tabs["decision_id"]]


async def bury(client: httpx.AsyncClient, sensitivity: str = "none", **said: str) -> None:
    """So many decisions that the newest ones are these."""
    events = [
        make.body(
            kind="decision", content={"decision": f"Number {n}.", **said}, sensitivity=sensitivity
        )
        for n in range(201)
    ]
    answer = await client.post(BATCH, json={"events": events})
    assert answer.status_code == 201, answer.text


async def test_conflicts_of_a_subject_are_looked_up_in_an_index(database: db.Target) -> None:
    said = [{"decision": f"Number {n}.", "subject": f"subject {n}"} for n in range(400)]
    writes = [make.write(kind="decision", content=content) for content in said]
    conn = await db.connect(database, None)
    async with conn.transaction():
        await db.set_tenant(conn, "default")
        await record.append(conn, "default", writes, make.NOW)
    await conn.execute("analyze decisions")
    asked = ("default", "private", "none", "default", "project", "subject 7", "Tabs.")
    rows = await conn.fetch(f"explain {db.query('project.rivals')}", *asked)
    await conn.close()

    assert "decisions_subject" in "\n".join(row[0] for row in rows)
