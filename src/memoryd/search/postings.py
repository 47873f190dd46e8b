"""Which documents have a term, and how often: those of the segments, and of the tail after them."""

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memoryd.core import db
from memoryd.search import index, words

Posting = tuple[NDArray[np.int32], NDArray[np.float32]]  # documents, term frequencies

KEPT_BYTES = 64 * 1024 * 1024  # of one tenant, between searches


class Postings:
    """Those of the segments as far as they were asked for, and the tail.

    A flush makes a new one: a search under way ends with the one that it began with.
    """

    def __init__(self, tenant_id: str, flushed: int, tail: list[index.Batch]) -> None:
        self._tenant_id = tenant_id
        self.flushed = flushed  # documents in segments
        self.tail = tail
        self._bytes = 0
        self._kept: OrderedDict[str, Posting] = OrderedDict()

    async def read(self, conn: db.Conn, terms: Sequence[str], hide: words.Hide) -> list[Posting]:
        """One for each of `terms`, over segments and tail; empty for a term that nobody used."""
        spelled = {term: words.spellings(term, hide) for term in terms}
        found = {term: self._kept[term] for term in terms if term in self._kept}
        for term in found:
            self._kept.move_to_end(term)
        if missing := [term for term in terms if term not in found]:
            asked = [spelling for term in missing for spelling in spelled[term]]
            rows = await conn.fetch(db.query("index.postings"), self._tenant_id, asked)
            blocks = dict.fromkeys(asked, b"")
            for row in rows:
                blocks[row["term"]] += row["block"]
            for term in missing:
                parts = [np.frombuffer(blocks[one], index.POSTING) for one in spelled[term]]
                found[term] = _posting(_merged(parts))
                self._keep(term, found[term])
        return [self._joined(spelled[term], found[term]) for term in terms]

    def _keep(self, term: str, posting: Posting) -> None:
        if self._kept.setdefault(term, posting) is posting:  # no other search was as fast
            self._bytes += posting[0].nbytes * 2
        while self._bytes > KEPT_BYTES and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= dropped[0].nbytes * 2

    def _joined(self, spelled: list[str], posting: Posting) -> Posting:
        """A posting of the segments with what the tail has beyond them."""
        none = np.zeros(0, index.POSTING)
        blocks = (
            _merged([batch.postings.get(one, none) for one in spelled]) for batch in self.tail
        )
        newer = (_posting(block[block["doc"] >= self.flushed]) for block in blocks if len(block))
        docs, often = zip(posting, *newer, strict=True)
        return posting if len(docs) == 1 else (np.concatenate(docs), np.concatenate(often))


def _posting(block: index.Docs) -> Posting:
    return np.ascontiguousarray(block["doc"]), block["tf"].astype(np.float32)


def _merged(blocks: list[index.Docs]) -> index.Docs:
    """Of a term's spellings one block, in order: a document has one of them."""
    filled = [block for block in blocks if len(block)]
    if len(filled) < 2:
        return filled[0] if filled else np.zeros(0, index.POSTING)
    joined = np.concatenate(filled)
    return joined[np.argsort(joined["doc"], kind="stable")]
