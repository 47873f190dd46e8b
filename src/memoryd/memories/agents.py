"""What an agent keeps for itself (seed 002): core memories, a journal; and a team's whiteboard.

Core and journal are rows of a user that no reader may say to be, so that no search and no bundle
shows them; they are read here, by whoever may speak for the agent.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from memoryd.core import db, errors
from memoryd.core import read as log
from memoryd.core.model import Caller, Reader
from memoryd.daemon import Daemon
from memoryd.memories import model, read, write
from memoryd.memories.model import AgentMemory
from memoryd.memories.write import Origin

TYPES = ("core", "journal")
BOARD = ("whiteboard",)
SHOWN = 100  # of an agent's memories in a list (seed 002)
LATEST = 2**62  # beyond any position


def reader_of(tenant_id: str, agent_id: str) -> Reader:
    """The agent's own eyes."""
    return Reader(tenant_id=tenant_id, user_id=model.agent_owner(agent_id), agent_id=agent_id)


def board_of(reader: Reader, team_id: str) -> Reader:
    """`reader`, looking at a team's board."""
    return replace(reader, user_id=model.team_owner(team_id))


def as_owner(caller: Caller, owner: Reader, origin: Origin) -> tuple[Caller, Origin]:
    """Whichever user the key is of: what an agent or a team keeps belongs to no user."""
    placed = replace(origin, user_id=owner.user_id, channel="team")
    if owner.user_id.startswith(model.agent_owner("")):
        placed = replace(placed, channel="private", agent_id=owner.agent_id)
    return replace(caller, user_id=None), placed


async def recent(
    conn: db.Conn, owner: Reader, *, as_of: int = LATEST, limit: int = SHOWN
) -> list[AgentMemory]:
    """All that is kept, expired or not, newest first."""
    return await _rows(conn, owner, None, as_of, limit)


async def for_prompt(
    conn: db.Conn, owner: Reader, now: datetime, *, as_of: int = LATEST
) -> list[AgentMemory]:
    """Core memories and the journal of the last week, oldest first."""
    since = now - model.JOURNAL_WINDOW
    return (await _rows(conn, owner, since, as_of, read.MOST))[::-1]


async def memory_context(
    conn: db.Conn, owner: Reader, now: datetime, *, as_of: int = LATEST
) -> str | None:
    """The block of the prompt, in the format of seed 002."""
    return model.memory_context(await for_prompt(conn, owner, now, as_of=as_of))


async def counts(conn: db.Conn, tenant_id: str) -> dict[str, dict[str, int]]:
    """`memories_count` of every agent that has memories."""
    found = await read.counts(conn, tenant_id, TYPES, as_of=LATEST)
    return {owner.removeprefix(model.agent_owner("")): each for owner, each in found.items()}


async def count(conn: db.Conn, owner: Reader, *, as_of: int = LATEST) -> dict[str, int]:
    found = await read.counts(conn, owner.tenant_id, TYPES, owner.user_id, as_of=as_of)
    return found.get(owner.user_id, dict.fromkeys(TYPES, 0))


async def one(conn: db.Conn, owner: Reader, memory_id: str, *, as_of: int = LATEST) -> AgentMemory:
    """One of the owner's own, which was not deleted."""
    found = await read.one(conn, owner, AgentMemory, (*TYPES, *BOARD), memory_id, as_of=as_of)
    if found.deleted or found.user_id != owner.user_id:
        raise model.missing(memory_id)
    return found


async def add(
    daemon: Daemon, caller: Caller, owner: Reader, origin: Origin, *, text: str, memory_type: str
) -> AgentMemory:
    """Remember `text` as `core`, `journal` or `whiteboard`."""
    said = {"op": "add", "type": memory_type, "text": text}
    own, placed = as_owner(caller, owner, origin)
    return await _read_back(daemon, await write.add(daemon, own, placed, said))


async def change(
    daemon: Daemon,
    caller: Caller,
    owner: Reader,
    origin: Origin,
    memory_id: str,
    said: Mapping[str, Any],
) -> AgentMemory:
    """Edit (`update` with a text), `delete` or `promote` one of the owner's own."""
    async with db.tenant(daemon.pool, owner.tenant_id) as conn:
        old = await one(conn, owner, memory_id)
    if said["op"] == "promote" and old.type != "journal":
        raise errors.Conflict(
            f"memory {memory_id!r} is {old.type}: only a journal entry can be promoted to core",
            field="memory_id",
        )
    own, placed = as_owner(caller, owner, origin)
    if said["op"] == "promote":  # of many at once, all answer the same version
        placed = replace(placed, idempotency_key=f"promote:{memory_id}.{old.version}")
    return await _read_back(daemon, await write.change(daemon, own, placed, memory_id, said))


async def _rows(
    conn: db.Conn, owner: Reader, since: datetime | None, as_of: int, limit: int
) -> list[AgentMemory]:
    types = TYPES if owner.user_id.startswith(model.agent_owner("")) else BOARD
    asked = (*log.eyes(owner), as_of, owner.user_id, types, since, limit)
    rows = await conn.fetch(db.query("memories.recent"), *asked)
    return [read.made(AgentMemory, row) for row in rows]


async def _read_back(daemon: Daemon, written: write.Written) -> AgentMemory:
    async with db.tenant(daemon.pool, written.owner.tenant_id) as conn:
        asked = (conn, written.owner, AgentMemory, (*TYPES, *BOARD), written.memory_id)
        return await read.one(*asked, as_of=written.position)
