"""The HTTP API of chat commands: what a person types in a chat, and what they read."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter
from pydantic import ConfigDict, Field, StringConstraints

from memoryd.core import errors
from memoryd.core.model import Actor, Channel, Name
from memoryd.doors import http
from memoryd.doors.access import CallerOf, DaemonOf, problems, reader_for
from memoryd.memories import change, chat, command
from memoryd.memories.write import Origin

router = APIRouter(prefix="/api/v1/commands", tags=["memories"], route_class=http.JsonRoute)

LONGEST = 4_096  # characters: what a message of a chat may have


@dataclass(frozen=True, kw_only=True)
class CommandAsked:
    __pydantic_config__ = ConfigDict(extra="forbid")

    text: Annotated[
        str,
        StringConstraints(min_length=1, max_length=LONGEST, pattern=r"^[^\x00]*$"),
        Field(description="As it was typed, e.g. `/memory delete a1b2c3d4`."),
    ]
    session_id: Annotated[Name | None, Field(description="The chat.")] = None
    message_id: Name | None = None
    tenant_id: Annotated[Name | None, Field(description="Must be the key's own.")] = None
    channel: Annotated[Channel | None, Field(description="Where it was typed.")] = None
    user_id: Annotated[Name | None, Field(description="Who typed it, and whose memories.")] = None
    agent_id: Annotated[Name | None, Field(description="Which agent's chat, and own memories.")] = (
        None
    )


@dataclass(frozen=True)
class CommandAnswered:
    reply: Annotated[str, Field(description="What the person reads.")]
    command: Annotated[str, Field(description="`list search show edit undo delete help`.")]
    memory_id: Annotated[str | None, Field(description="The memory that was named.")] = None


@router.post("/memory", responses=problems(400, 409, 413, 415))
async def run_memory_command(
    asked: CommandAsked, daemon: DaemonOf, caller: CallerOf
) -> CommandAnswered:
    """Run `/memory` as a chat does: directly, without an agent. What is unknown or not understood
    gets a helpful reply.
    """
    given = command.parse(asked.text)
    if given is None:
        raise errors.Invalid("it must begin with /memory", field="text", limit="/memory …")
    reader = reader_for(caller, asked.tenant_id, asked.channel, asked.user_id, asked.agent_id)
    origin = Origin(
        user_id=reader.user_id,
        agent_id=reader.agent_id,
        channel=asked.channel,
        actor=Actor(type="human", id=reader.user_id),
        conversation_id=asked.session_id,
        message_id=asked.message_id,
    )
    typed = change.Hand(
        daemon=daemon, caller=caller, reader=reader, origin=origin, agent_id=reader.agent_id
    )
    return CommandAnswered(await chat.reply(typed, given), given.op, given.memory_id or None)
