"""The tools of the log and of bundles (seed 003 §11): record, build, read, query."""

from typing import Any, Literal

from pydantic import Field

from memoryd import bundling
from memoryd.core.model import EXCERPT_BYTES, MAX_NAMES, ActorType, Kind, Name, Scope, Sensitivity
from memoryd.tools import results
from memoryd.tools.arguments import Arguments
from memoryd.tools.definition import ToolDef

LOG = frozenset({"memory", "log"})
MOST_BYTES = 1024 * 1024  # of an artifact, in one answer
MOST_DECISIONS = 200
QUESTION_LONGEST = 20_000  # characters


class RecordEventArgs(Arguments):
    text: str | None = Field(None, description="What was said; the output of a tool_result")
    kind: Kind = Field("message", description="What happened")
    content: dict[str, Any] | None = Field(
        None,
        description="More than a text: tool and arguments of a tool_call, tool and path of a "
        "tool_result, decision and rationale of a decision, title and status of a task_update",
    )
    session_id: Name | None = Field(None, description="The conversation it belongs to")
    actor_type: ActorType = Field("agent", description="Who did it")
    actor_id: Name | None = Field(None, description="Which of them; by default the agent itself")
    tags: list[Name] = Field([], max_length=MAX_NAMES)
    refs: list[Name] = Field([], description="Ids of what it refers to", max_length=MAX_NAMES)
    sensitivity: Sensitivity = Field("none", description="high is encrypted, secret not stored")
    idempotency_key: Name | None = Field(None, description="The same key again records nothing new")


class BuildAcbArgs(Arguments):
    query_text: str | None = Field(
        None,
        description="What to look for; without it nothing is retrieved",
        max_length=QUESTION_LONGEST,
    )
    session_id: Name | None = Field(None, description="The conversation it is for")
    intent: Name = Field("default", description="default, recall, recent or decide")
    max_tokens: int | None = Field(
        None, description="At most; 65,000 if omitted", ge=bundling.LEAST_TOKENS
    )
    sections: list[bundling.SectionName] | None = Field(
        None, description="Only these", min_length=1, max_length=16
    )


class GetArtifactArgs(Arguments):
    artifact_id: Name = Field(description="As an event or an omission names it")
    start: int = Field(0, description="The first byte", ge=0, lt=2**62)
    length: int = Field(EXCERPT_BYTES, description="Bytes at most", ge=1, le=MOST_BYTES)


class QueryDecisionsArgs(Arguments):
    text: str | None = Field(
        None,
        description="Puts the best match first",
        min_length=1,
        max_length=QUESTION_LONGEST,
    )
    status: Literal["active", "superseded", "all"] = "active"
    scope: Scope | None = None
    limit: int = Field(20, ge=1, le=MOST_DECISIONS)


RECORD_EVENT = ToolDef(
    name="memory_record_event",
    description=(
        "Record what happened in the append-only log: a message, a tool call or its result, a "
        "decision, the change of a task. When this answers, it is stored for good and can be found."
    ),
    arguments=RecordEventArgs,
    result=results.EventRecorded,
    tags=LOG,
)

BUILD_ACB = ToolDef(
    name="memory_build_acb",
    description=(
        "Build the active context bundle for the next answer: rules, open tasks, decisions, what "
        "was said before and what was found, within a budget of tokens, each with the ids of the "
        "events that it comes from."
    ),
    arguments=BuildAcbArgs,
    result=results.BundleBuilt,
    read_only=True,
    tags=LOG,
)

GET_ARTIFACT = ToolDef(
    name="memory_get_artifact",
    description="Read the bytes of an artifact, such as the whole output of a tool, or a part.",
    arguments=GetArtifactArgs,
    result=results.ArtifactRead,
    read_only=True,
    tags=LOG,
)

QUERY_DECISIONS = ToolDef(
    name="memory_query_decisions",
    description="Which decisions hold, with their reasons; newest first, or the best match first.",
    arguments=QueryDecisionsArgs,
    result=results.DecisionsFound,
    read_only=True,
    tags=LOG,
)

TOOLS = (RECORD_EVENT, BUILD_ACB, GET_ARTIFACT, QUERY_DECISIONS)
