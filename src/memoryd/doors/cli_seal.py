"""`memoryd seal`: the keys that close what is `high`."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import click

from memoryd import daemon
from memoryd.core import db, errors
from memoryd.core.config import Settings
from memoryd.custody import sweep
from memoryd.doors.cli import (
    end_progress,
    json_option,
    main,
    own_settings,
    progress_bar,
    run,
    say,
    show,
)
from memoryd.seal import keys, master, vault

WRAPPED = ("tenant_keys", "master_check")  # the tables that tell of the master key


@main.group()
def seal() -> None:
    """Change the keys that seal events with sensitivity `high`.

    \b
    Example: memoryd seal rotate
    """


@asynccontextmanager
async def _connected(
    chosen: Settings, role: str
) -> AsyncIterator[tuple[db.Target, asyncpg.Connection]]:
    async with daemon.postgres(chosen, say) as (target, _):
        await daemon.bring_up_to_date(target, say)
        conn = await db.connect(target, role)
        try:
            yield target, conn
        finally:
            await conn.close()


@seal.command("rotate")
@click.option("--tenant", default="default", show_default=True)
@json_option
def rotate_key(tenant: str, as_json: bool) -> None:
    """Seal with a new key from the next event on; what is sealed stays as it is, and readable.

    \b
    Example: memoryd seal rotate --tenant acme
    """
    found = run(_rotate(own_settings(harmful=True), tenant))
    shown = {"tenant_id": tenant, **found}
    show(shown, as_json, lambda: f"{tenant}: {found['key_id']} seals from now on")


async def _rotate(chosen: Settings, tenant: str) -> dict[str, Any]:
    async with _connected(chosen, db.APP) as (_, conn), conn.transaction():
        found = await keys.rotate(conn, tenant, daemon.now())
        newest = found.listed[-1]
        return {"key_id": newest.key_id, "since": newest.since, "keys": len(found.listed)}


@seal.command("rewrap")
@click.option(
    "--new-key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with the new key, in hex or base64; default: a random one for MEMORYD_HOME.",
)
@json_option
def rewrap_keys(new_key: Path | None, as_json: bool) -> None:
    """Change the master key. The log is not touched: only the tenants' keys are wrapped anew, and
    what the old one wrapped leaves the embedded server's files too.

    The present one is MEMORYD_MASTER_KEY, or master.key in MEMORYD_HOME, which is then replaced.

    \b
    Example: memoryd seal rewrap
    """
    chosen = own_settings(harmful=True)
    new = master.parse(new_key.read_text(), "--new-key") if new_key else None
    if new is None and chosen.master_key:
        raise errors.Invalid("the key is in MEMORYD_MASTER_KEY: name the new one with --new-key")
    done = run(_rewrap(chosen, new or secrets.token_bytes(vault.KEY_BYTES)))
    then = "set MEMORYD_MASTER_KEY to the new key" if chosen.master_key else "master.key is the new"
    show({"keys": done}, as_json, lambda: f"{done} keys wrapped anew; {then}; keep a copy of it")


async def _rewrap(chosen: Settings, new: bytes) -> int:
    """And leave nothing in files of the keys as the old master key wrapped them."""
    async with _connected(chosen, db.OWNER) as (target, conn):
        if await keys.state(conn) == "unused":
            raise errors.NotFound("nothing is sealed yet, so there are no keys to wrap anew")
        done = await _wrapped_anew(chosen, conn, new)
        await sweep.write_anew(target, conn, WRAPPED, progress_bar("tables written anew"))
        end_progress()
        return done


async def _wrapped_anew(chosen: Settings, conn: asyncpg.Connection, new: bytes) -> int:
    if chosen.master_key:
        return await keys.rewrap(conn, new, lambda: None)
    master.settle(chosen.home, await conn.fetchval(db.query("seal.check")))
    try:
        return await keys.rewrap(conn, new, lambda: master.write_next(chosen.home, new))
    finally:
        master.settle(chosen.home, await conn.fetchval(db.query("seal.check")))
