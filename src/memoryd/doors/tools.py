"""The HTTP API of tools: parse, one call, answer."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import ConfigDict, Field

from memoryd.core import errors
from memoryd.core.model import Channel, Name
from memoryd.doors import http, refusals
from memoryd.doors.access import CallerOf, DaemonOf, problems, reader_for
from memoryd.doors.search import Question
from memoryd.memories.write import Origin
from memoryd.tools import catalog, definition, run
from memoryd.tools.call import Call

router = APIRouter(prefix="/api/v1/tools", tags=["tools"], route_class=http.JsonRoute)

MOST = 100  # selected tools
LISTED = 20  # by default: more than that, and models begin to choose wrong


@dataclass(frozen=True)
class Tools:
    tools: Annotated[
        list[dict[str, Any]],
        Field(description="As `format` has them; without one, all that is known of each."),
    ]


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    __pydantic_config__ = ConfigDict(extra="forbid")

    arguments: Annotated[
        dict[str, Any], Field(description="As the tool's schema says.", max_length=100)
    ] = field(default_factory=dict)
    session_id: Annotated[
        Name | None, Field(description="The conversation in which it is called.")
    ] = None
    message_id: Annotated[Name | None, Field(description="What was said to cause it.")] = None
    tenant_id: Annotated[Name | None, Field(description="Must be the key's own.")] = None
    channel: Annotated[Channel | None, Field(description="Where it is called.")] = None
    user_id: Annotated[Name | None, Field(description="Whose memories.")] = None
    agent_id: Annotated[
        Name | None, Field(description="Who calls; an agent's own memory has no default.")
    ] = None
    idempotency_key: Annotated[
        Name | None, Field(description="A retry with the same key stores nothing new.")
    ] = None


@router.get("", responses=problems())
async def list_tools(
    _: CallerOf,
    wanted: Annotated[
        Literal["openai", "anthropic", "mcp"] | None,
        Query(alias="format", description="As this provider's API takes them."),
    ] = None,
    message: Annotated[Question | None, Query(description="Tools that fit it come first.")] = None,
    tags: Annotated[
        tuple[Name, ...], Query(max_length=20, description="Only with one of these.")
    ] = (),
    limit: Annotated[
        int, Query(ge=0, le=MOST, description="At most, beside the system's own.")
    ] = LISTED,
) -> Tools:
    """The tools that an agent is offered. The system's own, those of memory among them, are always
    there and do not count towards `limit`; tags and message choose among the others.
    """
    chosen = catalog.TOOLS.select(limit, message, tags)
    if wanted is None:
        return Tools([definition.listed(one) for one in chosen])
    return Tools([definition.formatted(one, wanted) for one in chosen])


@router.post("/{name}", response_model=dict[str, Any], responses=problems(400, 404, 409, 413, 415))
async def call_tool(
    name: Annotated[Name, Path(description="Of the tool.")],
    asked: ToolCall,
    daemon: DaemonOf,
    caller: CallerOf,
) -> Response | dict[str, Any]:
    """Run a tool, and answer its result. A refusal has, beside the problem's own fields, the
    `error` that a model is told.
    """
    reader = reader_for(caller, asked.tenant_id, asked.channel, asked.user_id, asked.agent_id)
    origin = Origin(
        user_id=reader.user_id,
        agent_id=reader.agent_id,
        channel=asked.channel,
        conversation_id=asked.session_id,
        message_id=asked.message_id,
        idempotency_key=asked.idempotency_key,
    )
    call = Call(
        daemon=daemon,
        caller=caller,
        reader=reader,
        origin=origin,
        agent_id=asked.agent_id or caller.agent_id,
    )
    try:
        return await run.run(call, name, asked.arguments)
    except errors.MemorydError as error:
        heard = run.refused(error)
        more = {"field": error.field, "limit": error.limit, **heard}
        return refusals.problem(error.status, error.title, error.detail, **more)
