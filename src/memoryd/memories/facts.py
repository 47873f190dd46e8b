"""Facts about a user's world (seed 000); they are changed as every memory is (change.py)."""

from collections.abc import Callable

from memoryd.core import db
from memoryd.core.model import Caller, Reader
from memoryd.daemon import Daemon
from memoryd.memories import document, read, write
from memoryd.memories.model import Fact, Version
from memoryd.memories.read import Wanted
from memoryd.memories.write import Origin

TYPES = ("fact",)
LATEST = 2**62  # beyond any position


async def page(
    conn: db.Conn,
    reader: Reader,
    wanted: Wanted | None = None,
    *,
    as_of: int = LATEST,
    offset: int = 0,
    limit: int = read.MOST,
) -> tuple[list[Fact], int]:
    """The facts that hold, by category and then creation, and how many there are in all."""
    chosen = wanted or Wanted()
    return await read.page(
        conn, reader, Fact, TYPES, chosen, as_of=as_of, offset=offset, limit=limit
    )


async def one(conn: db.Conn, reader: Reader, memory_id: str, *, as_of: int = LATEST) -> Fact:
    """A fact, whether it holds or was deleted."""
    return await read.one(conn, reader, Fact, TYPES, memory_id, as_of=as_of)


async def versions(
    conn: db.Conn, reader: Reader, memory_id: str, *, as_of: int = LATEST
) -> list[Version]:
    await one(conn, reader, memory_id, as_of=as_of)
    return await read.versions(conn, reader, memory_id, as_of=as_of)


async def add(
    daemon: Daemon,
    caller: Caller,
    origin: Origin,
    *,
    text: str,
    category: str,
    subject: str | None = None,
    force: bool = False,
    draw: Callable[[], str] = write.fresh_id,
) -> Fact:
    """Remember `text`; `SameSubject` names the fact that should be changed instead, unless forced.

    What makes the user's document too long pushes others out of it.
    """
    said = {
        "op": "add",
        "type": "fact",
        "category": category,
        "text": text,
        "subject": subject,
        "force": force or None,
    }
    written = await write.add(daemon, caller, origin, said, draw)
    await document.fit(daemon, written.owner)
    async with db.tenant(daemon.pool, caller.tenant_id) as conn:
        return await one(conn, written.owner, written.memory_id, as_of=written.position)
