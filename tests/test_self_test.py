"""`memoryd doctor --isolation`: it finds a hole where there is one, and leaves nothing behind."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import httpx
import pytest

import make
from conftest import running
from memoryd.core import db, errors, record
from memoryd.custody import isolation, isolation_sql
from memoryd.custody.isolation_sql import Attempt


async def examine(database: db.Target) -> list[Attempt]:
    async with running(database) as client:
        return await isolation.examine(database, client, make.NOW)


async def rows(database: db.Target) -> dict[str, int]:
    """Of every tenant, in every table: what only a superuser sees."""
    conn = await db.connect(database, None)
    tables = [row[0] for row in await conn.fetch(db.query("isolation.tables"))]
    found = {name: await conn.fetchval(f"select count(*) from memoryd.{name}") for name in tables}
    await conn.close()
    return found


async def test_nothing_crosses_and_nothing_is_left(database: db.Target) -> None:
    """Neither of this test nor of one that was killed; what others recorded stays."""
    conn = await db.connect(database, db.APP)
    async with conn.transaction():
        await record.append(conn, "acme", [make.write("acme")], make.NOW)
    await conn.close()
    before = await rows(database)
    owner = await db.connect(database, db.OWNER)
    await isolation._make(owner, isolation.PREFIX + "0" * 16, make.NOW)  # as if killed
    await owner.close()
    attempts = await examine(database)

    assert [one for one in attempts if not one.ok] == []
    assert len([one for one in attempts if one.name.startswith("http: ")]) > 25
    assert len([one for one in attempts if one.name.startswith("sql: ")]) > 15
    after = await rows(database)
    for made in ("token_codes", "code_segments"):  # vectors of what others recorded, meanwhile
        del before[made], after[made]
    assert after == before


HOLES = (
    "alter table events disable row level security",
    "grant memoryd_owner to memoryd_app",
    "grant create on schema memoryd to memoryd_app",
)


@asynccontextmanager
async def torn(database: db.Target, hole: str) -> AsyncIterator[None]:
    conn = await db.connect(database, None)
    await conn.execute(hole)
    try:
        yield
    finally:  # roles are the whole server's
        await conn.execute("alter role memoryd_app nobypassrls")
        await conn.execute("revoke memoryd_owner from memoryd_app")
        await conn.close()


async def test_holes_are_found(database: db.Target) -> None:
    async with torn(database, ";".join(HOLES)):
        attempts = await examine(database)

    leaks = [one.name for one in attempts if not one.ok]
    found = ("sql: read every table", "sql: becoming the owner", "sql: make a table in the schema")
    assert all(any(name.startswith(one) for name in leaks) for one in found), leaks
    assert "nothing is left behind" not in leaks


@pytest.mark.parametrize(
    "hole",
    [
        "create policy all_of_it on keys for select using (true)",
        "alter role memoryd_app bypassrls",
    ],
)
async def test_each_hole_alone_is_found_in_sql(database: db.Target, hole: str) -> None:
    """Without the thousands of requests that a whole examination makes besides."""
    async with running(database) as client, torn(database, hole):
        async with isolation.throwaway(database, make.NOW) as (own, victim):
            await isolation._fill(client, victim)
            attempts = await isolation_sql.attempts(database, own.name, victim.name)
        left = await isolation._leftovers(database, [own.name, victim.name])

    leaks = [one.name for one in attempts if not one.ok]
    assert any(name.startswith("sql: read every table") for name in leaks), leaks
    assert left == ""


async def test_an_interrupted_test_leaves_nothing(database: db.Target) -> None:
    before = await rows(database)
    async with running(database) as client:
        task = asyncio.create_task(isolation.examine(database, client, make.NOW))
        while (await rows(database))["decisions"] == before["decisions"]:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert await rows(database) == before


async def test_a_living_test_is_left_alone_by_another(database: db.Target) -> None:
    before = await rows(database)
    async with isolation.throwaway(database, make.NOW) as (own, _):
        async with isolation.throwaway(database, make.NOW):
            pass  # it begins and ends as every test does, with removing what is left behind
        during = await rows(database)
        owner = await db.connect(database, None)
        kept = await owner.fetchval("select count(*) from keys where tenant_id = $1", own.name)
        await owner.close()

    assert (kept, during["keys"]) == (1, before["keys"] + 2)
    assert await rows(database) == before


async def test_only_a_throwaway_tenant_is_removed(database: db.Target) -> None:
    owner = await db.connect(database, db.OWNER)
    async with owner.transaction():
        await db.set_tenant(owner, "memoryd.doctor.isolation.acme")
        with pytest.raises(asyncpg.RaiseError, match="no throw-away tenant"):
            await owner.execute(db.query("isolation.forget"))
    await owner.close()


async def test_a_daemon_of_another_database_is_told_apart(
    database: db.Target, client: httpx.AsyncClient
) -> None:
    """Its keys are unknown there; nothing is claimed of it."""
    with pytest.raises(errors.Unauthorized, match="does not know a key that was just made"):
        await isolation.examine(database, client, make.NOW)
