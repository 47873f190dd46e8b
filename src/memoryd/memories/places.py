"""The places that a user cares about (seed 004), and where they were mentioned."""

from memoryd.core import db, errors
from memoryd.core import read as log
from memoryd.core.model import Caller, Reader
from memoryd.daemon import Daemon
from memoryd.memories import document, read, write
from memoryd.memories.model import Place
from memoryd.memories.write import Origin, Written

LATEST = 2**62  # beyond any position


async def one(conn: db.Conn, reader: Reader, place_id: str, *, as_of: int = LATEST) -> Place:
    """The reader's own place, with its mentions."""
    asked = (*log.eyes(reader), as_of, reader.user_id, place_id)
    row = await conn.fetchrow(db.query("memories.place"), *asked)
    if row is None:
        raise errors.NotFound(f"there is no place {place_id!r} that you may see", field="place_id")
    (found,) = await document.with_mentions(conn, reader, [read.made(Place, row)], as_of=as_of)
    return found


async def keep(
    daemon: Daemon,
    caller: Caller,
    origin: Origin,
    *,
    place_id: str,
    place_name: str,
    notes: str | None,
) -> Place:
    """Remember a place, or say more of one that is known; where it was said is a mention of it."""
    said = {"op": "place", "type": "place", "place_id": place_id, "subject": place_name}
    said |= {"text": notes} if notes else {}
    written = await write.add(daemon, caller, origin, {**said, **_mention(origin)})
    return await _kept(daemon, written, place_id)


async def mention(
    daemon: Daemon, caller: Caller, reader: Reader, origin: Origin, place_id: str
) -> Place:
    """Count a message that mentions the place."""
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        place = await one(conn, reader, place_id)
    said = {"op": "mention", **_mention(origin)}
    placed = write.of(place, origin)
    written = await write.change(daemon, caller, placed, place.memory_id, said)
    return await _kept(daemon, written, place_id)


async def forget(
    daemon: Daemon, caller: Caller, reader: Reader, origin: Origin, place_id: str
) -> Place:
    """The place as it was; it leaves the document, and comes back when it is added again."""
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        place = await one(conn, reader, place_id)
    await write.change(daemon, caller, write.of(place, origin), place.memory_id, {"op": "delete"})
    return place


def _mention(origin: Origin) -> dict[str, dict[str, str]]:
    if origin.conversation_id is None or origin.message_id is None:
        return {}
    return {"mention": {"conversation_id": origin.conversation_id, "message_id": origin.message_id}}


async def _kept(daemon: Daemon, written: Written, place_id: str) -> Place:
    await document.fit(daemon, written.owner)
    async with db.tenant(daemon.pool, written.owner.tenant_id) as conn:
        return await one(conn, written.owner, place_id, as_of=written.position)
