"""An erasure from the word to the proof: erase, outlast who still sees it, sweep, verify."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from memoryd.core import db
from memoryd.custody import audit, erase, sweep, verify
from memoryd.custody.erase_act import Asked, Erasure
from memoryd.embed import Encoder


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Which of the steps are wanted."""

    dry_run: bool = False
    sweep: bool = True
    verify: bool = False


@dataclass(frozen=True, kw_only=True)
class Outcome:
    erasure: Erasure
    swept: sweep.Swept | None = None
    report: verify.Report | None = None


async def carry_out(
    target: db.Target,
    asked: Asked,
    encoder: Encoder,
    steps: Steps,
    *,
    now: datetime,
    entropy: Callable[[], bytes],
    progress: sweep.Progress = lambda *_: None,
) -> Outcome:
    """When this returns, no read that began before shows what was erased any more.

    Killed at any moment, it may be run again: what was erased stays so, and what an earlier run
    left to sweep is swept.
    """
    conn = await db.connect(target, db.OWNER)
    try:
        done = await erase.erase(
            *(conn, asked, encoder),
            now=now,
            entropy=entropy(),
            dry_run=steps.dry_run,
            remember=steps.verify,
        )
        if steps.dry_run:
            return Outcome(erasure=done.erasure)
        await _outlast(conn, asked)
    finally:
        await conn.close()
    swept = None
    if steps.sweep:
        swept = await sweep.sweep(
            target, asked.tenant_id, now=now, entropy=entropy(), progress=progress
        )
    report = None
    if steps.verify:
        report = await verify.verify(
            *(target, asked.tenant_id, done.erasure.erasure_id, asked), done.gone, done.packed
        )
    return Outcome(erasure=done.erasure, swept=swept, report=report)


async def _outlast(conn: db.Conn, asked: Asked) -> None:
    """Those who still read it; and what was asked just before is written down a second later."""
    await sweep.outlast(conn)
    if asked.what not in ("user", "memory", "tenant"):
        return
    await asyncio.sleep(audit.FLUSH_SECONDS * 1.5)
    async with conn.transaction():
        await db.set_tenant(conn, asked.tenant_id)
        await erase.forget_accesses(conn, asked)
