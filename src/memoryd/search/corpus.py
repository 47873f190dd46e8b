"""The documents of one tenant as arrays in memory, and what of them a reader sees.

Arrays only grow, in log order, so a search fixes how many documents it looks at and is not
disturbed by those that arrive; `as_of` is a shorter prefix.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryd.core import db
from memoryd.core.model import CHANNELS, SENSITIVITIES
from memoryd.core.privacy import Sight
from memoryd.seal import keys as tenant_keys
from memoryd.seal.vault import LEVEL, Keys
from memoryd.search import index, words
from memoryd.search.postings import Postings

Ints = index.Ints
Floats = NDArray[np.float64]
News = Any  # a row of `index.news`: how far a tenant's index is

AT_ONCE = 2  # searches of one tenant: more only take memory, caches and connections from each other
SIGHTS = 16  # readers of one tenant whose view is kept


class Grown:
    """A numpy array that grows at its end without being copied each time."""

    def __init__(self, dtype: Any, fill: int = 0) -> None:
        self._fill = fill
        self._space = np.zeros(0, dtype)
        self.size = 0

    @property
    def values(self) -> NDArray[Any]:
        return self._space[: self.size]

    def resize(self, size: int) -> NDArray[Any]:
        if size > len(self._space):
            space = np.zeros(max(size, 2 * len(self._space), 1024), self._space.dtype)
            space[: self.size] = self.values
            if self._fill:
                space[self.size :] = self._fill
            self._space = space
        self.size = max(size, self.size)
        return self.values


class Stale(Exception):
    """A snapshot and the corpus are too far apart: a search begins again, with a fresh one."""


class Corpus:
    """All documents of a tenant, hidden ones too: `View` says which of them exist for whom."""

    def __init__(self, tenant_id: str) -> None:
        self.tenant_id = tenant_id
        self.lock = asyncio.Lock()  # of whoever takes in what was written
        self.places = asyncio.Semaphore(AT_ONCE)  # of searches; who waits is served in turn
        self.taken: News = None  # the newest of which nothing is lacking
        self._epoch: Any = None
        self._deletions = 0
        self.dead: Ints = np.zeros(0, int)  # documents that were deleted, in order
        self.stale = False
        self.names = index.Names()
        self.size = 0
        self._columns = {name: Grown(index.DOC[name]) for name in index.DOC.names or ()}
        self._position = 0
        self.postings = Postings(tenant_id, 0, [])
        self._views: OrderedDict[Sight, View] = OrderedDict()
        self._keys = Keys(tenant_id)
        self.hide: words.Hide = None  # how they spell sealed words

    def column(self, name: str) -> NDArray[Any]:
        return self._columns[name].values

    async def take(self, conn: db.Conn, news: News) -> None:
        """Take in what was written since; `news` is of the snapshot that `conn` is in, and `lock`
        is held. Arrays only grow: whoever comes with an older snapshot finds all of it here.
        """
        if self.stale or self._epoch not in (None, news["epoch"]):
            self.stale = True
            raise Stale
        self._epoch = news["epoch"]
        if self._deletions < news["deletions"]:
            dead = await conn.fetchval(db.query("index.tombstones"), self.tenant_id)
            self.dead = np.array(dead, int)
            self._deletions = news["deletions"]
            self._views.clear()
        if news["sealed"] and self.hide is None:
            await self._learn(conn)
        if self.postings.flushed < news["flushed"]:
            await self._take_segments(conn, news["flushed"])
        if self._position < news["position"]:
            after = (self.tenant_id, self._position, 2**62)
            rows = await conn.fetch(db.query("index.chunks_after"), *after)
            batch = await index.analyse(rows, self.size, self.names, self._keys)
            self.postings.tail.append(batch)
            self._append(batch.docs)
        self.taken = None if news["sealed"] and self.hide is None else news

    async def _learn(self, conn: db.Conn) -> None:
        """How to spell sealed words; those taken in without are taken in again."""
        closed, self._keys = self._keys.closed, await tenant_keys.load(conn, self.tenant_id)
        self.hide = self._keys.hide
        if closed and self.hide is not None:
            self.stale = True
            raise Stale

    async def _take_segments(self, conn: db.Conn, flushed: int) -> None:
        if flushed > self.size:
            known = len(self.names.listed)
            names = await conn.fetch(db.query("index.names"), self.tenant_id, known)
            columns = await index.columns(conn, self.tenant_id, self.size)
            self.names.extend(row["name"] for row in names)
            self._append(columns)
        tail = [batch for batch in self.postings.tail if batch.end > flushed]
        self.postings = Postings(self.tenant_id, flushed, tail)

    def _append(self, docs: index.Docs) -> None:
        start = self.size
        for name, column in self._columns.items():
            column.resize(start + len(docs))[start:] = docs[name]
        self.size += len(docs)
        self._position = int(docs["position"][-1])

    def end(self, as_of: int | None) -> int:
        """How many documents there are up to a log position, or in all; the last of them lives."""
        positions = self.column("position")
        size = self.size if as_of is None else int(np.searchsorted(positions, as_of, side="right"))
        dead = self.dead[: np.searchsorted(self.dead, size)][::-1]
        return size - int(np.count_nonzero(dead == size - 1 - np.arange(len(dead))))

    def living(self, start: int, end: int) -> int:
        """How many of the documents from `start` to `end` were not deleted."""
        first, last = np.searchsorted(self.dead, (start, end))
        return end - start - int(last - first)

    def unsealed(self, start: int, end: int) -> int:
        """How many of the living ones may have a vector."""
        kept = self.column("sensitivity")[start:end] < SENSITIVITIES.index(LEVEL)
        first, last = np.searchsorted(self.dead, (start, end))
        kept[self.dead[first:last] - start] = False
        return int(np.count_nonzero(kept))

    def view(self, sight: Sight) -> "View":
        view = self._views.pop(sight, None) or View(self, sight)
        self._views[sight] = view
        if len(self._views) > SIGHTS:
            self._views.popitem(last=False)
        view.extend()
        return view


@dataclass(frozen=True)
class Totals:
    """What the statistics of BM25 need, over the visible documents alone."""

    docs: int
    length: float
    session_docs: Ints
    session_length: Floats


_NOTHING = (0, Totals(0, 0.0, np.zeros(0, int), np.zeros(0)))  # after as many documents


class View:
    """The documents that one reader sees, and their neighbours among these."""

    def __init__(self, corpus: Corpus, sight: Sight) -> None:
        self._corpus = corpus
        self._sight = sight
        self.visible = Grown(np.bool_)
        self._before = Grown(np.int32, -1)
        self._after = Grown(np.int32, -1)
        self._last = Grown(np.int32, -1)  # of each session, the newest visible document
        self._totals = _NOTHING

    def neighbours(self, docs: Ints, size: int) -> tuple[Ints, Ints]:
        """Of each document the one before and after it in its session, -1 for none."""
        after = self._after.values.take(docs)
        return self._before.values.take(docs), np.where(after < size, after, -1)

    def extend(self) -> None:
        start, size = self.visible.size, self._corpus.size
        if start == size:
            return
        fresh = slice(start, size)
        seen = self._sees(fresh)
        self.visible.resize(size)[fresh] = seen
        self._before.resize(size)
        self._after.resize(size)
        self._link(np.flatnonzero(seen) + start)

    def _sees(self, docs: slice) -> NDArray[np.bool_]:
        column, sight = self._corpus.column, self._sight
        channel = column("channel")[docs]
        own = column("user")[docs] == self._corpus.names.find(sight.user_id)
        reachable = np.isin(channel, [CHANNELS.index(name) for name in sight.channels])
        reachable |= own & np.isin(channel, [CHANNELS.index(name) for name in sight.own_channels])
        levels = [SENSITIVITIES.index(name) for name in sight.sensitivities]
        reachable &= np.isin(column("sensitivity")[docs], levels)
        first, last = np.searchsorted(self._corpus.dead, (docs.start, docs.stop))
        reachable[self._corpus.dead[first:last] - docs.start] = False
        return reachable

    def _link(self, docs: Ints) -> None:
        """Chain new documents to the newest of their session."""
        sessions = self._corpus.column("session")[docs]
        order = np.argsort(sessions, kind="stable")
        docs, sessions = docs[order], sessions[order]
        first = np.ones(len(docs), np.bool_)
        first[1:] = sessions[1:] != sessions[:-1]
        before, after = self._before.values, self._after.values
        last = self._last.resize(len(self._corpus.names.listed))
        older = np.where(first, last[sessions], np.concatenate([[-1], docs[:-1]]))
        before[docs] = older
        linked = older >= 0
        after[older[linked]] = docs[linked]
        last[sessions] = docs  # in order, so that the last of each session stays

    def totals(self, size: int) -> Totals:
        """Over the first `size` documents; what was known of a shorter prefix is added to."""
        start, known = self._totals if self._totals[0] <= size else _NOTHING
        if start < size:
            seen = np.flatnonzero(self.visible.values[start:size]) + start
            lengths = self._corpus.column("length")[seen].astype(np.float64)
            sessions, names = self._corpus.column("session")[seen], len(self._corpus.names.listed)
            docs = np.bincount(sessions, minlength=names)
            docs[: len(known.session_docs)] += known.session_docs
            length = np.bincount(sessions, lengths, names).astype(np.float64, copy=False)
            length[: len(known.session_length)] += known.session_length
            sums = (known.docs + len(seen), known.length + float(lengths.sum()))
            self._totals = size, Totals(*sums, docs, length)
        return self._totals[1]
