"""After an erasure, its traces in files: PostgreSQL leaves deleted rows in its tables and its log.

Every table that lost rows is written anew, which locks it for as long as that takes, one after the
other. On the embedded server the write-ahead log goes too; on another that is its operator's.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import asyncpg

from memoryd.core import db, errors
from memoryd.custody import erase_act

Progress = Callable[[str, int, int], None]  # what, steps done, steps in all

LOCK = "2s"  # for a table to be free: those who come after us wait as long
TRIES = 30
PATIENCE = 60.0  # seconds for transactions that may still see what was erased


@dataclass(frozen=True, kw_only=True)
class Swept:
    """What was written anew; `wal` is whether the write-ahead log's old files went."""

    erasures: tuple[str, ...]
    tables: tuple[str, ...]
    wal: bool


async def sweep(
    target: db.Target, tenant_id: str, *, now: datetime, entropy: bytes, progress: Progress
) -> Swept:
    """Sweep up after all erasures of a tenant that nobody has swept up after; safe to run again."""
    owner = await db.connect(target, db.OWNER)
    try:
        pending = await _unswept(owner, tenant_id)
        if not pending:
            return Swept(erasures=(), tables=(), wal=False)
        tables = sorted({table for rows in pending.values() for table, n in rows.items() if n})
        wal = await write_anew(target, owner, tables, progress)
        swept = Swept(erasures=tuple(pending), tables=tuple(tables), wal=wal)
        async with owner.transaction():
            said = {"swept": swept.erasures, "tables": swept.tables, "wal": swept.wal}
            by = erase_act.OURSELVES
            await erase_act.begin(owner, tenant_id, by, now=now, entropy=entropy, **said)
    finally:
        await owner.close()
    return swept


async def write_anew(
    target: db.Target, owner: db.Conn, tables: Sequence[str], progress: Progress
) -> bool:
    """Leave nothing in files of rows that these tables had; returns whether the write-ahead log's
    old files went too, which on an outside server are not ours.
    """
    await outlast(owner)
    await _rewrite(owner, tables, progress)
    login = await db.connect(target, None)
    try:
        ours = target.embedded and bool(await login.fetchval(db.query("sweep.superuser")))
        if ours:
            await _forget_wal(login)
    finally:
        await login.close()
    return ours


async def outlast(conn: db.Conn) -> None:
    """Wait until no reader's snapshot is older than now: such a reader still sees what is gone,
    and PostgreSQL would keep it for them.
    """
    xid = await conn.fetchval(db.query("sweep.now"))
    for _ in range(int(PATIENCE * 20)):
        if not await conn.fetchval(db.query("sweep.waiting_for"), xid):
            return
        await asyncio.sleep(0.05)
    raise errors.Unavailable(
        f"a transaction has been open for more than {PATIENCE:.0f} seconds (a backup?), and still "
        "sees what was erased: end it, and run the erasure again to finish"
    )


async def _unswept(conn: db.Conn, tenant_id: str) -> dict[str, dict[str, int]]:
    async with conn.transaction():
        await db.set_tenant(conn, tenant_id)
        rows = await conn.fetch(db.query("sweep.unswept"), tenant_id)
    return {row["event_id"]: row["rows"] for row in rows}


async def _rewrite(conn: db.Conn, tables: Sequence[str], progress: Progress) -> None:
    await conn.execute(db.query("sweep.patience"), LOCK)
    for done, table in enumerate(tables):
        progress(table, done, len(tables))
        await _rewrite_table(conn, table)
    await conn.execute(db.query("sweep.patience"), "0")
    progress("tables", len(tables), len(tables))


async def _rewrite_table(conn: db.Conn, table: str) -> None:
    """With a short wait for the lock, again and again: who waits for a table holds up all who come
    after, readers too.
    """
    for _ in range(TRIES):
        try:
            await conn.execute(db.query("sweep.rewrite").replace("chunks", table))
        except asyncpg.LockNotAvailableError:
            await asyncio.sleep(0.1)
        else:
            return
    raise errors.Unavailable(
        f"the table {table} was never free to be written anew; run the erasure again to finish"
    )


async def _forget_wal(login: db.Conn) -> None:
    """Statistics hold samples of columns; and the log goes up to a checkpoint in a file of its own,
    since `wal_recycle` is off.
    """
    await login.execute(db.query("sweep.rewrite_statistics"))
    await login.execute(db.query("sweep.switch_wal"))
    await login.execute(db.query("sweep.checkpoint"))
    folder = Path(await login.fetchval(db.query("sweep.data_directory"))) / "pg_wal"
    first = await login.fetchval(db.query("sweep.wal_begin"))
    old = [path.name for path in folder.glob("0*") if len(path.name) == 24 and path.name < first]
    if old:
        raise errors.Unavailable(
            f"PostgreSQL keeps {len(old)} old files of its log in {folder} (a replication slot, or "
            "wal_keep_size?): release them, and run the erasure again to finish"
        )
