"""Looking after memories: audit, proposals, and what is done and undone on somebody's word."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memoryd.core import db, errors, read, record
from memoryd.core.model import Actor, Caller, Event, Reader
from memoryd.daemon import Daemon, entropy, now
from memoryd.memories import (
    agents,
    choose,
    document,
    facts,
    findings,
    growth,
    model,
    proposals,
    write,
)
from memoryd.memories.findings import Finding, Kept
from memoryd.memories.model import AgentMemory
from memoryd.memories.proposals import Proposal
from memoryd.memories.write import Origin

MOST = 1_000  # memories of an agent that are looked at, and events that are undone
_BACK = {"delete": "undelete", "deactivate": "activate"}  # as it was: two of one subject, too


@dataclass(frozen=True, kw_only=True)
class Care:
    """Whose memories, and who looks after them."""

    daemon: Daemon
    caller: Caller
    reader: Reader
    agent_id: str | None  # whose own memories are looked at too
    actor: Actor

    @property
    def owner(self) -> Reader | None:
        if self.agent_id is None:
            return None
        return agents.reader_of(self.reader.tenant_id, self.agent_id)


@dataclass(frozen=True)
class Done:
    """What was changed: memories by their ids."""

    proposal_id: str
    memory_ids: tuple[str, ...]


@dataclass(frozen=True)
class Weighed:
    """How much a memory matters now: derived from what was handed out, and stored nowhere."""

    memory_id: str
    importance: float
    access_count: int
    last_accessed_at: datetime | None


async def weigh(care: Care, moment: datetime) -> list[Weighed]:
    """The user's facts, the most important first."""
    kept = await _kept(care)
    facts_by_id = {one.memory_id: one for one in kept.facts}
    return [
        Weighed(
            memory_id,
            round(growth.importance(facts_by_id[memory_id], access, moment), 6),
            access.access_count,
            access.last_accessed_at,
        )
        for memory_id in growth.by_importance(kept.facts, kept.accesses, moment)
        for access in [kept.accesses.get(memory_id, growth.NEVER)]
    ]


async def audit(care: Care, moment: datetime) -> list[Finding]:
    return await asyncio.to_thread(findings.findings, await _kept(care), moment)


async def propose(care: Care, moment: datetime) -> list[Proposal]:
    return await asyncio.to_thread(proposals.proposals, await _kept(care), moment)


async def apply(care: Care, proposal_id: str, moment: datetime, text: str | None = None) -> Done:
    """Do what was proposed, all of it or nothing; refused where its sources have changed.

    With `text`, that is what is then remembered: a person's wording, or a model's that they saw.
    """
    # Counted before it is looked for: of many who apply it at once, all make the same memory.
    before = len(await _applied(care, care.owner, proposal_id)) if care.owner else 0
    chosen = next((one for one in await propose(care, moment) if one.id == proposal_id), None)
    if chosen is None:
        raise errors.NotFound(
            f"there is no proposal {proposal_id!r}: it was applied, or what it is made of has "
            "changed; list them again",
            field="proposal_id",
        )
    if text is not None:
        chosen = _reworded(chosen, text)
    if chosen.kind == "promote":
        assert care.owner is not None and chosen.text is not None
        session = _session(proposal_id)
        key = f"{proposal_id}.{before}"
        origin = Origin(conversation_id=session, actor=care.actor, idempotency_key=key)
        who = (care.daemon, care.caller, care.owner, origin)
        made = await agents.add(*who, text=chosen.text, memory_type="core")
        return Done(proposal_id, (made.memory_id,))
    changes = _changes(chosen)
    await _record(care, _session(proposal_id), changes)
    return Done(proposal_id, tuple(memory_id for memory_id, _ in changes))


async def undo(care: Care, proposal_id: str) -> Done:
    """Take back what applying a proposal did; what somebody changed since is left alone."""
    events = await _applied(care, care.reader, proposal_id)
    steps = []
    for event in events:
        step = await _step_back(care, event)
        if step is not None:
            steps.append(step)
    await _record(care, f"undo:{proposal_id}", steps)
    own = await _undo_promotion(care, proposal_id)
    if not events and own is None:
        raise errors.NotFound(
            f"there is no proposal {proposal_id!r} that was applied", field="proposal_id"
        )
    return Done(proposal_id, (*(memory_id for memory_id, _ in steps), *(own or ())))


async def _kept(care: Care) -> Kept:
    tenant_id = care.reader.tenant_id
    async with db.tenant(care.daemon.pool, tenant_id) as conn:
        every, _ = await facts.page(conn, care.reader)
        own: list[AgentMemory] = []
        if care.owner is not None:
            own = await agents.recent(conn, care.owner, limit=MOST)
    accesses = await choose.accesses(care.daemon, tenant_id, user_id=care.reader.user_id)
    return Kept(facts=every, own=own[::-1], accesses=accesses)


def _reworded(chosen: Proposal, text: str) -> Proposal:
    if chosen.text is None:
        raise errors.Invalid("a fact that is retired gets no new text", field="text")
    return replace(chosen, text=model.within(chosen.makes, text, "text"))


def _changes(chosen: Proposal) -> list[tuple[str, dict[str, Any]]]:
    if chosen.kind == "retire":
        return [(one.memory_id, {"op": "deactivate"}) for one in chosen.sources]
    kept = next(one for one in chosen.sources if one.memory_id == chosen.keeps)
    new = kept.text != chosen.text
    said = [(kept.memory_id, {"op": "update", "text": chosen.text})] if new else []
    gone = [one.memory_id for one in chosen.sources if one is not kept]
    return [*said, *((memory_id, {"op": "delete"}) for memory_id in gone)]


async def _record(care: Care, session: str, changes: list[tuple[str, dict[str, Any]]]) -> None:
    """In one transaction, each from where the memory is kept."""
    if not changes:
        return
    writes = []
    async with db.tenant(care.daemon.pool, care.reader.tenant_id) as conn:
        for memory_id, said in changes:
            fact = await facts.one(conn, care.reader, memory_id)
            origin = Origin(conversation_id=session, agent_id=care.reader.agent_id)
            full = {"subject": fact.subject, **said} if said["op"] == "update" else said
            draft = write.drafted(write.of(fact, origin), memory_id, full, care.actor)
            writes.append(record.prepare(care.caller, draft, now(), entropy()))
    await care.daemon.group.commit(care.reader.tenant_id, writes)
    await document.fit(care.daemon, care.reader)


def _session(proposal_id: str) -> str:
    """What is done on a proposal has a session of its own, by which it is found again."""
    return f"proposal:{proposal_id}"


async def _applied(care: Care, eyes: Reader, proposal_id: str) -> list[Event]:
    """What was done, newest first."""
    asked = read.Filters(session_id=_session(proposal_id), kind="memory")
    async with db.tenant(care.daemon.pool, eyes.tenant_id) as conn:
        return await read.page(conn, eyes, asked, order="newest", cursor=None, limit=MOST)


async def _step_back(care: Care, event: Event) -> tuple[str, dict[str, Any]] | None:
    """None where something was done to the memory since, be it this undoing."""
    memory_id, op = event.content["memory_id"], event.content["op"]
    async with db.tenant(care.daemon.pool, care.reader.tenant_id) as conn:
        fact = await facts.one(conn, care.reader, memory_id)
        had = await facts.versions(conn, care.reader, memory_id)
    if fact.event_id != event.event_id:
        return None
    if op == "update":
        return memory_id, {"op": "restore", "restores": had[-2].event_id}
    return memory_id, {"op": _BACK[op], "force": True}


async def _undo_promotion(care: Care, proposal_id: str) -> tuple[str, ...] | None:
    """The core memories that it made go again; None where it made none."""
    if care.owner is None:
        return None
    made = await _applied(care, care.owner, proposal_id)
    kept = []
    async with db.tenant(care.daemon.pool, care.reader.tenant_id) as conn:
        living = {one.memory_id for one in await agents.recent(conn, care.owner, limit=MOST)}
    for event in made:
        memory_id = event.content["memory_id"]
        if memory_id in living:
            origin = Origin(conversation_id=f"undo:{proposal_id}", actor=care.actor)
            who = (care.daemon, care.caller, care.owner, origin)
            await agents.change(*who, memory_id, {"op": "delete"})
            kept.append(memory_id)
    return tuple(kept) if made else None
