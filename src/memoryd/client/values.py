"""What the daemon answers, as frozen values; a field that is not listed here is ignored.

So a client meets newer daemons: a test compares these with the API document. `kept` has those of
references.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from memoryd.core.model import (
    Actor,
    ActorType,
    Channel,
    Event,
    Progress,
    Recorded,
    Scope,
    Sensitivity,
)

Category = Literal["person", "preference", "context", "project"]

__all__ = [
    "Actor",
    "Bundle",
    "Category",
    "Decision",
    "Event",
    "Fact",
    "Hit",
    "Item",
    "Omission",
    "Prompt",
    "Recorded",
    "Search",
    "Section",
    "Task",
    "Uploaded",
]


@dataclass(frozen=True, kw_only=True)
class Uploaded:
    """`artifact_id` is None where a short output lies in its event alone."""

    artifact_id: str | None
    event_id: str
    chunk_ids: tuple[str, ...]
    created_at: datetime
    redacted: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A chunk that was found; `parts` of the score with `explain`."""

    chunk_id: str
    event_id: str
    session_id: str
    ts: datetime
    kind: str
    actor_type: ActorType
    actor_id: str
    trust: ActorType
    tags: tuple[str, ...]
    token_est: int
    text: str
    score: float
    parts: Mapping[str, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Search:
    """The best first. `pending_vectors` are not yet found by meaning."""

    results: tuple[Hit, ...]
    pending_vectors: int
    candidates: int
    position: int
    degraded: str | None = None


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing of a bundle, with the ids that it cites."""

    type: str
    text: str
    refs: tuple[str, ...]
    tokens: int
    decision_id: str | None = None
    task_id: str | None = None
    handoff_id: str | None = None
    score: float | None = None
    parts: Mapping[str, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Section:
    name: str
    items: tuple[Item, ...]
    token_est: int


@dataclass(frozen=True, kw_only=True)
class Omission:
    """What was left out, and why."""

    reason: str
    candidates: tuple[str, ...]
    count: int
    section: str | None = None
    artifact_id: str | None = None
    more: bool = False  # others are left out that were not counted


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """What a model should be given; `messages` with `format="messages"`, for a model's API."""

    acb_id: str
    budget_tokens: int
    token_used_est: int
    sections: tuple[Section, ...]
    omissions: tuple[Omission, ...]
    provenance: Mapping[str, Any]
    messages: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """The whole, as a model reads it; its tokens are `token_used_est`."""
        from memoryd.core import render  # noqa: PLC0415  # counts tokens, which few ask for

        return render.text(
            [(part.name, [one.text for one in part.items]) for part in self.sections]
        )


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something remembered about a user, as it stands."""

    id: str
    category: Category
    subject: str | None
    content: str
    version: int
    created_at: datetime
    updated_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class Decision:
    decision_id: str
    event_id: str
    position: int
    ts: datetime
    status: Literal["active", "superseded"]
    scope: Scope
    subject: str | None
    decision: str
    rationale: tuple[str, ...]
    constraints: tuple[str, ...]
    alternatives: tuple[str, ...]
    consequences: tuple[str, ...]
    supersedes: str | None
    superseded_by: str | None
    session_id: str
    user_id: str
    agent_id: str
    channel: Channel
    sensitivity: Sensitivity
    refs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Task:
    task_id: str
    event_id: str
    position: int
    ts: datetime
    status: Progress
    title: str
    details: str
    session_id: str
    user_id: str
    agent_id: str
    channel: Channel
    sensitivity: Sensitivity
    refs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """The system prompt of a conversation; `system` for Anthropic, `messages` for OpenAI."""

    text: str
    tokens: int
    memory_ids: tuple[str, ...]
    more: Mapping[str, int]
    session_id: str | None
    pinned: bool
    position: int
    pinned_at: datetime
    system: tuple[Mapping[str, Any], ...] | None = None
    messages: tuple[Mapping[str, str], ...] | None = None


@dataclass(frozen=True, kw_only=True)
class EventPage:
    events: tuple[Event, ...]
    next: str | None = None


@dataclass(frozen=True, kw_only=True)
class DecisionPage:
    decisions: tuple[Decision, ...]
    next: str | None = None


@dataclass(frozen=True, kw_only=True)
class TaskPage:
    tasks: tuple[Task, ...]
    next: str | None = None


@dataclass(frozen=True, kw_only=True)
class FactPage:
    memories: tuple[Fact, ...]
    total: int
    next: str | None = None


@dataclass(frozen=True, kw_only=True)
class Batch:
    events: tuple[Recorded, ...]


@dataclass(frozen=True, kw_only=True)
class Tools:
    tools: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)
