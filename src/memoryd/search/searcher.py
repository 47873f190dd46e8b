"""One daemon's reading side: the corpora it keeps in memory, the encoder, and the search itself."""

import asyncio
import logging
from collections import OrderedDict
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memoryd.core import db, privacy
from memoryd.core.model import Reader
from memoryd.search import retrieve
from memoryd.search.corpus import Corpus, Stale
from memoryd.search.embed import Encoder, Query
from memoryd.search.encoders import Encoders
from memoryd.search.vectors import Codes

log = logging.getLogger("memoryd.search")

CORPUS_BYTES = 512 * 1024 * 1024  # of all tenants' columns; past it the longest unused one goes
DOC_BYTES = 160  # of one document: columns, codes, and a view or two


@dataclass(frozen=True)
class Answer:
    rows: list[Any]  # chunks, in the order of the hits
    hits: list[retrieve.Hit]
    pool: int
    position: int
    pending_vectors: int
    degraded: str | None  # why vectors were not used, if they were not


@dataclass(frozen=True)
class _Kept:
    corpus: Corpus
    codes: Codes


class Searcher:
    def __init__(self, pool: db.Pool, encoders: Encoders) -> None:
        self._pool = pool
        self._encoders = encoders
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def search(
        self, reader: Reader, asked: retrieve.Search, as_of: datetime | int | None = None
    ) -> Answer:
        """Search what `reader` sees, as it was at the position or recording time `as_of`."""
        try:
            return await self._search(reader, asked, as_of)
        except Stale:
            self._kept.pop(reader.tenant_id, None)
            return await self._search(reader, asked, as_of)

    async def _search(
        self, reader: Reader, asked: retrieve.Search, as_of: datetime | int | None
    ) -> Answer:
        kept = self._keep(reader.tenant_id)
        encoding = asyncio.create_task(self._encode(kept.codes.encoder, asked.text))
        async with AsyncExitStack() as stack:
            async with kept.corpus.lock:
                snapshot = db.snapshot(self._pool, reader.tenant_id)
                conn = await stack.enter_async_context(snapshot)
                asked = replace(asked, as_of=await _position(conn, reader.tenant_id, as_of))
                sight = privacy.sight(reader)
                stage = await retrieve.prepare(conn, kept.corpus, kept.codes, sight, asked)
            question, degraded = await encoding
            vectors = retrieve.Vectors(kept.codes, question) if question is not None else None
            found = await retrieve.rank(conn, stage, vectors)
            docs = [hit.doc for hit in found.hits]
            places = [kept.corpus.column(name)[docs] for name in ("position", "ordinal")]
            rows = await conn.fetch(db.query("retrieve.chunks"), reader.tenant_id, *places)
        pending = stage.size - kept.codes.size if vectors else stage.size
        last = kept.corpus.column("position")[: stage.size]
        position = int(last[-1]) if len(last) else 0
        return Answer(rows, found.hits, found.pool, position, max(pending, 0), degraded)

    @staticmethod
    async def _encode(encoder: Encoder, text: str) -> tuple[Query | None, str | None]:
        """The question in vectors, or why not: a read never fails for want of a model."""
        try:
            return await asyncio.to_thread(encoder.query, text), None
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            log.warning("model.missing", extra={"error": str(error)})
            return None, f"searched by words alone: the model cannot be loaded ({error})"

    def _keep(self, tenant_id: str) -> _Kept:
        kept = self._kept.pop(tenant_id, None)
        encoder = self._encoders.current
        if kept is None or kept.codes.encoder is not encoder:
            kept = _Kept(kept.corpus if kept else Corpus(tenant_id), Codes(tenant_id, encoder))
        self._kept[tenant_id] = kept
        while len(self._kept) > 1 and self._size() > CORPUS_BYTES:
            self._kept.popitem(last=False)
        return kept

    def _size(self) -> int:
        return sum(kept.corpus.size for kept in self._kept.values()) * DOC_BYTES


async def _position(conn: db.Conn, tenant_id: str, as_of: datetime | int | None) -> int | None:
    if not isinstance(as_of, datetime):
        return as_of
    # Recording times rise with positions, so halving finds the place without an index of its own.
    head = await conn.fetchval(db.query("record.head"), tenant_id) or 0
    low, high = 0, head
    while low < high:
        middle = (low + high + 1) // 2
        recorded = await conn.fetchval(db.query("retrieve.recorded_at"), tenant_id, middle)
        low, high = (middle, high) if recorded <= as_of else (low, middle - 1)
    return low
