"""Whether anything is left of what was erased: table by table, and on the embedded server in files.

Tables and columns come from the catalogue, so that a later one is not forgotten. The words to look
for are known only to the process that erased them, and nothing here repeats one.
"""

import re
import zlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import numpy as np

from memoryd.core import db
from memoryd.core.model import Event
from memoryd.custody import erase, erase_views, files
from memoryd.custody.erase_act import Asked
from memoryd.seal.vault import CLOSED
from memoryd.search import analyze, index

WORDS = 400  # of the erased texts, looked for in the tables
EACH = 3  # of one event, the longest
LEAST = 6  # bytes of a word that is looked for
OWNERS = {"user": ("user_id", "owner"), "session": ("session_id", "about")}
# What people said: a word that is still here was said by others too, and proves nothing.
SAID = ("events", "artifact_pieces", "receipts", "keys", "tenants")
ZLIB = b"\x78"
_OURS = re.compile(rb"\b[a-z]{3}_[0-9A-HJKMNP-TV-Z]{26}\b")  # ids: what they name may be kept
_WORD = re.compile(rb"[\w\x80-\xff]{%d,64}" % LEAST)


@dataclass
class Report:
    """Where it was looked, and what was found: places and counts, never the words."""

    rows: dict[str, int] = field(default_factory=dict)  # read, by table
    bytes_read: int = 0  # of the tables
    files: int = 0
    file_bytes: int = 0
    raw: bool = False  # whether files could be read
    words: int = 0  # looked for
    shared: int = 0  # of them, said by others too
    positions: int = 0  # looked for
    findings: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not self.findings

    def found(self, count: int, what: str) -> None:
        if count:
            self.findings.append(f"{count:,} {what}")


def words(gone: Sequence[Event]) -> set[bytes]:
    """Distinctive ones of erased events, spread over them, and whose they were."""
    named = " ".join({name for event in gone for name in (event.user_id, event.session_id)})
    found = set(_WORD.findall(named.encode())[:WORDS])
    for event in gone[:: max(1, len(gone) * EACH // WORDS)]:
        if event.content == {"text": CLOSED}:  # these words are ours
            continue
        said = _OURS.sub(b"", b" ".join(map(str.encode, _strings([event.content, event.tags]))))
        found.update(sorted(set(_WORD.findall(said)), key=lambda word: (-len(word), word))[:EACH])
    return found


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _strings(inner)


async def verify(
    target: db.Target,
    tenant_id: str,
    erasure_id: str | None,
    asked: Asked | None = None,
    gone: Sequence[Event] = (),
    packed: Sequence[bytes] = (),
) -> Report:
    """Look for rows of the erasure's positions and names, and for words of what it took.

    `packed` are stretches of artifacts, which lie compressed: their bytes are looked for in files.
    """
    report = Report()
    sought = words(gone)
    report.words = len(sought)
    async with _reading(target, tenant_id) as (conn, everything):
        if erasure_id is not None:
            await _places(conn, report, tenant_id, erasure_id)
        if asked is not None:
            await _names(conn, report, asked)
        left = await _tables(conn, report, sought)
        await _postings(conn, report, tenant_id, left)
        if everything:
            report.raw = True
            await files.search(conn, report, [*packed[: files.MOST // 4], *sorted(left)])
    return report


@asynccontextmanager
async def _reading(
    target: db.Target, tenant_id: str
) -> AsyncIterator[tuple[asyncpg.Connection, bool]]:
    """A transaction of the superuser of the embedded server, who sees what others said too; on an
    outside server, of the owner.
    """
    conn = await db.connect(target, None)
    try:
        everything = target.embedded and bool(await conn.fetchval(db.query("sweep.superuser")))
        if not everything:
            await conn.execute(f"set role {db.OWNER}")
        async with conn.transaction(isolation="repeatable_read", readonly=True):
            await db.set_tenant(conn, tenant_id)
            yield conn, everything
    finally:
        await conn.close()


async def _places(conn: db.Conn, report: Report, tenant_id: str, erasure_id: str) -> None:
    """Rows at erased positions, and tombstones that are not empty."""
    rows = await conn.fetch(db.query("verify.tombstones"), tenant_id, erasure_id)
    positions = [row["position"] for row in rows]
    report.positions = len(positions)
    report.found(sum(not row["empty"] for row in rows), "tombstones that are not empty")
    for table in [*await erase.placed(conn), *erase_views.VERSIONED]:
        counting = db.query("verify.count_placed").replace("chunks", table)
        report.found(await conn.fetchval(counting, tenant_id, positions), f"rows in {table}")
    ids = [row["event_id"] for row in rows]
    found = await conn.fetchval(db.query("verify.count_artifacts"), tenant_id, ids)
    report.found(found, "rows in artifacts")
    receipts = await conn.fetch(db.query("erase.receipts"), tenant_id, None, None, positions)
    report.found(len(receipts), "receipts that show them")


async def _names(conn: db.Conn, report: Report, asked: Asked) -> None:
    """Rows of the user or session; of a tenant, what is left beside the event that says so."""
    if asked.what == "tenant":
        for row in await conn.fetch(db.query("erase.tables")):
            if row["name"] not in erase.STAYS:
                counting = db.query("verify.count_tenant").replace("chunks", row["name"])
                left = await conn.fetchval(counting, asked.tenant_id)
                report.found(left, f"rows in {row['name']}")
        return
    which = OWNERS.get(asked.what, ())
    for row in await conn.fetch(db.query("verify.named"), which):
        counting = db.query("verify.count_named").replace("chunks", row["name"])
        counting = counting.replace("user_id", row["said"])
        left = await conn.fetchval(counting, asked.tenant_id, asked.name)
        report.found(left, f"rows in {row['name']} by {row['said']}")
    whose = (asked.only("user"), asked.only("session"))
    receipts = await conn.fetch(db.query("erase.receipts"), asked.tenant_id, *whose, [])
    report.found(len(receipts), "receipts of their questions")


async def _tables(conn: db.Conn, report: Report, sought: set[bytes]) -> set[bytes]:
    """Look for the words in every table; returns those that nobody else said."""
    tables = await conn.fetch(db.query("verify.columns"))
    shared: set[bytes] = set()
    places: dict[str, set[bytes]] = {}
    for table in tables:
        met = await _read(conn, report, table["name"], table["columns"], sought)
        if table["name"] in SAID:
            shared |= met
        else:
            places[table["name"]] = met
    for name, met in places.items():
        report.found(len(met - shared) if name != "postings" else 0, f"erased words in {name}")
    report.shared = len(shared)
    return sought - shared


async def _read(
    conn: db.Conn, report: Report, table: str, columns: Sequence[str], sought: set[bytes]
) -> set[bytes]:
    """Which of the words a table has."""
    asked = db.query("verify.values").replace("chunks", table)
    cursor = await conn.cursor(asked.replace("select text", f"select {', '.join(columns)}"))
    met: set[bytes] = set()
    read = 0
    while rows := await cursor.fetch(500):
        read += len(rows)
        for value in (value for row in rows for value in row if value is not None):
            said = value.encode() if isinstance(value, str) else _unpacked(value)
            report.bytes_read += len(said)
            met.update(sought.intersection(_WORD.findall(said)))
    report.rows[table] = read
    return met


def _unpacked(value: bytes) -> bytes:
    """What zlib packed, and everything else as it is."""
    try:
        return zlib.decompress(value) if value.startswith(ZLIB) else value
    except zlib.error:  # it began so by chance
        return value


async def _postings(conn: db.Conn, report: Report, tenant_id: str, left: set[bytes]) -> None:
    """Words in the form that the index has them: no deleted document may have one."""
    terms = {term for word in left for term in analyze.query_terms(word.decode(errors="ignore"))}
    dead = set(await conn.fetchval(db.query("index.tombstones"), tenant_id))
    rows = await conn.fetch(db.query("verify.blocks"), tenant_id, sorted(terms))
    blocks = (np.frombuffer(row["block"], index.POSTING)["doc"].tolist() for row in rows)
    report.found(sum(not dead.isdisjoint(docs) for docs in blocks), "erased words in postings")
