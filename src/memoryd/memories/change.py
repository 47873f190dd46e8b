"""Changing a memory by its id, whatever its type: edit, delete, and every way back.

Each change is a new row of the memory's history, so that it can be undone, and undone again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from memoryd.core import db, errors
from memoryd.core.model import Caller, Reader
from memoryd.daemon import Daemon
from memoryd.memories import agents, document, model, read, write
from memoryd.memories.model import Memory, Type, Version
from memoryd.memories.write import Origin

ANY: tuple[Type, ...] = ("fact", "place", "core", "journal", "whiteboard")
LATEST = 2**62  # beyond any position


@dataclass(frozen=True, kw_only=True)
class Hand:
    """Who changes memories, and which of them."""

    daemon: Daemon
    caller: Caller
    reader: Reader
    origin: Origin
    agent_id: str | None = None  # whose own memories; None: of any agent
    types: tuple[Type, ...] = ANY


class Foreign(errors.Forbidden):
    """A fact or place that another user shares."""


@dataclass(frozen=True)
class Changed:
    after: Memory
    before: Memory


async def one(hand: Hand, memory_id: str, *, as_of: int = LATEST) -> Memory:
    """The memory, deleted or not."""
    async with db.tenant(hand.daemon.pool, hand.reader.tenant_id) as conn:
        eyes = await _eyes(conn, hand, memory_id)
        return await read.whichever(conn, eyes, hand.types, memory_id, as_of=as_of)


async def versions(hand: Hand, memory_id: str, *, as_of: int = LATEST) -> list[Version]:
    """Every text that it has had, oldest first."""
    async with db.tenant(hand.daemon.pool, hand.reader.tenant_id) as conn:
        eyes = await _eyes(conn, hand, memory_id)
        await read.whichever(conn, eyes, hand.types, memory_id, as_of=as_of)
        return await read.versions(conn, eyes, memory_id, as_of=as_of)


async def edit(hand: Hand, memory_id: str, text: str) -> Changed:
    """A new version; of a place, its notes. A fact that no longer held holds again with it."""
    old = await one(hand, memory_id)
    said = {"op": "update", "text": model.within(old.type, text), "subject": old.subject}
    return await _change(hand, old, {**said, "holds": True, "force": False})


async def delete(hand: Hand, memory_id: str) -> Changed:
    """It leaves lists, prompt and search; its versions stay."""
    return await _change(hand, await one(hand, memory_id), {"op": "delete"})


async def undelete(hand: Hand, memory_id: str, *, force: bool = False) -> Changed:
    """Bring back what was deleted or pushed out of the document.

    `SameSubject` where another fact has its subject by now, unless forced.
    """
    return await _change(hand, await one(hand, memory_id), {"op": "undelete", "force": force})


async def activate(hand: Hand, memory_id: str, *, active: bool, force: bool = False) -> Changed:
    """Whether a fact still holds (seed 004)."""
    old = await one(hand, memory_id)
    if old.type != "fact":
        raise errors.Conflict(
            f"memory {memory_id!r} is of type {old.type}: only a fact holds or no longer holds",
            field="memory_id",
        )
    said = {"op": "activate", "force": force} if active else {"op": "deactivate"}
    return await _change(hand, old, said)


async def restore(hand: Hand, memory_id: str, version: int, *, force: bool = False) -> Changed:
    """An earlier version again, as a new one; what was deleted or no longer held is back."""
    old, had = await one(hand, memory_id), await versions(hand, memory_id)
    chosen = named(memory_id, had, version)
    said = {"op": "restore", "restores": chosen.event_id, "holds": True, "force": force}
    return await _change(hand, old, said)


async def undo(hand: Hand, memory_id: str, *, force: bool = False) -> Changed | None:
    """Take back the last change; None where there is none.

    What is gone comes back; what holds goes to the version before.
    """
    old = await one(hand, memory_id)
    if old.deleted or old.evicted:
        return await undelete(hand, memory_id, force=force)
    if not old.is_active:
        return await activate(hand, memory_id, active=True, force=force)
    had = await versions(hand, memory_id)
    return await restore(hand, memory_id, had[-2].version, force=force) if len(had) > 1 else None


def named(memory_id: str, had: list[Version], version: int) -> Version:
    """The version with this number."""
    chosen = next((each for each in had if each.version == version), None)
    if chosen is None:
        raise errors.NotFound(
            f"memory {memory_id!r} has no version {version}; it has 1 to {len(had)}",
            field="version",
            limit=f"1 to {len(had)}",
        )
    return chosen


async def _eyes(conn: db.Conn, hand: Hand, memory_id: str) -> Reader:
    """Those of the agent that keeps it, for whoever may speak for it; else the reader's own."""
    asked = (hand.reader.tenant_id, memory_id)
    agent_id = await conn.fetchval(db.query("memories.agent_of"), *asked)
    speaks = hand.reader.channel == "private" and hand.agent_id in (None, agent_id)
    if agent_id is None or not speaks:
        return hand.reader
    return agents.reader_of(hand.reader.tenant_id, agent_id)


async def _change(hand: Hand, old: Memory, said: Mapping[str, Any]) -> Changed:
    if old.type in document.TYPES and old.user_id != hand.reader.user_id:
        raise Foreign(
            f"memory {old.memory_id!r} is another user's: you may read it, and only they change it",
            field="user_id",
        )
    caller, origin = _placed(hand, old)
    written = await write.change(hand.daemon, caller, origin, old.memory_id, said)
    if old.type in document.TYPES and said["op"] != "delete":  # which makes nothing longer
        await document.fit(hand.daemon, written.owner)
    asked, at = (written.owner, ANY, old.memory_id), written.position
    async with db.tenant(hand.daemon.pool, caller.tenant_id) as conn:
        after = await read.whichever(conn, *asked, as_of=at)
        return Changed(after, await read.whichever(conn, *asked, as_of=at - 1))


def _placed(hand: Hand, old: Memory) -> tuple[Caller, Origin]:
    """From where the memory is kept; what an agent or a team keeps belongs to no user."""
    if old.type in document.TYPES:
        return hand.caller, write.of(old, hand.origin)
    owner = replace(hand.reader, user_id=old.user_id, agent_id=old.agent_id)
    return agents.as_owner(hand.caller, owner, hand.origin)
