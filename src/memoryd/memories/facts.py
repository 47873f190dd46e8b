"""Facts about a user's world (seed 000): added, changed by versions, deleted softly, undone."""

from collections.abc import Callable, Mapping

from memoryd.core import db, errors
from memoryd.core.model import Caller, Reader
from memoryd.daemon import Daemon, now
from memoryd.memories import document, read, write
from memoryd.memories.model import Fact, Version
from memoryd.memories.read import Wanted
from memoryd.memories.write import Origin
from memoryd.search import retrieve

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


async def search(
    daemon: Daemon, reader: Reader, wanted: Wanted, text: str, *, as_of: int
) -> list[Fact]:
    """The facts that hold and that a search for `text` finds, best first."""
    filters = retrieve.Filters(kind="memory", user_id=reader.user_id)
    asked = retrieve.Search(text=text, now=now(), filters=filters, limit=retrieve.FULL)
    answer = await daemon.searcher.search(reader, asked, as_of)
    positions = [row["position"] for row in answer.rows]
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        return await read.found(conn, reader, Fact, TYPES, wanted, as_of=as_of, positions=positions)


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


async def update(
    daemon: Daemon, caller: Caller, reader: Reader, origin: Origin, memory_id: str, text: str
) -> tuple[Fact, str]:
    """A new version under the same id; returns it with the text that it replaced."""
    old = await _look(daemon, reader, memory_id)
    said = {"op": "update", "text": text, "subject": old.subject}
    return await _changed(daemon, caller, origin, old, said)


async def restore(
    daemon: Daemon, caller: Caller, reader: Reader, origin: Origin, memory_id: str, version: int
) -> tuple[Fact, str]:
    """The text of an earlier version again, as a new one. A deleted fact comes back with it."""
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        old = await one(conn, reader, memory_id)
        had = await read.versions(conn, reader, memory_id, as_of=LATEST)
    chosen = next((each for each in had if each.version == version), None)
    if chosen is None:
        raise errors.NotFound(
            f"memory {memory_id!r} has no version {version}; it has 1 to {len(had)}",
            field="version",
            limit=f"1 to {len(had)}",
        )
    said = {"op": "restore", "restores": chosen.event_id}
    return await _changed(daemon, caller, origin, old, said)


async def delete(
    daemon: Daemon, caller: Caller, reader: Reader, origin: Origin, memory_id: str
) -> Fact:
    """It leaves lists, prompt and search; its versions stay, and it can be brought back."""
    old = await _look(daemon, reader, memory_id)
    return (await _changed(daemon, caller, origin, old, {"op": "delete"}))[0]


async def undelete(
    daemon: Daemon, caller: Caller, reader: Reader, origin: Origin, memory_id: str
) -> Fact:
    """Bring back what was deleted or pushed out of the document."""
    old = await _look(daemon, reader, memory_id)
    return (await _changed(daemon, caller, origin, old, {"op": "undelete"}))[0]


async def activate(
    daemon: Daemon,
    caller: Caller,
    reader: Reader,
    origin: Origin,
    memory_id: str,
    *,
    active: bool,
) -> Fact:
    """Whether a fact of the document still holds (seed 004)."""
    old = await _look(daemon, reader, memory_id)
    said = {"op": "activate" if active else "deactivate"}
    return (await _changed(daemon, caller, origin, old, said))[0]


async def _look(daemon: Daemon, reader: Reader, memory_id: str) -> Fact:
    """Also a deleted one, which the write refuses unless it is a retry."""
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        return await one(conn, reader, memory_id)


async def _changed(
    daemon: Daemon, caller: Caller, origin: Origin, old: Fact, said: Mapping[str, str | None]
) -> tuple[Fact, str]:
    written = await write.change(daemon, caller, write.of(old, origin), old.memory_id, said)
    owner, at = written.owner, written.position
    await document.fit(daemon, owner)
    async with db.tenant(daemon.pool, caller.tenant_id) as conn:
        before = await one(conn, owner, old.memory_id, as_of=at - 1)
        return await one(conn, owner, old.memory_id, as_of=at), before.text
