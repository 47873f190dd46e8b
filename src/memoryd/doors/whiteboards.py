"""The HTTP API of a team's whiteboard: notes that its agents share."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from pydantic import ConfigDict

from memoryd.core import db
from memoryd.core.model import Name, Reader
from memoryd.doors import http
from memoryd.doors.access import CallerOf, DaemonOf, WriterOf, problems
from memoryd.doors.ledger import moment
from memoryd.doors.remembered import AgentText, AskingOf, MemoryId, Writing
from memoryd.doors.search import AsOfQuery
from memoryd.memories import agents
from memoryd.memories.model import AgentMemory

router = APIRouter(prefix="/api/v1/teams", tags=["memories"], route_class=http.JsonRoute)

_CHANGES = problems(400, 404, 409, 413, 415)


async def board_of(
    team_id: Annotated[Name, Path(description="Whose board.")], caller: CallerOf, asking: AskingOf
) -> Reader:
    return agents.board_of(asking.reader(caller), team_id)


BoardOf = Annotated[Reader, Depends(board_of)]


@dataclass(frozen=True, kw_only=True)
class NoteRequest(Writing):
    __pydantic_config__ = ConfigDict(extra="forbid")

    content: AgentText


@dataclass(frozen=True, kw_only=True)
class Note:
    id: str
    content: str
    agent_id: str
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class Whiteboard:
    memories: tuple[Note, ...]


@router.post("/{team_id:name}/memories", status_code=201, responses=problems(400, 409, 413, 415))
async def write_note(
    board: BoardOf, asked: NoteRequest, daemon: DaemonOf, caller: WriterOf, asking: AskingOf
) -> Note:
    """Write on the team's board. Every agent and user of the team reads it, and search finds it."""
    origin = asked.origin(caller, asking)
    made = await agents.add(
        daemon, caller, board, origin, text=asked.content, memory_type="whiteboard"
    )
    return _note(made)


@router.get("/{team_id:name}/memories", responses=problems())
async def read_board(
    board: BoardOf,
    daemon: DaemonOf,
    limit: Annotated[int, Query(ge=1, le=1000)] = agents.SHOWN,
    as_of: AsOfQuery = None,
) -> Whiteboard:
    """The notes on the team's board, newest first."""
    async with db.tenant(daemon.pool, board.tenant_id) as conn:
        at = await moment(conn, board, as_of)
        found = await agents.recent(conn, board, as_of=at, limit=limit)
    return Whiteboard(memories=tuple(map(_note, found)))


@router.put("/{team_id:name}/memories/{memory_id}", responses=_CHANGES)
async def edit_note(
    board: BoardOf,
    memory_id: MemoryId,
    asked: NoteRequest,
    daemon: DaemonOf,
    caller: WriterOf,
    asking: AskingOf,
) -> Note:
    """A new version of a note, by whoever of the team."""
    said = {"op": "update", "text": asked.content}
    origin = asked.origin(caller, asking)
    return _note(await agents.change(daemon, caller, board, origin, memory_id, said))


@router.delete("/{team_id:name}/memories/{memory_id}", responses=problems(404))
async def wipe_note(
    board: BoardOf, memory_id: MemoryId, daemon: DaemonOf, caller: WriterOf, asking: AskingOf
) -> Note:
    """Wipe a note off the board."""
    origin = Writing().origin(caller, asking)
    return _note(await agents.change(daemon, caller, board, origin, memory_id, {"op": "delete"}))


def _note(one: AgentMemory) -> Note:
    return Note(
        id=one.memory_id,
        content=one.text,
        agent_id=one.agent_id,
        version=one.version,
        created_at=one.created_at,
        updated_at=one.updated_at,
    )
