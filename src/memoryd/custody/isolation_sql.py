"""Crossing between tenants in SQL, as the daemon's role: what a mistake in a query could reach."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import asyncpg

from memoryd.core import db

Try = Callable[[asyncpg.Connection, str], Awaitable[str | None]]


@dataclass(frozen=True)
class Attempt:
    """One way of crossing that was tried; not `ok` where it got across."""

    name: str
    ok: bool
    detail: str


async def attempts(target: db.Target, own: str, victim: str) -> list[Attempt]:
    """Every way, each in a transaction of its own that is taken back."""
    conn = await db.connect(target, db.APP)
    try:
        tables = [row[0] for row in await conn.fetch(db.query("isolation.tables"))]
        return [await _try(conn, own, victim, *one) for one in _ways(tables)]
    finally:
        await conn.close()


async def _try(
    conn: asyncpg.Connection, own: str, victim: str, name: str, tenant: bool, attempt: Try
) -> Attempt:
    """What `attempt` got hold of; a refusal by the database is what we want."""
    transaction = conn.transaction()
    await transaction.start()
    try:
        if tenant:
            await db.set_tenant(conn, own)
        found = await attempt(conn, victim)
        detail = found or "nothing"
        return Attempt(f"sql: {name}", found is None, detail)
    except asyncpg.PostgresError as error:
        refused = isinstance(error, asyncpg.InsufficientPrivilegeError)
        detail = "refused" if refused else f"{type(error).__name__}: {error}"
        return Attempt(f"sql: {name}", refused, detail)
    finally:
        await transaction.rollback()


def _ways(tables: Sequence[str]) -> list[tuple[str, bool, Try]]:
    """What is tried, and whether as another tenant (or as none)."""
    run = _runs
    return [
        ("read every table without a tenant", False, _counting(tables, "isolation.count")),
        ("read every table as another tenant", True, _counting(tables, "isolation.count_of")),
        ("change every table as another tenant", True, _writing(tables, "isolation.change")),
        (
            "remove rows of every table as another tenant",
            True,
            _writing(tables, "isolation.remove"),
        ),
        ("the tenant of the transaction before", False, _after_another),
        ("write an event for another tenant", True, run("isolation.plant_event", named=True)),
        ("make a key of another tenant", True, run("isolation.take_over", named=True)),
        ("make a tenant's row without being it", False, run("isolation.plant_tenant", named=True)),
        ("switch row security off", True, _without_row_security(tables)),
        ("disable row security", True, run("isolation.disable")),
        ("drop a policy", True, run("isolation.drop_policy")),
        ("add a policy that allows all", True, run("isolation.allow_all")),
        ("replace the function that policies ask", True, run("isolation.replace_function")),
        ("disable the append-only triggers", True, run("isolation.disable_trigger")),
        ("truncate the log", True, run("isolation.truncate")),
        ("make a table in the schema", True, run("isolation.make_table")),
        ("a function of one's own in the path", True, _shadowing(tables)),
        ("a function that looks before the policy", True, _spying),
        ("the planner's statistics", True, _number("isolation.statistics")),
        ("functions with the owner's rights", True, _number("isolation.definers")),
        ("becoming the owner", True, _number("isolation.member")),
    ]


def on(table: str, name: str) -> str:
    """The query is written for the chunks; every table has the same."""
    return db.query(name).replace("memoryd.chunks", f'memoryd."{table}"')


def _counting(tables: Sequence[str], name: str) -> Try:
    async def attempt(conn: asyncpg.Connection, victim: str) -> str | None:
        given = [victim] if name.endswith("count_of") else []
        counts = {table: await conn.fetchval(on(table, name), *given) for table in tables}
        return _rows(counts)

    return attempt


def _writing(tables: Sequence[str], name: str) -> Try:
    """A table that may not be written at all is as good as one without rows."""

    async def attempt(conn: asyncpg.Connection, victim: str) -> str | None:
        counts = {}
        for table in tables:
            try:
                async with conn.transaction():
                    status = await conn.execute(on(table, name), victim)
                    counts[table] = int(status.rpartition(" ")[2])
            except asyncpg.InsufficientPrivilegeError:
                counts[table] = 0
        return _rows(counts)

    return attempt


def _rows(counts: dict[str, int]) -> str | None:
    found = [f"{count} of {table}" for table, count in counts.items() if count]
    return ", ".join(found) or None


async def _after_another(conn: asyncpg.Connection, victim: str) -> str | None:
    """A setting of a transaction ends with it, also where that is one inside another."""
    inner = conn.transaction()
    await inner.start()
    await db.set_tenant(conn, victim)
    await inner.rollback()
    count = await conn.fetchval(on("events", "isolation.count"))
    return f"{count} events" if count else None


def _runs(name: str, named: bool = False) -> Try:
    async def attempt(conn: asyncpg.Connection, victim: str) -> str | None:
        await conn.execute(db.query(name), *([victim] if named else []))
        return "it was done"

    return attempt


def _without_row_security(tables: Sequence[str]) -> Try:
    async def attempt(conn: asyncpg.Connection, victim: str) -> str | None:
        await conn.execute(db.query("isolation.row_security_off"))
        return await _counting(tables, "isolation.count_of")(conn, victim)

    return attempt


def _shadowing(tables: Sequence[str]) -> Try:
    async def attempt(conn: asyncpg.Connection, victim: str) -> str | None:
        await conn.execute(db.query("isolation.name_victim"), victim)
        await conn.execute(db.query("isolation.shadow_setting"))
        await conn.execute(db.query("isolation.shadow_tenant"))
        await conn.execute(db.query("isolation.shadow_path"))
        return await _counting(tables, "isolation.count_of")(conn, victim)

    return attempt


async def _spying(conn: asyncpg.Connection, victim: str) -> str | None:
    await conn.execute(db.query("isolation.name_victim"), victim)
    await conn.execute(db.query("isolation.spy"))
    await conn.execute(db.query("isolation.look_with_spy"))
    return None


def _number(name: str) -> Try:
    async def attempt(conn: asyncpg.Connection, _: str) -> str | None:
        count = await conn.fetchval(db.query(name))
        return f"{count} found" if count else None

    return attempt
