"""The inverted index in plain tables: flush, merge, delete, and the columns that a search reads.

A document is a chunk, numbered densely in log order. That number is the same for every process and
after every rebuild, so that blocks merge by joining their bytes and rankings repeat to the bit. A
deleted document keeps it, and exists for nobody.
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
from memoryd.seal import keys as tenant_keys
from memoryd.seal.vault import Keys
from memoryd.search import words

TABLES = ("segments", "postings", "names", "epochs", "tombstones")

NAMED = ("session", "user", "agent", "actor")  # by their numbers in `names`
# `ts` is in microseconds since 1970, `length` in terms; `parts` are the chunks of its event; `asks`
# is 1 where the text ends with a question, which is not told of what is sealed.
DOC = np.dtype(
    [("position", "<i8"), ("ts", "<i8"), ("ordinal", "<i4"), ("length", "<i4")]
    + [(name, "<i4") for name in (*NAMED, "parts", "tokens")]
    + [(name, "u1") for name in ("kind", "origin", "channel", "sensitivity", "asks")]
)
SEALED = ("high", "secret")  # nothing is told of these but by keyed hashes
PLACE = ["position", "ordinal"]  # what stays of a purged record: the numbering needs it
KEY_BYTES = 16  # of a code's record the first: which token codes are its; zeros for none
POSTING = np.dtype([("doc", "<i4"), ("tf", "<u2")])
Docs = NDArray[Any]
Ints = NDArray[Any]  # document numbers

FLUSH = 1_000  # chunks in no segment: scoring them from their rows costs 2 ms
FLUSH_MOST = 4_000  # chunks in one transaction, a second of work
ROWS_A_TURN = 20  # analysed before others get a turn: 2 ms
BLOCKS = 1_000  # of postings, purged at once: 10 ms
FANOUT = 8  # segments of one size before they become one
LARGEST = 131_072  # documents; a merge rewrites a segment whole, so it must end somewhere
_ASKING = ("?", "\uff1f", "\u061f")  # as Latin, Chinese and Arabic texts do
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Batch:
    """Chunks made ready for the index, in order."""

    end: int  # the number after the last one's
    docs: Docs
    postings: dict[str, Docs]


class Names:
    """Strings as numbers, in the order of their first appearance."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.listed: list[str] = []
        self._ids: dict[str, int] = {}
        self.extend(known)

    def extend(self, names: Iterable[str]) -> None:
        """Take names as they are numbered already."""
        for name in names:
            self._ids[name] = len(self.listed)
            self.listed.append(name)

    def number(self, name: str) -> int:
        if name not in self._ids:
            self.extend([name])
        return self._ids[name]

    def find(self, name: str) -> int:
        """-1 for a name that no document has."""
        return self._ids.get(name, -1)


async def analyse(rows: Sequence[Any], first_doc: int, names: Names, keys: Keys) -> Batch:
    """Rows of chunks, in log order, become documents from `first_doc` on; with pauses, so that
    requests are served in between. `keys` spell what is sealed.
    """
    records: list[tuple[int, ...]] = []
    hide = keys.hide
    found: dict[str, dict[int, int]] = {}
    for doc, row in enumerate(rows, first_doc):
        if doc % ROWS_A_TURN == 0:
            await asyncio.sleep(0)
        terms, tags = words.of(row, keys, hide)
        records.append(_record(row, len(terms), names))
        for term in terms:
            counts = found.setdefault(term, {})
            counts[doc] = counts.get(doc, 0) + 1
        for tag in tags:
            found.setdefault(tag, {})[doc] = 1
    postings = {term: _block(counts) for term, counts in found.items()}
    return Batch(first_doc + len(rows), np.array(records, DOC), postings)


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
        *(names.number(row[f"{name}_id"]) for name in NAMED),
        *(row["parts"], row["token_est"], KINDS.index(row["kind"])),
        ORIGINS.index(row["actor_type"]),
        CHANNELS.index(row["channel"]),
        SENSITIVITIES.index(row["sensitivity"]),
        row["sensitivity"] not in SEALED and row["text"].rstrip().endswith(_ASKING),
    )


async def segments(conn: db.Conn, tenant_id: str) -> tuple[int, list[Any]]:
    """How many documents are in segments, and these in order."""
    rows = await conn.fetch(db.query("index.segments"), tenant_id)
    return sum(row["docs"] for row in rows), rows


async def columns(conn: db.Conn, tenant_id: str, first_doc: int = 0) -> Docs:
    """A record a document, from `first_doc` on."""
    rows = await conn.fetch(db.query("index.columns"), tenant_id, first_doc)
    return np.frombuffer(b"".join(row["columns"] for row in rows), DOC)


async def flush(conn: db.Conn, tenant_id: str, least: int = FLUSH) -> int:
    """Turn the chunks in no segment into one, if there are `least`; returns how many they were.

    Takes `conn` inside a transaction of the tenant; another indexer at work means 0, and so does a
    key that is not here: sealed words could not be spelled, and would never be found.
    """
    if not await conn.fetchval(db.query("index.lock"), tenant_id):
        return 0
    first_doc, found = await segments(conn, tenant_id)
    last = found[-1]["last_position"] if found else 0
    if await conn.fetchval(db.query("index.stretch"), tenant_id, last, least) is None:
        return 0
    until = await conn.fetchval(db.query("index.stretch"), tenant_id, last, FLUSH_MOST)
    rows = await conn.fetch(db.query("index.chunks_after"), tenant_id, last, until or 2**62)
    keys = await tenant_keys.load(conn, tenant_id)
    if keys.closed:
        return 0
    names = Names(row["name"] for row in await conn.fetch(db.query("index.names"), tenant_id, 0))
    known = len(names.listed)
    batch = await analyse(rows, first_doc, names, keys)
    segment = (first_doc, len(rows), rows[-1]["position"], batch.docs.tobytes())
    await conn.execute(db.query("index.add_segment"), tenant_id, *segment)
    await conn.execute(db.query("index.add_names"), tenant_id, known, names.listed[known:])
    blocks = [block.tobytes() for block in batch.postings.values()]
    terms = list(batch.postings)
    await conn.execute(db.query("index.add_postings"), tenant_id, first_doc, terms, blocks)
    return len(rows)


async def merge(conn: db.Conn, tenant_id: str) -> bool:
    """Join neighbouring small segments into one; True if there were any to join."""
    if not await conn.fetchval(db.query("index.lock"), tenant_id):
        return False
    _, found = await segments(conn, tenant_id)
    if (span := due([(row["first_doc"], row["docs"]) for row in found])) is None:
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
    await conn.execute(db.query("index.clear"), tenant_id)


async def delete(conn: db.Conn, tenant_id: str, positions: Sequence[int]) -> int:
    """Let the chunks of these log positions exist for nobody; returns how many they are.

    Whoever erases them deletes their rows too, and calls `purge`, in the same transaction of the
    tenant (read committed). Waits for other indexers and embedders; none begins before its end.
    """
    docs, records = await locate(conn, tenant_id, positions)
    places = (records[name].tolist() for name in PLACE)
    await conn.execute(db.query("index.bury"), tenant_id, *places, docs.tolist())
    return len(docs)


async def locate(conn: db.Conn, tenant_id: str, positions: Sequence[int]) -> tuple[Ints, Docs]:
    """The documents of these committed log positions, in order, and their records. All of them are
    in segments then: their numbers are settled, whatever becomes of their rows.
    """
    await conn.execute(db.query("index.wait"), tenant_id)
    needed = (db.query("index.lacks"), tenant_id, max(positions, default=0))
    while await conn.fetchval(*needed) and await flush(conn, tenant_id, least=1):
        pass
    records = await columns(conn, tenant_id)
    docs = np.flatnonzero(np.isin(records["position"], positions))
    return docs, records[docs]


async def purge(conn: db.Conn, tenant_id: str) -> int:
    """Leave nothing of deleted documents' terms, columns, names and codes; returns how many of
    them had left something. Takes `conn` as `delete` does.
    """
    await conn.execute(db.query("index.wait"), tenant_id)
    dead = np.array(await conn.fetchval(db.query("index.tombstones"), tenant_id), int)
    records = (await columns(conn, tenant_id)).copy()
    bare = np.zeros(len(dead), DOC)
    bare[PLACE] = records[dead][PLACE]
    fresh = dead[records[dead] != bare]
    if len(fresh):
        names = np.setdiff1d(_named(records[fresh]), _named(np.delete(records, dead)))
        records[dead] = bare
        await _replace_records(conn, tenant_id, fresh, records)
        await replace_codes(conn, tenant_id, fresh)
        await conn.execute(db.query("index.forget_names"), tenant_id, names.tolist())
    return len(fresh)


def _named(records: Docs) -> Ints:
    return np.flatnonzero(np.bincount(np.concatenate([records[name] for name in NAMED])))


async def _replace_records(conn: db.Conn, tenant_id: str, fresh: Ints, records: Docs) -> None:
    """Of the segments that have `fresh` documents; and leave these out of their blocks."""
    touched = []
    for row in (await segments(conn, tenant_id))[1]:
        here = slice(row["first_doc"], row["first_doc"] + row["docs"])
        if ((fresh >= here.start) & (fresh < here.stop)).any():
            touched.append(here.start)
            part = records[here].tobytes()
            await conn.execute(db.query("index.replace_columns"), tenant_id, here.start, part)
    dead = np.zeros(len(records), np.bool_)
    dead[fresh] = True
    cursor = await conn.cursor(db.query("index.blocks"), tenant_id, touched)
    while rows := await cursor.fetch(BLOCKS):
        changed = []
        for row in rows:
            block = np.frombuffer(row["block"], POSTING)
            if (gone := dead[block["doc"]]).any():
                changed.append((row["term"], row["first_doc"], block[~gone].tobytes()))
        if changed:
            blocks = zip(*changed, strict=True)
            await conn.execute(db.query("index.replace_blocks"), tenant_id, *blocks)


async def replace_codes(
    conn: db.Conn, tenant_id: str, docs: Ints, model: str | None = None, codes: bytes = b""
) -> None:
    """Put `codes` in the place of those of `docs`, zeros where there are none, in one model or in
    all; what no document uses is forgotten, and what daemons hold in memory.
    """
    await conn.execute(db.query("index.begin_epoch"), tenant_id)
    used: set[bytes] = set()
    for row in await conn.fetch(db.query("index.codes"), tenant_id):
        records = np.frombuffer(row["codes"], np.uint8).reshape(row["docs"], -1).copy()
        first, last = np.searchsorted(docs, (row["first_doc"], row["first_doc"] + row["docs"]))
        if first < last and model in (None, row["model"]):
            made = np.frombuffer(codes, np.uint8).reshape(len(docs), -1)[first:last] if codes else 0
            records[docs[first:last] - row["first_doc"]] = made
            where = (tenant_id, row["model"], row["first_doc"])
            await conn.execute(db.query("index.replace_codes"), *where, records.tobytes())
        used.update(records[:, :KEY_BYTES].copy().view((np.void, KEY_BYTES))[:, 0].tolist())
    known = await conn.fetch(db.query("index.token_keys"), tenant_id)
    gone = [(row["model"], row["key"]) for row in known if row["key"] not in used]
    if gone:
        await conn.execute(db.query("index.forget_tokens"), tenant_id, *zip(*gone, strict=True))
