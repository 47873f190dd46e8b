"""What the daemon answers of references and of intent, as frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from memoryd.core.model import Channel


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A stored text or file; `placeholder` is what stands for it in the context."""

    key: str
    placeholder: str
    token_count: int
    type: str
    description: str
    size: int
    media_type: str
    binary: bool
    metadata: Mapping[str, Any]
    created_at: datetime
    session_id: str
    user_id: str
    agent_id: str
    channel: Channel
    is_active: bool
    event_id: str
    artifact_id: str | None
    described_by: str | None = None


@dataclass(frozen=True, kw_only=True)
class DescribedReference(Reference):
    """`note` says who described it, or why the model did not."""

    note: str


@dataclass(frozen=True, kw_only=True)
class StoredReference(Reference):
    """`existed`: nothing new was stored, it was there already."""

    existed: bool
    redacted: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Part:
    """Which part of what total: lines are counted from 1, bytes from 0, both ends are shown."""

    kind: str
    first: int | None
    last: int | None
    total: int
    unit: str


@dataclass(frozen=True, kw_only=True)
class ReferenceRead(Reference):
    """`content` where it is text, `bytes` in base64 where it is not."""

    content: str | None
    bytes: str | None
    part: Part


@dataclass(frozen=True, kw_only=True)
class ReferenceFound(Reference):
    """With the passage that fits best."""

    score: float
    text: str


@dataclass(frozen=True, kw_only=True)
class ReferencesFound:
    results: tuple[ReferenceFound, ...]


@dataclass(frozen=True, kw_only=True)
class Expansion:
    """What to read of a reference: the whole, or the lines around what to `find`."""

    key: str
    token_count: int
    whole: bool
    find: tuple[str, ...]
    max_tokens: int


@dataclass(frozen=True, kw_only=True)
class Intent:
    """Whether an instruction needs memory, and what of it."""

    action: Literal["skip", "search", "expand"]
    reason: str
    query: str | None
    keys: tuple[str, ...]
    expand: tuple[Expansion, ...]
    over_budget: tuple[str, ...]
