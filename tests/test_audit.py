"""Who asked for what: kept for admins, free of content, and at nobody's expense."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

import make
from conftest import MakeKey, asking, running
from memoryd import daemon as composition
from memoryd.core import db
from memoryd.core.model import Caller
from memoryd.custody import audit
from memoryd.daemon import Daemon
from test_bundle import build
from wire import ARTIFACTS, EVENTS, VIEWS, assert_problem, post

AUDIT = "/api/v1/audit"
WORD = "zanzibar"


@pytest.fixture
async def admin(url: str, tenant: str, make_key: MakeKey) -> AsyncIterator[httpx.AsyncClient]:
    async with asking(url, await make_key(tenant, role="admin")) as connected:
        yield connected


async def accesses(admin: httpx.AsyncClient, **params: Any) -> list[dict[str, Any]]:
    answer = await admin.get(AUDIT, params=params)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["accesses"]
    return found


async def test_a_read_says_who_what_and_how_much(
    client: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    for _ in range(3):
        await post(client)
    await client.get(EVENTS, params={"user_id": "bob", "channel": "team", "limit": 2})
    await client.get(EVENTS, params={"limit": 2})
    last, before = await accesses(admin, route=EVENTS, limit=2)

    assert (last["method"], last["status"], last["items"], last["recorded"]) == ("GET", 200, 2, 0)
    assert (last["channel"], last["user_id"], last["agent_id"]) == ("private", "default", "default")
    assert (before["channel"], before["user_id"], before["items"]) == ("team", "bob", 0)
    assert last["key_id"] == before["key_id"]
    assert last["key_id"].startswith("key_")
    assert last["role"] == "agent"


async def test_a_write_names_its_event(client: httpx.AsyncClient, admin: httpx.AsyncClient) -> None:
    recorded = await post(client, user_id="ada", channel="team")
    batch = {"events": [make.body(), make.body()]}
    await client.post(f"{EVENTS}/batch", json=batch)
    many, one = await accesses(admin, limit=2)

    assert (one["ref"], one["recorded"], one["status"]) == (recorded["event_id"], 1, 201)
    assert (one["channel"], one["user_id"]) == ("team", "ada")
    assert (many["route"], many["recorded"]) == (f"{EVENTS}/batch", 2)


async def test_a_bundle_is_found_by_its_id(
    client: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    """And by whose it is, though who reads it again need not say so."""
    empty = await build(client, user_id="ada", session_id="empty")
    await post(client, user_id="ada")
    bundle = await build(client, user_id="ada")
    path = f"/api/v1/acb/{bundle['acb_id']}"
    await client.get(path)
    await client.post(f"{path}/diff", json={"against": empty["acb_id"]})
    compared, read, built = await accesses(admin, bundle=bundle["acb_id"])

    routes = ["/api/v1/acb/build", "/api/v1/acb/{acb_id}", "/api/v1/acb/{acb_id}/diff"]
    assert [one["route"] for one in (built, read, compared)] == routes
    assert built["items"] == read["items"] == sum(len(part["items"]) for part in bundle["sections"])
    assert compared["items"] == 1
    assert {one["user_id"] for one in (built, read, compared)} == {"ada"}


async def test_nothing_that_was_said_is_kept(
    client: httpx.AsyncClient, admin: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    said = make.body(content={"text": WORD}, tags=[WORD], session_id=WORD, idempotency_key=WORD)
    await client.post(EVENTS, json=said)
    await client.post("/api/v1/search", json={"query": WORD})
    await client.get(EVENTS, params={"tag": WORD, "actor": WORD})
    await client.get(f"{EVENTS}/{WORD}")
    await client.put(f"{VIEWS}/rules.project", json={"text": WORD})
    await client.post(ARTIFACTS, params={"session_id": "s1", "name": WORD}, content=WORD.encode())
    await client.post(EVENTS, json={WORD: WORD})
    found = await accesses(admin)

    assert len(found) == 7
    assert {one["status"] for one in found} == {200, 201, 404, 422}
    async with db.tenant(daemon.pool, tenant) as conn:
        rows = await conn.fetch("select audit::text as row from audit")
    assert WORD not in str(rows)


async def test_a_refusal_is_kept_without_what_it_asked_for(
    client: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    await client.get(f"{EVENTS}/evt_00000000000000000000000000")
    (one,) = await accesses(admin, route=f"{EVENTS}/{{event_id}}")

    assert (one["status"], one["items"], one["ref"]) == (404, 0, None)


@pytest.mark.parametrize("role", ["reader", "agent"])
async def test_only_an_admin_reads_it(url: str, tenant: str, make_key: MakeKey, role: str) -> None:
    async with asking(url, await make_key(tenant, role=role)) as other:
        answer = await other.get(AUDIT)

    assert_problem(answer, 403)


async def test_an_admin_sees_their_tenant_alone(
    client: httpx.AsyncClient, url: str, tenant: str, make_key: MakeKey
) -> None:
    await post(client)
    async with asking(url, await make_key(f"other-{tenant}", role="admin")) as other:
        found = await accesses(other)

    assert found == []


async def test_pages_go_on_where_the_one_before_ended(
    client: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    for _ in range(5):
        await client.get(EVENTS)
    first = (await admin.get(AUDIT, params={"route": EVENTS, "limit": 3})).json()
    rest = await accesses(admin, route=EVENTS, cursor=first["next"])

    ids = [one["access_id"] for one in [*first["accesses"], *rest]]
    assert len(ids) == 5
    assert ids == sorted(set(ids), reverse=True)


async def test_filters_by_time_key_and_user(
    client: httpx.AsyncClient, admin: httpx.AsyncClient, url: str, tenant: str, make_key: MakeKey
) -> None:
    await client.get(EVENTS)
    async with asking(url, await make_key(tenant, user_id="bob")) as bob:
        await bob.get(EVENTS)
    (his,) = await accesses(admin, user_id="bob")

    assert his["user_id"] == "bob"
    assert await accesses(admin, key_id=his["key_id"]) == [his]
    assert his in await accesses(admin, since=his["at"])
    assert his not in await accesses(admin, until=his["at"])
    assert await accesses(admin, since="9999-12-31T23:59:59-12:00") == []


async def test_probes_and_strangers_are_not_kept(
    url: str, admin: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    await client.get("/readyz")
    async with asking(url, "mdk_wrong") as stranger:
        assert (await stranger.get(EVENTS)).status_code == 401

    assert await accesses(admin) == []


async def test_what_waits_is_written_when_the_daemon_stops(database: db.Target) -> None:
    async with running(database) as client:
        await client.get(EVENTS)

    conn = await db.connect(database, db.APP)
    async with conn.transaction():
        await db.set_tenant(conn, "default")
        assert await conn.fetchval("select count(*) from audit") == 1
    await conn.close()


async def test_old_accesses_go(database: db.Target) -> None:
    async with running(database) as client:
        await client.get(EVENTS)
        later = composition.now()
        assert len(await accesses(client)) == 1
        await audit.expire(database, later)

        left = await accesses(client)

    assert [one["route"] for one in left] == [AUDIT]


async def test_in_sql_the_daemon_changes_no_access(conn: db.Conn) -> None:
    for statement in ("update audit set status = 200", "delete from audit", "truncate audit"):
        with pytest.raises(Exception, match="permission denied"):
            async with conn.transaction():
                await conn.execute(statement)


def note(number: int) -> audit.Access:
    facts = {"access_id": f"acc_{number:026}", "at": make.NOW, "method": "GET", "route": EVENTS}
    caller = Caller(tenant_id="t", role="agent")
    return audit.access(audit.Note(), caller, ref=None, status=200, **facts)


async def test_a_database_that_is_away_costs_nothing_but_memory(
    daemon: Daemon, database: db.Target, tenant: str
) -> None:
    pool = await db.open_pool(database, 1)
    recorder = audit.Recorder(pool)
    recorder.add(tenant, note(1))
    await pool.close()
    await recorder.flush()
    recorder._pool = daemon.pool
    await recorder.flush()

    async with db.tenant(daemon.pool, tenant) as conn:
        assert len(await audit.page(conn, tenant, audit.Filters(), None, 10)) == 1


async def test_more_than_can_wait_is_dropped(daemon: Daemon, tenant: str) -> None:
    recorder = audit.Recorder(daemon.pool)
    for number in range(audit.MOST_WAITING + 5):
        recorder.add(tenant, note(number))

    assert len(recorder._waiting) == audit.MOST_WAITING
