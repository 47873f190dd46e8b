"""Composition: settings → PostgreSQL → schema → pool → doors; started and stopped as one."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import asyncpg

from memoryd import embedded
from memoryd.core import db, errors, ids, tokens
from memoryd.core.config import Settings
from memoryd.core.group import GroupCommit
from memoryd.custody import audit, keys, migrate, rebuild
from memoryd.redact import rules
from memoryd.seal import keys as tenant_keys
from memoryd.seal import master
from memoryd.search.encoders import Encoders
from memoryd.search.searcher import Searcher
from memoryd.search.worker import Worker

log = logging.getLogger("memoryd")
Say = Callable[[str], None]


def now() -> datetime:
    """The one clock; everything else takes the time as an argument."""
    return datetime.now(UTC)


def entropy() -> bytes:
    """The one source of random ids."""
    return secrets.token_bytes(ids.ENTROPY_BYTES)


@dataclass(frozen=True)
class Daemon:
    settings: Settings
    target: db.Target
    pool: db.Pool
    group: GroupCommit
    searcher: Searcher
    worker: Worker
    encoders: Encoders
    audit: audit.Recorder


@asynccontextmanager
async def running(
    settings: Settings, say: Say, *, work: bool = True, beside: bool = False
) -> AsyncIterator[Daemon]:
    """A daemon that is ready to serve: schema up to date, views complete.

    Without `work`, nothing is indexed or embedded in the background: a single command is over
    before that is worth its start. One that runs `beside` another answers as that does, or not.
    """
    async with postgres(settings, say) as (target, server):
        await (_check_alike(target) if beside else bring_up_to_date(target, say))
        pool = await db.open_pool(target, settings.pool_size)
        encoders = Encoders()
        worker = Worker(target, pool, encoders)
        group = GroupCommit(pool, now, worker.grown)
        searcher, recorder = Searcher(pool, encoders), audit.Recorder(pool)
        daemon = Daemon(settings, target, pool, group, searcher, worker, encoders, recorder)
        async with db.borrow(pool) as conn:
            await encoders.look(conn)
            await _look_at_the_key(conn, say)
        background = [asyncio.create_task(worker.run() if work else worker.watch())]
        background.append(asyncio.create_task(asyncio.to_thread(tokens.load)))
        background.append(asyncio.create_task(recorder.run()))
        if work:
            background.append(asyncio.create_task(asyncio.to_thread(rules.load)))
            fresh = audit.keep_fresh(target, settings.audit_days, now)
            background.append(asyncio.create_task(fresh))
        if server is not None:
            background.append(asyncio.create_task(_watch(target, server)))
        try:
            yield daemon
        finally:
            await daemon.group.finish()
            worker.stop()
            await asyncio.wait([background[0]], timeout=3)
            for task in background:
                task.cancel()
            await recorder.flush()
            with suppress(TimeoutError):
                await asyncio.wait_for(pool.close(), timeout=2)
            pool.terminate()


@asynccontextmanager
async def postgres(
    settings: Settings, say: Say
) -> AsyncIterator[tuple[db.Target, embedded.Server | None]]:
    """The outside server of `database_url`, or the embedded one, joined or started."""
    vault = master.vault(settings.master_key, settings.home, secrets.token_bytes, _made)
    if settings.database_url:
        yield db.Target({"dsn": settings.database_url}, embedded=False, vault=vault), None
        return
    try:
        server = await asyncio.to_thread(embedded.join, settings.home, say)
    except embedded.ServerError as error:
        raise errors.Unavailable(str(error)) from error
    try:
        yield db.Target(asdict(server.address), embedded=True, vault=vault), server
    finally:
        await asyncio.to_thread(server.close)


async def _look_at_the_key(conn: db.Conn, say: Say) -> None:
    """Without the right master key the daemon serves, and says what it will not open."""
    state = await tenant_keys.state(conn)
    if state in tenant_keys.DO:
        say(f"what is `high` is closed: {tenant_keys.DO[state]}")
        log.error("master_key.%s", state, extra={"detail": tenant_keys.DO[state]})


def _made(said: str) -> None:
    log.warning("master_key.made", extra={"detail": said})


async def bring_up_to_date(target: db.Target, say: Say) -> None:
    """Migrate, and replay the views where they are new."""
    try:
        conn = await db.connect(target, None)
    except (OSError, asyncpg.PostgresError, ValueError) as error:
        raise errors.Unavailable(
            f"PostgreSQL cannot be reached ({error}); check MEMORYD_DATABASE_URL"
        ) from error
    try:
        replay = await migrate.migrate(conn)
    except asyncpg.PostgresError as error:
        raise errors.Unavailable(
            f"PostgreSQL refuses to set memoryd up: {error}; check the rights of the user in "
            "MEMORYD_DATABASE_URL (it must be a member of memoryd_owner and memoryd_app, with "
            "inherit), and that the server takes writes"
        ) from error
    finally:
        await conn.close()
    if replay:
        outcomes = await rebuild.rebuild(target, lambda *_: None, partly=True)
        if outcomes:
            say(f"the views have a new definition; replayed {len(outcomes)} tenants into them")


async def _check_alike(target: db.Target) -> None:
    """That a second process is of the version of the first, and opens what that opens. The program
    may have been upgraded, or the master key taken away, since the first one started.
    """
    conn = await db.connect(target, None)
    try:
        if not await migrate.current(conn):
            raise errors.Unavailable("the tables are not of this program: restart the daemon")
        if (state := await tenant_keys.state(conn)) in tenant_keys.DO:
            raise errors.Unavailable(tenant_keys.DO[state])
    finally:
        await conn.close()


async def check_open_address(daemon: Daemon) -> None:
    """An address that others can reach is served with keys, or not at all."""
    if daemon.settings.loopback:
        return
    conn = await db.connect(daemon.target, db.OWNER)
    try:
        if not await keys.any_active(conn):
            raise errors.Forbidden(
                f"refusing to listen on {daemon.settings.host} without a key, since others can "
                "reach it; make one with: memoryd keys create --tenant default --role agent"
            )
    finally:
        await conn.close()


async def _watch(target: db.Target, server: embedded.Server) -> None:
    """Start PostgreSQL again when it dies; the pool then connects anew by itself."""
    while True:
        gone = asyncio.Event()
        try:
            conn = await db.connect(target, db.APP)
            conn.add_termination_listener(lambda _, gone=gone: gone.set())
            await gone.wait()
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            log.warning("postgres.unreachable", extra={"error": type(error).__name__})
            await asyncio.sleep(1)
        try:
            if await asyncio.to_thread(server.ensure):
                log.warning("postgres.restarted", extra={"pid": server.pid()})
        except embedded.ServerError as error:
            log.error("postgres.down", extra={"error": str(error)})  # noqa: TRY400  # it says it
            await asyncio.sleep(1)
