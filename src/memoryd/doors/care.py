"""The HTTP API of looking after memories: audit, proposals; parse, one call, answer."""

from dataclasses import dataclass
from datetime import datetime
from shlex import quote
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from pydantic import ConfigDict, Field

from memoryd.core.model import Actor
from memoryd.daemon import now
from memoryd.doors import http
from memoryd.doors.access import CallerOf, DaemonOf, WriterOf, problems
from memoryd.doors.remembered import AgentText, AskingOf, own_eyes
from memoryd.doors.search import Instant
from memoryd.memories import consolidate, refuse, wording
from memoryd.memories.consolidate import Care, Weighed
from memoryd.memories.findings import Finding
from memoryd.memories.proposals import Proposal

router = APIRouter(prefix="/api/v1/memories", tags=["memories"], route_class=http.JsonRoute)

ProposalId = Annotated[
    str, Path(pattern=r"^prp_[0-9a-f]{16}$", description="As the list of proposals has it.")
]
NowQuery = Annotated[
    Instant | None, Query(alias="now", description="By which age is reckoned, if not now.")
]


async def care_of(daemon: DaemonOf, caller: CallerOf, asking: AskingOf) -> Care:
    """With an agent named, or pinned by the key, its own memories are looked at too."""
    reader = asking.reader(caller)
    agent_id = asking.agent_id or caller.agent_id
    if agent_id is not None:
        own_eyes(caller, asking)
    actor = Actor(type="agent", id=agent_id) if agent_id else Actor(type="human", id=reader.user_id)
    return Care(daemon=daemon, caller=caller, reader=reader, agent_id=agent_id, actor=actor)


CareOf = Annotated[Care, Depends(care_of)]


@dataclass(frozen=True)
class Audit:
    findings: Annotated[tuple[Finding, ...], Field(description="By kind.")]
    counts: Annotated[dict[str, int], Field(description="How many of each kind.")]


@dataclass(frozen=True)
class Importance:
    memories: Annotated[tuple[Weighed, ...], Field(description="The most important first.")]


@dataclass(frozen=True)
class Proposals:
    proposals: tuple[Proposal, ...]
    wording: Annotated[
        str | None, Field(description="Asked for: who worded them, or why the model did not.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class ApplyAsked:
    __pydantic_config__ = ConfigDict(extra="forbid")

    text: Annotated[
        AgentText | None, Field(description="What is to be remembered, if worded otherwise.")
    ] = None


@dataclass(frozen=True)
class Applied:
    proposal_id: str
    memory_ids: Annotated[tuple[str, ...], Field(description="What was changed.")]
    undo: Annotated[str, Field(description="What takes it back.")]


@dataclass(frozen=True)
class Undone:
    proposal_id: str
    memory_ids: Annotated[tuple[str, ...], Field(description="What is as it was before.")]


@router.get("/audit", responses=problems())
async def audit_memories(care: CareOf, at: NowQuery = None) -> Audit:
    """What is wrong with the memories of a user: duplicates, contradictions by subject, never
    recalled, stale, oversized; each with a line that puts it right. No model is asked.
    """
    found = await consolidate.audit(care, _moment(at))
    counts: dict[str, int] = {}
    for one in found:
        counts[one.kind] = counts.get(one.kind, 0) + 1
    return Audit(tuple(found), counts)


@router.get("/importance", responses=problems())
async def weigh_memories(care: CareOf, at: NowQuery = None) -> Importance:
    """How much each fact of a user matters now: how often and when last a model was given it, in
    prompts and bundles. Importance is 1 when it was just written or read, and halves in a month
    unread, more slowly the more often it was read.
    """
    return Importance(tuple(await consolidate.weigh(care, _moment(at))))


@router.get("/proposals", responses=problems())
async def list_proposals(
    care: CareOf,
    at: NowQuery = None,
    reword: Annotated[
        bool, Query(alias="wording", description="Let the configured model word them.")
    ] = False,
) -> Proposals:
    """What could be tidied up: near-duplicate facts merged, recurring journal entries promoted to
    core, faded facts retired. Each cites its sources; nothing is done until it is applied.

    With `wording`, the model of `MEMORYD_CHAT_URL` is sent the sources and words the outcome;
    where it fails, the wording without a model stays. To take its words, apply with that `text`.
    """
    found = await consolidate.propose(care, _moment(at))
    if not reword:
        return Proposals(tuple(found))
    worded = await wording.word(care.daemon.settings, found)
    return Proposals(worded.proposals, worded.note)


@router.post("/proposals/{proposal_id}/apply", responses=problems(400, 404, 409, 413, 415))
async def apply_proposal(
    proposal_id: ProposalId,
    care: CareOf,
    _: WriterOf,
    asked: ApplyAsked | None = None,
    at: NowQuery = None,
) -> Applied:
    """Do what is proposed, all of it or nothing; with a body, in the words of its `text`."""
    text = asked.text if asked else None
    refuse.secrets(text=text)
    done = await consolidate.apply(care, proposal_id, _moment(at), text)
    whose = "" if care.reader.user_id == "default" else f" --user {quote(care.reader.user_id)}"
    whose += f" --agent {quote(care.agent_id)}" if care.agent_id else ""
    back = f"memoryd consolidate --undo {proposal_id}{whose}"
    return Applied(done.proposal_id, done.memory_ids, back)


@router.post("/proposals/{proposal_id}/undo", responses=problems(404, 409))
async def undo_proposal(proposal_id: ProposalId, care: CareOf, _: WriterOf) -> Undone:
    """Take back what applying it did; what somebody changed since is left alone."""
    done = await consolidate.undo(care, proposal_id)
    return Undone(done.proposal_id, done.memory_ids)


def _moment(given: datetime | None) -> datetime:
    return given or now()
