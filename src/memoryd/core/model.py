"""The values of the system: one frozen dataclass serves wire, code and row.

Constraints stand in the types, so that every door checks the same and the API document shows them.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BeforeValidator, ConfigDict, Field, StringConstraints

Channel = Literal["private", "public", "team", "agent"]
Sensitivity = Literal["none", "low", "high", "secret"]
ActorType = Literal["human", "agent", "tool"]
Role = Literal["reader", "agent", "admin"]
Scope = Literal["project", "user", "global"]
Progress = Literal["open", "doing", "done"]
# The kinds a client may record directly; memories, views, summaries, handoffs and erasures are
# recorded by doors of their own, which check what they contain.
Kind = Literal["message", "tool_call", "tool_result", "decision", "task_update", "artifact"]

# The same values in a fixed order: their places in these tuples are stored, so new ones go last.
CHANNELS = ("private", "public", "team", "agent")
SENSITIVITIES = ("none", "low", "high", "secret")
ORIGINS = ("human", "agent", "tool")
KINDS = (
    *("message", "tool_call", "tool_result", "decision", "task_update", "artifact"),
    *("memory", "view", "summary", "handoff", "erasure"),
)

# One line of readable characters. 255 is what seeds, file systems and other stores agree on.
Name = Annotated[
    str, StringConstraints(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]+$")
]
MAX_NAMES = 256  # tags or refs of one event
Names = Annotated[tuple[Name, ...], Field(max_length=MAX_NAMES)]


# Left out where nothing was found, so that the answer is the seeds' own.
Redacted = Annotated[
    tuple[str, ...],
    Field(description="Kinds of secrets that were redacted.", exclude_if=lambda found: not found),
]


def _written_out(given: Any) -> Any:
    """A bare number is refused: nobody can tell its seconds from milliseconds."""
    if not re.match(r"\d{4}-", str(given)):
        raise ValueError("write the time out, as 2026-05-01T12:00:00Z")
    return given


Moment = Annotated[AwareDatetime, BeforeValidator(_written_out)]

MAX_BATCH = 1_000  # events in one request: what one transaction writes in well under a second
MAX_JSON_BYTES = 8 * 1024 * 1024  # a larger output streams to POST /api/v1/artifacts
MAX_CONTENT_BYTES = 1024 * 1024  # an event's content as JSON, once its output is set apart
MAX_CONTENT_DEPTH = 64  # levels of nesting; deeper JSON is an attack or a mistake
EXCERPT_BYTES = 64 * 1024  # of a tool's output, inside the event (seed 003 §7.4)
PIECE_BYTES = 1024 * 1024  # of an artifact, in one row

# How much a kind matters when all else is equal: decisions > tasks > messages (seed 003 §8.2).
IMPORTANCE = {"decision": 1.0, "task_update": 0.7, "memory": 0.6, "message": 0.4}
OTHER_IMPORTANCE = 0.2
OUTPUTS = ("tool_result", "artifact")  # kinds that may have artifacts; a long one stands in a line

_STRICT = ConfigDict(extra="forbid")


@dataclass(frozen=True, kw_only=True)
class Actor:
    """Who did it."""

    __pydantic_config__ = _STRICT

    type: ActorType
    id: Name


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Whose a draft is, who may see it, and when it happened: every write may say so."""

    tenant_id: Annotated[Name | None, Field(description="Must be the key's own.")] = None
    user_id: Annotated[Name | None, Field(description="Whose it is.")] = None
    agent_id: Annotated[Name | None, Field(description="Which agent keeps it.")] = None
    channel: Annotated[Channel | None, Field(description="Where it was said.")] = None
    sensitivity: Sensitivity = "none"
    tags: Names = ()
    refs: Names = ()
    ts: Annotated[
        Moment | None, Field(description="When it happened, if not now: history may be imported.")
    ] = None
    idempotency_key: Annotated[
        Name | None, Field(description="A retry with the same key stores nothing new.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Draft(Origin):
    """An event before it has its place in the log."""

    __pydantic_config__ = _STRICT

    session_id: Annotated[Name, Field(description="The conversation it belongs to.")]
    actor: Actor
    kind: str
    content: Annotated[
        dict[str, Any],
        Field(description="What happened: `text` for a message; see the guide for other kinds."),
    ]


@dataclass(frozen=True, kw_only=True)
class EventDraft(Draft):
    """An event as a client sends it."""

    __pydantic_config__ = _STRICT

    kind: Kind


@dataclass(frozen=True, kw_only=True)
class Event:
    """An event as the log keeps it."""

    event_id: str
    position: int
    ts: datetime
    recorded_at: datetime
    tenant_id: str
    session_id: str
    user_id: str
    agent_id: str
    channel: Channel
    actor: Actor
    kind: str
    sensitivity: Sensitivity
    tags: tuple[str, ...]
    content: dict[str, Any]
    refs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """A retrieval unit: the chunks of an event join to exactly its text."""

    chunk_id: str
    ordinal: int
    token_est: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """Bytes kept beside an event: their address is their SHA-256, keyed where they are sealed."""

    artifact_id: str
    event_id: str
    ts: datetime
    kind: Literal["tool_output", "blob"]
    digest: bytes
    size: int
    media_type: str
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """The answer to a write."""

    event_id: str
    chunk_ids: tuple[str, ...]
    created_at: datetime
    redacted: Redacted = ()


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who asks: the tenant, and whatever else the key pins."""

    tenant_id: str
    role: Role
    user_id: str | None = None
    agent_id: str | None = None
    channel: Channel | None = None
    key_id: str | None = None  # None on loopback, where no key is needed


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Through whose eyes a read looks; `privacy` says what that shows."""

    tenant_id: str
    channel: Channel = "private"
    user_id: str = "default"
    agent_id: str = "default"


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key as it is listed: never the key itself."""

    key_id: str
    tenant_id: str
    role: Role
    user_id: str | None
    agent_id: str | None
    channel: Channel | None
    created_at: datetime
    revoked_at: datetime | None
