"""A tenant's key never reads, counts or infers another tenant's rows: by route, and in SQL."""

from typing import Any

import asyncpg
import httpx
import pytest

import conftest
import make
from memoryd.core import db, ids, record
from memoryd.daemon import Daemon
from memoryd.doors import app

SECRET = "the launch is on the ninth"
VIEW = {"name": "rules.project", "owner": "", "text": SECRET}
HANDOFF = {"to_agent": "default", "note": SECRET, "packet": SECRET}
FACT = {"memory_id": "aaaaaaaa", "op": "add", "type": "fact", "category": "context", "text": SECRET}
REFERENCE = {
    "name": "plan.txt",
    "text": SECRET,
    "reference": {"key": "plan", "description": SECRET},
}
PLACE = {
    "memory_id": "bbbbbbbb",
    "op": "place",
    "place_id": "p1",
    "subject": SECRET,
    "mention": {"conversation_id": "c1", "message_id": "m1"},
}
EVENTS = 9  # of the victim
RETIRE = {"kind": "retire", "sources": [f"{FACT['memory_id']}.1"]}  # what its proposal is named by


@pytest.fixture
async def victim(daemon: Daemon, tenant: str) -> dict[str, str]:
    """A tenant with a row in every table."""
    other = f"victim-of-{tenant}"
    writes = [
        make.write(other, content={"text": SECRET}, tags=("plan",), idempotency_key="k1"),
        make.write(other, kind="decision", content={"decision": SECRET}),
        make.write(other, kind="task_update", content={"title": SECRET}),
        make.write(other, kind="artifact", content=REFERENCE),
        make.write(other, kind="view", content=VIEW, channel="public"),
        make.write(other, kind="summary", content={"about": "s1", "text": SECRET}),
        make.write(other, kind="handoff", content=HANDOFF, channel="agent"),
        make.write(other, kind="memory", content=FACT),
        make.write(other, kind="memory", content=PLACE),
    ]
    async with db.tenant(daemon.pool, other) as conn:
        await record.append(conn, other, writes, make.NOW)
        await conn.execute(
            "insert into receipts (tenant_id, acb_id, ts, position, inputs, items)"
            " values ($1, 'acb_1', now(), 1, '{}', '{}')",
            other,
        )
    return {
        "tenant": other,
        "event_id": writes[0].event.event_id,
        "acb_id": "acb_1",
        "artifact_id": writes[3].event.content["artifact_id"],
        "decision_id": ids.same("dec", writes[1].event.event_id),
        "task_id": ids.same("tsk", writes[2].event.event_id),
        "name": VIEW["name"],
        "summary_id": ids.same("sum", writes[5].event.event_id),
        "handoff_id": ids.same("hnd", writes[6].event.event_id),
        "memory_id": FACT["memory_id"],
        "place_id": "p1",
        "key": "plan",
        "user_id": "default",
        "agent_id": "default",
        "team_id": "red",
        "proposal_id": f"prp_{ids.digest(RETIRE).hex()[:16]}",
    }


def routes() -> list[tuple[str, str]]:
    """Every route of the API document: a new one is tried without anyone thinking of it."""
    paths: dict[str, dict[str, Any]] = app.document().openapi()["paths"]
    return [(method.upper(), path) for path, found in paths.items() for method in found]


@pytest.mark.parametrize(("method", "path"), routes())
async def test_no_route_shows_another_tenant(
    client: httpx.AsyncClient, victim: dict[str, str], method: str, path: str
) -> None:
    address = path.format(**victim)
    asked = [
        {},
        {"tenant_id": victim["tenant"]},
        {"session_id": "s1", "tag": "plan", "kind": "message", "actor": "ada"},
        {"channel": "team", "user_id": "default"},
        {"text": SECRET, "status": "all"},
    ]
    bodies = [
        None,
        make.body(),
        make.body(tenant_id=victim["tenant"], idempotency_key="k1"),
        {"content": "Another text", "category": "context", "tenant_id": victim["tenant"]},
        {"content": "Another text"},
        {"conversation_id": "c1", "message_id": "m1"},
    ]
    answers = [
        await client.request(method, address, params=params, json=json)
        for params in asked
        for json in bodies
    ]

    for answer in answers:
        assert answer.status_code < 500
        assert SECRET not in answer.text
        assert victim["event_id"] not in answer.text or victim["event_id"] in str(answer.url)


def calls(victim: dict[str, str]) -> list[tuple[str, dict[str, Any]]]:
    """Every tool that reads, and every resource, for what the victim has."""
    uses: list[tuple[str, dict[str, Any]]] = [
        ("memory_build_acb", {"query_text": SECRET}),
        ("memory_query_decisions", {"status": "all", "text": SECRET}),
        ("memory_get_artifact", {"artifact_id": victim["artifact_id"]}),
        ("retrieve_memory", {"memory_key": victim["event_id"]}),
        ("search_memory", {"query": SECRET}),
        ("update_memory", {"memory_id": victim["memory_id"], "content": "Another text"}),
        ("manage_user_memory", {"operation": "get_memory"}),
    ]
    uris = (f"memory://bundle/{victim['acb_id']}", "memory://views/rules.project")
    return [
        ("resources/list", {}),
        ("prompts/get", {"name": "recall", "arguments": {"about": "the launch"}}),
        *(("resources/read", {"uri": uri}) for uri in uris),
        *(("tools/call", {"name": name, "arguments": given}) for name, given in uses),
    ]


async def test_no_message_of_mcp_shows_another_tenant(
    client: httpx.AsyncClient, victim: dict[str, str]
) -> None:
    sent: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        for method, params in calls(victim)
    ]
    answers = [(one, await client.post("/mcp", json=one)) for one in sent]
    named = await client.post("/mcp", params={"tenant_id": victim["tenant"]}, json=sent[0])

    for asked, answer in answers:
        assert answer.status_code == 200, answer.text
        assert SECRET not in answer.text.replace(str(asked["params"].get("arguments")), "")
        assert victim["event_id"] not in answer.text or victim["event_id"] in str(asked)
    assert named.status_code == 403


async def test_what_is_not_there_and_what_is_hidden_look_the_same(
    client: httpx.AsyncClient, victim: dict[str, str]
) -> None:
    hidden = await client.get(f"/api/v1/events/{victim['event_id']}")
    missing = await client.get("/api/v1/events/evt_00000000000000000000000000")

    assert hidden.status_code == missing.status_code == 404
    assert hidden.text.replace(victim["event_id"], "X") == missing.text.replace(
        "evt_00000000000000000000000000", "X"
    )


async def test_a_foreign_tenant_in_the_body_writes_nothing(
    client: httpx.AsyncClient, daemon: Daemon, victim: dict[str, str]
) -> None:
    answer = await client.post("/api/v1/events", json=make.body(tenant_id=victim["tenant"]))

    assert answer.status_code == 403
    assert answer.json()["field"] == "tenant_id"
    async with db.tenant(daemon.pool, victim["tenant"]) as conn:
        assert await conn.fetchval("select count(*) from events") == EVENTS


async def test_positions_of_a_new_tenant_begin_at_one(
    client: httpx.AsyncClient, victim: dict[str, str]
) -> None:
    """Otherwise a tenant could count what others write."""
    await client.post("/api/v1/events", json=make.body())
    page = (await client.get("/api/v1/events")).json()

    assert [event["position"] for event in page["events"]] == [1]


async def tables(conn: db.Conn) -> list[str]:
    rows = await conn.fetch(
        """select c.relname::text from pg_class c
           join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
           where c.relnamespace = 'memoryd'::regnamespace and c.relkind = 'r'"""
    )
    return [row[0] for row in rows]


async def test_in_sql_the_daemon_role_sees_its_tenant_alone(
    conn: db.Conn, victim: dict[str, str]
) -> None:
    names = await tables(conn)
    assert {"events", "chunks", "decisions", "tasks", "artifacts", "keys", "tenants"} <= set(names)
    counts = {name: await conn.fetchval(f"select count(*) from {name}") for name in names}

    assert counts == dict.fromkeys(names, 0)


async def test_in_sql_without_a_tenant_there_is_nothing(
    daemon: Daemon, victim: dict[str, str]
) -> None:
    async with daemon.pool.acquire() as bare:
        counts = {
            name: await bare.fetchval(f"select count(*) from {name}") for name in await tables(bare)
        }

    assert set(counts.values()) == {0}


@pytest.mark.parametrize(
    "statement",
    [
        "update chunks set text = 'changed' returning 1",
        "delete from chunks returning 1",
        "update decisions set decision = 'changed' returning 1",
        "delete from tasks returning 1",
        "update keys set revoked_at = now() returning 1",
    ],
)
async def test_in_sql_another_tenants_rows_cannot_be_changed(
    conn: db.Conn, victim: dict[str, str], statement: str
) -> None:
    assert await conn.fetch(statement) == []


async def test_in_sql_a_row_cannot_be_written_for_another_tenant(
    conn: db.Conn, victim: dict[str, str]
) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
        await conn.execute(
            "insert into tenants (tenant_id, created_at) values ('someone-else', now())"
        )


async def test_in_sql_a_unique_key_does_not_tell_of_others(
    conn: db.Conn, tenant: str, victim: dict[str, str]
) -> None:
    """The victim's idempotency key and event id are free for this tenant."""
    write = make.write(tenant, idempotency_key="k1")
    (answer,) = await record.append(conn, tenant, [write], make.NOW)

    assert answer.event_id == write.event.event_id


async def test_the_pool_forgets_the_tenant_with_the_transaction(
    daemon: Daemon, victim: dict[str, str]
) -> None:
    async with daemon.pool.acquire() as used:
        async with used.transaction():
            await db.set_tenant(used, victim["tenant"])
            assert await used.fetchval("select count(*) from events") == EVENTS

        assert await used.fetchval("select count(*) from events") == 0


async def test_without_a_key_only_the_default_tenant_answers(
    url: str, victim: dict[str, str]
) -> None:
    async with conftest.asking(url) as anonymous:
        foreign = await anonymous.get("/api/v1/events", params={"tenant_id": victim["tenant"]})
        own = await anonymous.get("/api/v1/events")

    assert foreign.status_code == 403
    assert SECRET not in own.text


async def test_readiness_counts_nobody_elses_rows(
    client: httpx.AsyncClient, victim: dict[str, str]
) -> None:
    ready = await client.get("/readyz")

    assert ready.json()["pending_vectors"] == 0
