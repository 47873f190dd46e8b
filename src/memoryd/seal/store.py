"""Events, chunks and artifacts on their way into their tables: what is `high` is sealed here.

The counterpart of `connection`, which opens rows as they come.
"""

import zlib
from collections.abc import Sequence
from typing import Any

from memoryd.core import db, errors
from memoryd.core.model import (
    IMPORTANCE,
    OTHER_IMPORTANCE,
    OUTPUTS,
    PIECE_BYTES,
    Artifact,
    Chunk,
    Event,
)
from memoryd.seal import keys as tenant_keys
from memoryd.seal import rows as sealed
from memoryd.seal.vault import Keys

ROWS_AT_ONCE = 1_000  # encoding more in one go would keep others waiting


def event_row(event: Event, keys: Keys) -> tuple[Any, ...]:
    event = sealed.event(keys, event)
    return (
        *(event.tenant_id, event.event_id, event.position, event.ts, event.recorded_at),
        *(event.session_id, event.user_id, event.agent_id, event.channel, event.actor.type),
        *(event.actor.id, event.kind, event.sensitivity, event.tags, event.content, event.refs),
    )


async def add_artifact(
    conn: db.Conn, event: Event, artifact: Artifact, pieces: tuple[bytes, ...], keys: Keys
) -> None:
    artifact, pieces = sealed.artifact(keys, event, artifact, pieces)
    await conn.execute(
        db.query("record.add_artifact"),
        *(event.tenant_id, artifact.artifact_id, event.event_id, artifact.ts, artifact.kind),
        *(artifact.digest, artifact.size, artifact.media_type, event.session_id, event.user_id),
        *(event.agent_id, event.channel, event.sensitivity, artifact.meta, event.refs),
    )
    await conn.executemany(
        db.query("record.add_piece"),
        [(event.tenant_id, artifact.digest, at, piece) for at, piece in enumerate(pieces)],
    )


def pieces_of(blob: bytes) -> tuple[bytes, ...]:
    """Each compressed by itself, so that a range can be read without the rest."""
    return tuple(
        zlib.compress(blob[at : at + PIECE_BYTES], 1) for at in range(0, len(blob), PIECE_BYTES)
    )


async def read_piece(conn: db.Conn, tenant_id: str, digest: bytes, number: int) -> bytes:
    packed = await conn.fetchval(db.query("read.piece"), tenant_id, digest, number)
    if packed is None:
        raise errors.NotFound("the bytes of this artifact are gone")
    place = sealed.place(digest, number)
    return zlib.decompress(await tenant_keys.opened_bytes(conn, tenant_id, packed, place))


async def add_chunks(
    conn: db.Conn, chunked: Sequence[tuple[Event, tuple[Chunk, ...]]], keys: Keys
) -> None:
    rows = [row for event, chunks in chunked for row in _chunk_rows(event, chunks, keys)]
    for start in range(0, len(rows), ROWS_AT_ONCE):
        await conn.executemany(db.query("record.add_chunk"), rows[start : start + ROWS_AT_ONCE])


def _chunk_rows(event: Event, chunks: tuple[Chunk, ...], keys: Keys) -> list[tuple[Any, ...]]:
    tags, whole = sealed.tags(keys, event), sum(piece.token_est for piece in chunks)
    named = [sealed.text(keys, event, said) for said in _named(event)]
    return [
        (
            *(event.tenant_id, piece.chunk_id, event.event_id, event.position, piece.ordinal),
            *(event.ts, event.session_id, event.user_id, event.agent_id, event.channel),
            *(event.sensitivity, event.actor.type, event.actor.id, event.kind, tags),
            *(piece.token_est, whole, *(named if piece.ordinal == 0 else (None, None))),
            IMPORTANCE.get(event.kind, OTHER_IMPORTANCE),
            sealed.text(keys, event, piece.text),
        )
        for piece in chunks
    ]


def _named(event: Event) -> tuple[str | None, str | None]:
    """Of an output: its tool, and its path or what was said of it."""
    if event.kind not in OUTPUTS:
        return None, None
    reference = event.content.get("reference")
    described = reference.get("description") if isinstance(reference, dict) else None
    tool, path = event.content.get("tool"), event.content.get("path") or described
    return tool if isinstance(tool, str) else None, path if isinstance(path, str) else None
