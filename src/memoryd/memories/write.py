"""Recording what is to be remembered: an event like any other, with an id drawn at random."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memoryd.core import db, errors, read, record
from memoryd.core.model import Actor, Caller, Channel, Draft, Reader
from memoryd.daemon import Daemon, entropy, now
from memoryd.memories import model

ATTEMPTS = (
    5  # to find an id that is free; the second is free but once in ten thousand million times
)
INLINE = 8_192  # characters; more is cut and counted in a thread, so that others are served
_AS_SENT = {"content.text": "content"}  # what the doors call it


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Whose a memory is, who says so and where; what is omitted is the key's, or the default."""

    user_id: str | None = None
    agent_id: str | None = None
    channel: Channel | None = None
    actor: Actor | None = None
    conversation_id: str | None = None
    message_id: str | None = None
    ts: datetime | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True)
class Written:
    """What was recorded, where, and through whose eyes it is read back."""

    memory_id: str
    position: int
    owner: Reader


def fresh_id() -> str:
    return model.short_id(int.from_bytes(entropy(), "big"))


async def add(
    daemon: Daemon,
    caller: Caller,
    origin: Origin,
    said: Mapping[str, Any],
    draw: Callable[[], str] = fresh_id,
) -> Written:
    """Record a new memory under an id of its own.

    A retry with a known idempotency key takes the id of the first time, and so is the same.
    """
    for left in reversed(range(ATTEMPTS)):
        known = await _known(daemon, caller.tenant_id, origin.idempotency_key)
        try:
            return await change(daemon, caller, origin, known or draw(), said)
        except model.Taken:
            if not left:
                raise
        except errors.Conflict as error:
            # Somebody used the key between the look and the write: now it is known.
            if known or error.field != "idempotency_key" or not left:
                raise
    raise AssertionError("the last attempt returns or raises")


async def change(
    daemon: Daemon, caller: Caller, origin: Origin, memory_id: str, said: Mapping[str, Any]
) -> Written:
    """Record what is `said` of a memory."""
    draft = _draft(caller, origin, memory_id, said)
    try:
        prepared = await _prepare(caller, draft)
        (recorded,) = await daemon.group.commit(caller.tenant_id, [prepared])
    except errors.MemorydError as error:
        place = error.field or ""
        error.field = _AS_SENT.get(place, place.removeprefix("content.")) or None
        raise
    event = prepared.event
    owner = Reader(tenant_id=event.tenant_id, user_id=event.user_id, agent_id=event.agent_id)
    async with db.tenant(daemon.pool, caller.tenant_id) as conn:
        kept = await read.event(conn, owner, recorded.event_id)
    return Written(kept.content["memory_id"], kept.position, owner)


def drafted(origin: Origin, memory_id: str, said: Mapping[str, Any], actor: Actor) -> Draft:
    """The event that says so. One that comes from no conversation has a session of its own: what
    was said before it there would be taken for its context.
    """
    sources = {
        "source_conversation_id": origin.conversation_id,
        "source_message_id": origin.message_id,
    }
    content = {"memory_id": memory_id, **said, **sources}
    return Draft(
        session_id=origin.conversation_id or f"memory:{memory_id}",
        actor=actor,
        kind="memory",
        content={name: value for name, value in content.items() if value is not None},
        user_id=origin.user_id,
        agent_id=origin.agent_id,
        channel=origin.channel,
        ts=origin.ts,
        idempotency_key=origin.idempotency_key,
    )


def of(memory: model.Memory, origin: Origin) -> Origin:
    """`origin` for a change of `memory`: from where the memory is kept."""
    return replace(origin, user_id=memory.user_id, channel=memory.channel)


def _draft(caller: Caller, origin: Origin, memory_id: str, said: Mapping[str, Any]) -> Draft:
    agent_id = origin.agent_id or caller.agent_id or "default"
    return drafted(origin, memory_id, said, origin.actor or Actor(type="agent", id=agent_id))


async def _prepare(caller: Caller, draft: Draft) -> record.Write:
    if len(draft.content.get("text", "")) <= INLINE:
        return record.prepare(caller, draft, now(), entropy())
    return await asyncio.to_thread(record.prepare, caller, draft, now(), entropy())


async def _known(daemon: Daemon, tenant_id: str, key: str | None) -> str | None:
    if key is None:
        return None
    async with db.tenant(daemon.pool, tenant_id) as conn:
        found: str | None = await conn.fetchval(db.query("memories.by_key"), tenant_id, key)
    return found
