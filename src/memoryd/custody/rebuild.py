"""Replay the log into the views, prove them equal, and replace what is not.

The replay goes into temporary tables of the same names, through the same functions as the first
write, while writers go on; only the last stretch, the comparison and the repair hold their lock.
"""

from collections.abc import Callable
from dataclasses import dataclass

import asyncpg

from memoryd.core import db, errors, read, record, views
from memoryd.custody import migrate
from memoryd.seal import keys as tenant_keys
from memoryd.seal import store
from memoryd.search import index

BATCH = 500  # events replayed in one transaction
ROUNDS = 3  # of catching up with writers before they have to wait
Progress = Callable[[str, int, int], None]  # tenant, events done, events in all


@dataclass(frozen=True)
class Outcome:
    """What a replay of one tenant found; `differed` counts rows missing, extra or changed."""

    tenant_id: str
    events: int
    rows: dict[str, int]
    differed: dict[str, int]

    @property
    def equal(self) -> bool:
        return not any(self.differed.values())


async def rebuild(target: db.Target, progress: Progress, *, partly: bool = False) -> list[Outcome]:
    """Replay every tenant; safe beside running daemons and beside another rebuild.

    What is sealed cannot be replayed without the master key, and is never replaced by less; only
    `partly`, into views that are new and empty, it is left out until the next replay.
    """
    owner = await db.connect(target, db.OWNER)
    # Statements prepared before the temporary tables exist would go on writing to the real ones.
    conn = await db.connect(target, db.APP, statement_cache_size=0)
    try:
        await conn.execute(db.query("rebuild.prefer_temporary"))
        tenants = [row["tenant_id"] for row in await owner.fetch(db.query("rebuild.tenants"))]
        closed = [name for name in tenants if await _closed(conn, name)]
        if closed and not partly:
            raise errors.Closed(f"sealed events cannot be replayed: {tenant_keys.DO['missing']}")
        outcomes = [await _rebuild_tenant(conn, name, progress) for name in tenants]
        if not closed:
            await migrate.complete_views(owner)
    finally:
        await conn.close()
        await owner.close()
    return outcomes


async def _closed(conn: asyncpg.Connection, tenant_id: str) -> bool:
    async with conn.transaction():
        await db.set_tenant(conn, tenant_id)
        return (await tenant_keys.load(conn, tenant_id)).closed


async def _rebuild_tenant(conn: asyncpg.Connection, tenant_id: str, progress: Progress) -> Outcome:
    """What was erased meanwhile may have been replayed before that, and would be brought back: then
    all is replayed anew, at last while writers wait.
    """
    outcome = None
    for rounds in (ROUNDS, ROUNDS, 0):
        outcome = outcome or await _try_tenant(conn, tenant_id, rounds, progress)
    assert outcome is not None  # nothing is erased beside the last try
    await _index(conn, tenant_id)
    return outcome


async def _try_tenant(
    conn: asyncpg.Connection, tenant_id: str, rounds: int, progress: Progress
) -> Outcome | None:
    for view in views.TABLES:
        await conn.execute(_for(view, "rebuild.make_temporary"))
    async with conn.transaction():
        await db.set_tenant(conn, tenant_id)
        begun = await conn.fetchval(db.query("record.head"), tenant_id) or 0
    done = 0
    for _ in range(rounds):
        done = await _catch_up(conn, tenant_id, done, progress)
    async with conn.transaction():
        await conn.execute(db.query("record.lock"), tenant_id)
        if rounds and await conn.fetchval(db.query("rebuild.erased"), tenant_id, begun):
            return None
        while (last := await _replay(conn, tenant_id, done)) > done:
            done = last
        return await _compare(conn, tenant_id, done)


async def _catch_up(conn: asyncpg.Connection, tenant_id: str, done: int, progress: Progress) -> int:
    """Replay up to where the head is now: writers may be faster than we, so not until it is met."""
    head = done + 1
    while done < head:
        async with conn.transaction():
            await db.set_tenant(conn, tenant_id)
            if head == done + 1:
                head = await conn.fetchval(db.query("record.head"), tenant_id) or 0
            done = max(await _replay(conn, tenant_id, done), done)
        progress(tenant_id, done, max(head, done))
    return done


async def _index(conn: asyncpg.Connection, tenant_id: str) -> None:
    """Make the search index anew, in one transaction: searches go on with the old one until then,
    for without one the first of them would have to read every chunk.
    """
    async with conn.transaction():
        await db.set_tenant(conn, tenant_id)
        await index.clear(conn, tenant_id)
        while await index.flush(conn, tenant_id) or await index.merge(conn, tenant_id):
            pass


async def _replay(conn: asyncpg.Connection, tenant_id: str, after: int) -> int:
    """The next stretch of the log; returns the position of its last event."""
    rows = await conn.fetch(db.query("rebuild.events"), tenant_id, after, BATCH)
    keys = await tenant_keys.load(conn, tenant_id)
    chunked = []
    for event in map(read.to_event, rows):
        if keys.closed and keys.seals(event.sensitivity, event.position):
            continue
        blob = await read.blob_of(conn, event) if "artifact_id" in event.content else None
        chunked.append((event, record.chunks_of(event, blob)))
        await views.project(conn, event, keys)
    await store.add_chunks(conn, chunked, keys)
    return rows[-1]["position"] if rows else after


async def _compare(conn: asyncpg.Connection, tenant_id: str, events: int) -> Outcome:
    rows, differed = {}, {}
    for view in views.TABLES:
        rows[view] = await conn.fetchval(_for(view, "rebuild.count"))
        differed[view] = await conn.fetchval(_for(view, "rebuild.differing"), tenant_id)
        if differed[view]:
            await conn.execute(_for(view, "rebuild.clear"), tenant_id)
            await conn.execute(_for(view, "rebuild.refill"))
    if differed["chunks"]:  # an index of other chunks is wrong at once
        await index.clear(conn, tenant_id)
    return Outcome(tenant_id, events, rows, differed)


def _for(view: str, name: str) -> str:
    """The query is written for the chunks; the other views have the same."""
    return db.query(name).replace("chunks", view)
