"""The HTTP API of facts (seed 000): parse, one call, answer."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field

from memoryd.doors import http
from memoryd.doors.access import CallerOf, DaemonOf, WriterOf, problems
from memoryd.doors.history import DIFF, NewQuery, OldQuery, difference, moment_for
from memoryd.doors.remembered import (
    AskingOf,
    FactText,
    ForceQuery,
    ListingOf,
    MemoryId,
    MemoryResponse,
    Subject,
    Writing,
    hand,
    listed,
    response,
    shown,
)
from memoryd.doors.search import AsOfQuery
from memoryd.memories import change, facts
from memoryd.memories.model import Category, Fact, Op, Type, Version

router = APIRouter(prefix="/api/memory", tags=["memories"], route_class=http.JsonRoute)

FACT: tuple[Type, ...] = ("fact",)
_STRICT = ConfigDict(extra="forbid")
_CHANGES = problems(400, 404, 409, 413, 415)


@dataclass(frozen=True, kw_only=True)
class CreateMemoryRequest(Writing):
    __pydantic_config__ = _STRICT

    content: FactText
    category: Category
    subject: Subject | None = None
    force: Annotated[
        bool, Field(strict=True, description="Although a fact with this subject exists.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class UpdateMemoryRequest(Writing):
    __pydantic_config__ = _STRICT

    content: FactText


@dataclass(frozen=True, kw_only=True)
class RestoreRequest(Writing):
    __pydantic_config__ = _STRICT

    version: Annotated[int, Field(ge=1, le=2**31 - 1, strict=True, description="Its number.")]
    force: Annotated[
        bool, Field(strict=True, description="Although a fact with this subject exists.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class MemoryListResponse:
    memories: tuple[MemoryResponse, ...]
    total: Annotated[int, Field(description="On all pages.")]
    next: Annotated[str | None, Field(description="Pass it as `cursor` for the next page.")]


@dataclass(frozen=True, kw_only=True)
class MemoryChanged(MemoryResponse):
    previous_content: Annotated[str, Field(description="What it said before.")]


@dataclass(frozen=True, kw_only=True)
class MemoryVersion:
    version: int
    content: str
    created_at: datetime
    made_by: Annotated[Op, Field(description="`add`, `update` or `restore`.")]
    event_id: str
    source_conversation_id: str | None
    source_message_id: str | None


@dataclass(frozen=True, kw_only=True)
class MemoryVersions:
    versions: Annotated[tuple[MemoryVersion, ...], Field(description="Oldest first.")]


@dataclass(frozen=True, kw_only=True)
class MemoryFound(MemoryResponse):
    user_id: str
    is_active: bool
    deleted: bool
    evicted: Annotated[bool, Field(description="Pushed out of the user's document.")]
    source_conversation_id: str | None
    source_message_id: str | None
    versions: Annotated[tuple[MemoryVersion, ...], Field(description="Oldest first.")]


@router.get("/", responses=problems())
async def list_memories(
    daemon: DaemonOf,
    caller: CallerOf,
    asking: AskingOf,
    listing: ListingOf,
) -> MemoryListResponse:
    """The facts that hold about a user, by category and then by creation."""
    reader = asking.reader(caller)
    found, total, more = await listed(daemon, reader, Fact, FACT, listing)
    return MemoryListResponse(memories=tuple(map(response, found)), total=total, next=more)


@router.post("/", status_code=201, responses=problems(400, 409, 413, 415))
async def create_memory(
    asked: CreateMemoryRequest, daemon: DaemonOf, caller: WriterOf, asking: AskingOf
) -> MemoryResponse:
    """Remember a fact. Where an active one has the same subject, nothing is stored: the 409 names
    it, so that it can be updated instead; `force` keeps both.
    """
    fact = await facts.add(
        *(daemon, caller, asked.origin(caller, asking)),
        text=asked.content,
        category=asked.category,
        subject=asked.subject,
        force=asked.force,
    )
    return response(fact)


@router.get("/{memory_id}", responses=problems(404))
async def get_memory(
    memory_id: MemoryId,
    daemon: DaemonOf,
    caller: CallerOf,
    asking: AskingOf,
    as_of: AsOfQuery = None,
) -> MemoryFound:
    """One fact with its versions, also when it was deleted."""
    who = hand(daemon, caller, asking, types=FACT)
    at = await moment_for(who, as_of)
    fact = await change.one(who, memory_id, as_of=at)
    had = await change.versions(who, memory_id, as_of=at)
    own = ("user_id", "is_active", "deleted", "evicted")
    sources = ("source_conversation_id", "source_message_id")
    more = {name: getattr(fact, name) for name in (*own, *sources)}
    return MemoryFound(**shown(fact), **more, versions=tuple(map(_version, had)))


@router.put("/{memory_id}", responses=_CHANGES)
async def update_memory(
    memory_id: MemoryId,
    asked: UpdateMemoryRequest,
    daemon: DaemonOf,
    caller: WriterOf,
    asking: AskingOf,
) -> MemoryChanged:
    """A new version under the same id; the answer has the old text beside the new."""
    who = hand(daemon, caller, asking, asked, FACT)
    return _changed(await change.edit(who, memory_id, asked.content))


@router.delete("/{memory_id}", responses=problems(404))
async def delete_memory(
    memory_id: MemoryId, daemon: DaemonOf, caller: WriterOf, asking: AskingOf
) -> MemoryResponse:
    """Forget a fact: it leaves lists, prompts, search and bundles. Its versions are kept, and
    `undelete` brings it back.
    """
    done = await change.delete(hand(daemon, caller, asking, types=FACT), memory_id)
    return response(done.after)


@router.get("/{memory_id}/versions", responses=problems(404))
async def list_memory_versions(
    memory_id: MemoryId,
    daemon: DaemonOf,
    caller: CallerOf,
    asking: AskingOf,
    as_of: AsOfQuery = None,
) -> MemoryVersions:
    """Every text that the fact has had."""
    who = hand(daemon, caller, asking, types=FACT)
    had = await change.versions(who, memory_id, as_of=await moment_for(who, as_of))
    return MemoryVersions(versions=tuple(map(_version, had)))


@router.get("/{memory_id}/diff", response_class=Response, responses=DIFF)
async def diff_memory(
    memory_id: MemoryId,
    daemon: DaemonOf,
    caller: CallerOf,
    asking: AskingOf,
    old: OldQuery = None,
    new: NewQuery = None,
) -> Response:
    """What changed between two versions, as a unified diff; empty when they are equal."""
    return await difference(hand(daemon, caller, asking, types=FACT), memory_id, old, new)


@router.post("/{memory_id}/restore", responses=_CHANGES)
async def restore_memory(
    memory_id: MemoryId,
    asked: RestoreRequest,
    daemon: DaemonOf,
    caller: WriterOf,
    asking: AskingOf,
) -> MemoryChanged:
    """Take up the text of an earlier version again, as a new version; a deleted fact comes back."""
    who = hand(daemon, caller, asking, asked, FACT)
    return _changed(await change.restore(who, memory_id, asked.version, force=asked.force))


@router.post("/{memory_id}/undelete", responses=problems(404, 409))
async def undelete_memory(
    memory_id: MemoryId,
    daemon: DaemonOf,
    caller: WriterOf,
    asking: AskingOf,
    force: ForceQuery = False,
) -> MemoryResponse:
    """Bring back a fact that was deleted, or pushed out of the user's document. Where another fact
    has its subject by now, nothing is changed: the 409 names it, and `force` keeps both.
    """
    who = hand(daemon, caller, asking, types=FACT)
    return response((await change.undelete(who, memory_id, force=force)).after)


def _version(one: Version) -> MemoryVersion:
    names = ("version", "created_at", "event_id", "source_conversation_id", "source_message_id")
    values = {name: getattr(one, name) for name in names}
    return MemoryVersion(content=one.text, made_by=one.op, **values)


def _changed(done: change.Changed) -> MemoryChanged:
    return MemoryChanged(**shown(done.after), previous_content=done.before.text)
