"""The HTTP API of decisions: parse, one call, answer."""

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import ConfigDict, Field

from memoryd.core import db, errors, ids
from memoryd.core.content import Lines, Text
from memoryd.core.model import Moment, Name, Redacted, Scope
from memoryd.custody import audit
from memoryd.daemon import now
from memoryd.doors import http
from memoryd.doors.access import DaemonOf, ReaderOf, WriterOf, problems
from memoryd.doors.ledger import Asked, PagingOf, moment, write
from memoryd.doors.search import AsOfQuery, Question
from memoryd.ledger import decisions
from memoryd.ledger.decisions import Decision, Filters

router = APIRouter(prefix="/api/v1/decisions", tags=["ledger"], route_class=http.JsonRoute)

MOST_REFS = 20  # that one query asks for
MOST_CONFLICTS = 20  # that an answer shows whole; a read lists the ids of all


@dataclass(frozen=True, kw_only=True)
class DecisionAsked(Asked):
    __pydantic_config__ = ConfigDict(extra="forbid")

    decision: Annotated[Text, Field(description="What was decided.")]
    scope: Annotated[Scope, Field(description="What it holds for.")] = "project"
    subject: Annotated[
        Name | None,
        Field(description="What it is about: two active decisions of one subject conflict."),
    ] = None
    rationale: Lines = field(default_factory=list)
    constraints: Lines = field(default_factory=list)
    alternatives: Lines = field(default_factory=list)
    consequences: Lines = field(default_factory=list)
    supersedes: Annotated[
        Name | None,
        Field(description="The decision that it replaces, of the same channel and sensitivity."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class DecisionRecorded(Decision):
    conflicts: Annotated[  # type: ignore[assignment]  # whole, to act on; a read lists their ids
        tuple[Decision, ...],
        Field(description="Active decisions that seem to speak of the same; none was changed."),
    ]
    chunk_ids: tuple[str, ...]
    created_at: datetime
    redacted: Redacted = ()


@dataclass(frozen=True, kw_only=True)
class Lineage:
    """Each oldest first."""

    ancestors: Annotated[tuple[Decision, ...], Field(description="All that it replaced.")]
    descendants: Annotated[tuple[Decision, ...], Field(description="All that replaced it.")]


@dataclass(frozen=True, kw_only=True)
class DecisionFound(Decision):
    lineage: Lineage


@dataclass(frozen=True)
class DecisionPage:
    decisions: tuple[Decision, ...]
    next: Annotated[str | None, Field(description="Pass it as `cursor` for the next page.")]
    position: Annotated[int, Field(description="How far into the log this looked.")]


@router.post("", status_code=201, responses=problems(400, 409, 413, 415))
async def record_decision(
    asked: DecisionAsked, daemon: DaemonOf, caller: WriterOf
) -> DecisionRecorded:
    """Record a decision. The one that it `supersedes` is active no more and keeps its lineage;
    `conflicts` are reported, and left as they are.

    An event of `kind=decision` does the same.
    """
    done = await write(daemon, caller, "decision", asked)
    decision_id = ids.same("dec", done.recorded.event_id)
    async with db.tenant(daemon.pool, caller.tenant_id) as conn:
        at = await done.position(conn)
        (made,) = await decisions.named(conn, done.owner, [decision_id], as_of=at)
        rivals = made.conflicts[:MOST_CONFLICTS]
        conflicts = await decisions.named(conn, done.writer, rivals, as_of=at)
    answer = asdict(made) | asdict(done.recorded) | {"conflicts": tuple(conflicts)}
    return DecisionRecorded(**answer)


async def filters_of(
    status: Literal["active", "superseded", "all"] = "active",
    scope: Scope | None = None,
    ref: Annotated[
        list[Name] | None,
        Query(max_length=MOST_REFS, description="An id that it cites; repeated: all of them."),
    ] = None,
    since: Annotated[Moment | None, Query(description="Not before this `ts`.")] = None,
    until: Annotated[Moment | None, Query(description="Before this `ts`.")] = None,
) -> Filters:
    standing = None if status == "all" else status
    return Filters(status=standing, scope=scope, refs=tuple(ref or ()), since=since, until=until)


@router.get("/query", responses=problems())
async def query_decisions(
    daemon: DaemonOf,
    reader: ReaderOf,
    filters: Annotated[Filters, Depends(filters_of)],
    paging: PagingOf,
    text: Annotated[
        Question | None,
        Query(description="Puts the best match first; there is one page, so raise `limit`."),
    ] = None,
) -> DecisionPage:
    """Decisions as they stand, or stood at `as_of`: newest first, or with `text` the best match
    first.
    """
    if text is not None and paging.cursor is not None:
        raise errors.Invalid("a query by text has one page; raise `limit` instead", field="cursor")
    if text is not None and not text.strip():
        raise errors.Invalid("it is blank; leave it out to list all of them", field="text")
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        at, after = await paging.begin(conn, reader)
        if text is None:
            found = await decisions.page(
                conn, reader, filters, as_of=at, cursor=after, limit=paging.limit + 1
            )
            audit.tell(items=min(len(found), paging.limit))
            return DecisionPage(tuple(found[: paging.limit]), paging.more(found, at), at)
    best = await decisions.ranked(
        *(daemon.pool, daemon.searcher, reader, filters, text), now=now(), as_of=at
    )
    audit.tell(items=min(len(best), paging.limit))
    return DecisionPage(tuple(best[: paging.limit]), None, at)


@router.get("/{decision_id}", responses=problems(404))
async def get_decision(
    decision_id: Annotated[Name, Path()],
    daemon: DaemonOf,
    reader: ReaderOf,
    as_of: AsOfQuery = None,
) -> DecisionFound:
    """One decision with its lineage both ways, if the reader may see it; otherwise it is as if it
    did not exist.
    """
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        at = await moment(conn, reader, as_of)
        line = await decisions.line(conn, reader, decision_id, as_of=at)
    lineage = Lineage(ancestors=line.ancestors, descendants=line.descendants)
    return DecisionFound(**asdict(line.decision), lineage=lineage)
