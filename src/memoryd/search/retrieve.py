"""Search: candidates by words and by vectors over all that the reader sees, then late interaction.

Visibility defines what exists: every statistic is taken over it alone. Filters only remove
candidates, before any top-k, and change no first-stage score.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memoryd.core import db
from memoryd.core.model import IMPORTANCE, KINDS, OTHER_IMPORTANCE
from memoryd.core.privacy import Sight
from memoryd.search import analyze, embed, index, score
from memoryd.search.corpus import Corpus, Floats, Ints
from memoryd.search.stage import Filters, Search, Stage
from memoryd.search.vectors import Codes

__all__ = ["Filters", "Found", "Hit", "Search", "Stage", "Vectors", "search"]

POOL = 2_000  # chunks considered (seed 003 §8.2): the best half by words, the best half by vectors
FULL = 200  # of them scored in full
SCANNED = 5_000  # nearest by bits, rescored in floats before the pool
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
    visible: int  # documents that exist for this reader
    embedded: int  # how many documents had vectors; 0 where words had to do alone


async def search(
    conn: db.Conn, corpus: Corpus, sight: Sight, asked: Search, vectors: "Vectors | None"
) -> Found:
    """The best chunks for `asked`; without `vectors`, by words alone.

    `conn` is in a snapshot of the tenant, taken by the one search that is under way.
    """
    codes = vectors.codes if vectors is not None else None
    stage = await prepare(conn, corpus, codes, sight, asked)
    return await rank(conn, stage, vectors)


async def prepare(
    conn: db.Conn, corpus: Corpus, codes: Codes | None, sight: Sight, asked: Search
) -> Stage:
    """Take in what was written since, and score by words.

    `conn` is in a snapshot that was taken while holding `corpus.lock`: an older snapshot would lack
    segments that the corpus counts on.
    """
    await corpus.refresh(conn)
    if codes is not None:
        await codes.refresh(conn)
    stage = Stage(corpus, corpus.view(sight), asked)
    terms = analyze.query_terms(asked.text)
    tag = [index.TAG + asked.filters.tag] if asked.filters.tag else []
    postings = await corpus.postings(conn, [*terms, *tag])
    if tag:
        stage.tagged = _marked(postings.pop()[0], stage.size)
    stage.read_words(dict(zip(terms, postings, strict=True)))
    return stage


async def rank(conn: db.Conn, stage: Stage, vectors: "Vectors | None") -> Found:
    """The pool by words and vectors, its best by late interaction, and their final order."""
    docs = stage.passing(stage.having)
    pool = docs[_top(score.combine(score.FIRST, stage.word_parts(docs)), POOL // 2)]
    near: dict[str, Floats] = {}
    if vectors is not None:
        pool, near = vectors.join(stage, pool)
    parts = stage.word_parts(pool) | near | stage.bonus(pool)
    best = _top(score.combine(score.FIRST, parts), FULL)
    docs, parts = pool[best], {name: part[best] for name, part in parts.items()}
    weights = score.FIRST
    if vectors is not None and near:
        parts |= await vectors.late(conn, stage, docs)
        weights = score.FINAL
        parts = {name: score.mm(part) if name in weights else part for name, part in parts.items()}
    hits = _ranked(stage, docs, parts, weights)
    embedded = min(vectors.codes.size, stage.size) if vectors is not None else 0
    return Found(hits, len(pool), stage.totals.docs, embedded)


def _marked(docs: Ints, size: int) -> NDArray[np.bool_]:
    marks = np.zeros(size, np.bool_)
    marks[docs[docs < size]] = True
    return marks


def _top(values: Floats, count: int) -> Ints:
    """The places of the `count` largest, largest first; of equals the older document first."""
    places = np.arange(len(values))
    if len(values) > count:
        least = np.partition(values, len(values) - count)[len(values) - count]
        places = np.flatnonzero(values >= least)
    return places[np.argsort(-values[places], kind="stable")][:count]


def _nearest(distances: NDArray[np.uint16], docs: Ints) -> Ints:
    """The `SCANNED` of `docs` with the fewest differing bits, and all that equal the last."""
    if len(docs) <= SCANNED:
        return docs
    mine = distances[docs]
    least = int(np.searchsorted(np.cumsum(np.bincount(mine)), SCANNED))
    return docs[mine <= least]


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
    shown = final | parts
    order = np.lexsort((-docs, -total))[: stage.asked.limit]
    return [
        Hit(
            int(docs[at]), float(total[at]), {name: float(part[at]) for name, part in shown.items()}
        )
        for at in order
    ]


@dataclass(frozen=True)
class Vectors:
    """The vector side of one search: the tenant's codes and the question, encoded."""

    codes: Codes
    query: embed.Query

    def join(self, stage: Stage, pool: Ints) -> tuple[Ints, dict[str, Floats]]:
        """The pool with the nearest documents added, and how near each of all is."""
        size = min(self.codes.size, stage.size)
        seen = np.flatnonzero(stage.view.visible[:size] & self.codes.coded[:size])
        if not len(seen) or not len(self.query.pieces):
            return pool, {}
        distances = self.codes.distances(self.query, size)
        nearest = _nearest(distances, seen)
        dots = self._dots(nearest)
        low, high = float(dots.min()), float(dots.max())
        passing = stage.passing(seen)
        if len(passing) < len(seen):
            nearest = _nearest(distances, passing)
            dots = self._dots(nearest)
        best = nearest[_top(dots, POOL - len(pool))] if len(nearest) else nearest
        pool = np.union1d(pool, best)
        near = stage.word_parts(pool)["bm25"]  # what has no vector is as near as its words are
        coded = pool < size
        coded[coded] = self.codes.coded[pool[coded]]
        near[coded] = score.mm(self._dots(pool[coded]), low, high)
        return pool, {"pooled": near}

    def _dots(self, docs: Ints) -> Floats:
        """The question's vector times the documents' signs."""
        found = score.products(self.codes.pooled(docs), self.query.pooled[None])
        return found[:, 0].astype(np.float64)

    async def late(self, conn: db.Conn, stage: Stage, docs: Ints) -> dict[str, Floats]:
        """Late interaction: how well each piece of the question is met, here and next door."""
        blobs = await self.codes.tokens(conn, docs)
        width = self.codes.encoder.dimensions // 8
        weights = np.array([self._weight(stage, word) for word in self.query.words])
        coded = np.array([blob != b"" for blob in blobs], np.bool_)
        met = stage.word_parts(docs)["bm25"]  # what has no vector is met as well as its words are
        met[coded] = score.mm(score.late(self.query.tokens, weights, blobs, width)[coded])
        where = {int(doc): at for at, doc in enumerate(docs)}
        before, after = (
            np.array([where.get(int(doc), -1) for doc in side], int)
            for side in stage.view.neighbours(docs, stage.size)
        )
        near = score.nearby(met, before, after)
        return {"maxsim": met, "near": score.mm(near)}

    @staticmethod
    def _weight(stage: Stage, word: str) -> float:
        """A piece weighs as much as its word is rare among what the reader sees."""
        return max(
            (stage.idf[t] for t in analyze.query_terms(word) if t in stage.idf), default=WEAK
        )
