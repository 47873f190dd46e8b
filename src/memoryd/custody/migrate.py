"""Schema: install it, bring an older one up to date, and say what an outside server lacks.

Ground truth moves by numbered migrations, upwards only; the views are dropped and replayed when
their definition changes.
"""

import hashlib
from importlib import resources

import asyncpg

from memoryd.core import db, errors
from memoryd.search import analyze

OLDEST_SERVER = 150000
_LOCK = 0x6D656D6F  # one migrator at a time


def latest() -> int:
    """The schema version that this program speaks."""
    return max(migrations())


def migrations() -> dict[int, str]:
    """Version → SQL, from `migrations/0001_name.sql`."""
    folder = resources.files("memoryd.core").joinpath("sql", "migrations")
    files = sorted((file for file in folder.iterdir()), key=lambda file: file.name)
    return {int(file.name[:4]): file.read_text() for file in files if file.name.endswith(".sql")}


def view_hash() -> bytes:
    """Of what the views are made by: their tables, and the analyser that the index went through."""
    made_by = db.read_sql("views.sql") + analyze.VERSION
    return hashlib.sha256(made_by.encode()).digest()


async def migrate(conn: asyncpg.Connection) -> bool:
    """Bring the schema up to date; True when the views are new and must be replayed.

    Two migrators at once: the second waits, and finds nothing to do. `conn` is the login user's.
    """
    check_version(conn.get_server_version()[0] * 10_000)
    async with conn.transaction():
        await conn.execute(db.query("migrate.lock"), _LOCK)
        if await version(conn) is None:
            await _make_roles(conn)
        await conn.execute(db.query("migrate.as_owner"))
        await _migrate_log(conn)
        return await _make_views(conn)


async def version(conn: db.Conn) -> int | None:
    """The version of the schema in the database; None where there is none."""
    if not await conn.fetchval(db.query("migrate.installed")):
        return None
    found: int | None = await conn.fetchval(db.query("migrate.version"))
    return found


async def current(conn: db.Conn) -> bool:
    """Whether log and views are those that this program speaks, and complete."""
    if await version(conn) != latest():
        return False
    found = await conn.fetchrow(db.query("migrate.view_definition"))
    return found is not None and found["complete"] and found["sha256"] == view_hash()


def check_version(number: int) -> None:
    if number < OLDEST_SERVER:
        raise errors.Unavailable(
            f"this PostgreSQL is version {number // 10_000}; memoryd needs "
            f"{OLDEST_SERVER // 10_000} or newer: upgrade it, or unset MEMORYD_DATABASE_URL to use "
            "the embedded one"
        )


async def _make_roles(conn: asyncpg.Connection) -> None:
    """Owner, app and schema, as far as the login user may; otherwise what an administrator does."""
    try:
        async with conn.transaction():
            await conn.execute(db.query("migrate.make_roles"))
    except asyncpg.InsufficientPrivilegeError as error:
        user = await conn.fetchval("select current_user")
        script = db.query("migrate.make_roles_by_hand").replace("LOGIN", f'"{user}"')
        raise errors.Unavailable(
            f"the user {user!r} may not set memoryd up ({error}); ask an administrator of this "
            f"database to run, once (without the roles that exist already):\n{script}"
        ) from error


async def _migrate_log(conn: asyncpg.Connection) -> None:
    found = await version(conn)
    if found is None:
        await conn.execute(db.read_sql("log.sql"))
        await conn.executemany(db.query("migrate.stamp"), [(number,) for number in migrations()])
        return
    if found > latest():
        raise errors.Unavailable(
            f"the database has schema version {found}, this memoryd knows {latest()}: "
            "it was used by a newer memoryd; upgrade this one"
        )
    for number, statements in migrations().items():
        if number > found:
            await conn.execute(statements)
            await conn.execute(db.query("migrate.stamp"), number)


async def _make_views(conn: asyncpg.Connection) -> bool:
    """True until `complete_views` was called: a process may die between making and replaying."""
    found = await conn.fetchrow(db.query("migrate.view_definition"))
    if found is not None and found["sha256"] == view_hash():
        return not found["complete"]
    await conn.execute(db.query("migrate.set_codes_aside"))
    await conn.execute(db.query("migrate.drop_views"))
    await conn.execute(db.read_sql("views.sql"))
    await conn.execute(db.query("migrate.take_codes_back"))
    await conn.execute(db.query("migrate.define_views"), view_hash())
    return True


async def complete_views(conn: asyncpg.Connection) -> None:
    """Note that the views hold the whole log. `conn` is the owner's."""
    await conn.execute(db.query("migrate.complete_views"), view_hash())
