"""What the tools answer, as shapes: a client that asks for structured results is told them."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field


class MemoryAdded(BaseModel):
    success: Literal[True]
    memory_id: str
    category: str
    subject: str | None
    content: str
    message: str


class MemoryUpdated(BaseModel):
    success: Literal[True]
    memory_id: str
    version: int
    old_content: str
    new_content: str
    message: str


class JournalSaved(BaseModel):
    success: Literal[True]
    memory_type: Literal["journal"]
    content: str
    expires_around: str = Field(description="The day, as 2026-05-01")


class CoreSaved(BaseModel):
    success: Literal[True]
    memory_type: Literal["core"]
    content: str
    note: str


class UserMemoryManaged(BaseModel):
    success: Literal[True]
    operation: str
    fact_id: str | None = Field(None, description="Of add_fact and deactivate_fact")
    content: str | None = Field(None, description="Of add_fact and deactivate_fact")
    place_id: str | None = Field(None, description="Of add_poi")
    place_name: str | None = Field(None, description="Of add_poi")
    memory: dict[str, Any] | None = Field(None, description="Of get_memory: the whole document")


class ReferenceStored(BaseModel):
    success: Literal[True]
    memory_key: str
    placeholder: str = Field(description="What stands for it in the conversation")
    description: str
    token_count: int
    existed: bool = Field(description="Nothing new was stored: it was there already")


class ReferenceRead(BaseModel):
    memory_key: str
    description: str
    token_count: int = Field(description="Of the whole")
    content: str | None = Field(None, description="The part, where it is text")
    bytes: str | None = Field(None, description="The part in base64, where it is none")
    part: dict[str, Any] = Field(description="Which part of what total")


class ReferenceHit(BaseModel):
    memory_key: str
    placeholder: str
    type: str
    score: float
    text: str = Field(description="The passage that fits best")


class ReferencesFound(BaseModel):
    results: list[ReferenceHit]


class EventRecorded(BaseModel):
    event_id: str
    chunk_ids: list[str]
    created_at: datetime
    redacted: list[str] = Field(default=[], description="Kinds of secrets that were redacted")


class BundleBuilt(BaseModel):
    acb_id: str = Field(description="memory://bundle/<acb_id> reads it again")
    budget_tokens: int
    token_used_est: int
    text: str = Field(description="The whole, as a model reads it")
    sections: list[dict[str, Any]] = Field(description="Items with their refs, tokens and scores")
    omissions: list[dict[str, Any]] = Field(description="What was left out, and why")
    provenance: dict[str, Any]


class ArtifactRead(BaseModel):
    artifact_id: str
    media_type: str
    size: int = Field(description="Bytes of the whole")
    start: int = Field(description="The first byte that is shown")
    stop: int = Field(description="The byte after the last that is shown")
    text: str | None = Field(None, description="Where the bytes are text")
    bytes: str | None = Field(None, description="Where they are not, in base64")


class DecisionsFound(BaseModel):
    decisions: list[dict[str, Any]]
    more: bool = Field(description="There are more than `limit`")
