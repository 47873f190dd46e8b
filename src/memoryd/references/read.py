"""Reading references through a reader's eyes: one, a page of them, what a search finds.

Any event may be asked for by its id, so that every placeholder that memoryd ever showed can be
followed; what has a key is asked for by it.
"""

import asyncio
import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memoryd.core import content, db, errors
from memoryd.core import read as log
from memoryd.core.model import Reader
from memoryd.daemon import Daemon, now
from memoryd.references import model, parts
from memoryd.references.model import Reference
from memoryd.references.parts import Part, Wish
from memoryd.search import retrieve

INLINE = 64 * 1024  # bytes; a part of more is cut in a thread
_large = asyncio.Semaphore(2)  # those that are read whole to be cut are held in memory
AT_ONCE = 4 * 1024 * 1024  # bytes; more than that waits for its turn


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which references; what is omitted does not restrict."""

    user_id: str | None = None
    session_id: str | None = None
    type: str | None = None
    inactive: bool = False


@dataclass(frozen=True)
class Found:
    """What a search found of a reference."""

    reference: Reference
    score: float
    text: str  # the chunk that fits best


async def one(conn: db.Conn, reader: Reader, key: str) -> Reference:
    """By its key, or by the id of an event; unknown and hidden are the same."""
    event_id = key
    if not model.EVENT_ID.fullmatch(key):
        asked = (*log.eyes(reader), reader.user_id, key, reader.channel)
        event_id = await conn.fetchval(db.query("references.by_key"), *asked)
    found = await _rows(conn, reader, [event_id] if event_id else [])
    if not found:
        raise missing(key)
    return found[0]


async def page(
    conn: db.Conn, reader: Reader, wanted: Wanted, *, cursor: int | None, limit: int
) -> list[Reference]:
    """Newest first."""
    filters = (wanted.user_id, wanted.session_id, wanted.type, wanted.inactive)
    rows = await conn.fetch(db.query("references.page"), *log.eyes(reader), *filters, cursor, limit)
    return await _rows(conn, reader, [row["reference_id"] for row in rows])


async def search(
    daemon: Daemon, reader: Reader, wanted: Wanted, text: str, limit: int
) -> list[Found]:
    """The active references that a search for `text` finds, best first, each once."""
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        filters = (wanted.user_id, wanted.session_id, wanted.type)
        rows = await conn.fetch(db.query("references.positions"), *log.eyes(reader), *filters)
    if not rows:
        return []
    among = retrieve.Filters(positions=tuple(row["position"] for row in rows))
    asked = retrieve.Search(text=text, now=now(), filters=among, limit=retrieve.FULL)
    answer = await daemon.searcher.search(reader, asked)
    best: dict[str, tuple[float, str]] = {}
    for row, hit in zip(answer.rows, answer.hits, strict=True):
        best.setdefault(row["event_id"], (hit.score, row["text"]))
    chosen = list(best)[:limit]
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        found = await _rows(conn, reader, chosen)
    return [Found(each, *best[each.event_id]) for each in found]


async def part(daemon: Daemon, reader: Reader, key: str, wish: Wish) -> tuple[Reference, Part]:
    """A reference, and the part of it that is asked for."""
    wish.check()
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        found = await one(conn, reader, key)
    if not (wish.lines or wish.bytes or wish.path or wish.find):
        parts.fits(found.size, "key")
    if found.size <= AT_ONCE:
        return found, await _cut(daemon, reader, found, wish)
    async with _large:
        return found, await _cut(daemon, reader, found, wish)


async def _cut(daemon: Daemon, reader: Reader, found: Reference, wish: Wish) -> Part:
    if wish.bytes and found.artifact_id:
        return await _bytes(daemon, reader, found, wish.bytes)
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        stored = await stored_bytes(conn, reader, found)
    if len(stored) <= INLINE:
        return parts.part(stored, wish, binary=found.binary)
    return await asyncio.to_thread(parts.part, stored, wish, binary=found.binary)


async def _bytes(daemon: Daemon, reader: Reader, found: Reference, given: str) -> Part:
    """Only the pieces that have them are read."""
    assert found.artifact_id is not None
    low, high = parts.span(given, found.size, 0, "bytes")
    parts.fits(high - low, "bytes")
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        kept = await log.artifact(conn, reader, found.artifact_id)
    pieces = [piece async for piece in log.stream(daemon.pool, reader.tenant_id, kept, low, high)]
    return parts.of_bytes(b"".join(pieces), low, found.size)


async def stored_bytes(conn: db.Conn, reader: Reader, found: Reference) -> bytes:
    """All of it, as it was stored."""
    event = await log.event(conn, reader, found.event_id)
    blob = await log.blob_of(conn, event)
    return content.text_of(event.kind, event.content, None).encode() if blob is None else blob


async def ends(daemon: Daemon, reader: Reader, found: Reference, room: int) -> str:
    """Its first and its last `room` bytes, as text."""
    spans = [f"0-{room - 1}", f"-{room}"] if found.size > 2 * room else ["0-"]
    cut = [await _cut(daemon, reader, found, Wish(bytes=span)) for span in spans]
    # A range may cut a letter in two, and is no text then.
    texts = [
        one.content or base64.b64decode(one.bytes or "").decode(errors="ignore") for one in cut
    ]
    return "\n…\n".join(texts)


def missing(key: str) -> errors.NotFound:
    return errors.NotFound(f"there is no reference {key!r} that you may see", field="key")


async def _rows(conn: db.Conn, reader: Reader, event_ids: Sequence[str]) -> list[Reference]:
    rows = await conn.fetch(db.query("references.rows"), *log.eyes(reader), event_ids)
    made = {row["event_id"]: _made(reader, row) for row in rows}
    return [made[name] for name in event_ids if name in made]


def _made(reader: Reader, row: Any) -> Reference:
    said: dict[str, Any] = row["content"]
    kept: dict[str, Any] = said.get("reference") or {}
    own = row["key"] is not None and row["user_id"] == reader.user_id
    binary = row["artifact_id"] is not None and "line_range" not in said
    same = ("event_id", "session_id", "user_id", "agent_id", "channel", "sensitivity")
    return Reference(
        key=row["key"] if own else row["event_id"],
        type=kept.get("type") or (model.DEFAULT_TYPE if row["key"] else row["kind"]),
        description=model.brief(
            row["described"] or kept.get("description") or _about(row["kind"], said)
        ),
        described_by=row["described_by"] if row["described"] else None,
        token_count=kept.get("token_count", row["tokens"] or 0),
        size=_size(row),
        media_type=row["media_type"] or "text/plain",
        binary=binary,
        metadata=kept.get("metadata") or {},
        created_at=row["ts"],
        is_active=row["is_active"] is not False,
        artifact_id=row["artifact_id"],
        position=row["position"],
        **{name: row[name] for name in same},
    )


def _about(kind: str, said: dict[str, Any]) -> str:
    """Of an event that was not stored as a reference: as a bundle's placeholder says it."""
    named = [said[name] for name in ("tool", "path", "name") if isinstance(said.get(name), str)]
    return " ".join(named) or kind


def _size(row: Any) -> int:
    if row["size"] is not None:
        return int(row["size"])
    return len(content.text_of(row["kind"], row["content"], None).encode())
