"""Erasure: events, and everything that was ever made of them, leave every table in one transaction.

The log keeps a tombstone in the place of each: its id and position, and which erasure took it. That
is an event too, with whose word it was and how much went, never with what it said. What PostgreSQL
then still has in its files goes by `sweep`, and `verify` looks whether it did.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memoryd import redact
from memoryd.core import db, read
from memoryd.core.model import Event
from memoryd.custody import erase_act, erase_views
from memoryd.custody.erase_act import Asked, Erasure
from memoryd.embed import Encoder
from memoryd.seal import keys as tenant_keys
from memoryd.search import index, vectors

DERIVED = ("summary", "handoff")  # kinds whose text is made of the events that they cite
# A table with a column `position` loses the rows of erased positions; for these, other rules hold.
OWN_RULES = {"events", "receipts", "tombstones", *erase_views.VERSIONED}
REMEMBERED = 400  # events, spread over all: enough to look for what is left
INDEXED = ("segments", "postings", "names", "code_segments", "token_codes")
STAYS = {"tenants", "events", "epochs"}  # when a tenant goes: see `_clear_tenant`


@dataclass(frozen=True)
class Done:
    """An erasure, and what only the process that did it may know: to look for what is left."""

    erasure: Erasure
    gone: tuple[Event, ...] = field(default=(), repr=False)  # some of the events
    packed: tuple[bytes, ...] = field(default=(), repr=False)  # stretches of artifacts, as stored


async def erase(
    conn: db.Conn,
    asked: Asked,
    encoder: Encoder,
    *,
    now: datetime,
    entropy: bytes,
    dry_run: bool = False,
    remember: bool = False,
) -> Done:
    """Erase, and answer what went; with `remember`, with some of the events as they were.

    `conn` is the owner's, outside a transaction. A dry run does the same work and takes it back, so
    that its counts are exact; other writers of the tenant wait as long.
    """
    transaction = conn.transaction()
    await transaction.start()
    try:
        done = await _erase(conn, asked, encoder, now, entropy, remember)
    except BaseException:
        await transaction.rollback()
        raise
    if any(done.erasure.rows.values()) and not dry_run:
        await transaction.commit()
        return done
    await transaction.rollback()
    return replace(done, erasure=replace(done.erasure, erasure_id=None))


async def _erase(
    conn: db.Conn, asked: Asked, encoder: Encoder, now: datetime, entropy: bytes, remember: bool
) -> Done:
    tenant_id = asked.tenant_id
    await conn.execute(db.query("record.lock"), tenant_id)
    await conn.execute(db.query("erase.lock_receipts"), tenant_id)
    named = await _named(conn, asked)
    chosen = await _with_derived(conn, tenant_id, named)
    some = chosen[:: len(chosen) // REMEMBERED + 1] if remember else []
    gone, packed = await _remember(conn, tenant_id, some)
    act = await erase_act.begin(conn, tenant_id, asked.by, now=now, entropy=entropy)
    if asked.what == "tenant":
        rows, spoken = await _clear_tenant(conn, tenant_id, act), 0
    else:
        # Otherwise nothing of the same session and user stays.
        exact = asked.what in ("event", "memory")
        context = chosen if exact else sorted(set(chosen) - set(named))
        rows = await _clear(conn, asked, chosen, context, act, encoder)
        spoken = await _spoken(conn, asked, chosen)
    erasure = Erasure(
        erasure_id=act,
        what=asked.what,
        at=now,
        by=asked.by,
        reason=redact.text(asked.reason),
        fingerprint=erase_act.fingerprint(act, asked.name),
        events=len(chosen),
        rows=rows,
        spoken=spoken,
    )
    await erase_act.describe(conn, tenant_id, erasure)
    return Done(erasure, gone, packed)


async def _named(conn: db.Conn, asked: Asked) -> list[int]:
    targets: tuple[erase_act.What, ...] = ("user", "session", "event", "memory")
    which = [asked.only(target) for target in targets]
    rows = await conn.fetch(db.query("erase.named"), asked.tenant_id, *which)
    return [row["position"] for row in rows]


async def _with_derived(conn: db.Conn, tenant_id: str, named: Sequence[int]) -> list[int]:
    rows = await conn.fetch(db.query("erase.derived"), tenant_id, named, DERIVED)
    return [row["position"] for row in rows]


async def _remember(
    conn: db.Conn, tenant_id: str, positions: Sequence[int]
) -> tuple[tuple[Event, ...], tuple[bytes, ...]]:
    rows = await conn.fetch(db.query("erase.events"), tenant_id, positions)
    packed = await conn.fetch(db.query("erase.packed"), tenant_id, positions)
    return tuple(map(read.to_event, rows)), tuple(row[0] for row in packed)


async def _spoken(conn: db.Conn, asked: Asked, chosen: Sequence[int]) -> int:
    user = asked.only("user")
    if user is None:
        return 0
    return int(await conn.fetchval(db.query("erase.spoken"), asked.tenant_id, user, chosen))


async def _clear(
    conn: db.Conn,
    asked: Asked,
    chosen: Sequence[int],
    context: Sequence[int],
    act: str,
    encoder: Encoder,
) -> dict[str, int]:
    """Everything of `chosen`; `context` are those whose successors stay."""
    tenant_id = asked.tenant_id
    near = await conn.fetch(db.query("erase.successors"), tenant_id, chosen, context)
    documents, whole = await _unindex(conn, tenant_id, chosen)
    rows = dict.fromkeys(INDEXED, documents)
    for table in await placed(conn):
        rows[table] = await removed(conn, table, "erase.remove", tenant_id, chosen)
    digests = await conn.fetch(db.query("erase.artifacts"), tenant_id, chosen)
    rows["artifacts"] = len(digests)
    pieces = (tenant_id, [row["digest"] for row in digests])
    rows["artifact_pieces"] = _count(await conn.execute(db.query("erase.pieces"), *pieces))
    emptied = await conn.execute(db.query("erase.empty"), tenant_id, chosen, act)
    rows["events"] = _count(emptied)
    rewound = await erase_views.rewind(conn, tenant_id, chosen)
    changed = await erase_views.project_again(conn, tenant_id, rewound, set(chosen))
    rows |= erase_views.lost(rewound, chosen)
    rows["receipts"] = await empty_receipts(conn, asked, [*chosen, *changed])
    keys = await conn.execute(db.query("erase.keys"), tenant_id, asked.only("user"))
    rows["keys"] = _count(keys)
    rows["audit"] = await forget_accesses(conn, asked)
    if documents and not whole:
        await index.purge(conn, tenant_id)
        await encode_again(conn, tenant_id, encoder, [row["position"] for row in near])
    return rows


async def _unindex(conn: db.Conn, tenant_id: str, chosen: Sequence[int]) -> tuple[int, bool]:
    """Take the chosen out of the index; returns how many documents went, and whether all did.

    Without the master key no sealed chunk goes into a segment, so that those after the last one
    have no numbers to be buried by. Then the index goes whole, with all vectors: daemons hold it in
    memory and make the vectors anew, until the key is back.
    """
    if not chosen:
        return 0, False
    await conn.execute(db.query("index.wait"), tenant_id)
    closed = (await tenant_keys.load(conn, tenant_id)).closed
    if not (closed and await conn.fetchval(db.query("index.lacks"), tenant_id, max(chosen))):
        return await index.delete(conn, tenant_id, chosen), False
    await index.clear(conn, tenant_id)
    await removed(conn, "token_codes", "erase.remove_all", tenant_id)
    return len(chosen), True


async def forget_accesses(conn: db.Conn, asked: Asked) -> int:
    """Who was asked for, in the audit. Daemons write it a second late: call it again then."""
    whole = asked.what == "tenant"
    whose = (asked.tenant_id, asked.only("user"), whole, asked.only("memory"))
    return int(await conn.fetchval(db.query("erase.accesses"), *whose))


async def placed(conn: db.Conn) -> list[str]:
    """The tables whose rows are of log positions and go with them: those of later modules too."""
    rows = await conn.fetch(db.query("erase.tables"))
    return [row["name"] for row in rows if row["placed"] and row["name"] not in OWN_RULES]


async def removed(conn: db.Conn, table: str, name: str, *values: Any) -> int:
    """The query is written for the chunks; `table` has the same columns."""
    return _count(await conn.execute(db.query(name).replace("chunks", table), *values))


async def empty_receipts(conn: db.Conn, asked: Asked, changed: Sequence[int]) -> int:
    whose = (asked.only("user"), asked.only("session"), changed)
    rows = await conn.fetch(db.query("erase.receipts"), asked.tenant_id, *whose)
    found = [row["acb_id"] for row in rows]
    await conn.execute(db.query("erase.empty_receipts"), asked.tenant_id, found)
    return len(found)


async def encode_again(
    conn: db.Conn, tenant_id: str, encoder: Encoder, positions: Sequence[int]
) -> None:
    """Vectors tell of the turn before: those of what followed are made anew, in the model at hand;
    in a model that is not, they are dropped, and words alone find these chunks.
    """
    if not positions:
        return
    for row in await conn.fetch(db.query("erase.models"), tenant_id):
        if row["model"] == encoder.name and encoder.broken is None:
            await vectors.renew(conn, tenant_id, encoder, positions)
        else:
            docs, _ = await index.locate(conn, tenant_id, positions)
            await index.replace_codes(conn, tenant_id, docs, row["model"])


async def _clear_tenant(conn: db.Conn, tenant_id: str, act: str) -> dict[str, int]:
    """All rows of a tenant in all tables, keys too. What stays is that it was there: its row, the
    number of its index, so that daemons forget what they hold, and the event that says so, whose
    position goes on from the old ones.
    """
    await conn.execute(db.query("index.wait"), tenant_id)
    tables = [row["name"] for row in await conn.fetch(db.query("erase.tables"))]
    rows = {
        table: await removed(conn, table, "erase.remove_all", tenant_id)
        for table in tables
        if table not in STAYS
    }
    rows["events"] = _count(await conn.execute(db.query("erase.remove_log"), tenant_id, act))
    await index.clear(conn, tenant_id)
    return rows


def _count(status: str) -> int:
    """Of `DELETE 3`."""
    return int(status.rpartition(" ")[2])
