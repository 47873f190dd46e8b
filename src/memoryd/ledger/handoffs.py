"""Handoffs: a packet of open tasks, active decisions and cited evidence, from agent to agent.

A packet is made through the eyes of those who may read it, and never of more than the channel
`agent` shows, so that nothing private of the sender comes along, whoever makes it; the event keeps
its text and the events that it quotes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memoryd import neutral
from memoryd.core import context, db, errors, items, pack, read, render, tokens
from memoryd.core.item import Item
from memoryd.core.model import MAX_NAMES, Channel, Reader
from memoryd.core.receipt import Asked
from memoryd.ledger import tasks
from memoryd.search.searcher import Searcher

MOST = 6_000  # tokens of a packet (seed 003 §8.1)
FRAME = 100  # of them for what a bundle puts around it
CITED_CHUNKS = 8  # of one cited event
SECTIONS = {
    "task_state": "Open tasks",
    "decision_ledger": "Active decisions",
    "retrieved_evidence": "Evidence",
}


@dataclass(frozen=True, kw_only=True)
class Handoff:
    handoff_id: str
    event_id: str
    ts: datetime
    status: str
    from_agent: str
    to_agent: str
    note: str
    packet: str
    answer: str
    session_id: str
    channel: Channel
    refs: list[str]
    position: int


@dataclass(frozen=True)
class Packet:
    text: str
    refs: tuple[str, ...]


async def packet(
    pool: db.Pool,
    searcher: Searcher,
    reader: Reader,
    asked: Asked,
    note: str,
    cited: Sequence[str],
) -> Packet:
    """What fits into `asked.max_tokens`: the note first, then tasks, decisions and evidence."""
    note = neutral.neutral(note.strip())  # the heads in a packet are those of its items
    room = min(asked.max_tokens, MOST - FRAME) - tokens.count(note)
    if room < 0:
        raise errors.Invalid(
            "the note alone is longer than the packet may be; shorten it, or cite events",
            field="note",
            limit=f"{min(asked.max_tokens, MOST - FRAME):,} tokens",
        )
    reader = replace(reader, channel="public" if reader.channel == "public" else "agent")
    asked = replace(asked, sections=tuple(SECTIONS))
    collected = await context.collect(pool, searcher, reader, asked)
    named = await _cited(pool, reader, cited)
    known = {one.position for one in named}
    found = collected.candidates["retrieved_evidence"]
    evidence = [*named, *(one for one in found if one.position not in known)]
    candidates = {**collected.candidates, "retrieved_evidence": evidence}
    filled = pack.pack(candidates, room)
    shown = [one.position for one in filled["task_state"].items]
    async with db.tenant(pool, reader.tenant_id) as conn:
        of_tasks = await tasks.events(conn, reader.tenant_id, shown)
    return _written(note, filled, of_tasks)


async def _cited(pool: db.Pool, reader: Reader, cited: Sequence[str]) -> list[Item]:
    async with db.tenant(pool, reader.tenant_id) as conn:
        asked = (*read.eyes(reader), list(cited), CITED_CHUNKS)
        rows = await conn.fetch(db.query("handoffs.cited"), *asked)
    seen = {row["event_id"] for row in rows}
    for at, event_id in enumerate(cited):
        if event_id not in seen:
            raise errors.Invalid(
                f"there is no event {event_id!r} that readers of the packet may see; record it "
                "in a channel of theirs to hand it over",
                field=f"evidence.{at}",
            )
    return [items.evidence([dict(row)], None, {}) for row in rows]


def _written(
    note: str, filled: Mapping[str, pack.Filled], of_tasks: Mapping[int, Sequence[str]]
) -> Packet:
    """As text; every event quoted is named, so that erasing it erases the packet."""
    parts, refs = [note] if note else [], dict[str, None]()
    for name, title in SECTIONS.items():
        shown = list(_within(filled[name].items, refs, of_tasks))
        if shown:
            texts = render.numbered(name, (one.text for one in shown))
            parts.append(f"{title}:\n\n" + "\n\n".join(texts))
    return Packet("\n\n".join(parts), tuple(refs))


def _within(
    shown: Sequence[Item], refs: dict[str, None], of_tasks: Mapping[int, Sequence[str]]
) -> Sequence[Item]:
    """Those whose events still fit among the refs of one event. What a decision or a task refers to
    is not quoted, and may be nothing that readers of the packet may know of.
    """
    kept = []
    for one in shown:
        own = one.refs[-1] if one.type == "chunk" else one.refs[0]
        events = of_tasks.get(one.position, (own,)) if one.type == "task" else (own,)
        if len(refs.keys() | set(events)) <= MAX_NAMES:
            refs.update(dict.fromkeys(events))
            kept.append(one)
    return kept


async def page(
    conn: db.Conn,
    reader: Reader,
    *,
    handoff_id: str | None = None,
    to_agent: str | None = None,
    from_agent: str | None = None,
    status: str | None = None,
    cursor: int | None = None,
    limit: int = 1,
) -> list[Handoff]:
    """Newest first; each as it stands now."""
    which = (handoff_id, to_agent, from_agent, status, cursor, limit)
    rows = await conn.fetch(db.query("handoffs.list"), *read.eyes(reader), *which)
    return [Handoff(**row) for row in rows]


async def one(conn: db.Conn, reader: Reader, handoff_id: str) -> Handoff:
    found = await page(conn, reader, handoff_id=handoff_id)
    if not found:
        raise errors.NotFound(f"there is no handoff {handoff_id!r} that you may see")
    return found[0]
