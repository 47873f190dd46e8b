"""THE WRITE PATH: a draft becomes an event, its chunks and what they project into.

`prepare` is the work that needs no database (it may run in a thread); `append` is one transaction's
work under the tenant's lock, so that log positions are dense and in commit order.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memoryd.core import chunk, content, db, errors, ids, tokens, views
from memoryd.core.model import Artifact, Caller, Chunk, Draft, Event, Recorded
from memoryd.redact import writes as redact_writes
from memoryd.seal import keys as tenant_keys
from memoryd.seal import rows as sealed
from memoryd.seal import store
from memoryd.seal.vault import Keys

EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
AHEAD = timedelta(days=1)  # clocks differ; a day covers every time zone mistaken for UTC


@dataclass(frozen=True, kw_only=True)
class Write:
    """A draft made ready: everything but its place in the log."""

    event: Event
    chunks: tuple[Chunk, ...]
    artifact: Artifact | None
    pieces: tuple[bytes, ...]
    idempotency_key: str | None
    request_hash: bytes | None
    redacted: tuple[str, ...]


def prepare(
    caller: Caller, draft: Draft, now: datetime, entropy: bytes, output: bytes | None = None
) -> Write:
    """Check `draft`, redact its secrets, set its output apart, and cut its text into chunks.

    `output` is the raw output where it came beside the JSON, as an upload.
    """
    seen: set[str] = set()
    draft = redact_writes.names(_own(caller, draft), seen)
    _check_time(draft.ts, now)
    normal = content.normalize(draft.kind, draft.content, seen, output)
    if draft.sensitivity == "secret":
        draft, normal = replace(draft, tags=(), refs=()), content.Normal(content.REDACTED)
    event = _event(draft, normal.content, now, ids.new("evt", now, entropy))
    artifact: Artifact | None = None
    pieces: tuple[bytes, ...] = ()
    if normal.blob is not None:
        artifact, pieces = _artifact(event, normal), store.pieces_of(normal.blob)
        event.content["artifact_id"] = artifact.artifact_id
    hashed = draft.idempotency_key is not None
    return Write(
        event=event,
        chunks=chunks_of(event, normal.blob),
        artifact=artifact,
        pieces=pieces,
        idempotency_key=draft.idempotency_key,
        request_hash=_hash(draft, normal) if hashed else None,
        redacted=tuple(sorted(seen)),
    )


def chunks_of(event: Event, blob: bytes | None) -> tuple[Chunk, ...]:
    """The chunks of a stored event; `blob` is its artifact's bytes, where it has one."""
    if event.sensitivity == "secret":
        return ()
    pieces = chunk.split(content.text_of(event.kind, event.content, blob))
    return tuple(
        Chunk(
            chunk_id=ids.derive("chk", event.event_id, ordinal),
            ordinal=ordinal,
            token_est=tokens.count(text),
            text=text,
        )
        for ordinal, text in enumerate(pieces)
    )


async def append(
    conn: db.Conn, tenant_id: str, writes: Sequence[Write], now: datetime
) -> list[Recorded]:
    """Store `writes` at the head of the tenant's log, and answer each.

    A key that is known answers as it did the first time and stores nothing; known with another
    body, nothing of `writes` is stored.
    """
    await conn.execute(db.query("record.lock"), tenant_id)
    head = await conn.fetchrow(db.query("record.head"), tenant_id)
    if head is None:
        await conn.execute(db.query("record.add_tenant"), tenant_id, now)
    position, recorded_at = (head[0], max(now, head[1])) if head else (0, now)
    events = [write.event for write in writes]
    keys = await tenant_keys.ready(conn, tenant_id, events, position + 1, now)
    writes = [_hashed(write, keys) for write in writes]
    known = await _known(conn, tenant_id, writes)
    fresh: list[Write] = []
    answers = []
    for write in writes:
        answer = _retried(known, write)
        if answer is None:
            position += 1
            event = replace(write.event, position=position, recorded_at=recorded_at)
            write = replace(write, event=event)  # noqa: PLW2901  # the same write, placed
            fresh.append(write)
            answer = _answer(write)
            if write.idempotency_key is not None:
                known[write.idempotency_key] = (write.request_hash, answer)
        answers.append(answer)
    await _store(conn, fresh, keys)
    return answers


def _hashed(write: Write, keys: Keys) -> Write:
    """What is sealed must not be guessed by its hash either."""
    guarded = write.request_hash and sealed.hashed(keys, write.event, write.request_hash)
    return replace(write, request_hash=guarded)


async def _store(conn: db.Conn, writes: list[Write], keys: Keys) -> None:
    if not writes:
        return
    rows = [
        (*store.event_row(write.event, keys), write.idempotency_key, write.request_hash)
        for write in writes
    ]
    await conn.executemany(db.query("record.add_event"), rows)
    for write in writes:
        if write.artifact is not None:
            await store.add_artifact(conn, write.event, write.artifact, write.pieces, keys)
    await store.add_chunks(conn, [(write.event, write.chunks) for write in writes], keys)
    for write in writes:
        await views.project(conn, write.event, keys)


def _own(caller: Caller, draft: Draft) -> Draft:
    """`draft` with what it omits filled in from the key, and nothing that the key forbids."""
    if draft.tenant_id not in (None, caller.tenant_id):
        raise errors.Forbidden(
            f"this key does not write to tenant {draft.tenant_id!r}", field="tenant_id"
        )
    for name in ("user_id", "agent_id", "channel"):
        pinned, given = getattr(caller, name), getattr(draft, name)
        if pinned is not None and given not in (None, pinned):
            raise errors.Forbidden(f"this key is pinned to {name} {pinned!r}", field=name)
    return replace(
        draft,
        tenant_id=caller.tenant_id,
        user_id=draft.user_id or caller.user_id or "default",
        agent_id=draft.agent_id or caller.agent_id or "default",
        channel=draft.channel or caller.channel or "private",
    )


def _check_time(ts: datetime | None, now: datetime) -> None:
    if ts is not None and not EARLIEST <= ts <= now + AHEAD:
        limit = f"from {EARLIEST:%Y-%m-%d} to a day from now"
        raise errors.Invalid(f"ts is {ts.isoformat()}; check the clock", field="ts", limit=limit)


def _event(draft: Draft, kept: dict[str, Any], now: datetime, event_id: str) -> Event:
    assert draft.tenant_id and draft.user_id and draft.agent_id and draft.channel
    return Event(
        event_id=event_id,
        position=0,
        ts=draft.ts or now,
        recorded_at=now,
        tenant_id=draft.tenant_id,
        session_id=draft.session_id,
        user_id=draft.user_id,
        agent_id=draft.agent_id,
        channel=draft.channel,
        actor=draft.actor,
        kind=draft.kind,
        sensitivity=draft.sensitivity,
        tags=tuple(dict.fromkeys(draft.tags)),
        content=dict(kept),
        refs=tuple(dict.fromkeys(draft.refs)),
    )


def _artifact(event: Event, normal: content.Normal) -> Artifact:
    assert normal.blob is not None
    return Artifact(
        artifact_id=ids.same("art", event.event_id),
        event_id=event.event_id,
        ts=event.ts,
        kind="tool_output" if event.kind == "tool_result" else "blob",
        digest=hashlib.sha256(normal.blob).digest(),
        size=len(normal.blob),
        media_type=normal.media_type,
        meta={
            name: event.content[name] for name in ("tool", "path", "name") if name in event.content
        },
    )


def _hash(draft: Draft, normal: content.Normal) -> bytes:
    """Of what the log would keep, so that the hash tells nothing of what is left out."""
    said = asdict(draft) | {"idempotency_key": None, "content": normal.content}
    said["blob"] = hashlib.sha256(normal.blob).hexdigest() if normal.blob is not None else None
    return ids.digest(said)


async def _known(
    conn: db.Conn, tenant_id: str, writes: Sequence[Write]
) -> dict[str, tuple[bytes | None, Recorded]]:
    keys = [write.idempotency_key for write in writes if write.idempotency_key is not None]
    if not keys:
        return {}
    rows = await conn.fetch(db.query("record.by_key"), tenant_id, keys)
    return {
        row["idempotency_key"]: (
            row["request_hash"],
            Recorded(
                event_id=row["event_id"],
                chunk_ids=tuple(row["chunk_ids"]),
                created_at=row["recorded_at"],
            ),
        )
        for row in rows
    }


def _retried(known: dict[str, tuple[bytes | None, Recorded]], write: Write) -> Recorded | None:
    if write.idempotency_key is None or write.idempotency_key not in known:
        return None
    request_hash, answer = known[write.idempotency_key]
    if request_hash != write.request_hash:
        raise errors.Conflict(
            f"idempotency_key {write.idempotency_key!r} was used for another body; use a new key",
            field="idempotency_key",
        )
    return replace(answer, redacted=write.redacted)


def _answer(write: Write) -> Recorded:
    return Recorded(
        event_id=write.event.event_id,
        chunk_ids=tuple(piece.chunk_id for piece in write.chunks),
        created_at=write.event.recorded_at,
        redacted=write.redacted,
    )
