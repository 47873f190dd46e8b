"""The HTTP API of intent (seed 001 §4.2): parse, one call, answer."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter
from pydantic import ConfigDict, Field, StringConstraints

from memoryd.doors import http
from memoryd.doors.access import CallerOf, DaemonOf, problems
from memoryd.references import intent, intent_model
from memoryd.references.intent import Action, Context

router = APIRouter(prefix="/api/v1", tags=["references"], route_class=http.JsonRoute)

MOST_MESSAGES = 200
MOST_ISSUED = 1_000
LONGEST = 20_000  # characters of an instruction
MESSAGE_LONGEST = 1_000_000  # characters
Instruction = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST)]
Message = Annotated[str, StringConstraints(max_length=MESSAGE_LONGEST)]
Issued = Annotated[
    str, StringConstraints(max_length=1_000, pattern=r"^\[MemoryRef: \S+ - .+ - \d+ tokens\]$")
]


@dataclass(frozen=True, kw_only=True)
class IntentAsked:
    __pydantic_config__ = ConfigDict(extra="forbid")

    instruction: Annotated[Instruction, Field(description="What the agent is told to do.")]
    context: Annotated[
        tuple[Message, ...],
        Field(max_length=MOST_MESSAGES, description="The messages before it, the newest last."),
    ] = ()
    issued: Annotated[
        tuple[Issued, ...],
        Field(
            max_length=MOST_ISSUED,
            description="The placeholders that you put into the context; no others are expanded.",
        ),
    ] = ()
    budget: Annotated[
        int, Field(ge=0, le=1_000_000, strict=True, description="Tokens for what is expanded.")
    ] = intent.BUDGET
    model: Annotated[
        bool, Field(strict=True, description="Ask the model of MEMORYD_CHAT_URL, if there is one.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class ExpansionShown:
    key: str
    token_count: int
    whole: Annotated[bool, Field(description="Else only the lines around `find`.")]
    find: tuple[str, ...]
    max_tokens: int


@dataclass(frozen=True, kw_only=True)
class IntentShown:
    action: Action
    reason: str
    query: Annotated[str | None, Field(description="What to search for.")]
    keys: Annotated[tuple[str, ...], Field(description="What to expand, in this order.")]
    expand: tuple[ExpansionShown, ...]
    over_budget: Annotated[tuple[str, ...], Field(description="Needed too, without room.")]


@router.post("/intent", responses=problems(400, 413, 415))
async def decide_intent(asked: IntentAsked, daemon: DaemonOf, _: CallerOf) -> IntentShown:
    """Whether an instruction needs memory: `skip`, `search` for something, or `expand` what
    placeholders stand for. By rules, or with `model` by a model; nothing is read or stored.
    """
    context = Context(messages=asked.context, issued=asked.issued, budget=asked.budget)
    if asked.model:
        found = await intent_model.judged(daemon.settings, asked.instruction, context)
    else:
        found = intent.needs_memory(asked.instruction, context)
    return IntentShown(
        action=found.action,
        reason=found.reason,
        query=found.query,
        keys=found.keys,
        expand=tuple(ExpansionShown(**vars(one)) for one in found.expand),
        over_budget=found.over_budget,
    )
