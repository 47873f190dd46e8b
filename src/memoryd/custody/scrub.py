"""Scrub: what today's rules of the secrets filter find in a log that older rules, or none, let in.

An event that holds a secret keeps its place and its other words; the secret goes from the log and
from everything made of it, as in an erasure, and an event of its own says which rules found it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memoryd import redact
from memoryd.core import content, db, read
from memoryd.core.model import Event, Reader
from memoryd.custody import erase_act, scrub_rows
from memoryd.custody.scrub_rows import Cleaned
from memoryd.redact import writes
from memoryd.seal import keys, receipts
from memoryd.search import analyze

BATCH = 500  # events looked through in one transaction
HANDLES = ("session_id", "user_id", "agent_id")  # what rows are found by, and so cannot be changed
LISTED = 20  # terms of a question that a bundle shows
Progress = Callable[[str, int, int], None]  # tenant, events done, events in all
Entropy = Callable[[], bytes]


@dataclass
class Findings:
    """Where secrets are: by rule how many events, and which; never what they are."""

    tenant_id: str
    rules: dict[str, int] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    handles: list[str] = field(default_factory=list)  # events that only an erasure can clean

    def add(self, cleaned: Cleaned) -> None:
        self.events.append(cleaned.event.event_id)
        self.positions.append(cleaned.event.position)
        for rule in cleaned.rules:
            self.rules[rule] = self.rules.get(rule, 0) + 1


async def search(conn: db.Conn, tenant_id: str, progress: Progress) -> Findings:
    """Look through all that a tenant has said; writers go on meanwhile. `conn` is the owner's."""
    found = Findings(tenant_id)
    async with conn.transaction():
        await db.set_tenant(conn, tenant_id)
        await keys.usable(conn, tenant_id)  # what cannot be read cannot be looked through
        head = await conn.fetchval(db.query("record.head"), tenant_id) or 0
        found.questions = [acb_id for acb_id, *_ in await _questions(conn, tenant_id)]
    done = 0
    while done < head:
        async with conn.transaction():
            await db.set_tenant(conn, tenant_id)
            rows = await conn.fetch(db.query("rebuild.events"), tenant_id, done, BATCH)
            last = rows[-1]["position"] if rows else head
            for row in rows:
                await _look(conn, found, read.to_event(row))
            await _look_at_keys(conn, found, done, last)
        done = last
        progress(tenant_id, min(done, head), head)
    return found


async def scrub(conn: db.Conn, found: Findings, *, now: datetime, entropy: Entropy) -> int:
    """Take the secrets out of what was found; returns how many events that were."""
    tenant_id = found.tenant_id
    if not found.positions and not found.questions:
        return 0
    async with conn.transaction():
        await conn.execute(db.query("record.lock"), tenant_id)
        await conn.execute(db.query("erase.lock_receipts"), tenant_id)
        rows = await conn.fetch(db.query("erase.events"), tenant_id, found.positions)
        events = [await cleaned(conn, read.to_event(row)) for row in rows]
        await _record(conn, tenant_id, events, now, entropy)
        for acb_id, inputs, items in await _questions(conn, tenant_id):
            query = db.query("scrub.rewrite_receipt")
            await conn.execute(query, tenant_id, acb_id, inputs, items)
        if events:
            await scrub_rows.rewrite(conn, tenant_id, events)
    return len(events)


async def cleaned(conn: db.Conn, event: Event) -> Cleaned:
    """As today's write path would keep it."""
    seen: set[str] = set()
    blob = await read.blob_of(conn, event) if "artifact_id" in event.content else None
    if event.kind in ("tool_result", "artifact") and event.sensitivity != "secret":
        output = event.content["excerpt_text"].encode() if blob is None else blob
        normal = content.normalize(event.kind, event.content, seen, output)
        blob = blob if blob is None else writes.output(blob, set())
        kept = normal.content
    else:
        kept = redact.value(event.content, seen=seen)
    clean = replace(
        event,
        content=kept,
        tags=tuple(redact.text(tag, seen) for tag in event.tags),
        refs=tuple(redact.text(ref, seen) for ref in event.refs),
        actor=replace(event.actor, id=redact.text(event.actor.id, seen)),
    )
    return Cleaned(event=clean, rules=tuple(sorted(seen)), blob=blob)


async def _look(conn: db.Conn, found: Findings, event: Event) -> None:
    if event.kind == "erasure" or event.sensitivity == "secret":
        return
    clean = await cleaned(conn, event)
    if clean.rules:
        found.add(clean)
    if any(redact.found(getattr(event, name)) for name in HANDLES):
        found.handles.append(event.event_id)


async def _look_at_keys(conn: db.Conn, found: Findings, after: int, until: int) -> None:
    """Idempotency keys: an event whose key is a secret loses it."""
    rows = await conn.fetch(db.query("scrub.keyed"), found.tenant_id, after, until)
    keyed = [row["position"] for row in rows if redact.found(row["idempotency_key"])]
    for row in await conn.fetch(db.query("erase.events"), found.tenant_id, keyed):
        if row["position"] not in found.positions:
            found.add(await cleaned(conn, read.to_event(row)))


async def _questions(conn: db.Conn, tenant_id: str) -> list[tuple[str, Any, Any]]:
    """Receipts whose question holds a secret, as they should be: id, inputs and items."""
    await keys.load(conn, tenant_id)
    changed, last = [], ""
    query = db.query("scrub.questions")
    while rows := await conn.fetch(query, tenant_id, last, BATCH):
        last = rows[-1]["acb_id"]
        for row in rows:
            changed += await _question(conn, row)
    return changed


async def _question(conn: db.Conn, row: Any) -> list[tuple[str, Any, Any]]:
    inputs, items = receipts.opened(conn, row["acb_id"], row["inputs"], row["items"])
    question = redact.text(inputs["asked"]["query_text"])
    if question == inputs["asked"]["query_text"]:
        return []
    asked = {**inputs["asked"], "query_text": question}
    terms = list(analyze.query_terms(question))[:LISTED]
    shown = {**items["provenance"], "query_terms": terms}
    clean = ({**inputs, "asked": asked}, {**items, "provenance": shown})
    reader = Reader(**inputs["reader"])
    return [(row["acb_id"], *await receipts.sealed(conn, reader, row["acb_id"], *clean))]


async def _record(
    conn: db.Conn, tenant_id: str, events: Sequence[Cleaned], now: datetime, entropy: Entropy
) -> None:
    """An erasure for each event; and where only questions are scrubbed, one for them."""
    said = [(one.event.event_id, ", ".join(one.rules) or "idempotency key") for one in events]
    for name, why in said or [("questions", "secrets in questions")]:
        by = erase_act.OURSELVES
        act = await erase_act.begin(conn, tenant_id, by, now=now, entropy=entropy())
        done = erase_act.Erasure(
            erasure_id=act,
            what="secrets",
            at=now,
            by=by,
            reason=f"{name}: {why}",
            fingerprint=erase_act.fingerprint(act, name),
            events=len(events) and 1,
            rows=dict.fromkeys(await scrub_rows.touched(conn), 1),
        )
        await erase_act.describe(conn, tenant_id, done)
