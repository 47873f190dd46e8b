"""The HTTP API of any memory by its id, whatever its type: parse, one call, answer."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field

from memoryd.core.model import Caller, Name, Reader
from memoryd.doors import http
from memoryd.doors.access import CallerOf, DaemonOf, WriterOf, problems
from memoryd.doors.history import DIFF, NewQuery, OldQuery, difference, moment_for
from memoryd.doors.memory import RestoreRequest
from memoryd.doors.remembered import (
    AgentText,
    Asking,
    AskingOf,
    ForceQuery,
    ListingOf,
    MemoryId,
    Writing,
    hand,
    listed,
    own_eyes,
)
from memoryd.doors.search import AsOfQuery
from memoryd.memories import agents, change, model, read, refuse
from memoryd.memories.model import Category, Memory, Op, Type, Version

router = APIRouter(prefix="/api/v1/memories", tags=["memories"], route_class=http.JsonRoute)

_STRICT = ConfigDict(extra="forbid")
_CHANGES = problems(400, 404, 409, 413, 415)


@dataclass(frozen=True, kw_only=True)
class EditAsked(Writing):
    __pydantic_config__ = _STRICT

    content: AgentText


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A memory as it stands."""

    id: Annotated[str, Field(description="Eight letters and digits.")]
    type: Type
    content: Annotated[str, Field(description="Of a place, its notes.")]
    subject: Annotated[str | None, Field(description="Of a place, its name.")]
    category: Annotated[Category | None, Field(description="Of a fact.")]
    place_id: str | None
    user_id: Annotated[str | None, Field(description="Whose fact or place it is.")]
    agent_id: Annotated[str, Field(description="Who keeps it, or wrote it first.")]
    team_id: Annotated[str | None, Field(description="On whose whiteboard it is.")]
    version: int
    created_at: datetime
    updated_at: datetime
    is_active: bool
    deleted: bool
    evicted: Annotated[bool, Field(description="Pushed out of the user's document.")]


@dataclass(frozen=True, kw_only=True)
class KeptPage:
    memories: tuple[Kept, ...]
    total: Annotated[int, Field(description="On all pages.")]
    next: Annotated[str | None, Field(description="Pass it as `cursor` for the next page.")]


@dataclass(frozen=True, kw_only=True)
class KeptChanged(Kept):
    previous_content: Annotated[str, Field(description="What it said before.")]


@dataclass(frozen=True, kw_only=True)
class KeptVersion:
    version: int
    type: Type
    subject: str | None
    content: str
    created_at: datetime
    made_by: Annotated[Op, Field(description="`add`, `place`, `update`, `restore` or `promote`.")]
    event_id: str


@dataclass(frozen=True, kw_only=True)
class KeptVersions:
    versions: Annotated[tuple[KeptVersion, ...], Field(description="Oldest first.")]


@router.get("", responses=problems())
async def list_kept(
    daemon: DaemonOf,
    caller: CallerOf,
    asking: AskingOf,
    listing: ListingOf,
    kind: Annotated[Type, Query(alias="type", description="Which memories.")] = "fact",
    team_id: Annotated[Name, Query(description="Whose whiteboard.")] = "default",
) -> KeptPage:
    """The memories of one type: facts and places of a user, core and journal of an agent, the
    whiteboard of a team; in the order in which they were made. With `include_deleted` also what
    was deleted, to be brought back.
    """
    owner = _owner(caller, asking, kind, team_id)
    found, total, more = await listed(daemon, owner, read.KINDS[kind], (kind,), listing)
    return KeptPage(memories=tuple(map(_kept, found)), total=total, next=more)


@router.get("/{memory_id:id8}", responses=problems(404))
async def get_kept(
    memory_id: MemoryId,
    daemon: DaemonOf,
    caller: CallerOf,
    asking: AskingOf,
    as_of: AsOfQuery = None,
) -> Kept:
    """Any memory by its id, also when it was deleted."""
    who = hand(daemon, caller, asking)
    return _kept(await change.one(who, memory_id, as_of=await moment_for(who, as_of)))


@router.put("/{memory_id:id8}", responses=_CHANGES)
async def edit_kept(
    memory_id: MemoryId, asked: EditAsked, daemon: DaemonOf, caller: WriterOf, asking: AskingOf
) -> KeptChanged:
    """A new version, within the limits of the memory's type; of a place, its notes. What holds a
    password or the like is refused.
    """
    refuse.secrets(content=asked.content)
    who = hand(daemon, caller, asking, asked)
    return _changed(await change.edit(who, memory_id, asked.content))


@router.delete("/{memory_id:id8}", responses=problems(404))
async def delete_kept(
    memory_id: MemoryId, daemon: DaemonOf, caller: WriterOf, asking: AskingOf
) -> Kept:
    """Forget a memory; its versions are kept, and `undelete` brings it back."""
    return _kept((await change.delete(hand(daemon, caller, asking), memory_id)).after)


@router.get("/{memory_id:id8}/versions", responses=problems(404))
async def list_kept_versions(
    memory_id: MemoryId,
    daemon: DaemonOf,
    caller: CallerOf,
    asking: AskingOf,
    as_of: AsOfQuery = None,
) -> KeptVersions:
    """Every text that the memory has had; a journal entry that became core is a version too."""
    who = hand(daemon, caller, asking)
    had = await change.versions(who, memory_id, as_of=await moment_for(who, as_of))
    return KeptVersions(versions=tuple(map(_version, had)))


@router.get("/{memory_id:id8}/diff", response_class=Response, responses=DIFF)
async def diff_kept(
    memory_id: MemoryId,
    daemon: DaemonOf,
    caller: CallerOf,
    asking: AskingOf,
    old: OldQuery = None,
    new: NewQuery = None,
) -> Response:
    """What changed between two versions, as a unified diff; empty when they are equal."""
    return await difference(hand(daemon, caller, asking), memory_id, old, new)


@router.post("/{memory_id:id8}/restore", responses=_CHANGES)
async def restore_kept(
    memory_id: MemoryId,
    asked: RestoreRequest,
    daemon: DaemonOf,
    caller: WriterOf,
    asking: AskingOf,
) -> KeptChanged:
    """Take up an earlier version again, as a new one; what was deleted comes back with it."""
    who = hand(daemon, caller, asking, asked)
    return _changed(await change.restore(who, memory_id, asked.version, force=asked.force))


@router.post("/{memory_id:id8}/undelete", responses=problems(404, 409))
async def undelete_kept(
    memory_id: MemoryId,
    daemon: DaemonOf,
    caller: WriterOf,
    asking: AskingOf,
    force: ForceQuery = False,
) -> Kept:
    """Bring back what was deleted, or pushed out of the user's document."""
    who = hand(daemon, caller, asking)
    return _kept((await change.undelete(who, memory_id, force=force)).after)


@router.post("/{memory_id:id8}/deactivate", responses=problems(404, 409))
async def deactivate_kept(
    memory_id: MemoryId, daemon: DaemonOf, caller: WriterOf, asking: AskingOf
) -> Kept:
    """Say that a fact no longer holds."""
    who = hand(daemon, caller, asking)
    return _kept((await change.activate(who, memory_id, active=False)).after)


@router.post("/{memory_id:id8}/activate", responses=problems(404, 409))
async def activate_kept(
    memory_id: MemoryId,
    daemon: DaemonOf,
    caller: WriterOf,
    asking: AskingOf,
    force: ForceQuery = False,
) -> Kept:
    """Say that a fact holds again."""
    who = hand(daemon, caller, asking)
    return _kept((await change.activate(who, memory_id, active=True, force=force)).after)


def _owner(caller: Caller, asking: Asking, kind: Type, team_id: str) -> Reader:
    reader = asking.reader(caller)
    if kind == "whiteboard":
        return agents.board_of(reader, team_id)
    if kind in ("core", "journal"):
        own_eyes(caller, asking)
        return agents.reader_of(reader.tenant_id, reader.agent_id)
    return reader


def _kept(one: Memory) -> Kept:
    return Kept(**_shown(one))


def _changed(done: change.Changed) -> KeptChanged:
    return KeptChanged(**_shown(done.after), previous_content=done.before.text)


def _shown(one: Memory) -> dict[str, Any]:
    team = model.team_owner("")
    same = ("type", "subject", "category", "agent_id", "version", "created_at", "updated_at")
    return {
        **{name: getattr(one, name) for name in (*same, "is_active", "deleted", "evicted")},
        "id": one.memory_id,
        "content": one.text,
        "place_id": getattr(one, "place_id", None),
        "user_id": one.user_id if one.type in ("fact", "place") else None,
        "team_id": one.user_id.removeprefix(team) if one.type == "whiteboard" else None,
    }


def _version(one: Version) -> KeptVersion:
    same = ("version", "type", "subject", "created_at", "event_id")
    values = {name: getattr(one, name) for name in same}
    return KeptVersion(content=one.text, made_by=one.op, **values)
