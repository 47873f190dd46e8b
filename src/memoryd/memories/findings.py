"""What is wrong with memories, and what to do about each; no model is asked."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from memoryd.core import tokens
from memoryd.memories import alike, growth
from memoryd.memories.growth import NEVER, Access
from memoryd.memories.model import Fact, Memory, folded

Kind = Literal["duplicate", "contradiction", "never_recalled", "stale", "oversized"]

# Time since its text was written, in which no prompt and no bundle had it: one half-life of
# importance, in which somebody who talks to the agent every week has had four sessions.
NEVER_RECALLED = growth.HALF_LIFE
# Importance, from 1 (just read) to 0: below it, a fact that was read once lies unread for 3.3
# half-lives of two months each, more than half a year.
STALE = 0.1
# Tokens (o200k) of a fact: two sentences have some 40, and of the 500 characters that it may have
# English text takes 110. All facts of a full prompt share 10,000.
LONG_FACT = 100
# Tokens (o200k) of a core memory or a journal entry: the seed asks for less than a paragraph, which
# is some 150; twenty of this size would fill the 10,000 that they share in a prompt.
LONG_MEMORY = 500


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What is looked at."""

    facts: Sequence[Fact] = ()  # that hold, in the order of the prompt
    own: Sequence[Memory] = ()  # of the agent
    accesses: Mapping[str, Access] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Finding:
    kind: Kind
    memory_ids: tuple[str, ...]
    detail: str
    fix: str  # one line to run


def findings(kept: Kept, now: datetime) -> list[Finding]:
    """All of them, by kind and then in the order of the memories."""
    duplicates = _duplicates(kept.facts)
    told = {memory_id for one in duplicates for memory_id in one.memory_ids}
    return [
        *duplicates,
        *_contradictions([one for one in kept.facts if one.memory_id not in told]),
        *(found for one in kept.facts if (found := _unread(one, kept, now))),
        *(found for one in kept.facts if (found := _oversized_fact(one))),
        *(found for one in kept.own if (found := _oversized_own(one))),
    ]


def _duplicates(facts: Sequence[Fact]) -> list[Finding]:
    return [
        Finding(
            kind="duplicate",
            memory_ids=tuple(one.memory_id for one in group),
            detail=f"{len(group)} memories say the same: {_quoted(group[0])}",
            fix=f"memoryd consolidate{_of(group[0])}",
        )
        for group in alike.groups(facts, lambda one: one.text, about)
    ]


def _contradictions(facts: Sequence[Fact]) -> list[Finding]:
    """Of one subject and not the same: one of them may be out of date."""
    about: dict[str, list[Fact]] = {}
    for one in facts:
        if key := folded(one.subject):
            about.setdefault(key, []).append(one)
    found = []
    for group in about.values():
        if len(group) > 1:
            newest = sorted(group, key=lambda one: (one.updated_at, one.born))
            said = " / ".join(map(_quoted, newest))
            found.append(
                Finding(
                    kind="contradiction",
                    memory_ids=tuple(one.memory_id for one in newest),
                    detail=f"{len(group)} memories about {newest[0].subject!r}: {said}",
                    fix=f"memoryd memory delete {newest[0].memory_id}{_of(newest[0])}",
                )
            )
    return found


def _unread(one: Fact, kept: Kept, now: datetime) -> Finding | None:
    access = kept.accesses.get(one.memory_id, NEVER)
    if access.last_accessed_at is None:
        days = (now - one.updated_at).days
        if now - one.updated_at < NEVER_RECALLED:
            return None
        return Finding(
            kind="never_recalled",
            memory_ids=(one.memory_id,),
            detail=f"no model was given it in {days} days: {_quoted(one)}",
            fix=f"memoryd memory delete {one.memory_id}{_of(one)}",
        )
    if growth.importance(one, access, now) >= STALE:
        return None
    return Finding(
        kind="stale",
        memory_ids=(one.memory_id,),
        detail=f"last recalled on {access.last_accessed_at:%Y-%m-%d}: {_quoted(one)}",
        fix=f'memoryd memory edit {one.memory_id} "…"{_of(one)}, or '
        f"memoryd memory delete {one.memory_id}{_of(one)}",
    )


def _oversized_fact(one: Fact) -> Finding | None:
    fix = f'memoryd memory edit {one.memory_id} "…"{_of(one)}'
    return _oversized(one, LONG_FACT, fix)


def _oversized_own(one: Memory) -> Finding | None:
    route = f"/api/v1/agents/{one.agent_id}/memories/{one.memory_id}"
    return _oversized(one, LONG_MEMORY, f"PUT {route} with a shorter content")


def _oversized(one: Memory, limit: int, fix: str) -> Finding | None:
    size = tokens.count(one.text)
    if size <= limit:
        return None
    return Finding(
        kind="oversized",
        memory_ids=(one.memory_id,),
        detail=f"{size:,} tokens in every prompt, where {limit} should do: {_quoted(one)}",
        fix=fix,
    )


def about(one: Memory) -> object:
    """What a fact speaks of: the same words of somebody else are another fact."""
    return folded(one.subject), one.category


def _of(one: Memory) -> str:
    """Whose it is, as a command takes it."""
    return "" if one.user_id == "default" else f" --user {shlex.quote(one.user_id)}"


def _quoted(one: Memory) -> str:
    text = " ".join(one.text.split())
    return f"[{one.memory_id}] {text if len(text) <= 60 else text[:59] + '…'}"
