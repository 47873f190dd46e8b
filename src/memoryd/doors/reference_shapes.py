"""The shapes of references on the wire."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import ConfigDict, Field

from memoryd.core.model import Actor, Channel, Draft, Moment, Name, Redacted
from memoryd.custody import audit
from memoryd.doors.search import Question
from memoryd.references import draft, parts, write
from memoryd.references.model import DEFAULT_TYPE, Key, Reference, Type

MOST = 200  # references of a page or a search
_STRICT = ConfigDict(extra="forbid")
Kept = Literal["none", "low", "high"]  # nothing of what is `secret` is stored


@dataclass(frozen=True, kw_only=True)
class Storing:
    """What a reference is, whose, and who may see it."""

    description: Annotated[
        str | None,
        Field(max_length=2_000, description="In a few words; else made from the content."),
    ] = None
    type: Annotated[Type, Field(description="`command_output`, `user_preference`, …")] = (
        DEFAULT_TYPE
    )
    metadata: Annotated[
        dict[str, Any],
        Field(description="`command`, `exit_status`, `path` and others; at most 64 KB."),
    ] = field(default_factory=dict)
    key: Annotated[
        Key | None, Field(description="Unique per user; else made from the description.")
    ] = None
    media_type: Annotated[str | None, Field(max_length=127)] = None
    session_id: Annotated[Name | None, Field(description="The conversation it belongs to.")] = None
    actor: Annotated[Actor | None, Field(description="Who said it; by default a tool.")] = None
    tenant_id: Annotated[Name | None, Field(description="Must be the key's own.")] = None
    user_id: Annotated[Name | None, Field(description="Whose it is.")] = None
    agent_id: Annotated[Name | None, Field(description="Which agent keeps it.")] = None
    channel: Annotated[Channel | None, Field(description="By default `private`.")] = None
    sensitivity: Kept = "none"
    ts: Annotated[Moment | None, Field(description="When, if not now.")] = None
    idempotency_key: Annotated[
        Name | None, Field(description="A retry with the same key stores nothing new.")
    ] = None

    def draft(self, media_type: str | None = None) -> Draft:
        """`media_type` where none was given."""
        given = {name: getattr(self, name) for name in draft.SAID}
        return draft.make(**given | {"media_type": self.media_type or media_type})


@dataclass(frozen=True, kw_only=True)
class ReferenceAsked(Storing):
    __pydantic_config__ = _STRICT

    content: Annotated[str | None, Field(description="The text.")] = None
    bytes: Annotated[
        str | None, Field(description="In base64, what is no text; instead of `content`.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class SwapAsked(Storing):
    __pydantic_config__ = _STRICT

    text: Annotated[str, Field(description="What would go into the context.")]
    threshold: Annotated[
        int | None,
        Field(
            ge=1, le=1_000_000, strict=True, description="Tokens; else MEMORYD_REFERENCE_TOKENS."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ReferenceShown:
    key: Annotated[str, Field(description="By which you ask for it.")]
    placeholder: Annotated[str, Field(description="What stands for it in the context.")]
    token_count: Annotated[int, Field(description="Of bytes that are no text: an estimate.")]
    type: str
    description: str
    described_by: Annotated[str | None, Field(description="A model that found better words.")]
    size: Annotated[int, Field(description="Bytes.")]
    media_type: str
    binary: Annotated[bool, Field(description="It is no text.")]
    metadata: dict[str, Any]
    created_at: datetime
    session_id: str
    agent_id: str
    user_id: str
    channel: Channel
    sensitivity: str
    is_active: bool
    event_id: str
    artifact_id: str | None


@dataclass(frozen=True, kw_only=True)
class ReferenceStored(ReferenceShown):
    existed: Annotated[bool, Field(description="Nothing new was stored: it was there already.")]
    redacted: Redacted = ()


@dataclass(frozen=True, kw_only=True)
class Swapped:
    text: Annotated[str, Field(description="What goes into the context: it, or a placeholder.")]
    swapped: bool
    reference: ReferenceStored | None


@dataclass(frozen=True, kw_only=True)
class PartAsked:
    """At most one of the first four."""

    lines: Annotated[
        str | None, Query(max_length=40, description="`10-20`, `10-` or `-20`, from 1.")
    ] = None
    bytes: Annotated[
        str | None, Query(max_length=40, description="`0-999`, `500-` or `-500`, from 0.")
    ] = None
    path: Annotated[
        str | None, Query(max_length=500, description="`$.items[0].name`, in JSON.")
    ] = None
    find: Annotated[
        str | None,
        Query(max_length=parts.FIND_LONGEST, description="A text, in letters of either case."),
    ] = None
    context: Annotated[int, Query(ge=0, le=50, description="Lines around what is found.")] = 2
    limit: Annotated[int, Query(ge=1, le=200, description="Places that are shown.")] = 20


@dataclass(frozen=True, kw_only=True)
class PartShown:
    """Which part of what total: lines are counted from 1, bytes from 0, both ends are shown."""

    kind: Literal["whole", "lines", "bytes", "path", "find"]
    first: int | None
    last: int | None
    total: int
    unit: Literal["bytes", "lines", "entries", "matches"]


@dataclass(frozen=True, kw_only=True)
class ReferenceRead(ReferenceShown):
    content: Annotated[str | None, Field(description="The part, where it is text.")]
    bytes: Annotated[str | None, Field(description="The part in base64, where it is none.")]
    part: PartShown


@dataclass(frozen=True, kw_only=True)
class ReferenceDescribed(ReferenceShown):
    note: Annotated[str, Field(description="Who described it, or why the model did not.")]


@dataclass(frozen=True, kw_only=True)
class ReferencePage:
    references: tuple[ReferenceShown, ...]
    next: Annotated[str | None, Field(description="Pass it as `cursor` for the next page.")]


@dataclass(frozen=True, kw_only=True)
class ReferenceSearch:
    __pydantic_config__ = _STRICT

    query: Question
    limit: Annotated[int, Field(ge=1, le=MOST, strict=True)] = 10
    type: Type | None = None
    session_id: Name | None = None
    own: Annotated[bool, Field(strict=True, description="The user's own alone.")] = False
    tenant_id: Annotated[Name | None, Field(description="Must be the key's own.")] = None
    channel: Annotated[Channel | None, Field(description="Where the answer will be shown.")] = None
    user_id: Annotated[Name | None, Field(description="Who will see it.")] = None
    agent_id: Annotated[Name | None, Field(description="Which agent asks.")] = None


@dataclass(frozen=True, kw_only=True)
class ReferenceFound(ReferenceShown):
    score: float
    text: Annotated[str, Field(description="The passage that fits best.")]


@dataclass(frozen=True, kw_only=True)
class ReferencesFound:
    results: tuple[ReferenceFound, ...]


def stored(done: write.Stored) -> ReferenceStored:
    audit.tell(recorded=int(done.fresh), ref=done.reference.event_id)
    return ReferenceStored(
        **fields_of(done.reference), existed=not done.fresh, redacted=done.redacted
    )


def shown(found: Reference) -> ReferenceShown:
    return ReferenceShown(**fields_of(found))


def fields_of(found: Reference) -> dict[str, Any]:
    kept = {name: value for name, value in vars(found).items() if name != "position"}
    return {**kept, "placeholder": found.placeholder}
