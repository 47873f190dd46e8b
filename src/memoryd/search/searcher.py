"""One daemon's reading side: the corpora it keeps in memory, the encoder, and the search itself."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memoryd.core import db, privacy
from memoryd.core.model import Reader
from memoryd.embed import Query
from memoryd.search import index, retrieve
from memoryd.search.corpus import Corpus, Ints, Stale
from memoryd.search.encoders import Encoders
from memoryd.search.vectors import Codes

log = logging.getLogger("memoryd.search")

CORPUS_BYTES = 512 * 1024 * 1024  # of all tenants' columns; past it the longest unused one goes
AsOf = datetime | int | None  # a recording time, a log position, or the present
DOC_BYTES = 160  # of one document: columns, codes, and a view or two


@dataclass(frozen=True)
class Answer:
    rows: list[Any]  # chunks, in the order of the hits
    hits: list[retrieve.Hit]
    pool: int
    position: int
    pending_vectors: int
    visible: int  # chunks that exist for this reader
    hidden: int  # chunks that are there and do not
    model: str
    degraded: str | None  # why vectors were not used, if they were not
    beside: Any  # what was read beside it, in the same snapshot
    more: Any  # and what was read of the rows


@dataclass(frozen=True)
class Aside:
    """What else a search reads for its caller, spared a transaction and another snapshot."""

    of: Callable[[db.Conn, list[Any], int], Awaitable[Any]]  # more of the rows it found
    at: Callable[[db.Conn, int], Awaitable[Any]] | None = None  # at its position, while it scans


class Searcher:
    def __init__(self, pool: db.Pool, encoders: Encoders) -> None:
        self._pool = pool
        self._encoders = encoders
        self._kept: OrderedDict[str, tuple[Corpus, Codes]] = OrderedDict()
        self.known: OrderedDict[Any, Any] = OrderedDict()  # what bundles keep for the next one

    async def search(
        self, reader: Reader, asked: retrieve.Search, as_of: AsOf = None, aside: Aside | None = None
    ) -> Answer:
        """Search what `reader` sees, as it was at the position or recording time `as_of`."""
        while True:
            with suppress(Stale):  # again, with arrays that are not
                return await self._search(reader, asked, as_of, aside)

    async def _search(
        self, reader: Reader, asked: retrieve.Search, as_of: AsOf, aside: Aside | None
    ) -> Answer:
        corpus, codes = self._keep(reader.tenant_id)
        encoding = asyncio.create_task(asyncio.to_thread(codes.encoder.query, asked.text))
        async with corpus.places, db.snapshot(self._pool, reader.tenant_id) as conn:
            asked = replace(asked, as_of=await position_at(conn, reader.tenant_id, as_of))
            stage = await retrieve.prepare(conn, corpus, codes, privacy.sight(reader), asked)
            scanning = asyncio.create_task(_scan(stage, codes, encoding))
            await retrieve.read_words(conn, stage)
            beside = await aside.at(conn, stage.position) if aside and aside.at else None
            vectors, degraded = await scanning
            found = await retrieve.rank(conn, stage, vectors)
            rows = await _rows(conn, corpus, found)
            more = await aside.of(conn, rows, stage.position) if aside is not None else None
        size = stage.size
        return Answer(
            rows=rows,
            hits=found.hits,
            pool=found.pool,
            position=int(corpus.column("position")[size - 1 : size].max(initial=0)),
            pending_vectors=corpus.unsealed(stage.coded if vectors else 0, size),
            visible=stage.totals.docs,
            hidden=corpus.living(0, size) - stage.totals.docs,
            model=codes.encoder.name,
            degraded=degraded or self._encoders.trouble,
            beside=beside,
            more=more,
        )

    def _keep(self, tenant_id: str) -> tuple[Corpus, Codes]:
        encoder = self._encoders.current
        corpus, codes = self._kept.pop(tenant_id, (None, None))
        if corpus is None or corpus.stale:
            corpus, codes = Corpus(tenant_id), None
        if codes is None or codes.encoder is not encoder:
            codes = Codes(tenant_id, encoder)
        self._kept[tenant_id] = corpus, codes
        docs = sum(kept.size for kept, _ in self._kept.values())
        while len(self._kept) > 1 and docs * DOC_BYTES > CORPUS_BYTES:
            docs -= self._kept.popitem(last=False)[1][0].size
        return corpus, codes


async def _rows(conn: db.Conn, corpus: Corpus, found: retrieve.Found) -> list[Any]:
    docs = [hit.doc for hit in found.hits]
    places = [_numbers(corpus.column(name)[docs]) for name in index.PLACE]
    return list(await conn.fetch(db.query("retrieve.chunks"), corpus.tenant_id, *places))


async def _scan(
    stage: retrieve.Stage, codes: Codes, encoding: asyncio.Future[Query]
) -> tuple[retrieve.Vectors | None, str | None]:
    """What is near the question, or why not: a read never fails for want of a model."""
    try:
        question = await encoding
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        log.warning("model.missing", extra={"error": str(error)})
        return None, f"searched by words alone: the model cannot be loaded ({error})"
    return await asyncio.to_thread(retrieve.Vectors, stage, codes, question), None


def _numbers(values: Ints) -> str:
    """As PostgreSQL writes an array: the driver takes longer for 200 numbers than the server."""
    return "{" + ",".join(map(str, values.tolist())) + "}"


async def position_at(conn: db.Conn, tenant_id: str, as_of: AsOf) -> int | None:
    if not isinstance(as_of, datetime):
        return as_of
    return int(await conn.fetchval(db.query("retrieve.position_at"), tenant_id, as_of))
