"""The HTTP API of the prompt: parse, one call, answer."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import ConfigDict, Field, StringConstraints

from memoryd.core import tokens
from memoryd.core.model import Caller, Channel, Name
from memoryd.daemon import Daemon, now
from memoryd.doors import http
from memoryd.doors.access import CallerOf, DaemonOf, problems, reader_for
from memoryd.doors.search import Instant, Question
from memoryd.memories import blocks, prompt
from memoryd.memories.blocks import Block, FactFormat, Frame

router = APIRouter(prefix="/api/v1/prompt", tags=["memories"], route_class=http.JsonRoute)

MAX_SYSTEM = 100_000  # characters, as of an editable text
IN_ADDRESS = 2_000  # characters: an address has 64 KB, and a character may take twelve bytes of it
MAX_PARTICIPANTS = 100

Format = Literal["text", "anthropic", "openai"]
System = Annotated[str, StringConstraints(max_length=MAX_SYSTEM, pattern=r"^[^\x00]*$")]

Short = Annotated[str, StringConstraints(max_length=IN_ADDRESS, pattern=r"^[^\x00]*$")]


@dataclass(frozen=True, kw_only=True)
class PromptAsked:
    """For whom and for which conversation; the same in an address and in a body."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    session_id: Annotated[
        Name | None,
        Query(description="The conversation; its memories are pinned by the first call."),
    ] = None
    tenant_id: Annotated[Name | None, Query(description="Must be the key's own.")] = None
    channel: Annotated[Channel | None, Query(description="Where the answer will be shown.")] = None
    user_id: Annotated[Name | None, Query(description="Whose facts and places.")] = None
    agent_id: Annotated[Name | None, Query(description="Whose private memory.")] = None
    team_id: Annotated[
        Name | None, Query(description="The agent's team, whose whiteboard is shown.")
    ] = None
    system: Annotated[
        System | None,
        Query(description="Static instructions to begin with; else the view `identity.<agent>`."),
    ] = None
    participants: Annotated[
        tuple[Name, ...],
        Query(max_length=MAX_PARTICIPANTS, description="The others of a group conversation."),
    ] = ()
    query: Annotated[
        Question | None,
        Query(description="What it is about: decides what is shown when not all has room."),
    ] = None
    facts: Annotated[
        FactFormat,
        Query(description="`by_category` with ids (seed 000), or `by_date` (seed 004)."),
    ] = "by_category"
    instructions: Annotated[
        bool, Query(description="When to ask, when to store at once, when not to store.")
    ] = True
    references: Annotated[
        bool, Query(description="How to use `[MemoryRef: …]` placeholders, if `instructions`.")
    ] = True
    format: Annotated[
        Format, Query(description="`anthropic` adds `system`, `openai` adds `messages`.")
    ] = "text"
    now: Annotated[Instant | None, Query(description="The time that the prompt tells.")] = None


@dataclass(frozen=True, kw_only=True)
class PromptInAddress(PromptAsked):
    """The same, as far as an address goes."""

    system: Annotated[
        Short | None,
        Query(description="Static instructions to begin with; else the view `identity.<agent>`."),
    ] = None
    query: Annotated[
        Short | None,
        Query(min_length=1, description="What it is about, if not all memories have room."),
    ] = None


@dataclass(frozen=True)
class BlockShown:
    name: Annotated[
        str,
        Field(
            description="`system instructions references memory private_memory whiteboard "
            "stored_memories places more group datetime`."
        ),
    ]
    tokens: int
    breakpoint: Annotated[bool, Field(description="A cache may keep all up to its end.")]


@dataclass(frozen=True, kw_only=True)
class PromptShown:
    text: Annotated[str, Field(description="The whole prompt.")]
    tokens: int
    blocks: tuple[BlockShown, ...]
    memory_ids: Annotated[tuple[str, ...], Field(description="The memories that it shows.")]
    more: Annotated[
        dict[str, int],
        Field(description="`facts`, `places`, `private`, `board`: how many had no room."),
    ]
    session_id: str | None
    pinned: Annotated[bool, Field(description="False without a session.")]
    position: Annotated[int, Field(description="The log position it was pinned at.")]
    pinned_at: Annotated[datetime, Field(description="The time it was pinned at.")]
    system: Annotated[
        list[dict[str, Any]] | None, Field(description="With `format=anthropic`.")
    ] = None
    messages: Annotated[list[dict[str, str]] | None, Field(description="With `format=openai`.")] = (
        None
    )


@router.get("", responses=problems())
async def get_prompt(
    asked: Annotated[PromptInAddress, Depends()], daemon: DaemonOf, caller: CallerOf
) -> PromptShown:
    """The system prompt of a conversation: instructions, what is remembered, the time.

    What is remembered is chosen at the session's first call and stays the same, byte for byte,
    until its end; what changes meanwhile shows in the next session. The time stands behind the
    last cache breakpoint.
    """
    return await _answer(daemon, caller, asked)


@router.post("", responses=problems(400, 413, 415))
async def post_prompt(asked: PromptAsked, daemon: DaemonOf, caller: CallerOf) -> PromptShown:
    """The same as `GET`, for instructions that are too long for an address."""
    return await _answer(daemon, caller, asked)


async def _answer(daemon: Daemon, caller: Caller, asked: PromptAsked) -> PromptShown:
    reader = reader_for(caller, asked.tenant_id, asked.channel, asked.user_id, asked.agent_id)
    moment = asked.now or now()
    wish = prompt.Asked(
        session_id=asked.session_id, now=moment, query=asked.query, team_id=asked.team_id
    )
    built = await prompt.build(daemon, reader, wish)
    frame = Frame(
        now=moment,
        system=asked.system,
        agent_id=reader.agent_id,
        participants=asked.participants,
        fact_format=asked.facts,
        instructions=asked.instructions,
        references=asked.references,
    )
    parts = blocks.blocks(built.remembered, frame)
    return _shown(built, asked, parts)


def _shown(built: prompt.Built, asked: PromptAsked, parts: list[Block]) -> PromptShown:
    shown = [BlockShown(one.name, tokens.count(one.text), one.breakpoint) for one in parts]
    return PromptShown(
        text=blocks.text(parts),
        tokens=_joined(parts, shown),
        blocks=tuple(shown),
        memory_ids=tuple(prompt.memory_ids(built)),
        more=dict(built.pin.more),
        session_id=asked.session_id,
        pinned=built.pinned,
        position=built.pin.position,
        pinned_at=built.pin.ts,
        system=blocks.anthropic(parts) if asked.format == "anthropic" else None,
        messages=blocks.openai(parts) if asked.format == "openai" else None,
    )


def _joined(parts: list[Block], shown: list[BlockShown]) -> int:
    """The count of the whole, from those of its blocks: they need not be read again."""
    whole, count = "", 0
    for part, one in zip(parts, shown, strict=True):
        if whole:
            count = tokens.added(whole, count, "\n\n", 1)
            whole += "\n\n"
        count = tokens.added(whole, count, part.text, one.tokens)
        whole += part.text
    return count
