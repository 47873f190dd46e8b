"""`memoryd doctor`, `migrate`, `rebuild` and `keys`: for whoever runs the daemon."""

import asyncio
import secrets
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import click
import httpx

from memoryd import daemon
from memoryd.core import db, errors
from memoryd.core.config import Settings
from memoryd.core.model import Key
from memoryd.custody import doctor as examination
from memoryd.custody import isolation as self_test
from memoryd.custody import keys as core_keys
from memoryd.custody import migrate as core_migrate
from memoryd.custody import rebuild as core_rebuild
from memoryd.custody.isolation_sql import Attempt
from memoryd.doors import reach, serving
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

PROBE_SECONDS = 10  # where nobody listens that is known at once; who is busy may take its time


@main.command()
@click.option(
    "--isolation",
    is_flag=True,
    help="Try to cross between two throw-away tenants, through every route and in SQL.",
)
@json_option
def doctor(isolation: bool, as_json: bool) -> None:
    """Check the server, the schema, row security, disk and versions.

    With --isolation, make two tenants, try every way from one to the other through the running
    daemon (or one in this process) and in SQL as its role, say how each went, and remove them.

    \b
    Example: memoryd doctor
    Example: memoryd doctor --isolation
    """
    if isolation:
        attempts = run(_isolation(own_settings()))
        show(attempts, as_json, lambda: "\n".join(map(_outcome, attempts)))
        if not all(attempt.ok for attempt in attempts):
            raise SystemExit(1)
        return
    checks = run(examination.examine(own_settings(), say))
    show(
        checks,
        as_json,
        lambda: "\n".join(
            f"{'ok  ' if check.ok else 'FAIL'}  {check.name:<14} {check.detail}"
            + ("" if check.ok else f"\n      {'do this:':<14} {check.do}")
            for check in checks
        ),
    )
    if not all(check.ok for check in checks):
        raise SystemExit(1)


def _outcome(attempt: Attempt) -> str:
    return f"{'ok  ' if attempt.ok else 'LEAK'}  {attempt.name:<52} {attempt.detail}"


async def _isolation(chosen: Settings) -> list[Attempt]:
    """Stopped by a signal, it removes what it made before it ends."""
    task = asyncio.current_task()
    assert task is not None
    if sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with daemon.postgres(chosen, say) as (target, _):
        await daemon.bring_up_to_date(target, say)
        served = await _served(chosen)
        try:
            return await _through(served, target)
        except errors.Unauthorized:
            if not served.url:
                raise
            say("that is a daemon of another home: through one in here")
            return await _through(replace(served, url=""), target)


async def _through(served: Settings, target: db.Target) -> list[Attempt]:
    async with reach.client(served, say) as client:
        return await self_test.examine(target, client, daemon.now())


async def _served(chosen: Settings) -> Settings:
    """With the address of the daemon that runs, if one answers where it should. It may be another
    home's, which has not announced itself here.
    """
    url = serving.url(chosen)
    async with httpx.AsyncClient(timeout=PROBE_SECONDS, verify=False) as client:  # noqa: S501
        try:
            alive = (await client.get(f"{url}/healthz")).is_success
        except httpx.TransportError:
            alive = False
    say(f"through the daemon at {url}" if alive else f"no daemon at {url}: through one in here")
    return replace(chosen, key="", url=url if alive else "")


@main.command()
@json_option
def migrate(as_json: bool) -> None:
    """Bring the database's schema up to date (`serve` does it too).

    \b
    Example: memoryd migrate
    """
    version = run(_migrate(own_settings()))
    show(
        {"schema_version": version}, as_json, lambda: f"the schema is version {version}, up to date"
    )


async def _migrate(chosen: Settings) -> int:
    async with daemon.postgres(chosen, say) as (target, _):
        await daemon.bring_up_to_date(target, say)
        return core_migrate.latest()


@main.command()
@json_option
def rebuild(as_json: bool) -> None:
    """Replay the log into the views and prove them equal; repair what is not.

    Writers may go on meanwhile.

    \b
    Example: memoryd rebuild
    """
    outcomes = run(_rebuild(own_settings()))
    show(outcomes, as_json, lambda: "\n".join(map(_verdict, outcomes)) or "the log is empty")


async def _rebuild(chosen: Settings) -> list[core_rebuild.Outcome]:
    async with daemon.postgres(chosen, say) as (target, _):
        await daemon.bring_up_to_date(target, say)
        outcomes = await core_rebuild.rebuild(target, progress_bar("events"))
        end_progress()
        return outcomes


def _verdict(outcome: core_rebuild.Outcome) -> str:
    rows = ", ".join(f"{count:,} {view}" for view, count in outcome.rows.items())
    wrong = ", ".join(f"{count:,} in {view}" for view, count in outcome.differed.items() if count)
    verdict = "equal" if outcome.equal else f"repaired: {wrong} differed"
    return f"{outcome.tenant_id}: {outcome.events:,} events replayed, {rows}: {verdict}"


@main.group()
def keys() -> None:
    """Create, list and revoke keys.

    \b
    Example: memoryd keys create --tenant acme --role agent
    """


@asynccontextmanager
async def _tenant(chosen: Settings, tenant_id: str) -> AsyncIterator[db.Conn]:
    async with daemon.postgres(chosen, say) as (target, _):
        await daemon.bring_up_to_date(target, say)
        conn = await db.connect(target, db.APP)
        try:
            async with conn.transaction():
                await db.set_tenant(conn, tenant_id)
                yield conn
        finally:
            await conn.close()


@keys.command("create")
@click.option("--tenant", required=True, help="The tenant it speaks for.")
@click.option("--role", required=True, type=click.Choice(["reader", "agent", "admin"]))
@click.option("--user", help="Pin it to this user.")
@click.option("--agent", help="Pin it to this agent.")
@click.option("--channel", type=click.Choice(["private", "public", "team", "agent"]))
@json_option
def create_key(as_json: bool, **given: Any) -> None:
    """Make a key and print it: the only time it is seen.

    \b
    Example: memoryd keys create --tenant acme --role agent --user ada
    """
    key, text = run(_create(own_settings(), given))
    show(
        {"key": text, **vars(key)},
        as_json,
        lambda: f"{text}\n\n{_row(key)}\nKeep it: only its hash is stored.",
    )


async def _create(chosen: Settings, given: dict[str, Any]) -> tuple[Key, str]:
    async with _tenant(chosen, given["tenant"]) as conn:
        return await core_keys.create(
            conn,
            tenant_id=given["tenant"],
            role=given["role"],
            secret=secrets.token_urlsafe(32),
            now=daemon.now(),
            user_id=given["user"],
            agent_id=given["agent"],
            channel=given["channel"],
        )


@keys.command("list")
@click.option("--tenant", default="default", show_default=True)
@json_option
def list_keys(tenant: str, as_json: bool) -> None:
    """List a tenant's keys, without the keys themselves.

    \b
    Example: memoryd keys list --tenant acme
    """
    found = run(_list(own_settings(), tenant))
    show(found, as_json, lambda: "\n".join(map(_row, found)) or f"tenant {tenant!r} has no keys")


async def _list(chosen: Settings, tenant: str) -> list[Key]:
    async with _tenant(chosen, tenant) as conn:
        return await core_keys.listing(conn, tenant)


@keys.command("revoke")
@click.argument("key_id")
@click.option("--tenant", default="default", show_default=True)
@json_option
def revoke_key(key_id: str, tenant: str, as_json: bool) -> None:
    """Make a key stop working with the next request.

    \b
    Example: memoryd keys revoke key_0123456789ab --tenant acme
    """
    key = run(_revoke(own_settings(), tenant, key_id))
    show(key, as_json, lambda: _row(key))


async def _revoke(chosen: Settings, tenant: str, key_id: str) -> Key:
    async with _tenant(chosen, tenant) as conn:
        return await core_keys.revoke(conn, tenant, key_id, daemon.now())


def _row(key: Key) -> str:
    pins = [
        f"{name}={value}"
        for name in ("user_id", "agent_id", "channel")
        if (value := getattr(key, name))
    ]
    state = f"revoked {key.revoked_at:%Y-%m-%d}" if key.revoked_at else "active"
    return f"{key.key_id}  {key.tenant_id:<12} {key.role:<7} {state:<20} {' '.join(pins)}"
