"""The HTTP API of facts (seed 000): parse, one call, answer."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field

from memoryd.core import db, errors
from memoryd.doors import differences, http
from memoryd.doors.access import CallerOf, DaemonOf, WriterOf, problems
from memoryd.doors.ledger import moment
from memoryd.doors.remembered import (
    AskingOf,
    FactText,
    ListingOf,
    MemoryId,
    MemoryResponse,
    Subject,
    Writing,
    response,
    shown,
)
from memoryd.doors.search import AsOfQuery
from memoryd.memories import facts
from memoryd.memories.model import Category, Fact, Op, Version

router = APIRouter(prefix="/api/memory", tags=["memories"], route_class=http.JsonRoute)

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
class ChangeRequest(Writing):
    """Of deleting and bringing back; all of it may be left out."""

    __pydantic_config__ = _STRICT


@dataclass(frozen=True, kw_only=True)
class RestoreRequest(Writing):
    __pydantic_config__ = _STRICT

    version: Annotated[int, Field(ge=1, le=2**31 - 1, strict=True, description="Its number.")]


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
    reader, limit = asking.reader(caller), listing.limit
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        at, start = await listing.begin(conn, reader)
        if listing.q is None:
            found, total = await facts.page(
                conn, reader, listing.wanted(), as_of=at, offset=start, limit=limit
            )
    if listing.q is not None:
        every = await facts.search(daemon, reader, listing.wanted(), listing.q, as_of=at)
        found, total = every[start : start + limit], len(every)
    more = f"{at}.{start + limit}" if start + limit < total else None
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
    reader = asking.reader(caller)
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        at = await moment(conn, reader, as_of)
        fact = await facts.one(conn, reader, memory_id, as_of=at)
        had = await facts.versions(conn, reader, memory_id, as_of=at)
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
    origin, reader = asked.origin(caller, asking), asked.asking(asking).reader(caller)
    return _changed(await facts.update(daemon, caller, reader, origin, memory_id, asked.content))


@router.delete("/{memory_id}", responses=problems(404))
async def delete_memory(
    memory_id: MemoryId, daemon: DaemonOf, caller: WriterOf, asking: AskingOf
) -> MemoryResponse:
    """Forget a fact: it leaves lists, prompts, search and bundles. Its versions are kept, and
    `undelete` brings it back.
    """
    origin, reader = ChangeRequest().origin(caller, asking), asking.reader(caller)
    return response(await facts.delete(daemon, caller, reader, origin, memory_id))


@router.get("/{memory_id}/versions", responses=problems(404))
async def list_memory_versions(
    memory_id: MemoryId,
    daemon: DaemonOf,
    caller: CallerOf,
    asking: AskingOf,
    as_of: AsOfQuery = None,
) -> MemoryVersions:
    """Every text that the fact has had."""
    had = await _versions(daemon, caller, asking, memory_id, as_of)
    return MemoryVersions(versions=tuple(map(_version, had)))


@router.get(
    "/{memory_id}/diff",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "A diff"},
        **problems(404),
    },
)
async def diff_memory(
    memory_id: MemoryId,
    daemon: DaemonOf,
    caller: CallerOf,
    asking: AskingOf,
    old: Annotated[
        int | None, Query(alias="from", ge=1, description="By default, the one before `to`.")
    ] = None,
    new: Annotated[int | None, Query(alias="to", ge=1, description="By default, the last.")] = None,
) -> Response:
    """What changed between two versions, as a unified diff; empty when they are equal."""
    had = {one.version: one for one in await _versions(daemon, caller, asking, memory_id, None)}
    after = new or max(had)
    before = old or max(after - 1, 1)
    for number in (before, after):
        if number not in had:
            raise errors.NotFound(f"memory {memory_id!r} has no version {number}")
    texts = (f"{had[before].text}\n", f"{had[after].text}\n")
    text = differences.unified(*texts, *(f"{memory_id} version {one}" for one in (before, after)))
    return Response(text, media_type="text/plain", headers={"x-content-type-options": "nosniff"})


@router.post("/{memory_id}/restore", responses=_CHANGES)
async def restore_memory(
    memory_id: MemoryId,
    asked: RestoreRequest,
    daemon: DaemonOf,
    caller: WriterOf,
    asking: AskingOf,
) -> MemoryChanged:
    """Take up the text of an earlier version again, as a new version; a deleted fact comes back."""
    origin, reader = asked.origin(caller, asking), asked.asking(asking).reader(caller)
    return _changed(await facts.restore(daemon, caller, reader, origin, memory_id, asked.version))


@router.post("/{memory_id}/undelete", responses=problems(404))
async def undelete_memory(
    memory_id: MemoryId, daemon: DaemonOf, caller: WriterOf, asking: AskingOf
) -> MemoryResponse:
    """Bring back a fact that was deleted, or pushed out of the user's document."""
    origin, reader = ChangeRequest().origin(caller, asking), asking.reader(caller)
    return response(await facts.undelete(daemon, caller, reader, origin, memory_id))


async def _versions(
    daemon: DaemonOf, caller: CallerOf, asking: AskingOf, memory_id: str, as_of: Any
) -> list[Version]:
    reader = asking.reader(caller)
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        at = await moment(conn, reader, as_of)
        return await facts.versions(conn, reader, memory_id, as_of=at)


def _version(one: Version) -> MemoryVersion:
    values = dict(vars(one))
    return MemoryVersion(content=values.pop("text"), made_by=values.pop("op"), **values)


def _changed(done: tuple[Fact, str]) -> MemoryChanged:
    return MemoryChanged(**shown(done[0]), previous_content=done[1])
