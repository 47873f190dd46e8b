"""Handoffs: a packet of open tasks, active decisions and cited evidence, from agent to agent.

A packet is made through the eyes of those who may read it, and never of more than the channel
`agent` shows, so that nothing private of the sender comes along, whoever makes it; the event keeps
its text and the events that it quotes.
"""

from collections.abc import Iterable, Mapping, Sequence
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
NAMED, EVIDENCE = "evidence", "retrieved_evidence"
# In the order of the text: what a receiver's bundle has no room for is cut at the end. What is open
# and active is so on a day: the packet is read later, and does not change.
TITLES = {
    NAMED: "Evidence",
    "task_state": "Open tasks on {}",
    "decision_ledger": "Active decisions on {}",
    EVIDENCE: "Also found",
}
UNSEEN = (
    "there is no event {!r} that readers of the packet may see; record it in a channel of theirs "
    "to hand it over"
)
NO_TEXT = "event {!r} has no text to quote; name the event that says it, or say it in the note"


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
    """What fits into `asked.max_tokens`: first the note, then what is `cited`, then tasks and
    decisions, and what else a question finds.
    """
    note = neutral.neutral(note.strip())  # the heads in a packet are those of its items
    room = _room(note, asked.max_tokens)
    reader = replace(reader, channel="public" if reader.channel == "public" else "agent")
    asked = replace(asked, sections=("task_state", "decision_ledger", EVIDENCE))
    named = await _cited(pool, reader, cited)
    collected = await context.collect(pool, searcher, reader, asked)
    shown = _fitted(named, collected.candidates, room)
    positions = [one.position for one in shown["task_state"]]
    async with db.tenant(pool, reader.tenant_id) as conn:
        of_tasks = await tasks.events(conn, reader.tenant_id, positions)
    return _written(note, shown, of_tasks, asked.now)


def _room(note: str, max_tokens: int) -> int:
    most = min(max_tokens, MOST - FRAME)
    if tokens.count(note) > most:
        raise errors.Invalid(
            "the note alone is longer than the packet may be; shorten it, or cite events",
            field="note",
            limit=f"{most:,} tokens",
        )
    return most - tokens.count(note)


def _fitted(
    named: Sequence[Item], candidates: Mapping[str, Sequence[Item]], room: int
) -> dict[str, Sequence[Item]]:
    """What the sender named has its room before what was only found; what the packet shows as a
    task or a decision is not shown as evidence, too.
    """
    first = pack.pack({EVIDENCE: named}, room)[EVIDENCE]
    places, said = _places(named), {one.body for one in named}
    found = [
        one for one in candidates[EVIDENCE] if one.position not in places and one.body not in said
    ]
    rest = pack.pack({**candidates, EVIDENCE: found}, room - first.used)
    ledger = _places([*rest["task_state"].items, *rest["decision_ledger"].items])
    own = [one for one in _begun(first.items) if one.position not in ledger]
    return {NAMED: own, **{name: filled.items for name, filled in rest.items()}}


def _places(shown: Iterable[Item]) -> set[int]:
    return {one.position for one in shown}


def _begun(shown: Sequence[Item]) -> list[Item]:
    """Without the pieces of an event whose beginning, or what lies between, had no room."""
    whole = {(one.position, at) for one in shown if one.cut is None for at in one.ordinals}
    return [
        one
        for one in shown
        if all((one.position, before) in whole for before in range(one.ordinals[0]))
    ]


async def _cited(pool: db.Pool, reader: Reader, cited: Sequence[str]) -> list[Item]:
    """The chunks of these events: the beginnings of all of them before more of any."""
    async with db.tenant(pool, reader.tenant_id) as conn:
        asked = (*read.eyes(reader), list(cited), CITED_CHUNKS)
        rows = await conn.fetch(db.query("handoffs.cited"), *asked)
    quotable = {row["event_id"]: row["ordinal"] is not None for row in rows}
    for at, event_id in enumerate(cited):
        if not quotable.get(event_id):
            reason = NO_TEXT if event_id in quotable else UNSEEN
            raise errors.Invalid(reason.format(event_id), field=f"evidence.{at}")
    return [items.evidence([dict(row)], None, {}) for row in rows]


def _written(
    note: str,
    shown: Mapping[str, Sequence[Item]],
    of_tasks: Mapping[int, Sequence[str]],
    now: datetime,
) -> Packet:
    """As text; every event quoted is named, so that erasing it erases the packet."""
    refs = dict[str, None]()
    texts = {name: _within(shown[name], refs, of_tasks) for name in TITLES}
    numbered = render.numbered(EVIDENCE, texts[NAMED] + texts[EVIDENCE])
    texts[NAMED], texts[EVIDENCE] = numbered[: len(texts[NAMED])], numbered[len(texts[NAMED]) :]
    parts = [
        f"{title.format(render.day(now))}:\n\n" + "\n\n".join(texts[name])
        for name, title in TITLES.items()
        if texts[name]
    ]
    return Packet("\n\n".join([note, *parts] if note else parts), tuple(refs))


def _within(
    shown: Sequence[Item], refs: dict[str, None], of_tasks: Mapping[int, Sequence[str]]
) -> list[str]:
    """The texts of those whose events still fit among the refs of one event. What a decision or a
    task refers to is not quoted, and may be nothing that readers of the packet may know of.
    """
    kept = []
    for one in shown:
        own = one.refs[-1] if one.type == "chunk" else one.refs[0]
        events = of_tasks.get(one.position, (own,)) if one.type == "task" else (own,)
        if len(refs.keys() | set(events)) <= MAX_NAMES:
            refs.update(dict.fromkeys(events))
            kept.append(one.text)
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
