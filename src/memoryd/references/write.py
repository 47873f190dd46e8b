"""Storing a text or bytes as a reference, and taking it out of use: events like any other.

What is made of the content (its description, its count, a key) is made of what the log keeps, when
the filter has been over it.
"""

import asyncio
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from pydantic_core import to_json

from memoryd import redact
from memoryd.core import db, errors, record
from memoryd.core.model import Caller, Draft, Reader
from memoryd.daemon import Daemon, entropy, now
from memoryd.memories import write
from memoryd.memories.write import Origin
from memoryd.references import describe, model, read
from memoryd.references import swap as swaps
from memoryd.references.model import Reference

INLINE = 8_192  # bytes; more is filtered, cut and counted in a thread, so that others are served
METADATA_MOST = 64 * 1024  # bytes as JSON
ATTEMPTS = 3  # to see whose a key is, beside others who write and erase it
_AS_SENT = {"content.text": "content", "content.reference.key": "key"}


@dataclass(frozen=True)
class Stored:
    reference: Reference
    fresh: bool  # False: the same was there already
    redacted: tuple[str, ...] = ()


async def store(daemon: Daemon, caller: Caller, draft: Draft, output: bytes) -> Stored:
    """Keep `output` under the key that `draft` gives it, or one made here.

    A key that is there with the same content is the same reference; with another, `Conflict`.
    """
    key = _checked(draft.content["reference"])
    prepared = await _prepare(caller, draft, output)
    owner = _owner(prepared)
    for _ in range(ATTEMPTS):
        if key is not None and (same := await _same(daemon, caller, owner, key, prepared)):
            return same
        try:
            (recorded,) = await daemon.group.commit(caller.tenant_id, [prepared])
        except model.Taken:
            continue  # by one who was faster: see whether it is the same
        async with db.tenant(daemon.pool, caller.tenant_id) as conn:
            made = await read.one(conn, replace(owner, channel="private"), recorded.event_id)
        fresh = recorded.event_id == prepared.event.event_id
        return Stored(made, fresh, recorded.redacted)
    raise errors.Unavailable(f"others are storing {key!r}: try again in a moment")


async def swap(
    daemon: Daemon, caller: Caller, draft: Draft, text: bytes, threshold: int | None
) -> Stored | None:
    """Store a text that is too long for the context; None where it may stay (seed 001 §4.1)."""
    most = daemon.settings.reference_tokens if threshold is None else threshold
    over = await asyncio.to_thread(swaps.swap, text.decode(), most)
    return None if over is None else await store(daemon, caller, draft, text)


def _checked(said: Mapping[str, Any]) -> str | None:
    """The key that was given, if it may be one."""
    if (size := len(to_json(said.get("metadata", {})))) > METADATA_MOST:
        limit = f"{METADATA_MOST:,} bytes"
        raise errors.TooLarge(f"metadata has {size:,} bytes", field="metadata", limit=limit)
    key: str | None = said.get("key")
    if key is not None:
        model.check_key(key)
        redact.refuse(key=key)
    return key


async def activate(
    daemon: Daemon, caller: Caller, reader: Reader, origin: Origin, key: str, *, active: bool
) -> Reference:
    """Whether it is listed and found; it can be asked for by its key in any case."""
    found = await owned(daemon, reader, key)
    if found.is_active is active:
        return found
    await change(daemon, caller, origin, found, op="activate" if active else "deactivate")
    return replace(found, is_active=active)


async def owned(daemon: Daemon, reader: Reader, key: str) -> Reference:
    """One that the reader may change: a reference of their own."""
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        found = await read.one(conn, reader, key)
    if found.user_id != reader.user_id or found.key == found.event_id:
        raise read.missing(key)
    return found


async def change(
    daemon: Daemon, caller: Caller, origin: Origin, found: Reference, **said: str
) -> None:
    """Record what is said of it: `op`, and with `update` the `text` that describes it."""
    placed = replace(origin, user_id=found.user_id, channel=found.channel)
    await write.change(daemon, caller, placed, found.event_id, {"type": "reference", **said})


async def _same(
    daemon: Daemon, caller: Caller, owner: Reader, key: str, prepared: record.Write
) -> Stored | None:
    """What has the key already, if its content is the same; it is in use again then."""
    assert prepared.artifact is not None
    async with db.tenant(daemon.pool, caller.tenant_id) as conn:
        try:
            found = await read.one(conn, owner, key)
        except errors.NotFound:
            return None
        same = found.size == prepared.artifact.size
        stored = await read.stored_bytes(conn, owner, found) if same else b""
    if not same or sha256(stored).digest() != prepared.artifact.digest:
        raise errors.Conflict(
            f"the key {key!r} has another content; choose another key, or none", field="key"
        )
    if not found.is_active:
        event = prepared.event
        origin = Origin(user_id=event.user_id, agent_id=event.agent_id, actor=event.actor)
        await change(daemon, caller, origin, found, op="activate")
    return Stored(replace(found, is_active=True), fresh=False, redacted=prepared.redacted)


async def _prepare(caller: Caller, draft: Draft, output: bytes) -> record.Write:
    try:
        if len(output) <= INLINE:
            return _prepared(caller, draft, output)
        return await asyncio.to_thread(_prepared, caller, draft, output)
    except errors.MemorydError as error:
        place = error.field or ""
        named = _AS_SENT.get(place, place.removeprefix("content.").removeprefix("reference."))
        error.field = named or None
        raise


def _prepared(caller: Caller, draft: Draft, output: bytes) -> record.Write:
    """The write, with what is known of a text only when its secrets are out of it."""
    prepared = record.prepare(caller, draft, now(), entropy(), output)
    event = prepared.event
    kept: dict[str, Any] = event.content["reference"]
    said = "".join(piece.text for piece in prepared.chunks)
    metadata = kept.get("metadata", {})
    binary = "line_range" not in event.content
    if not kept.get("description", "").strip():
        media_type = event.content["media_type"]
        kept["description"] = (
            describe.binary(_beginning(prepared), event.content["size"], media_type, metadata)
            if binary
            else describe.text(said, metadata)
        )
    kept["description"] = model.brief(kept["description"])
    counted = sum(piece.token_est for piece in prepared.chunks)
    kept["token_count"] = round(event.content["size"] * model.PER_BYTE) if binary else counted
    # The words of what is sealed must not lie open in its key.
    named = kept["type"] if event.sensitivity == "high" else kept["description"]
    kept.setdefault("key", model.made_key(named, event.event_id))
    return prepared


def _beginning(prepared: record.Write) -> bytes:
    return zlib.decompress(prepared.pieces[0]) if prepared.pieces else b""


def _owner(prepared: record.Write) -> Reader:
    """Through whose eyes it is read back: the writer's own."""
    event = prepared.event
    return Reader(
        tenant_id=event.tenant_id,
        channel=event.channel,
        user_id=event.user_id,
        agent_id=event.agent_id,
    )
