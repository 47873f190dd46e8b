"""Vectors as sign bits: computed in the background, scanned exactly, one bit a dimension.

What is embedded is always a prefix of the log, so one number says which documents have vectors.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryd.core import db
from memoryd.embed import Encoder, Input, Query
from memoryd.search import index
from memoryd.search.corpus import Grown
from memoryd.search.index import KEY_BYTES, SEALED

TABLES = ("code_segments", "token_codes")
BATCH = 32  # chunks encoded in one transaction: less than a second of work
_NO_KEY = bytes(KEY_BYTES)
_KEY = np.dtype((np.void, KEY_BYTES))


def code_type(dimensions: int) -> np.dtype[Any]:
    return np.dtype([("key", "u1", KEY_BYTES), ("pooled", "u1", dimensions // 8)])


def encoder_input(row: Any) -> Input:
    """The turn before gives the context; only the chunk's own pieces are coded."""
    date = f"({row['ts'].day} {row['ts']:%B %Y})"
    before = f" {row['before_actor']}: {row['before_text']}" if row["before_text"] else ""
    return Input(context=date + before, own=f"{row['actor_id']}: {row['text']}")


async def embed_next(conn: db.Conn, tenant_id: str, encoder: Encoder) -> int:
    """Encode the next chunks of the log; returns how many they were.

    Takes `conn` inside a transaction of the tenant; another embedder at work means 0.
    """
    model = encoder.name
    if not await conn.fetchval(db.query("vectors.lock"), tenant_id, model):
        return 0
    segments = await conn.fetch(db.query("vectors.segments"), tenant_id, model)
    first_doc = sum(row["docs"] for row in segments)
    places = await conn.fetch(db.query("vectors.next"), tenant_id, *_end(segments), BATCH)
    if places:
        codes = await _codes(conn, tenant_id, encoder, *zip(*places, strict=True))
        segment = (first_doc, len(places), *places[-1], codes)
        await conn.execute(db.query("vectors.add_segment"), tenant_id, model, *segment)
        spans = [(row["first_doc"], row["docs"]) for row in segments]
        if span := index.due([*spans, segment[:2]]):
            await conn.execute(db.query("vectors.merge_segments"), tenant_id, model, *span)
    return len(places)


async def renew(conn: db.Conn, tenant_id: str, encoder: Encoder, positions: Sequence[int]) -> None:
    """Make the codes of these log positions anew, since a turn before them may be gone.

    Takes `conn` as `index.delete` does. Only what has another context now is encoded, so that
    `positions` may be generous.
    """
    docs, records = await index.locate(conn, tenant_id, positions)
    segments = await conn.fetch(db.query("vectors.segments"), tenant_id, encoder.name)
    coded = docs < sum(row["docs"] for row in segments)
    places = (records[name][coded] for name in index.PLACE)
    codes = await _codes(conn, tenant_id, encoder, *places)
    await index.replace_codes(conn, tenant_id, docs[coded], encoder.name, codes)


async def pending(conn: db.Conn, tenant_id: str, model: str) -> int:
    """How many chunks have no vector yet, and will have one."""
    segments = await conn.fetch(db.query("vectors.segments"), tenant_id, model)
    after = (tenant_id, *_end(segments), SEALED)
    return int(await conn.fetchval(db.query("vectors.pending"), *after))


def _end(segments: Sequence[Any]) -> tuple[int, int]:
    return (segments[-1]["last_position"], segments[-1]["last_ordinal"]) if segments else (0, -1)


async def _codes(
    conn: db.Conn, tenant_id: str, encoder: Encoder, positions: Any, ordinals: Any
) -> bytes:
    """A record for each place; texts that were encoded before are not encoded again."""
    rows = await conn.fetch(db.query("vectors.inputs"), tenant_id, positions, ordinals)
    inputs = [None if row["sensitivity"] in SEALED else encoder_input(row) for row in rows]
    keys = [encoder.key(text)[:KEY_BYTES] if text else _NO_KEY for text in inputs]
    where = (tenant_id, encoder.name)
    known = await conn.fetch(db.query("vectors.known"), *where, keys)
    pooled: dict[bytes, bytes] = {row["key"]: row["pooled"] for row in known}
    pooled[_NO_KEY] = bytes(encoder.dimensions // 8)
    fresh = {k: text for k, text in zip(keys, inputs, strict=True) if text and k not in pooled}
    if fresh:
        made = await asyncio.to_thread(lambda: [encoder.encode(text) for text in fresh.values()])
        pooled |= {key: code.pooled for key, code in zip(fresh, made, strict=True)}
        columns = ([code.pooled for code in made], [code.tokens for code in made])
        await conn.execute(db.query("vectors.add_tokens"), *where, list(fresh), *columns)
    return b"".join(key + pooled[key] for key in keys)


class Codes:
    """The pooled codes of a tenant's documents, as far as they are embedded."""

    def __init__(self, tenant_id: str, encoder: Encoder) -> None:
        self.encoder = encoder
        self._where = (tenant_id, encoder.name)
        self._type = code_type(encoder.dimensions)
        self._words = [Grown(np.uint64) for _ in range(encoder.dimensions // 64)]  # by column
        self._keys = Grown(_KEY)
        self.coded = Grown(np.bool_)  # has a vector: what is sealed or deleted has none

    @property
    def size(self) -> int:
        return self._keys.size

    async def refresh(self, conn: db.Conn, coded: int) -> None:
        """Take in what was embedded since, `coded` documents in all."""
        if coded > self.size:
            rows = await conn.fetch(db.query("vectors.codes"), *self._where, self.size)
            self._append(np.frombuffer(b"".join(row["codes"] for row in rows), self._type))

    def _append(self, codes: NDArray[Any]) -> None:
        start, size = self.size, self.size + len(codes)
        words = np.ascontiguousarray(codes["pooled"]).view(np.uint64)
        for column, grown in enumerate(self._words):
            grown.resize(size)[start:] = words[:, column]
        keys = np.ascontiguousarray(codes["key"]).view(_KEY)
        self.coded.resize(size)[start:] = codes["key"].any(axis=1)
        self._keys.resize(size)[start:] = keys[:, 0]

    def keys(self, docs: NDArray[Any]) -> list[bytes]:
        """Their keys; `_NO_KEY` for what is not embedded."""
        keys = self._keys.values.take(docs, mode="clip")
        keys[docs >= self.size] = _NO_KEY
        found: list[bytes] = keys.tolist()
        return found

    def distances(self, query: Query, size: int) -> NDArray[np.uint16]:
        """Hamming distance of every document to the query, of the first `size` embedded ones."""
        bits = np.packbits(query.pooled > 0).view(np.uint64)
        total = np.zeros(size, np.uint16)
        for word, grown in zip(bits, self._words, strict=True):
            total += np.bitwise_count(grown.values[:size] ^ word)
        return total

    def pooled(self, docs: NDArray[Any]) -> NDArray[np.uint8]:
        words = np.stack([grown.values[docs] for grown in self._words], axis=1)
        return np.ascontiguousarray(words).view(np.uint8)

    async def tokens(self, conn: db.Conn, docs: NDArray[Any]) -> list[bytes]:
        """The token codes of `docs`, each a run of sign bits; empty for what has none."""
        keys = self.keys(docs)
        asked = [key for key in set(keys) if key != _NO_KEY]
        rows = await conn.fetch(db.query("vectors.tokens"), *self._where, asked)
        found = {k: t for row in rows for k, t in zip(row["keys"], row["tokens"], strict=True)}
        return [found.get(key, b"") for key in keys]
