"""The rows of scrubbed events, written again: the log, its artifacts, the views, the index."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from memoryd.core import db, record, views
from memoryd.core.model import Artifact, Event
from memoryd.custody import erase, erase_act, erase_views
from memoryd.seal import keys as tenant_keys
from memoryd.seal import rows as sealed
from memoryd.seal import store
from memoryd.seal.vault import Keys
from memoryd.search import index

META = ("tool", "path", "name")  # what an artifact repeats of its event


@dataclass(frozen=True, kw_only=True)
class Cleaned:
    """An event without its secrets; `blob` is its artifact's bytes, where it has one."""

    event: Event
    rules: tuple[str, ...]
    blob: bytes | None


async def touched(conn: db.Conn) -> list[str]:
    """The tables that are to be written anew afterwards: all with rows of tenants' words."""
    rows = await conn.fetch(db.query("erase.tables"))
    return [row["name"] for row in rows if row["name"] not in ("tenants", "epochs", "keys")]


async def rewrite(conn: db.Conn, tenant_id: str, events: Sequence[Cleaned]) -> None:
    """In a transaction that has recorded it; see `erase_act.begin`."""
    keys = await tenant_keys.usable(conn, tenant_id)
    positions = [one.event.position for one in events]
    await _forget_codes(conn, tenant_id, positions)
    rewound = await erase_views.rewind(conn, tenant_id, positions)
    for table in await erase.placed(conn):
        await erase.removed(conn, table, "erase.remove", tenant_id, positions)
    for one in events:
        await _rewrite_event(conn, one, keys)
    chunked = [(one.event, record.chunks_of(one.event, one.blob)) for one in events]
    await store.add_chunks(conn, chunked, keys)
    for one in events:
        if not any(one.event.position in rows for rows in rewound.values()):
            await views.project(conn, one.event, keys)
    changed = await erase_views.project_again(conn, tenant_id, rewound, ())
    nobody = erase_act.Asked(tenant_id=tenant_id, what="event", name="", by="")
    await erase.empty_receipts(conn, nobody, [*positions, *changed])
    await _index(conn, tenant_id)


async def _rewrite_event(conn: db.Conn, one: Cleaned, keys: Keys) -> None:
    event = sealed.event(keys, one.event)
    values = (event.content, event.tags, event.refs, event.actor.id)
    await conn.execute(db.query("scrub.rewrite"), event.tenant_id, event.position, *values)
    if one.blob is not None:
        await _rewrite_artifact(conn, one.event, one.blob, keys)


async def _rewrite_artifact(conn: db.Conn, event: Event, blob: bytes, keys: Keys) -> None:
    where = (event.tenant_id, event.event_id)
    [row] = await conn.fetch(db.query("scrub.artifact"), *where)
    clean = replace(
        Artifact(**row),
        digest=sha256(blob).digest(),
        size=len(blob),
        meta={name: event.content[name] for name in META if name in event.content},
        media_type=event.content.get("media_type", "text/plain"),
    )
    made, pieces = sealed.artifact(keys, event, clean, store.pieces_of(blob))
    values = (made.digest, made.size, made.meta, event.refs, made.media_type)
    await conn.execute(db.query("scrub.rewrite_artifact"), *where, *values)
    rows = [(event.tenant_id, made.digest, at, piece) for at, piece in enumerate(pieces)]
    await conn.executemany(db.query("record.add_piece"), rows)
    await conn.execute(db.query("erase.pieces"), event.tenant_id, [row["digest"]])


async def _forget_codes(conn: db.Conn, tenant_id: str, positions: Sequence[int]) -> None:
    """Vectors of the events, and of those that followed them: they tell of the turn before."""
    near = await conn.fetch(db.query("erase.successors"), tenant_id, [], positions)
    told = sorted({*positions, *(row["position"] for row in near)})
    docs, _ = await index.locate(conn, tenant_id, told)
    await index.replace_codes(conn, tenant_id, docs)


async def _index(conn: db.Conn, tenant_id: str) -> None:
    """Made anew from the chunks, whose number may be another; the vectors follow, and all but those
    forgotten are known.
    """
    await index.clear(conn, tenant_id)
    while await index.flush(conn, tenant_id) or await index.merge(conn, tenant_id):
        pass
