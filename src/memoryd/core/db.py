"""The pool, the named queries, and the tenant of a transaction.

The daemon works as `memoryd_app`, which owns nothing and cannot pass row-level security; the
tenant is set inside each transaction, never for a pooled connection.
"""

import functools
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from memoryd.seal import connection
from memoryd.seal.vault import Vault

Conn = asyncpg.Connection | PoolConnectionProxy
Pool = asyncpg.Pool

OWNER, APP = "memoryd_owner", "memoryd_app"
SEARCH_PATH = "memoryd, pg_temp"
# An outside server may have other defaults: an answer means that it is on disk, and a writer must
# see what the one before it committed.
SESSION = (
    "set timezone = 'UTC'; set synchronous_commit = on; "
    "set default_transaction_isolation = 'read committed'"
)
STATEMENT_SECONDS = 60  # a query that takes longer is a mistake; rebuilds set their own

# What a lost or refused connection looks like: the write's fate is unknown, the client may retry.
CONNECTION_LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
    OSError,
    TimeoutError,
)


@dataclass(frozen=True)
class Target:
    """Where PostgreSQL is: keyword arguments of asyncpg, so that no password enters a URL."""

    arguments: Mapping[str, Any]
    embedded: bool
    vault: Vault = field(default_factory=Vault)  # opens what is sealed there


async def connect(target: Target, role: str | None, **more: Any) -> asyncpg.Connection:
    """One connection of its own, outside the pool; `role=None` stays the login user."""
    opening = connection.of(target.vault, query("seal.keys"))
    conn = await asyncpg.connect(**target.arguments, connection_class=opening, **more)
    await _prepare(conn, role)
    return conn


async def open_pool(target: Target, size: int) -> Pool:
    async def init(conn: Conn) -> None:
        await _prepare(conn, APP)
        # Every query of the daemon has its index; a plan made while a table was empty must not go
        # on scanning it when it has grown.
        await conn.execute("set enable_seqscan = off")

    async def reset(conn: Conn) -> None:
        """Nothing to do: settings and locks are all of a transaction, and this saves a trip."""

    return await asyncpg.create_pool(
        **target.arguments,
        connection_class=connection.of(target.vault, query("seal.keys")),
        min_size=1,
        max_size=size,
        init=init,
        reset=reset,
        command_timeout=STATEMENT_SECONDS,
        max_inactive_connection_lifetime=300,
    )


async def _prepare(conn: Conn, role: str | None) -> None:
    await connection.prepare(conn)
    await conn.execute(f"set search_path = {SEARCH_PATH}; {SESSION}")
    if role is not None:
        await conn.execute(f"set role {role}")


@asynccontextmanager
async def borrow(pool: Pool, **more: Any) -> AsyncIterator[Conn]:
    """A connection of the pool; one that broke in use does not go back into it."""
    async with pool.acquire(**more) as conn:
        try:
            yield conn
        except CONNECTION_LOST:
            conn.terminate()
            raise


@asynccontextmanager
async def tenant(pool: Pool, tenant_id: str) -> AsyncIterator[Conn]:
    """A transaction that sees and writes the rows of one tenant."""
    async with borrow(pool) as conn, conn.transaction():
        await set_tenant(conn, tenant_id)
        yield conn


@asynccontextmanager
async def snapshot(pool: Pool, tenant_id: str) -> AsyncIterator[Conn]:
    """A transaction that reads one tenant at one moment, whatever is merged meanwhile.

    Its beginning is one trip, and a statement of several commands takes no arguments: a name in
    hexadecimal cannot end its literal.
    """
    named = query("db.name_tenant").replace("$1", f"'\\x{tenant_id.encode().hex()}'")
    async with borrow(pool) as conn:
        try:
            await conn.execute(f"begin isolation level repeatable read read only; {named}")
            yield conn
        except BaseException:
            await conn.execute("rollback")
            raise
        await conn.execute("commit")


async def set_tenant(conn: Conn, tenant_id: str) -> None:
    await conn.execute(query("db.set_tenant"), tenant_id)


def query(name: str) -> str:
    """The SQL called `file.name` in `sql/file.sql`."""
    file, _, statement = name.partition(".")
    return queries(file)[statement]


@functools.cache
def queries(file: str) -> dict[str, str]:
    text = read_sql(f"{file}.sql")
    parts = re.split(r"(?m)^-- name: (\w+)\n", text)
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))


def read_sql(name: str) -> str:
    return resources.files("memoryd.core").joinpath("sql", name).read_text()
