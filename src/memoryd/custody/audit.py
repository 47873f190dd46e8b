"""Who asked for what, without what it said: one row a request, written behind its back.

A request only notes itself in memory. Once a second the notes go to the database, so that no read
pays a round trip; a crash loses the last second of reads. What was written is in the log anyway.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta

import asyncpg

from memoryd.core import db, read
from memoryd.core.model import Caller, Reader

log = logging.getLogger("memoryd.audit")

FLUSH_SECONDS = 1.0
EXPIRE_SECONDS = 3600.0
# The database takes no rows at the moment: it is away, full or read-only.
AWAY = (
    *db.CONNECTION_LOST,
    asyncpg.InsufficientResourcesError,
    asyncpg.ReadOnlySQLTransactionError,
)
MOST_WAITING = 20_000  # notes, some 10 MB; more are counted and dropped, so that reads go on


@dataclass
class Note:
    """What a request says of itself while it is answered."""

    reader: Reader | None = None
    items: int | None = None
    recorded: int = 0
    ref: str | None = None


@dataclass(frozen=True, kw_only=True)
class Access:
    """A request as it is kept."""

    access_id: str
    at: datetime
    key_id: str | None
    role: str
    method: str
    route: str
    status: int
    channel: str | None
    user_id: str | None
    agent_id: str | None
    items: int
    recorded: int
    ref: str | None


@dataclass(frozen=True)
class Filters:
    """Which accesses; what is omitted does not restrict."""

    since: datetime | None = None
    until: datetime | None = None
    key_id: str | None = None
    route: str | None = None
    user_id: str | None = None
    bundle: str | None = None


_current: ContextVar[Note | None] = ContextVar("memoryd.audit", default=None)


def begin() -> Note:
    """A new note, for what this request does from now on."""
    note = Note()
    _current.set(note)
    return note


def tell(
    *,
    reader: Reader | None = None,
    items: int | None = None,
    recorded: int = 0,
    ref: str | None = None,
) -> None:
    """Say something of the request under way; outside of one, nobody listens."""
    note = _current.get()
    if note is None:
        return
    note.reader = reader or note.reader
    note.items = note.items if items is None else items
    note.recorded += recorded
    note.ref = ref or note.ref


async def page(
    conn: db.Conn, tenant_id: str, filters: Filters, cursor: str | None, limit: int
) -> list[Access]:
    """At most `limit` accesses before `cursor`, newest first."""
    since, until, *named = astuple(filters)
    span = (read.within_calendar(since), read.within_calendar(until))
    asked = (tenant_id, *span, *named, cursor, limit)
    return [Access(**row) for row in await conn.fetch(db.query("audit.page"), *asked)]


class Recorder:
    """Takes notes of requests, and writes them once a second."""

    def __init__(self, pool: db.Pool) -> None:
        self._pool = pool
        self._waiting: list[tuple[str, Access]] = []
        self._dropped = 0
        self._writing = asyncio.Lock()

    def add(self, tenant_id: str, access: Access) -> None:
        if len(self._waiting) < MOST_WAITING:
            self._waiting.append((tenant_id, access))
        else:
            self._dropped += 1

    async def run(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Write what waits; what the database does not take now waits for the next time."""
        async with self._writing:
            taken, self._waiting = self._waiting, []
            try:
                await self._write(taken)
            except AWAY as error:
                log.warning("audit.waits", extra={"error": type(error).__name__})
            except Exception as error:  # noqa: BLE001  # one bad row must not end all that follow
                log.error("audit.failed", extra={"error": type(error).__name__})  # noqa: TRY400
                self._dropped += len(taken)
                taken.clear()
            finally:  # also where it is cancelled: the daemon writes once more before it ends
                room = MOST_WAITING - len(self._waiting)
                self._dropped += max(0, len(taken) - room)
                self._waiting = taken[:room] + self._waiting
        if self._dropped:
            log.warning("audit.dropped", extra={"accesses": self._dropped})
            self._dropped = 0

    async def _write(self, taken: list[tuple[str, Access]]) -> None:
        """In one transaction a tenant; all that is written at last is taken from the list."""
        tenants: dict[str, list[Access]] = defaultdict(list)
        for tenant_id, access in taken:
            tenants[tenant_id].append(access)
        for tenant_id, accesses in tenants.items():
            async with db.borrow(self._pool) as conn, conn.transaction():
                await conn.execute(db.query("audit.begin"), tenant_id)
                rows = [(tenant_id, *astuple(access)) for access in accesses]
                await conn.executemany(db.query("audit.add"), rows)
            taken[:] = [one for one in taken if one[0] != tenant_id]


def access(note: Note, caller: Caller, *, ref: str | None, status: int, **facts: object) -> Access:
    """The row of a request that `caller` made."""
    good = status < 400
    reader = note.reader
    items = note.items if note.items is not None else int(facts["method"] != "POST")
    return Access(
        key_id=caller.key_id,
        role=caller.role,
        status=status,
        channel=reader.channel if reader else caller.channel,
        user_id=reader.user_id if reader else caller.user_id,
        agent_id=reader.agent_id if reader else caller.agent_id,
        items=items if good else 0,
        recorded=note.recorded if good else 0,
        # Of what was refused, an id could be anything that somebody typed.
        ref=(note.ref or ref) if good else None,
        **facts,  # type: ignore[arg-type]  # access_id, at, method and route
    )


async def keep_fresh(target: db.Target, days: int, clock: Callable[[], datetime]) -> None:
    """Once an hour, delete what is older than `days`."""
    while True:
        try:
            await expire(target, clock() - timedelta(days=days))
        except AWAY as error:
            log.warning("audit.not_expired", extra={"error": type(error).__name__})
        await asyncio.sleep(EXPIRE_SECONDS)


async def expire(target: db.Target, before: datetime) -> None:
    """As the owner: the daemon's role may add accesses, and change none."""
    owner = await db.connect(target, db.OWNER)
    try:
        rows = await owner.fetch(db.query("rebuild.tenants"))
        for tenant_id in {"default", *(row["tenant_id"] for row in rows)}:
            async with owner.transaction():
                await db.set_tenant(owner, tenant_id)
                await owner.execute(db.query("audit.expire"), tenant_id, before)
    finally:
        await owner.close()
