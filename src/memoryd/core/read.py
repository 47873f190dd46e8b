"""Reading the log: events, pages of them, and the bytes of artifacts, through a reader's eyes."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from memoryd.core import db, errors, privacy
from memoryd.core.model import PIECE_BYTES, Actor, Artifact, Event, Reader
from memoryd.seal import keys, store

_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Filters:
    """Which events; what is omitted does not restrict."""

    session_id: str | None = None
    kind: str | None = None
    actor: str | None = None
    tag: str | None = None
    since: datetime | None = None
    until: datetime | None = None


async def event(conn: db.Conn, reader: Reader, event_id: str) -> Event:
    row = await conn.fetchrow(db.query("read.event"), *eyes(reader), event_id)
    if row is None:
        raise errors.NotFound(f"there is no event {event_id!r} that you may see")
    return to_event(row)


async def page(
    conn: db.Conn,
    reader: Reader,
    filters: Filters,
    *,
    order: Literal["newest", "oldest"],
    cursor: int | None,
    limit: int,
) -> list[Event]:
    """At most `limit` events beyond position `cursor`, in `order`."""
    tags = await keys.tags_like(conn, reader.tenant_id, filters.tag)
    given = (filters.session_id, filters.kind, filters.actor, tags)
    span = (within_calendar(filters.since), within_calendar(filters.until))
    where = (*eyes(reader), *given, *span, cursor, limit)
    return [to_event(row) for row in await conn.fetch(db.query(f"read.{order}"), *where)]


async def artifact(conn: db.Conn, reader: Reader, artifact_id: str) -> Artifact:
    row = await conn.fetchrow(db.query("read.artifact"), *eyes(reader), artifact_id)
    if row is None:
        raise errors.NotFound(f"there is no artifact {artifact_id!r} that you may see")
    keys.check_open(row["meta"])
    return Artifact(**row)


async def stream(
    pool: db.Pool, tenant_id: str, artifact: Artifact, start: int, stop: int
) -> AsyncIterator[bytes]:
    """The bytes from `start` to `stop`, a piece at a time.

    Each piece is a transaction of its own, so that a slow client holds no connection.
    """
    for number in range(start // PIECE_BYTES, -(-stop // PIECE_BYTES)):
        async with db.tenant(pool, tenant_id) as conn:
            piece = await store.read_piece(conn, tenant_id, artifact.digest, number)
        base = number * PIECE_BYTES
        yield piece[max(start - base, 0) : stop - base]


async def blob_of(conn: db.Conn, event: Event) -> bytes | None:
    """The bytes that an event set apart, whole; None where it has none. For replay."""
    found = await conn.fetchrow(db.query("read.blob"), event.tenant_id, event.event_id)
    if found is None:
        return None
    digest, size = found
    pieces = [
        await store.read_piece(conn, event.tenant_id, digest, number)
        for number in range(-(-size // PIECE_BYTES))
    ]
    return b"".join(pieces)


def to_event(row: Any) -> Event:
    values = dict(row)
    actor = Actor(type=values.pop("actor_type"), id=values.pop("actor_id"))
    values["tags"], values["refs"] = tuple(values["tags"]), tuple(values["refs"])
    return Event(**values, actor=actor)


def within_calendar(moment: datetime | None) -> datetime | None:
    """In UTC; the last hours of year 9999 elsewhere are year 10000 there, which Python has not."""
    try:
        return moment and moment.astimezone(UTC)
    except OverflowError:
        return _FIRST if moment is not None and moment.year == 1 else _LAST


def eyes(reader: Reader) -> tuple[Any, ...]:
    """The arguments by which every query of a reader begins."""
    sight = privacy.sight(reader)
    owned = (sight.own_channels, sight.user_id)
    return (reader.tenant_id, sight.sensitivities, sight.channels, *owned)
