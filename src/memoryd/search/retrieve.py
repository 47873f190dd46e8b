"""Search: candidates by words and by vectors over all that the reader sees, then late interaction.

Visibility defines what exists: every statistic is taken over it alone. Filters only remove
candidates, before any top-k, and change no first-stage score.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memoryd import embed
from memoryd.core import db
from memoryd.core.model import IMPORTANCE, KINDS, OTHER_IMPORTANCE
from memoryd.core.privacy import Sight
from memoryd.search import analyze, score, words
from memoryd.search.corpus import Corpus, Floats, Ints, Stale
from memoryd.search.stage import Filters, Search, Stage
from memoryd.search.vectors import Codes

__all__ = ["Filters", "Found", "Hit", "Search", "Stage", "Vectors"]

POOL = 2_000  # chunks considered (seed 003 §8.2): the best half by words, the best half by vectors
FULL = 200  # of them scored in full
SCANNED = 5_000  # nearest by bits, rescored in floats before the pool
COLUMNS = 4 * SCANNED
FAR = 2**15  # differing bits: more than any vector has
WEAK = 0.5  # the weight of a query piece whose word the analyser leaves out

_IMPORTANCE = np.array([IMPORTANCE.get(kind, OTHER_IMPORTANCE) for kind in KINDS])


@dataclass(frozen=True)
class Hit:
    """A document with its score and the parts of it."""

    doc: int
    score: float
    parts: dict[str, float]


@dataclass(frozen=True)
class Found:
    hits: list[Hit]
    pool: int  # candidates considered


async def prepare(
    conn: db.Conn, corpus: Corpus, codes: Codes | None, sight: Sight, asked: Search
) -> Stage:
    """A search of what the snapshot has that `conn` is in; what was written since the last one is
    taken in first, by one of those who come with it.

    `Stale` if the corpus has segments by now that the snapshot lacks.
    """
    model = codes.encoder.name if codes is not None else ""
    [news] = await conn.fetch(db.query("index.news"), corpus.tenant_id, model)
    if news != corpus.taken or (codes is not None and codes.size < news["coded"]):
        async with corpus.lock:
            await corpus.take(conn, news)
            if codes is not None:
                await codes.refresh(conn, news["coded"])
    if corpus.postings.flushed > news["flushed"]:
        raise Stale
    return Stage(corpus, corpus.view(sight), asked, news)


async def read_words(conn: db.Conn, stage: Stage) -> None:
    """Score by words, and choose the best by them."""
    terms = analyze.query_terms(stage.asked.text)
    tag = [words.TAG + stage.asked.filters.tag] if stage.asked.filters.tag else []
    postings = await stage.postings.read(conn, [*terms, *tag], stage.corpus.hide)
    if tag:
        stage.tagged = np.zeros(stage.corpus.size, np.bool_)
        stage.tagged[postings.pop()[0]] = True
    stage.read_words(dict(zip(terms, postings, strict=True)))
    docs = stage.passing(stage.having)
    stage.pool = docs[_top(score.combine(score.FIRST, stage.word_parts(docs)), POOL // 2)]


async def rank(conn: db.Conn, stage: Stage, vectors: "Vectors | None") -> Found:
    """The pool by words and vectors, its best by late interaction, and their final order."""
    pool, parts = vectors.join(stage) if vectors is not None else stage.by_words()
    parts |= stage.bonus(pool)
    best = _top(score.combine(score.FIRST, parts), FULL)
    docs, parts = pool[best], {name: part[best] for name, part in parts.items()}
    weights = score.FIRST
    if vectors is not None and "pooled" in parts:
        parts |= await vectors.late(conn, stage, docs)
        weights = score.final(stage.asked.text)
        parts = {name: score.mm(part) if name in weights else part for name, part in parts.items()}
    return Found(_ranked(stage, docs, parts, weights), len(pool))


def _top(values: Floats, count: int) -> Ints:
    """The places of the `count` largest, largest first; of equals the older document first."""
    places = np.arange(len(values))
    if len(values) > count:
        # `count` columns, each with a largest value: so many reach the least of these.
        table = values[: len(values) // count * count].reshape(-1, count)
        places = np.flatnonzero(values >= table.max(axis=0).min())
        found = values[places]
        places = places[found >= np.partition(found, len(found) - count)[len(found) - count]]
    return places[np.argsort(-values[places], kind="stable")][:count]


def _nearest(distances: NDArray[np.uint16]) -> Ints:
    """The `SCANNED` documents with the fewest differing bits, and all that equal the last."""
    table = distances[: len(distances) // COLUMNS * COLUMNS].reshape(-1, COLUMNS)
    # Of so many columns the nearest each: when `SCANNED` of these are near enough, so many are.
    least = np.partition(table.min(axis=0, initial=FAR), SCANNED - 1)[SCANNED - 1]
    docs = np.flatnonzero(distances <= min(least, FAR - 1))
    mine = distances[docs]
    return docs[mine <= np.searchsorted(np.cumsum(np.bincount(mine)), SCANNED)]


def _ranked(
    stage: Stage, docs: Ints, parts: dict[str, Floats], weights: dict[str, float]
) -> list[Hit]:
    """The seed's sum of semantic, recency and importance, best first; of equals the newer."""
    alpha, beta, gamma = stage.asked.weights
    final = {
        "semantic": np.clip(score.combine(weights, parts) / score.largest(weights), 0, 1),
        "recency": score.recency(stage.seconds(docs), stage.asked.now.timestamp()),
        "importance": _IMPORTANCE[stage.column("kind", docs)],
    }
    total = alpha * final["semantic"] + beta * final["recency"] + gamma * final["importance"]
    shown = dict(sorted((final | parts).items()))
    order = np.lexsort((-docs, -total))[: stage.asked.limit]
    # To six digits, and without a negative zero: the same on every machine.
    rows = (np.round(np.stack([*shown.values()], axis=1)[order], 6) + 0.0).tolist()
    found = zip(docs[order].tolist(), total[order].tolist(), rows, strict=True)
    return [Hit(doc, points, dict(zip(shown, row, strict=True))) for doc, points, row in found]


class Vectors:
    """The vector side of one search: what is near the question among what the reader sees.

    Made in a thread of its own, while the words are read.
    """

    def __init__(self, stage: Stage, codes: Codes, query: embed.Query) -> None:
        self._codes, self._query = codes, query
        # Nothing is near to a question without words.
        self._size = stage.coded if len(query.pieces) else 0
        self._seen = stage.view.visible.values[: self._size] & codes.coded.values[: self._size]
        self._distances = codes.distances(query, self._size)
        self._nearest, self._dots = self._scan(self._seen)

    def _scan(self, among: NDArray[np.bool_]) -> tuple[Ints, Floats]:
        """The nearest, and the question's vector times their signs."""
        nearest = _nearest(np.maximum(self._distances, ~among * np.uint16(FAR)))  # not `where`: 4x
        return nearest, self._products(nearest)

    def _products(self, docs: Ints) -> Floats:
        found = score.products(self._codes.pooled(docs), self._query.pooled[None])
        return found[:, 0].astype(np.float64)

    def join(self, stage: Stage) -> tuple[Ints, dict[str, Floats]]:
        """The pool by words with the nearest documents added, and the parts of them so far."""
        if not len(self._nearest):
            return stage.by_words()
        nearest, dots = self._nearest, self._dots
        if stage.asked.filters != Filters():
            among = np.zeros(self._size, np.bool_)
            among[stage.passing(np.flatnonzero(self._seen))] = True
            nearest, dots = self._scan(among)
        pool = np.sort(np.concatenate([stage.pool, nearest[_top(dots, POOL - len(stage.pool))]]))
        pool = pool[np.flatnonzero(np.diff(pool, prepend=-1))]
        parts = stage.word_parts(pool)
        near = parts["bm25"].copy()  # what has no vector is as near as its words are
        coded = pool < self._size
        coded[coded] = self._codes.coded.values[pool[coded]]
        low, high = float(self._dots.min()), float(self._dots.max())
        cosine = np.zeros(len(pool))  # as it is: all other parts compare with what else there is
        cosine[coded] = self._products(pool[coded])
        near[coded] = score.mm(cosine[coded], low, high)
        return pool, parts | {"pooled": near, "cosine": cosine}

    async def late(self, conn: db.Conn, stage: Stage, docs: Ints) -> dict[str, Floats]:
        """Late interaction: how well each piece of the question is met, here and next door."""
        blobs = await self._codes.tokens(conn, docs)
        width = self._codes.encoder.dimensions // 8
        weights = np.array([self._weight(stage, word) for word in self._query.words])
        coded = np.array([blob != b"" for blob in blobs], np.bool_)
        met = stage.word_parts(docs)["bm25"]  # what has no vector is met as well as its words are
        met[coded] = score.mm(score.late(self._query.tokens, weights, blobs, width)[coded])
        around, asks = stage.around(docs), stage.column("asks", docs)
        near = score.mm(score.nearby(met, around))
        return {"maxsim": score.answering(met, around[0], asks), "near": near}

    @staticmethod
    def _weight(stage: Stage, word: str) -> float:
        """A piece weighs as much as its word is rare among what the reader sees."""
        found = [stage.idf[term] for term in analyze.query_terms(word) if term in stage.idf]
        return max(found, default=WEAK)
