"""Checks that an operator can run on a live system; each line that fails says what to do."""

import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from memoryd import __version__, daemon
from memoryd.core import db, errors, tokens
from memoryd.core.config import Settings
from memoryd.custody import migrate
from memoryd.seal import keys as tenant_keys
from memoryd.seal import master

LEAST_FREE = 1024**3  # bytes of disk; a log that cannot grow loses what happens next


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    detail: str
    do: str = ""


async def examine(settings: Settings, say: daemon.Say) -> list[Check]:
    """All checks, in the order in which they build on each other."""
    checks = [_versions(), _vocabulary(), _key_file(settings.home)]
    try:
        async with daemon.postgres(settings, say) as (target, server):
            checks.append(_disk(server.data if server else settings.home))
            checks += await _database(target)
    except errors.MemorydError as error:
        checks.append(
            Check("server", False, error.detail, "see the message; then run doctor again")
        )
    return checks


def _versions() -> Check:
    return Check("versions", True, f"memoryd {__version__}, Python {platform.python_version()}")


def _vocabulary() -> Check:
    found = tokens.count("hello world")
    return Check(
        "tokens", found == 2, "o200k_base counts", "reinstall memoryd: its data is damaged"
    )


def _key_file(home: Path) -> Check:
    file = home / master.FILE
    loose = master.readable_by_others(home)
    return Check(
        "master key",
        not loose,
        f"others may read {file}" if loose else "for its owner alone, where it is a file",
        f"run: chmod 600 {file}; if somebody may have read it: memoryd seal rewrap",
    )


def _disk(folder: Path) -> Check:
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    return Check(
        "disk",
        free > LEAST_FREE,
        f"{free / 1024**3:,.1f} GiB free at {folder}",
        "free some space, or move MEMORYD_HOME to a larger disk",
    )


async def _database(target: db.Target) -> list[Check]:
    try:
        conn = await db.connect(target, None)
    except (OSError, asyncpg.PostgresError, ValueError) as error:
        return [Check("server", False, str(error), "check MEMORYD_DATABASE_URL and that it runs")]
    try:
        return await _examine(conn, target)
    except asyncpg.PostgresError as error:
        do = "make the user a member of memoryd_owner and memoryd_app, with inherit"
        return [Check("schema", False, str(error), do)]
    finally:
        await conn.close()


async def _examine(conn: asyncpg.Connection, target: db.Target) -> list[Check]:
    number = conn.get_server_version()
    place = "embedded" if target.embedded else "outside"
    found = await migrate.version(conn)
    checks = [
        Check(
            "server",
            number[0] * 10_000 >= migrate.OLDEST_SERVER,
            f"PostgreSQL {number.major}.{number.micro}, {place}",
            "memoryd needs PostgreSQL 15 or newer",
        ),
        Check(
            "schema",
            found == migrate.latest(),
            f"version {found}, this memoryd speaks {migrate.latest()}",
            "run: memoryd migrate",
        ),
    ]
    if found == migrate.latest():
        checks.append(await _sealing(conn))
    return checks + (await _schema(conn) if found else [])


async def _sealing(conn: asyncpg.Connection) -> Check:
    state = await tenant_keys.state(conn)
    said = {
        "unused": "nothing is sealed yet",
        "open": "the master key opens what is `high`",
        "held": "the master key is not here any more",
        "missing": "the master key is not here",
        "wrong": "the master key is another one than this database was used with",
    }
    return Check("sealing", state not in tenant_keys.DO, said[state], tenant_keys.DO.get(state, ""))


async def _schema(conn: asyncpg.Connection) -> list[Check]:
    loose = [row[0] for row in await conn.fetch(db.query("doctor.unprotected"))]
    rewritable = [row[0] for row in await conn.fetch(db.query("doctor.rewritable"))]
    bypass = await conn.fetchval(db.query("doctor.bypass"))
    complete = await conn.fetchval(db.query("doctor.views_complete"))
    return [
        Check(
            "row security",
            not loose,
            f"not forced on {', '.join(loose)}" if loose else "forced on every table",
            "restore the schema: someone altered it",
        ),
        Check(
            "daemon's role",
            not bypass,
            f"{db.APP} passes row security"
            if bypass
            else f"{db.APP} owns nothing and cannot pass row security",
            f"run as an administrator: alter role {db.APP} nosuperuser nobypassrls",
        ),
        Check(
            "append-only",
            not rewritable,
            f"not kept on {', '.join(rewritable)}" if rewritable else "kept by the database",
            "restore the schema: someone altered it",
        ),
        Check(
            "views", complete, "complete" if complete else "not replayed", "run: memoryd rebuild"
        ),
    ]
