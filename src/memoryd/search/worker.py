"""The background: finds what is missing (segments, vectors) and fills it.

Nothing is queued: what is missing is seen in the tables, so a crash loses no work, and several
daemons share it by trying locks.
"""

import asyncio
import logging

import asyncpg

from memoryd.core import db
from memoryd.search import index, vectors
from memoryd.search.embed import Encoder

log = logging.getLogger("memoryd.worker")

SWEEP_SECONDS = 30  # between looks at tenants that other daemons write to


class Worker:
    def __init__(self, target: db.Target, pool: db.Pool, encoder: Encoder) -> None:
        self._target = target
        self._pool = pool
        self._encoder = encoder
        self._grown: set[str] = set()  # tenants that may have something missing
        self._wake = asyncio.Event()
        self._stopping = False
        self.paused = False

    def grown(self, tenant_id: str) -> None:
        """A tenant's log has grown."""
        self._grown.add(tenant_id)
        self._wake.set()

    async def pending(self) -> int:
        """Chunks without vectors, of the tenants that this daemon knows to be behind."""
        counts = [await self._pending(tenant_id) for tenant_id in sorted(self._grown)]
        return sum(counts)

    async def run(self) -> None:
        """Until `stop`. A round that fails is said and tried again: the work is still there."""
        while not self._stopping:
            self._wake.clear()
            if self._stopping:
                return
            try:
                if not self._grown:
                    self._grown |= await self._tenants()
                busy = [await self._work(tenant_id) for tenant_id in sorted(self._grown)]
            except db.CONNECTION_LOST as error:
                log.warning("worker.database", extra={"error": type(error).__name__})
                busy = []
            except Exception:
                log.exception("worker.failed")
                busy = []
            if not any(busy):
                await self._rest()

    def stop(self) -> None:
        """End `run` after its present step. Cancelling it in the middle of a statement would look
        to it like a lost connection.
        """
        self._stopping = True
        self._wake.set()

    async def _rest(self) -> None:
        """Until a log grows; after a while, look at every tenant."""
        try:
            await asyncio.wait_for(self._wake.wait(), SWEEP_SECONDS)
        except TimeoutError:
            self._grown.clear()

    async def _tenants(self) -> set[str]:
        conn: asyncpg.Connection = await db.connect(self._target, db.OWNER)
        try:
            return {row["tenant_id"] for row in await conn.fetch(db.query("rebuild.tenants"))}
        finally:
            await conn.close()

    async def _work(self, tenant_id: str) -> bool:
        """One step for one tenant; False when nothing is missing any more."""
        async with db.tenant(self._pool, tenant_id) as conn:
            flushed = await index.flush(conn, tenant_id)
        async with db.tenant(self._pool, tenant_id) as conn:
            merged = await index.merge(conn, tenant_id)
        embedded = 0
        if not self.paused:
            async with db.tenant(self._pool, tenant_id) as conn:
                embedded = await vectors.embed_next(conn, tenant_id, self._encoder)
        if flushed or merged or embedded:
            return True
        if not self.paused and await self._pending(tenant_id) == 0:
            self._grown.discard(tenant_id)
        return False

    async def _pending(self, tenant_id: str) -> int:
        async with db.tenant(self._pool, tenant_id) as conn:
            return await vectors.pending(conn, tenant_id, self._encoder.name)
