"""The HTTP API of the log: parse, one call, answer."""

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import ConfigDict, Field

from memoryd import recording
from memoryd.core import db, read
from memoryd.core.model import (
    MAX_BATCH,
    Event,
    EventDraft,
    Moment,
    Name,
    Recorded,
)
from memoryd.custody import audit
from memoryd.doors import http
from memoryd.doors.access import DaemonOf, ReaderOf, WriterOf, problems

router = APIRouter(prefix="/api/v1", route_class=http.JsonRoute)


@dataclass(frozen=True)
class Batch:
    __pydantic_config__ = ConfigDict(extra="forbid")

    events: Annotated[tuple[EventDraft, ...], Field(min_length=1, max_length=MAX_BATCH)]


@dataclass(frozen=True)
class BatchRecorded:
    events: tuple[Recorded, ...]


@dataclass(frozen=True)
class EventPage:
    events: tuple[Event, ...]
    next: Annotated[str | None, Field(description="Pass it as `cursor` for the next page.")]


@router.post("/events", status_code=201, tags=["log"], responses=problems(400, 409, 413, 415))
async def record_event(draft: EventDraft, daemon: DaemonOf, caller: WriterOf) -> Recorded:
    """Record what happened. When this answers, it is durable and can be found.

    A `tool_result` brings its whole output as `content.text` (or, in base64, `content.bytes`); the
    log keeps an excerpt of at most 64 KB and the rest as an artifact. `<|endoftext|>` and its like
    are plain text here.
    """
    writes = await recording.prepare(caller, [draft])
    (answer,) = await recording.commit(daemon, caller, writes)
    return answer


@router.post("/events/batch", status_code=201, tags=["log"], responses=problems(400, 409, 413, 415))
async def record_events(batch: Batch, daemon: DaemonOf, caller: WriterOf) -> BatchRecorded:
    """Record up to 1,000 events in one transaction: all of them, or none."""
    writes = await recording.prepare(caller, batch.events, within="events")
    return BatchRecorded(tuple(await recording.commit(daemon, caller, writes)))


async def filters_of(
    session_id: Name | None = None,
    kind: Name | None = None,
    actor: Annotated[Name | None, Query(description="The actor's id.")] = None,
    tag: Name | None = None,
    since: Annotated[Moment | None, Query(description="Not before this `ts`.")] = None,
    until: Annotated[Moment | None, Query(description="Before this `ts`.")] = None,
) -> read.Filters:
    return read.Filters(session_id, kind, actor, tag, since, until)


@router.get("/events", tags=["log"], responses=problems())
async def list_events(
    daemon: DaemonOf,
    reader: ReaderOf,
    filters: Annotated[read.Filters, Depends(filters_of)],
    order: Literal["newest", "oldest"] = "newest",
    cursor: Annotated[
        str | None,
        Query(pattern=r"^[0-9]{1,18}$", description="A log position: the page goes on from there."),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> EventPage:
    """Pages of the log. With `order=oldest` and `cursor` set to the last position seen, a client
    follows the log and misses nothing: positions are dense and in commit order.
    """
    position = int(cursor) if cursor is not None else None
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        found = await read.page(
            conn,
            reader,
            filters,
            order=order,
            cursor=position,
            limit=limit + 1,
        )
    more = str(found[limit - 1].position) if len(found) > limit else None
    audit.tell(items=min(len(found), limit))
    return EventPage(tuple(found[:limit]), more)


@router.get("/events/{event_id}", tags=["log"], responses=problems(404))
async def get_event(event_id: Annotated[Name, Path()], daemon: DaemonOf, reader: ReaderOf) -> Event:
    """One event, if the reader may see it; otherwise it is as if it did not exist."""
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        return await read.event(conn, reader, event_id)
