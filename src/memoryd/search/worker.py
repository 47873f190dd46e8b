"""The background: finds what is missing (segments, vectors) and fills it.

Nothing is queued: what is missing is seen in the tables, so a crash loses no work, and several
daemons share it by trying locks.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import asyncpg

from memoryd.core import db
from memoryd.search import index, vectors
from memoryd.search.encoders import Encoders

log = logging.getLogger("memoryd.worker")

QUIET_SECONDS = 0.2  # without a write before the embedder works on end
SHARE_SECONDS = 2.0  # between two batches of the embedder while writes go on
SWEEP_SECONDS = 10  # between looks at what other processes write or switch
T = TypeVar("T")


class Worker:
    def __init__(self, target: db.Target, pool: db.Pool, encoders: Encoders) -> None:
        self._target = target
        self._pool = pool
        self._encoders = encoders
        self._grown: set[str] = set()  # tenants that may have something missing
        self._wake = asyncio.Event()
        self._stopping = False
        self._grew_at = 0.0
        self._embedded_at = 0.0
        self._looked_at = 0.0
        self.paused = False  # of embedding alone

    def grown(self, tenant_id: str) -> None:
        """A tenant's log has grown."""
        self._grown.add(tenant_id)
        self._grew_at = time.monotonic()
        self._wake.set()

    async def run(self) -> None:
        """Until `stop`."""
        while not self._stopping:
            await self._follow()
            tenants = sorted(self._grown)
            busy = [await self._attempt(self._work(tenant_id), False) for tenant_id in tenants]
            if not any(busy) and not self._stopping:
                await (asyncio.sleep(QUIET_SECONDS) if self._holds_back() else self._rest())

    def stop(self) -> None:
        """End `run` after its present step. Cancelling it in the middle of a statement would look
        to it like a lost connection.
        """
        self._stopping = True
        self._wake.set()

    async def _attempt(self, step: Coroutine[Any, Any, T], otherwise: T) -> T:
        """What fails for one tenant is said, and tried again later: the work is still there."""
        try:
            return await step
        except db.CONNECTION_LOST as error:
            log.warning("worker.database", extra={"error": type(error).__name__})
        except Exception:
            log.exception("worker.failed")
        return otherwise

    async def watch(self) -> None:
        """Do no work of its own, but follow the others: which model is in use."""
        while not self._stopping:
            await self._follow()
            await self._rest()

    async def _rest(self) -> None:
        """Until a log grows or it is time to look around."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), SWEEP_SECONDS)
        self._wake.clear()

    async def _follow(self) -> None:
        """However busy it is here, what other processes do is seen in time."""
        if time.monotonic() - self._looked_at >= SWEEP_SECONDS:
            await self._attempt(self._look_around(), None)
            self._looked_at = time.monotonic()

    async def _look_around(self) -> None:
        """Every tenant, and which model is in use: another process may have changed either."""
        conn: asyncpg.Connection = await db.connect(self._target, db.OWNER)
        try:
            await self._encoders.look(conn)
            rows = await conn.fetch(db.query("rebuild.tenants"))
        finally:
            await conn.close()
        self._grown |= {row["tenant_id"] for row in rows}

    async def _work(self, tenant_id: str) -> bool:
        """One step for one tenant; False when nothing is missing any more."""
        if self._stopping:
            return False
        async with db.tenant(self._pool, tenant_id) as conn:
            flushed = await index.flush(conn, tenant_id)
        async with db.tenant(self._pool, tenant_id) as conn:
            merged = await index.merge(conn, tenant_id)
        embedded = 0
        usable = self._encoders.current.broken is None
        if usable and not self.paused and not self._holds_back():
            async with db.tenant(self._pool, tenant_id) as conn:
                embedded = await vectors.embed_next(conn, tenant_id, self._encoders.current)
            self._embedded_at = time.monotonic()
        if flushed or merged or embedded:
            return True
        if not usable or (not self.paused and await self.pending(tenant_id) == 0):
            self._grown.discard(tenant_id)
        return False

    def _holds_back(self) -> bool:
        """Encoding takes a core: writes that come in have it, but for a batch now and then."""
        moment = time.monotonic()
        writing = moment - self._grew_at < QUIET_SECONDS
        return writing and moment - self._embedded_at < SHARE_SECONDS

    async def pending(self, tenant_id: str) -> int:
        """Chunks of a tenant without vectors."""
        async with db.tenant(self._pool, tenant_id) as conn:
            return await vectors.pending(conn, tenant_id, self._encoders.current.name)
