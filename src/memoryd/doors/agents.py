"""The HTTP API of what agents keep for themselves (seed 002), and of a team's whiteboard."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import ConfigDict, Field

from memoryd.core import db
from memoryd.core.model import Channel, Name, Reader
from memoryd.daemon import now
from memoryd.doors import http
from memoryd.doors.access import CallerOf, DaemonOf, WriterOf, problems
from memoryd.doors.ledger import moment
from memoryd.doors.remembered import AgentText, Asking, AskingOf, MemoryId, Writing, own_eyes
from memoryd.doors.search import AsOfQuery, Instant
from memoryd.memories import agents
from memoryd.memories.model import AgentMemory

router = APIRouter(prefix="/api/v1/agents", tags=["memories"], route_class=http.JsonRoute)

MemoryType = Literal["core", "journal"]
NowQuery = Annotated[
    Instant | None, Query(description="When the week of the journal ends, if not now.")
]
_STRICT = ConfigDict(extra="forbid")
_CHANGES = problems(400, 404, 409, 413, 415)


async def owner_of(
    agent_id: Annotated[Name, Path(description="Whose memories they are.")],
    caller: CallerOf,
    tenant_id: Annotated[Name | None, Query(description="Must be the key's own.")] = None,
    channel: Annotated[Channel | None, Query(description="Must be `private`.")] = None,
    user_id: Annotated[Name | None, Query(description="Who asks for it.")] = None,
) -> Reader:
    """The agent's own eyes, for a key that may speak for it."""
    asking = Asking(tenant_id=tenant_id, channel=channel, user_id=user_id, agent_id=agent_id)
    own_eyes(caller, asking)
    return agents.reader_of(caller.tenant_id, agent_id)


OwnerOf = Annotated[Reader, Depends(owner_of)]


@dataclass(frozen=True, kw_only=True)
class AgentMemoryRequest(Writing):
    __pydantic_config__ = _STRICT

    content: AgentText
    memory_type: Annotated[
        MemoryType, Field(description="`core` is for good, `journal` for a week.")
    ] = "journal"


@dataclass(frozen=True, kw_only=True)
class EditRequest(Writing):
    __pydantic_config__ = _STRICT

    content: AgentText


@dataclass(frozen=True, kw_only=True)
class AgentMemoryResponse:
    id: Annotated[str, Field(description="Eight letters and digits.")]
    content: str
    memory_type: MemoryType
    version: int
    created_at: datetime
    updated_at: datetime
    expired: Annotated[bool, Field(description="No longer in the prompt: a week has passed.")]


@dataclass(frozen=True, kw_only=True)
class MemoriesCount:
    core: int
    journal: int


@dataclass(frozen=True, kw_only=True)
class AgentMemories:
    memories: tuple[AgentMemoryResponse, ...]
    memories_count: MemoriesCount


@dataclass(frozen=True, kw_only=True)
class AgentContext:
    memory_context: Annotated[str | None, Field(description="Null where there is nothing.")]


@dataclass(frozen=True, kw_only=True)
class AgentListed:
    agent_id: str
    memories_count: MemoriesCount


@dataclass(frozen=True, kw_only=True)
class Agents:
    agents: tuple[AgentListed, ...]


@router.get("", responses=problems())
async def list_agents(daemon: DaemonOf, caller: CallerOf, asking: AskingOf) -> Agents:
    """The agents that have memories here, with their counts; of a key that is an agent's, it."""
    own_eyes(caller, asking)
    async with db.tenant(daemon.pool, caller.tenant_id) as conn:
        found = await agents.counts(conn, caller.tenant_id)
    seen = {name: one for name, one in found.items() if caller.agent_id in (None, name)}
    listed = (
        AgentListed(agent_id=name, memories_count=MemoriesCount(**one))
        for name, one in sorted(seen.items())
    )
    return Agents(agents=tuple(listed))


@router.post("/{agent_id:name}/memories", status_code=201, responses=problems(400, 409, 413, 415))
async def add_agent_memory(
    owner: OwnerOf, asked: AgentMemoryRequest, daemon: DaemonOf, caller: WriterOf
) -> AgentMemoryResponse:
    """Remember something for this agent alone: no other agent and no user sees it, in search and
    bundles neither.
    """
    made = await agents.add(
        *(daemon, caller, owner, asked.origin(caller, Asking(agent_id=owner.agent_id))),
        text=asked.content,
        memory_type=asked.memory_type,
    )
    return _shown(made, now())


@router.get("/{agent_id:name}/memories", responses=problems())
async def list_agent_memories(
    owner: OwnerOf,
    daemon: DaemonOf,
    for_prompt: Annotated[
        bool, Query(description="Only what the prompt has, oldest first.")
    ] = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = agents.SHOWN,
    as_of: AsOfQuery = None,
    at: Annotated[NowQuery, Query(alias="now")] = None,
) -> AgentMemories:
    """What the agent keeps, newest first, expired journal entries too."""
    today = at or now()
    async with db.tenant(daemon.pool, owner.tenant_id) as conn:
        position = await moment(conn, owner, as_of)
        if for_prompt:
            found = await agents.for_prompt(conn, owner, today, as_of=position)
        else:
            found = await agents.recent(conn, owner, as_of=position, limit=limit)
        counted = await agents.count(conn, owner, as_of=position)
    return AgentMemories(
        memories=tuple(_shown(one, today) for one in found),
        memories_count=MemoriesCount(**counted),
    )


@router.get("/{agent_id:name}/memories/context", responses=problems())
async def get_memory_context(
    owner: OwnerOf,
    daemon: DaemonOf,
    as_of: AsOfQuery = None,
    at: Annotated[NowQuery, Query(alias="now")] = None,
) -> AgentContext:
    """The agent's private memory as its prompt has it: all core memories, and the journal of the
    last week.
    """
    async with db.tenant(daemon.pool, owner.tenant_id) as conn:
        position = await moment(conn, owner, as_of)
        text = await agents.memory_context(conn, owner, at or now(), as_of=position)
    return AgentContext(memory_context=text)


@router.put("/{agent_id:name}/memories/{memory_id:id8}", responses=_CHANGES)
async def edit_agent_memory(
    owner: OwnerOf, memory_id: MemoryId, asked: EditRequest, daemon: DaemonOf, caller: WriterOf
) -> AgentMemoryResponse:
    """A new version under the same id; a journal entry keeps its date."""
    origin = asked.origin(caller, Asking(agent_id=owner.agent_id))
    said = {"op": "update", "text": asked.content}
    return _shown(await agents.change(daemon, caller, owner, origin, memory_id, said), now())


@router.delete("/{agent_id:name}/memories/{memory_id:id8}", responses=problems(404))
async def delete_agent_memory(
    owner: OwnerOf, memory_id: MemoryId, daemon: DaemonOf, caller: WriterOf
) -> AgentMemoryResponse:
    """Forget one of the agent's memories."""
    origin = Writing().origin(caller, Asking(agent_id=owner.agent_id))
    done = await agents.change(daemon, caller, owner, origin, memory_id, {"op": "delete"})
    return _shown(done, now())


@router.post("/{agent_id:name}/memories/{memory_id:id8}/promote", responses=_CHANGES)
async def promote_agent_memory(
    owner: OwnerOf, memory_id: MemoryId, daemon: DaemonOf, caller: WriterOf
) -> AgentMemoryResponse:
    """Make a journal entry a core memory, which stays for good."""
    origin = Writing().origin(caller, Asking(agent_id=owner.agent_id))
    done = await agents.change(daemon, caller, owner, origin, memory_id, {"op": "promote"})
    return _shown(done, now())


def _shown(one: AgentMemory, today: datetime) -> AgentMemoryResponse:
    assert one.type in ("core", "journal")
    return AgentMemoryResponse(
        id=one.memory_id,
        content=one.text,
        memory_type=one.type,
        version=one.version,
        created_at=one.created_at,
        updated_at=one.updated_at,
        expired=one.expired(today),
    )
