"""One real PostgreSQL and one real daemon for the run; a new tenant for each test."""

import asyncio
import itertools
import re
import secrets
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
import httpx
import pytest
import uvicorn
from hypothesis import settings
from starlette.types import ASGIApp

from memoryd import daemon as composition
from memoryd.core import db
from memoryd.core.config import Settings
from memoryd.custody import audit, keys, migrate
from memoryd.daemon import Daemon
from memoryd.doors import app, throwaway
from memoryd.doors import serving as addresses

# The tests that the coverage of the core is taken over: with its tracer all others would take twice
# as long, and it would be no higher.
OF_THE_CORE = re.compile(
    r"test_(?:a\d\d|artifacts|bundle|chunk|crash|decisions|events|fuzz|handoffs|hostile|kept|keys"
    r"|ledger|pack|race|ranges|rebuild|record|refused|similar|spread|summaries|tasks|tokens|views)"
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for one in items:
        if not OF_THE_CORE.match(one.path.name):
            one.add_marker("no_cover")


_numbers = itertools.count(1)

# The same examples in every run; how long one takes says more of the machine than of the code.
settings.register_profile("memoryd", deadline=None, derandomize=True)
settings.load_profile("memoryd")

# An erasure outlasts what is yet to be written down of requests; ten times as often, it waits a
# tenth of the time.
audit.FLUSH_SECONDS = 0.1


@pytest.fixture(scope="session")
def home() -> Iterator[Path]:
    """A folder that an unprivileged PostgreSQL may reach."""
    folder = Path(tempfile.mkdtemp(prefix="memoryd-test-"))
    folder.chmod(0o711)
    yield folder / "home"
    shutil.rmtree(folder)


@pytest.fixture
def own_home() -> Iterator[Path]:
    """For tests that stop and start a daemon of their own."""
    with throwaway.room("memoryd-test-") as folder:
        yield folder / "home"


@pytest.fixture(scope="session")
async def daemon(home: Path) -> AsyncIterator[Daemon]:
    """Without work in the background: else it would encode, in the time of every later test, what
    earlier ones uploaded. Who asks by meaning calls `wire.embedded`; who tries the work itself has
    a daemon of its own.
    """
    async with composition.running(Settings(home=home), print, work=False) as running:
        await hurry(running.target)
        yield running


async def hurry(target: db.Target) -> None:
    """Wait for no disk: only a cut of the power would tell, and a killed process loses nothing."""
    conn = await asyncpg.connect(**target.arguments)
    await conn.execute("alter system set fsync = off")
    await conn.execute("select pg_reload_conf()")
    await conn.close()


@pytest.fixture(scope="session")
async def url(daemon: Daemon) -> AsyncIterator[str]:
    """Where the daemon answers real HTTP."""
    async with serving(daemon) as address:
        yield address


@asynccontextmanager
async def serving(daemon: Daemon, answering: ASGIApp | None = None) -> AsyncIterator[str]:
    # Named TCP, or asyncio leaves Nagle's delay on, and every request takes 44 ms.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        answering or app.build(daemon),
        log_config=None,
        access_log=False,
        timeout_keep_alive=addresses.KEEP_ALIVE_SECONDS,
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    task = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:
        await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    await task


@asynccontextmanager
async def running(target: db.Target, **given: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A daemon of its own on `target`, and a client of it."""
    async with (
        composition.running(outside(target, **given), print) as daemon,
        serving(daemon) as url,
        asking(url) as connected,
    ):
        yield connected


@pytest.fixture
def tenant() -> str:
    return f"tenant-{next(_numbers)}"


@pytest.fixture
async def conn(daemon: Daemon, tenant: str) -> AsyncIterator[db.Conn]:
    """A transaction of this test's tenant, undone at its end."""
    async with daemon.pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await db.set_tenant(connection, tenant)
        yield connection
        await transaction.rollback()


MakeKey = Callable[..., Awaitable[str]]


@pytest.fixture
async def make_key(daemon: Daemon) -> MakeKey:
    async def make(tenant_id: str, **given: str) -> str:
        async with db.tenant(daemon.pool, tenant_id) as connection:
            values = {"role": "agent", **given}
            _, text = await keys.create(
                connection,
                tenant_id=tenant_id,
                secret=secrets.token_urlsafe(32),
                now=composition.now(),
                **values,  # type: ignore[arg-type]
            )
            return text

    return make


@pytest.fixture
async def client(url: str, tenant: str, make_key: MakeKey) -> AsyncIterator[httpx.AsyncClient]:
    """Real HTTP with a key of this test's tenant."""
    async with asking(url, await make_key(tenant)) as connected:
        yield connected


def asking(url: str, key: str | None = None) -> httpx.AsyncClient:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    # No certificates: reading them takes longer than most tests.
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=120, verify=False)


@pytest.fixture(scope="session")
async def template(daemon: Daemon) -> str:
    """A database with the schema and nothing in it."""
    conn = await asyncpg.connect(**daemon.target.arguments)
    await conn.execute("create database memoryd_template")
    await conn.close()
    inside = await db.connect(within(daemon, "memoryd_template"), None)
    await migrate.migrate(inside)
    await migrate.complete_views(inside)
    await inside.close()
    return "memoryd_template"


@pytest.fixture
async def database(daemon: Daemon, template: str) -> AsyncIterator[db.Target]:
    """A database of this test's own, for what migrates, rebuilds or crashes."""
    async with cloned(daemon, template) as target:
        yield target


@pytest.fixture
async def empty_database(daemon: Daemon) -> AsyncIterator[db.Target]:
    async with cloned(daemon, "template0") as target:
        yield target


@asynccontextmanager
async def cloned(daemon: Daemon, template: str) -> AsyncIterator[db.Target]:
    name = f"test_{next(_numbers)}"
    conn = await asyncpg.connect(**daemon.target.arguments)
    await conn.execute(f"create database {name} template {template}")
    yield within(daemon, name)
    await conn.execute(f"drop database {name} with (force)")
    await conn.close()


def within(daemon: Daemon, name: str) -> db.Target:
    arguments = {**daemon.target.arguments, "database": name}
    return db.Target(arguments, embedded=True, vault=daemon.target.vault)


def outside(target: db.Target, **given: Any) -> Settings:
    """Settings of a daemon on `target`, with the master key that it was used with so far."""
    vault = target.vault
    assert vault.make is not None
    key = (vault.masters() or [vault.make()])[0]
    return Settings(database_url=dsn(target), master_key=key.hex(), **given)


def dsn(target: db.Target) -> str:
    """The same place as a URL, as an operator of an outside server writes it."""
    at = target.arguments
    return (
        f"postgresql://{at['user']}:{quote(at['password'])}@/{at['database']}"
        f"?host={quote(at['host'])}&port={at['port']}"
    )
