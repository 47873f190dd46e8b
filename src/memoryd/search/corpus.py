"""The documents of one tenant as arrays in memory, and what of them a reader sees.

Arrays only grow, in log order, so a search fixes how many documents it looks at and is not
disturbed by those that arrive; `as_of` is a shorter prefix.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryd.core import db
from memoryd.core.model import CHANNELS, SENSITIVITIES
from memoryd.core.privacy import Sight
from memoryd.search import index

Ints = NDArray[Any]  # document numbers
Floats = NDArray[np.float64]
Posting = tuple[NDArray[np.int32], NDArray[np.float32]]  # documents, term frequencies

POSTINGS_BYTES = 64 * 1024 * 1024  # of one tenant, kept between searches
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
    """The index was made anew: whoever holds this corpus takes a fresh one."""


class Corpus:
    """All documents of a tenant, hidden ones too: `View` says which of them exist for whom."""

    def __init__(self, tenant_id: str, postings_bytes: int = POSTINGS_BYTES) -> None:
        self.tenant_id = tenant_id
        self._postings_bytes = postings_bytes
        self.lock = asyncio.Lock()  # held from taking a snapshot until its words are read
        self._epoch: int | None = None
        self.names = index.Names()
        self.size = 0
        self._columns = {name: Grown(index.DOC[name]) for name in index.DOC.names or ()}
        self._flushed = 0
        self._position = 0
        self._tail: list[index.Batch] = []
        self._postings: OrderedDict[str, Posting] = OrderedDict()
        self._bytes = 0
        self._views: OrderedDict[Sight, View] = OrderedDict()

    def column(self, name: str) -> NDArray[Any]:
        return self._columns[name].values

    async def refresh(self, conn: db.Conn) -> None:
        """Take in what was written since; `conn` is in a snapshot of the tenant."""
        epoch, segments = await index.segments(conn, self.tenant_id)
        if self._epoch not in (None, epoch):
            raise Stale
        self._epoch = epoch
        flushed = sum(row["docs"] for row in segments)
        if flushed > self._flushed:
            await self._take_segments(conn, segments, flushed)
        after = (self._position, 2**62)
        rows = await conn.fetch(db.query("index.chunks_after"), self.tenant_id, *after)
        if rows:
            batch = index.analyse(rows, self.size, self.names)
            self._tail.append(batch)
            self._append(batch.docs)

    async def _take_segments(self, conn: db.Conn, segments: Sequence[Any], flushed: int) -> None:
        if flushed > self.size:
            start = max(row["first_doc"] for row in segments if row["first_doc"] <= self.size)
            known = len(self.names.listed)
            names = await conn.fetch(db.query("index.names"), self.tenant_id, known)
            for row in names:
                self.names.number(row["name"])
            columns = await conn.fetch(db.query("index.columns"), self.tenant_id, start)
            joined = np.frombuffer(b"".join(row["columns"] for row in columns), index.DOC)
            self._append(joined[self.size - start :])
        self._flushed = flushed
        self._tail = [batch for batch in self._tail if _last_doc(batch) >= flushed]
        self._postings.clear()
        self._bytes = 0

    def _append(self, docs: index.Docs) -> None:
        start = self.size
        for name, column in self._columns.items():
            column.resize(start + len(docs))[start:] = docs[name]
        self.size += len(docs)
        self._position = int(docs["position"][-1])

    async def postings(self, conn: db.Conn, terms: Sequence[str]) -> list[Posting]:
        """One for each of `terms`, over segments and tail; empty for a term that nobody used."""
        flushed, tail = self._flushed, self._tail  # another search may move them while we wait
        found = {term: self._postings[term] for term in terms if term in self._postings}
        missing = [term for term in terms if term not in found]
        for term in found:
            self._postings.move_to_end(term)
        if missing:
            rows = await conn.fetch(db.query("index.postings"), self.tenant_id, missing)
            blocks: dict[str, list[bytes]] = {term: [] for term in missing}
            for row in rows:
                blocks[row["term"]].append(row["block"])
            for term, parts in blocks.items():
                found[term] = _posting(np.frombuffer(b"".join(parts), index.POSTING))
                if self._flushed == flushed:
                    self._keep(term, found[term])
        return [_joined(term, found[term], tail, flushed) for term in terms]

    def _keep(self, term: str, posting: Posting) -> None:
        if term in self._postings:  # another search was as fast
            return
        self._postings[term] = posting
        self._bytes += posting[0].nbytes * 2
        while self._bytes > self._postings_bytes and len(self._postings) > 1:
            _, dropped = self._postings.popitem(last=False)
            self._bytes -= dropped[0].nbytes * 2

    def view(self, sight: Sight) -> "View":
        view = self._views.pop(sight, None) or View(self, sight)
        self._views[sight] = view
        if len(self._views) > SIGHTS:
            self._views.popitem(last=False)
        view.extend()
        return view


def _posting(block: index.Docs) -> Posting:
    return np.ascontiguousarray(block["doc"]), block["tf"].astype(np.float32)


def _joined(term: str, posting: Posting, tail: list[index.Batch], flushed: int) -> Posting:
    """A posting of the segments with what the tail has beyond them."""
    blocks = (batch.postings[term] for batch in tail if term in batch.postings)
    parts = [posting, *(_posting(block[block["doc"] >= flushed]) for block in blocks)]
    docs, frequencies = zip(*parts, strict=True)
    return np.concatenate(docs), np.concatenate(frequencies)


def _last_doc(batch: index.Batch) -> int:
    return max(int(block["doc"][-1]) for block in batch.postings.values())


@dataclass(frozen=True)
class Totals:
    """What the statistics of BM25 need, over the visible documents alone."""

    docs: int
    length: float
    sessions: int
    session_length: Floats


class View:
    """The documents that one reader sees, and their neighbours among these."""

    def __init__(self, corpus: Corpus, sight: Sight) -> None:
        self._corpus = corpus
        self._sight = sight
        self._visible = Grown(np.bool_)
        self._before = Grown(np.int32, -1)
        self._after = Grown(np.int32, -1)
        self._last = Grown(np.int32, -1)  # of each session, the newest visible document
        self._totals: tuple[int, Totals] = (-1, Totals(0, 0.0, 0, np.zeros(0)))

    @property
    def visible(self) -> NDArray[np.bool_]:
        return self._visible.values

    def neighbours(self, docs: Ints, size: int) -> tuple[Ints, Ints]:
        """Of each document the one before and after it in its session, -1 for none."""
        after = self._after.values[docs]
        return self._before.values[docs], np.where(after < size, after, -1)

    def extend(self) -> None:
        start, size = self._visible.size, self._corpus.size
        if start == size:
            return
        fresh = slice(start, size)
        seen = self._sees(fresh)
        self._visible.resize(size)[fresh] = seen
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
        return reachable & np.isin(column("sensitivity")[docs], levels)

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
        if self._totals[0] != size:
            seen = np.flatnonzero(self.visible[:size])
            lengths = self._corpus.column("length")[seen].astype(np.float64)
            sessions = self._corpus.column("session")[seen]
            names = len(self._corpus.names.listed)
            by_session = np.bincount(sessions, lengths, names).astype(np.float64)
            count = np.count_nonzero(np.bincount(sessions))
            found = Totals(len(seen), float(lengths.sum()), int(count), by_session)
            self._totals = (size, found)
        return self._totals[1]
