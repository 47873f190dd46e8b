"""The inverted index in plain tables: flush, merge, and the columns that a search reads.

A document is a chunk, numbered densely in log order. That number is the same for every process and
after every rebuild, so that blocks merge by joining their bytes and rankings repeat to the bit.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryd.core import db
from memoryd.core.model import CHANNELS, KINDS, ORIGINS, SENSITIVITIES
from memoryd.search import analyze

TABLES = ("segments", "postings", "names", "epochs")

DOC = np.dtype(
    [
        ("position", "<i8"),
        ("ts", "<i8"),  # microseconds since 1970
        ("ordinal", "<i4"),
        ("length", "<i4"),  # in terms
        ("session", "<i4"),
        ("user", "<i4"),
        ("agent", "<i4"),
        ("actor", "<i4"),
        ("parts", "<i4"),  # chunks of its event
        ("tokens", "<i4"),
        ("kind", "u1"),
        ("origin", "u1"),
        ("channel", "u1"),
        ("sensitivity", "u1"),
    ]
)
POSTING = np.dtype([("doc", "<i4"), ("tf", "<u2")])
Docs = NDArray[Any]

FLUSH = 1_000  # chunks in no segment: scoring them from their rows costs 2 ms
FLUSH_MOST = 4_000  # chunks in one transaction, a second of work
ROWS_A_TURN = 20  # analysed before others get a turn: 2 ms
FANOUT = 8  # segments of one size before they become one
LARGEST = 131_072  # documents; a merge rewrites a segment whole, so it must end somewhere
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TAG = "\x01"  # begins a term that is a tag, which no analysed word does


@dataclass(frozen=True)
class Batch:
    """Chunks made ready for the index, in order."""

    docs: Docs
    postings: dict[str, Docs]


def lexical(row: Mapping[str, Any]) -> str:
    """What words are taken from: when and who are part of what was said."""
    return f"({row['ts'].day} {row['ts']:%B %Y}) {row['actor_id']}: {row['text']}"


class Names:
    """Strings as numbers, in the order of their first appearance."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.listed = list(known)
        self._ids = {name: at for at, name in enumerate(self.listed)}

    def number(self, name: str) -> int:
        at = self._ids.setdefault(name, len(self.listed))
        if at == len(self.listed):
            self.listed.append(name)
        return at

    def find(self, name: str) -> int:
        """-1 for a name that no document has."""
        return self._ids.get(name, -1)


class Builder:
    """Rows of chunks, in log order, become documents from `first_doc` on."""

    def __init__(self, first_doc: int, names: Names) -> None:
        self._first_doc = first_doc
        self._names = names
        self._records: list[tuple[int, ...]] = []
        self._found: dict[str, dict[int, int]] = {}

    def add(self, rows: Sequence[Any]) -> None:
        for at, row in enumerate(rows, self._first_doc + len(self._records)):
            terms = analyze.terms(lexical(row))
            self._records.append(_record(row, len(terms), self._names))
            for term in terms:
                counts = self._found.setdefault(term, {})
                counts[at] = counts.get(at, 0) + 1
            for tag in row["tags"]:
                self._found.setdefault(TAG + tag, {})[at] = 1

    def batch(self) -> Batch:
        blocks = {term: _block(counts) for term, counts in self._found.items()}
        return Batch(np.array(self._records, DOC), blocks)


def analyse(rows: Sequence[Any], first_doc: int, names: Names) -> Batch:
    """All at once: for the few chunks that are in no segment yet."""
    builder = Builder(first_doc, names)
    builder.add(rows)
    return builder.batch()


async def analyse_gently(rows: Sequence[Any], first_doc: int, names: Names) -> Batch:
    """The same with pauses, so that requests are served in between."""
    builder = Builder(first_doc, names)
    for start in range(0, len(rows), ROWS_A_TURN):
        builder.add(rows[start : start + ROWS_A_TURN])
        await asyncio.sleep(0)
    return builder.batch()


def micros(moment: datetime) -> int:
    """As the index keeps a time; exact, so that a filter compares as the log would."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _block(counts: dict[int, int]) -> Docs:
    block = np.empty(len(counts), POSTING)
    block["doc"] = np.fromiter(counts, "<i4", len(counts))
    block["tf"] = np.minimum(np.fromiter(counts.values(), "<i8", len(counts)), 65_535)
    return block


def _record(row: Mapping[str, Any], length: int, names: Names) -> tuple[int, ...]:
    return (
        *(row["position"], micros(row["ts"]), row["ordinal"], length),
        *(names.number(row[name]) for name in ("session_id", "user_id", "agent_id", "actor_id")),
        *(row["parts"], row["token_est"], KINDS.index(row["kind"])),
        ORIGINS.index(row["actor_type"]),
        CHANNELS.index(row["channel"]),
        SENSITIVITIES.index(row["sensitivity"]),
    )


async def segments(conn: db.Conn, tenant_id: str) -> tuple[int, list[Any]]:
    """How often the index was made anew, and its segments in order."""
    rows = await conn.fetch(db.query("index.segments"), tenant_id)
    return rows[0]["epoch"], [row for row in rows if row["docs"] is not None]


async def flush(conn: db.Conn, tenant_id: str, least: int = FLUSH) -> int:
    """Turn the chunks in no segment into one, if there are `least`; returns how many they were.

    Takes `conn` inside a transaction of the tenant; another indexer at work means 0.
    """
    if not await conn.fetchval(db.query("index.lock"), tenant_id):
        return 0
    _, found = await segments(conn, tenant_id)
    last = found[-1]["last_position"] if found else 0
    if await conn.fetchval(db.query("index.stretch"), tenant_id, last, least) is None:
        return 0
    until = await conn.fetchval(db.query("index.stretch"), tenant_id, last, FLUSH_MOST)
    rows = await conn.fetch(db.query("index.chunks_after"), tenant_id, last, until or 2**62)
    known = [row["name"] for row in await conn.fetch(db.query("index.names"), tenant_id, 0)]
    names = Names(known)
    first_doc = sum(row["docs"] for row in found)
    batch = await analyse_gently(rows, first_doc, names)
    await write(conn, tenant_id, first_doc, batch, names.listed[len(known) :], len(known))
    return len(rows)


async def write(
    conn: db.Conn, tenant_id: str, first_doc: int, batch: Batch, new: list[str], known: int
) -> None:
    """Store `batch` as a segment, and the `new` names after the `known` ones."""
    last = int(batch.docs["position"][-1])
    columns = batch.docs.tobytes()
    blocks = [block.tobytes() for block in batch.postings.values()]
    await conn.execute(db.query("index.add_names"), tenant_id, known, new)
    await conn.execute(
        db.query("index.add_segment"), tenant_id, first_doc, len(batch.docs), last, columns
    )
    terms = list(batch.postings)
    await conn.execute(db.query("index.add_postings"), tenant_id, first_doc, terms, blocks)


async def merge(conn: db.Conn, tenant_id: str) -> bool:
    """Join neighbouring small segments into one; True if there were any to join."""
    if not await conn.fetchval(db.query("index.lock"), tenant_id):
        return False
    _, found = await segments(conn, tenant_id)
    span = due([(row["first_doc"], row["docs"]) for row in found])
    if span is None:
        return False
    await conn.execute(db.query("index.merge_postings"), tenant_id, *span)
    await conn.execute(db.query("index.merge_segments"), tenant_id, *span)
    return True


def due(sizes: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """The stretch of documents whose segments should become one: the newest `FANOUT` segments
    that are each no larger than the largest allowed part of it.

    >>> due([(0, 8000)] + [(8000 + 1000 * n, 1000) for n in range(8)])
    (8000, 16000)
    >>> due([(0, 8000), (8000, 1000)]) is None
    True
    """
    for start in range(len(sizes) - FANOUT + 1):
        run = sizes[start : start + FANOUT]
        total = sum(docs for _, docs in run)
        if total <= LARGEST and max(docs for _, docs in run) * 2 <= total:
            return run[0][0], run[-1][0] + run[-1][1]
    return None


async def clear(conn: db.Conn, tenant_id: str) -> None:
    """Forget the index of a tenant; the next flush makes it anew from the chunks.

    The new epoch tells every daemon to forget what it holds in memory.
    """
    await conn.execute(db.query("index.wait"), tenant_id)
    await conn.execute(db.query("index.wait_for_codes"), tenant_id)
    await conn.execute(db.query("index.clear"), tenant_id)
