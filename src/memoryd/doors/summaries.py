"""The HTTP API of summaries: store one with what it cites, read it, have one extracted."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import ConfigDict, Field, StringConstraints

from memoryd import recording
from memoryd.core import db, errors, ids, tokens
from memoryd.core.model import (
    SENSITIVITIES,
    Actor,
    Channel,
    Draft,
    Moment,
    Name,
    Names,
    Redacted,
    Sensitivity,
)
from memoryd.custody import audit
from memoryd.doors import http
from memoryd.doors.access import CallerOf, DaemonOf, ReaderOf, WriterOf, problems, reader_for
from memoryd.ledger import extract, texts

router = APIRouter(prefix="/api/v1/summaries", tags=["summaries"], route_class=http.JsonRoute)

MAX_EXTRACT = 10_000  # tokens; what is longer is no summary


@dataclass(frozen=True, kw_only=True)
class SummaryDraft:
    __pydantic_config__ = ConfigDict(extra="forbid")

    session_id: Annotated[Name, Field(description="The conversation it sums up.")]
    text: Annotated[str, StringConstraints(min_length=1, max_length=texts.MAX_TEXT, pattern=r"\S")]
    cites: Annotated[
        Names,
        Field(min_length=1, description="The events it is made from; its readers may see all."),
    ]
    tenant_id: Annotated[Name | None, Field(description="Must be the key's own.")] = None
    user_id: Annotated[Name | None, Field(description="Whose it is.")] = None
    agent_id: Annotated[Name | None, Field(description="Which agent keeps it.")] = None
    channel: Annotated[Channel | None, Field(description="Who reads it.")] = None
    sensitivity: Annotated[
        Literal["none", "low", "high"], Field(description="At least that of what it cites.")
    ] = "none"
    actor: Annotated[Actor | None, Field(description="Who wrote it: the agent, unless said.")] = (
        None
    )
    tags: Names = ()
    ts: Moment | None = None
    idempotency_key: Annotated[
        Name | None, Field(description="A retry with the same key stores nothing new.")
    ] = None


@dataclass(frozen=True)
class SummaryRecorded:
    summary_id: str
    event_id: str
    chunk_ids: tuple[str, ...]
    created_at: datetime
    redacted: Redacted = ()


@dataclass(frozen=True)
class SummaryPage:
    summaries: tuple[texts.Summary, ...]
    next: Annotated[str | None, Field(description="Pass it as `cursor` for the next page.")]


@dataclass(frozen=True, kw_only=True)
class ExtractAsked:
    __pydantic_config__ = ConfigDict(extra="forbid")

    session_id: Annotated[Name, Field(description="The conversation to sum up.")]
    max_tokens: Annotated[int, Field(ge=1, le=MAX_EXTRACT, strict=True)] = 500
    tenant_id: Annotated[Name | None, Field(description="Must be the key's own.")] = None
    channel: Annotated[Channel | None, Field(description="Where it will be shown.")] = None
    user_id: Annotated[Name | None, Field(description="Who will see it.")] = None
    agent_id: Annotated[Name | None, Field(description="Which agent asks.")] = None


@dataclass(frozen=True)
class Extracted:
    text: str
    cites: tuple[str, ...]
    tokens: int
    sensitivity: Annotated[Sensitivity, Field(description="The highest of what it cites.")]


@router.post("", status_code=201, responses=problems(400, 409, 413, 415))
async def record_summary(
    asked: SummaryDraft, daemon: DaemonOf, caller: WriterOf
) -> SummaryRecorded:
    """Store a summary with the events it cites; searches find it, and give it less weight.

    All who may read the summary must be allowed to see what it cites, and it is at least as
    sensitive: otherwise it would tell them of it.
    """
    try:
        (write,) = await recording.prepare(caller, [_draft(asked)])
    except errors.MemorydError as error:
        error.field = (error.field or "").removeprefix("content.") or None
        raise
    async with db.tenant(daemon.pool, caller.tenant_id) as conn:
        await texts.check_cites(conn, write.event, asked.cites)
    (answer,) = await recording.commit(daemon, caller, [write])
    return SummaryRecorded(ids.same("sum", answer.event_id), **vars(answer))


def _draft(asked: SummaryDraft) -> Draft:
    return Draft(
        session_id=asked.session_id,
        actor=asked.actor or Actor(type="agent", id=asked.agent_id or "default"),
        kind="summary",
        content={"about": asked.session_id, "text": asked.text},
        tenant_id=asked.tenant_id,
        user_id=asked.user_id,
        agent_id=asked.agent_id,
        channel=asked.channel,
        sensitivity=asked.sensitivity,
        tags=asked.tags,
        refs=asked.cites,
        ts=asked.ts,
        idempotency_key=asked.idempotency_key,
    )


@router.post("/extract", responses=problems(400, 413, 415))
async def extract_summary(asked: ExtractAsked, daemon: DaemonOf, caller: CallerOf) -> Extracted:
    """Sum up a session without a model, from what the reader may see, and store nothing.

    Decisions and tasks that hold come first, then the most central sentences of the newest
    messages, in order of time; nothing is said twice. The same log gives the same text.
    """
    reader = reader_for(caller, asked.tenant_id, asked.channel, asked.user_id, asked.agent_id)
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        found = await texts.passages(conn, reader, asked.session_id)
    text, cites = await asyncio.to_thread(extract.summarize, found, asked.max_tokens)
    levels = [one.sensitivity for one in found if not {*one.cites}.isdisjoint(cites)]
    audit.tell(items=len(cites))
    return Extracted(text, tuple(cites), tokens.count(text), _highest(levels))


def _highest(levels: Sequence[Sensitivity]) -> Sensitivity:
    return max(levels, key=SENSITIVITIES.index, default="none")


@router.get("", responses=problems())
async def list_summaries(
    daemon: DaemonOf,
    reader: ReaderOf,
    session_id: Annotated[Name | None, Query(description="The conversation summed up.")] = None,
    cursor: Annotated[
        str | None,
        Query(pattern=r"^[0-9]{1,18}$", description="A log position: summaries before it."),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> SummaryPage:
    """Summaries, newest first; a `stale` one cites what is gone, superseded or replaced."""
    before = texts.LATEST if cursor is None else int(cursor)
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        found = await texts.summaries(conn, reader, session_id, cursor=before, limit=limit + 1)
    more = str(found[limit - 1].position) if len(found) > limit else None
    audit.tell(items=min(len(found), limit))
    return SummaryPage(tuple(found[:limit]), more)


@router.get("/{summary_id}", responses=problems(404))
async def get_summary(
    summary_id: Annotated[Name, Path()], daemon: DaemonOf, reader: ReaderOf
) -> texts.Summary:
    """One summary, if the reader may see it; otherwise it is as if it did not exist."""
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        found = await texts.summaries(conn, reader, summary_id=summary_id)
    if not found:
        raise errors.NotFound(f"there is no summary {summary_id!r} that you may see")
    return found[0]
