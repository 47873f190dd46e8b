"""Which memories a prompt shows when they outgrow their share: the most relevant, then the most
important. What has room for all needs neither search nor receipts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from memoryd.core import db, tokens
from memoryd.core.model import Reader
from memoryd.daemon import Daemon
from memoryd.memories import agents, blocks, find, growth, model
from memoryd.memories.growth import Access
from memoryd.memories.model import AgentMemory, Fact, Memory, Place

BUNDLES = 1_000  # of the newest, in which readings are counted
_PRIVATE_HEADS = (
    "# Your Private Memory\n\n## Core Memories (permanent)\n\n\n## Recent Journal Entries\n"
)
# Of the share of facts, what places and a team's whiteboard have each. A full document of places
# alone renders to about a quarter of its tokens, as its JSON is four times as long as its lines.
QUARTER = 4
T = TypeVar("T", bound=Memory)


@dataclass(frozen=True, kw_only=True)
class Wish:
    query: str | None
    now: datetime
    as_of: int


async def facts(daemon: Daemon, reader: Reader, wish: Wish, every: Sequence[Fact]) -> list[Fact]:
    """At most the share of the prompt, as rendered."""
    share = daemon.settings.prompt_memory_tokens
    if _fits(blocks.memory_block(every), share):
        return list(every)
    heads = "".join(f"### {name.title()}\n\n" for name in sorted({one.category for one in every}))
    room = share - tokens.count(blocks.HEAD) - tokens.count(heads)
    readings = await accesses(daemon, reader.tenant_id, user_id=reader.user_id)
    found = await _relevant(daemon, reader, Fact, ("fact",), wish)
    preferred = [*found, *growth.by_importance(every, readings, wish.now)]
    return growth.fitting(every, blocks.fact_line, _first(preferred), room)


async def private(
    daemon: Daemon, reader: Reader, wish: Wish, every: Sequence[AgentMemory]
) -> list[AgentMemory]:
    """As for facts, with a share of their own; core memories come before the journal."""
    share = daemon.settings.prompt_memory_tokens
    if _fits(model.memory_context(every) or "", share):
        return list(every)
    room = share - tokens.count(_PRIVATE_HEADS)
    owner = agents.reader_of(reader.tenant_id, reader.agent_id)
    readings = await accesses(daemon, reader.tenant_id, agent_id=reader.agent_id)
    found = await _relevant(daemon, owner, AgentMemory, agents.TYPES, wish)
    preferred = [*found, *growth.by_importance(every, readings, wish.now)]
    core = {one.memory_id for one in every if one.type == "core"}
    return growth.fitting(every, _private_line, _first(preferred), room, core)


async def places(daemon: Daemon, reader: Reader, wish: Wish, every: Sequence[Place]) -> list[Place]:
    """As for facts, within a quarter of their share."""
    room = daemon.settings.prompt_memory_tokens // QUARTER
    if _fits(blocks.places_of_interest([(one, conversations(one)) for one in every]), room):
        return list(every)
    readings = await accesses(daemon, reader.tenant_id, user_id=reader.user_id)
    found = await _relevant(daemon, reader, Place, ("place",), wish)
    preferred = [*found, *growth.by_importance(every, readings, wish.now)]
    room -= tokens.count(f"{blocks.PLACES}\n")
    return growth.fitting(every, _place_line, _first(preferred), room)


async def board(
    daemon: Daemon, owner: Reader, wish: Wish, every: Sequence[AgentMemory]
) -> list[AgentMemory]:
    """A team's notes, within a quarter of the share; the newest where nothing is asked."""
    room = daemon.settings.prompt_memory_tokens // QUARTER
    if _fits(blocks.whiteboard(every), room):
        return list(every)
    found = await _relevant(daemon, owner, AgentMemory, agents.BOARD, wish)
    newest = [one.memory_id for one in reversed(every)]
    room -= tokens.count(f"{blocks.BOARD}\n\n")
    return growth.fitting(every, blocks.note_line, _first([*found, *newest]), room)


def conversations(place: Place) -> int:
    """How many mention it."""
    return len({said.conversation_id for said in place.mentions})


async def accesses(
    daemon: Daemon, tenant_id: str, user_id: str | None = None, agent_id: str | None = None
) -> dict[str, Access]:
    """How often memories were handed to a model, and when last: from receipts."""
    async with db.tenant(daemon.pool, tenant_id) as conn:
        asked = (tenant_id, user_id, agent_id, BUNDLES)
        rows = await conn.fetch(db.query("prompt.accesses"), *asked)
    return {row[0]: Access(row["access_count"], row["last_accessed_at"]) for row in rows}


async def _relevant(
    daemon: Daemon, reader: Reader, kind: type[T], types: Sequence[str], wish: Wish
) -> list[str]:
    """Ids of what the session's question is about, best first."""
    if not wish.query:
        return []
    asked = find.Asked(text=wish.query, now=wish.now, as_of=wish.as_of)
    found = await find.search(daemon, reader, kind, types, asked)
    return [one.memory_id for one in found]


def _fits(text: str, share: int) -> bool:
    """No token is shorter than a byte, so that most blocks need not be counted."""
    return len(text.encode()) <= share or tokens.count(text) <= share


def _first(preferred: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(preferred))


def _place_line(one: Place) -> str:
    return blocks.place_line(one, conversations(one))


def _private_line(one: Memory) -> str:
    dated = f"[{one.created_at:%Y-%m-%d}] " if one.type == "journal" else ""
    return f"- {dated}{one.text}"
