"""Which model is in use: the database says it, so that all daemons switch together.

Codes are kept by model, so a switch is one row, written when the new model's codes are complete.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import asyncpg

from memoryd import embed
from memoryd.core import db
from memoryd.search import vectors

log = logging.getLogger("memoryd.search")

Progress = Callable[[str, int, int], None]  # tenant, chunks done, chunks in all


class Encoders:
    """The model that this process uses, as far as it has looked."""

    def __init__(self) -> None:
        self.current = embed.Encoder()
        self.trouble: str | None = None  # why it is not the one that the database names

    async def look(self, conn: db.Conn) -> None:
        """Take the model that the database names; the one in the package where it names none."""
        folder = await conn.fetchval(db.query("vectors.folder"))
        wanted = Path(folder) if folder else embed.MINILM
        if wanted == self.current.folder:
            self.trouble = self.current.broken
            return
        found = embed.Encoder(wanted)
        if found.broken is None:
            self.current, self.trouble = found, None
        elif found.broken != self.trouble:  # said once; better the old model than none
            self.trouble = found.broken
            log.warning("model.missing", extra={"error": found.broken})


async def switch(target: db.Target, encoder: embed.Encoder, progress: Progress) -> None:
    """Encode everything with `encoder`, then make it the one in use.

    May be stopped and run again: what is encoded stays. Searches go on with the old model
    meanwhile, and daemons follow within seconds.
    """
    owner = await db.connect(target, db.OWNER)
    conn = await db.connect(target, db.APP)
    try:
        encoder.load()
        for row in await owner.fetch(db.query("rebuild.tenants")):
            await _backfill(conn, row["tenant_id"], encoder, progress)
        await owner.execute(db.query("vectors.use"), str(encoder.folder))
    finally:
        await conn.close()
        await owner.close()


async def _backfill(
    conn: asyncpg.Connection, tenant_id: str, encoder: embed.Encoder, progress: Progress
) -> None:
    done, pending = 0, 1
    while pending:
        async with conn.transaction():
            await db.set_tenant(conn, tenant_id)
            made = await vectors.embed_next(conn, tenant_id, encoder)
            pending = await vectors.pending(conn, tenant_id, encoder.name)
        done += made
        progress(tenant_id, done, done + pending)
        if pending and not made:
            await asyncio.sleep(0.2)  # another process is at it
