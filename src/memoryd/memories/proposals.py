"""What could be tidied up: proposals that cite their sources, made without a model.

A proposal is named by what it is made of, so that whoever says yes to it says yes to exactly that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memoryd.core import ids
from memoryd.memories import alike, findings, growth
from memoryd.memories.findings import Kept, about
from memoryd.memories.growth import NEVER
from memoryd.memories.model import Fact, Memory, Type

Kind = Literal["merge", "promote", "retire"]

RECURRING = 3  # journal entries that say the same; two may be one matter told on two days
FADED = findings.STALE  # importance: what an audit calls stale may be retired
# Since it was written: three times what an audit tells of, so that a person hears of it before a
# proposal would take it out.
UNREAD = 3 * findings.NEVER_RECALLED


@dataclass(frozen=True, kw_only=True)
class Source:
    """What a proposal is made of: a version of a memory."""

    memory_id: str
    version: int
    event_id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Proposal:
    id: str
    kind: Kind
    reason: str
    sources: tuple[Source, ...]
    keeps: str | None  # the memory that stays, when some are merged
    text: str | None  # what is then remembered
    worded_by: str | None = None  # the model whose words these are, if not a source's own

    @property
    def makes(self) -> Type:
        """The type of memory that has the text."""
        return "core" if self.kind == "promote" else "fact"


def proposals(kept: Kept, now: datetime) -> list[Proposal]:
    """`kept.own` has the agent's whole journal, its old entries too."""
    merged = [_merge(group) for group in _same(kept.facts)]
    taken = {source.memory_id for one in merged for source in one.sources}
    journal = [one for one in kept.own if one.type == "journal"]
    core = [one.text for one in kept.own if one.type == "core"]
    recurring = [
        group
        for group in alike.groups(journal, lambda one: one.text)
        if len(group) >= RECURRING and not any(alike.alike(group[-1].text, one) for one in core)
    ]
    faded = [one for one in kept.facts if one.memory_id not in taken and _faded(one, kept, now)]
    return [*merged, *map(_promote, recurring), *map(_retire, faded)]


def _same(facts: Sequence[Fact]) -> list[list[Fact]]:
    """Within a channel alone: what was said in private must not get into what others see."""
    channels = sorted({one.channel for one in facts})
    each = [[one for one in facts if one.channel == channel] for channel in channels]
    return [group for some in each for group in alike.groups(some, lambda one: one.text, about)]


def _merge(group: Sequence[Fact]) -> Proposal:
    """The oldest keeps its id, with what was said last."""
    oldest = min(group, key=lambda one: one.born)
    newest = max(group, key=lambda one: (one.updated_at, one.position))
    return _proposal(
        "merge",
        f"{len(group)} memories say the same",
        group,
        keeps=oldest.memory_id,
        text=newest.text,
    )


def _promote(group: Sequence[Memory]) -> Proposal:
    newest = max(group, key=lambda one: (one.created_at, one.born))
    reason = f"{len(group)} journal entries say the same"
    return _proposal("promote", reason, group, text=newest.text)


def _retire(fact: Fact) -> Proposal:
    return _proposal("retire", "no model has been given it for a long time", [fact])


def _faded(one: Fact, kept: Kept, now: datetime) -> bool:
    access = kept.accesses.get(one.memory_id, NEVER)
    if access.last_accessed_at is None:
        return now - one.updated_at >= UNREAD
    return growth.importance(one, access, now) < FADED


def _proposal(
    kind: Kind,
    reason: str,
    made_of: Sequence[Memory],
    keeps: str | None = None,
    text: str | None = None,
) -> Proposal:
    sources = tuple(
        Source(memory_id=one.memory_id, version=one.version, event_id=one.event_id, text=one.text)
        for one in sorted(made_of, key=lambda one: one.born)
    )
    named = {"kind": kind, "sources": [f"{one.memory_id}.{one.version}" for one in sources]}
    return Proposal(
        id=f"prp_{ids.digest(named).hex()[:16]}",
        kind=kind,
        reason=reason,
        sources=sources,
        keeps=keeps,
        text=text,
    )
