"""What a session's prompt remembers: chosen at its first message, and the same until its end.

The choice is kept as a receipt that names rows, so that a restart or a rebuild renders the same
bytes; what was changed since shows in the next session.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoryd import redact
from memoryd.core import db, errors, ids
from memoryd.core.model import Reader
from memoryd.daemon import Daemon
from memoryd.ledger import texts
from memoryd.memories import agents, choose, read
from memoryd.memories import document as documents
from memoryd.memories.blocks import Remembered
from memoryd.memories.choose import Wish
from memoryd.memories.model import AgentMemory, Fact, Memory, Place

ATTEMPTS = 5  # beside erasures; each of them breaks a pin once
Shown = list[list[Any]]  # type, position, and of a place how many conversations mention it


@dataclass(frozen=True, kw_only=True)
class Asked:
    session_id: str | None  # without one nothing is pinned
    now: datetime
    query: str | None = None  # what the session is about, if not all memories have room
    team_id: str | None = None  # whose whiteboard the agent shares


@dataclass(frozen=True, kw_only=True)
class Pin:
    """As of when a prompt remembers, and which rows it shows."""

    pin_id: str
    position: int
    ts: datetime
    shown: Mapping[str, Shown]
    more: Mapping[str, int]


@dataclass(frozen=True)
class Built:
    pin: Pin
    remembered: Remembered
    pinned: bool


async def build(daemon: Daemon, reader: Reader, asked: Asked) -> Built:
    """What the prompt of this session shows; pinned by the first call, and found by all others."""
    if asked.session_id is None:
        pin = await _chosen(daemon, reader, asked, "")
        async with db.tenant(daemon.pool, reader.tenant_id) as conn:
            remembered = await _rows(conn, reader.tenant_id, pin)
        if remembered is None:
            raise errors.Unavailable("memories were erased meanwhile: ask again")
        return Built(pin, remembered, pinned=False)
    redact.refuse(session_id=asked.session_id, user_id=reader.user_id, agent_id=reader.agent_id)
    redact.refuse(team_id=asked.team_id)
    pin_id = _first_id(reader, asked.session_id, asked.team_id)
    for _ in range(ATTEMPTS):
        async with db.tenant(daemon.pool, reader.tenant_id) as conn:
            pin_id, found = await _living(conn, reader.tenant_id, pin_id)
        if found is not None:
            return found
        await _pin(daemon, reader, asked, pin_id)
    raise errors.Unavailable("memories are being erased: ask again in a moment")


def _first_id(reader: Reader, session_id: str, team_id: str | None) -> str:
    """The same for all who see the same: a session of one reader has one prompt."""
    team = {"team_id": team_id} if team_id is not None else {}
    return f"prm_{ids.digest({'session_id': session_id, **vars(reader), **team}).hex()[:32]}"


async def _living(conn: db.Conn, tenant_id: str, pin_id: str) -> tuple[str, Built | None]:
    """The pin that holds, or the id that the next one takes.

    One that showed what was erased since is broken: its successor has an id made from its own.
    """
    while (row := await conn.fetchrow(db.query("prompt.pin"), tenant_id, pin_id)) is not None:
        if row["items"]:
            pin = _made(pin_id, row)
            remembered = await _rows(conn, tenant_id, pin)
            if remembered is not None:
                return pin_id, Built(pin, remembered, pinned=True)
        pin_id = f"prm_{ids.digest({'after': pin_id}).hex()[:32]}"
    return pin_id, None


def _made(pin_id: str, row: Any) -> Pin:
    shown = {name: part["items"] for name, part in row["items"]["sections"].items()}
    said = {"position": row["position"], "ts": row["ts"]}
    return Pin(pin_id=pin_id, shown=shown, more=row["items"]["more"], **said)


async def _pin(daemon: Daemon, reader: Reader, asked: Asked, pin_id: str) -> None:
    """Keep the choice, unless another call was first or something was erased meanwhile."""
    pin = await _chosen(daemon, reader, asked, pin_id)
    inputs = {"reader": vars(reader), "asked": {"session_id": asked.session_id}}
    sections = {name: {"items": shown} for name, shown in pin.shown.items()}
    items = {"sections": sections, "more": pin.more}
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        await conn.execute(db.query("prompt.lock"), reader.tenant_id)
        if not pin.position:  # perhaps nothing was ever recorded here
            await conn.execute(db.query("record.add_tenant"), reader.tenant_id, asked.now)
        values = (pin_id, pin.ts, pin.position, inputs, items)
        await conn.execute(db.query("prompt.add_pin"), reader.tenant_id, *values)


async def _chosen(daemon: Daemon, reader: Reader, asked: Asked, pin_id: str) -> Pin:
    """What would be shown now."""
    async with db.snapshot(daemon.pool, reader.tenant_id) as conn:
        at: int = await conn.fetchval(db.query("record.head"), reader.tenant_id) or 0
        kept = await documents.load(conn, reader, as_of=at)
        identity = await texts.view(conn, reader, f"identity.{reader.agent_id}", as_of=at)
        private = await _private(conn, reader, asked.now, at)
        notes = await _notes(conn, reader, asked, at)
    active = sorted((one for one in kept.facts if one.is_active), key=_listed)
    wish = Wish(query=asked.query, now=asked.now, as_of=at)
    facts = await choose.facts(daemon, reader, wish, active)
    places = await choose.places(daemon, reader, wish, kept.places)
    own = await choose.private(daemon, reader, wish, private)
    board = await choose.board(daemon, _board(reader, asked), wish, notes)
    shown: dict[str, Shown] = {
        "facts": _places_of(facts),
        "places": [["memory", one.position, choose.conversations(one)] for one in places],
        "private": _places_of(own),
        "board": _places_of(board),
        "identity": [["view", identity.position]] if identity else [],
    }
    every: dict[str, Sequence[Memory]] = {"facts": active, "places": kept.places}
    every |= {"private": private, "board": notes}
    more = {name: left for name in every if (left := len(every[name]) - len(shown[name]))}
    return Pin(pin_id=pin_id, position=at, ts=asked.now, shown=shown, more=more)


def _board(reader: Reader, asked: Asked) -> Reader:
    return agents.board_of(reader, asked.team_id or "")


async def _notes(conn: db.Conn, reader: Reader, asked: Asked, at: int) -> list[AgentMemory]:
    """The board of the agent's team, oldest first; nothing where no team is named."""
    if asked.team_id is None:
        return []
    found = await agents.recent(conn, _board(reader, asked), as_of=at, limit=read.MOST)
    return found[::-1]


async def _private(conn: db.Conn, reader: Reader, now: datetime, at: int) -> list[AgentMemory]:
    """What the agent keeps for itself, but not where others listen."""
    if reader.channel != "private":
        return []
    owner = agents.reader_of(reader.tenant_id, reader.agent_id)
    return await agents.for_prompt(conn, owner, now, as_of=at)


async def _rows(conn: db.Conn, tenant_id: str, pin: Pin) -> Remembered | None:
    """What the pin names; None where some of it is no longer there."""
    shown = pin.shown
    places = [one[1] for each in shown.values() for one in each if one[0] == "memory"]
    rows = await conn.fetch(db.query("prompt.rows"), tenant_id, places)
    found = {row["position"]: row for row in rows}
    identity = None
    if view := shown["identity"]:
        identity = await conn.fetchval(db.query("prompt.text"), tenant_id, view[0][1])
    if len(found) < len(places) or (view and identity is None):
        return None
    return Remembered(
        facts=[read.made(Fact, found[one[1]]) for one in shown["facts"]],
        places=[(read.made(Place, found[one[1]]), one[2]) for one in shown["places"]],
        private=[read.made(AgentMemory, found[one[1]]) for one in shown["private"]],
        board=[read.made(AgentMemory, found[one[1]]) for one in shown.get("board", ())],
        identity=identity,
        more=pin.more,
    )


def _listed(one: Fact) -> tuple[str, datetime, int]:
    return (one.category, one.created_at, one.born)


def _places_of(memories: Iterable[Memory]) -> Shown:
    return [["memory", one.position] for one in memories]


def memory_ids(built: Built) -> Sequence[str]:
    """Which memories the prompt shows."""
    seen = built.remembered
    every = [*seen.facts, *(place for place, _ in seen.places), *seen.private, *seen.board]
    return [one.memory_id for one in every]
