"""The HTTP API of the log: parse, one call, answer."""

import asyncio
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import ConfigDict, Field

from memoryd.core import db, errors, privacy, read, record
from memoryd.core.model import (
    MAX_BATCH,
    Caller,
    Draft,
    Event,
    EventDraft,
    Moment,
    Name,
    Reader,
    Recorded,
)
from memoryd.custody import audit
from memoryd.daemon import Daemon, entropy, now
from memoryd.doors import http
from memoryd.doors.access import DaemonOf, ReaderOf, WriterOf, problems

# Of text; more is filtered, cut and counted in a thread, so that others are served: the worst text
# costs the filter 15 µs a character.
INLINE_BYTES = 8 * 1024
DRAFTS_A_TURN = 10  # of a batch, about a millisecond of work, before others get a turn

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
    writes = await prepare(caller, [draft])
    (answer,) = await commit(daemon, caller, writes)
    return answer


@router.post("/events/batch", status_code=201, tags=["log"], responses=problems(400, 409, 413, 415))
async def record_events(batch: Batch, daemon: DaemonOf, caller: WriterOf) -> BatchRecorded:
    """Record up to 1,000 events in one transaction: all of them, or none."""
    writes = await prepare(caller, batch.events, within="events")
    return BatchRecorded(tuple(await commit(daemon, caller, writes)))


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


async def prepare(
    caller: Caller, drafts: Sequence[Draft], output: bytes | None = None, within: str = ""
) -> list[record.Write]:
    """Cut and count each draft: a short one here, a long one in a thread.

    A refusal names the draft by its place, as `events.3.ts`, when they came `within` a list.

    A thread for short ones too would fight the event loop for the interpreter's lock, which made
    batches ten times slower; others are let in between instead.
    """
    moment = now()
    writes = []
    for at, draft in enumerate(drafts):
        size = len(output or b"") + sum(len(str(value)) for value in draft.content.values())
        place = f"{within}.{at}." if within else ""
        work = functools.partial(_prepare, caller, draft, moment, output, place)
        writes.append(await asyncio.to_thread(work) if size > INLINE_BYTES else work())
        if at % DRAFTS_A_TURN == DRAFTS_A_TURN - 1:
            await asyncio.sleep(0)
    return writes


async def commit(daemon: Daemon, caller: Caller, writes: Sequence[record.Write]) -> list[Recorded]:
    """Write them to the log, and note that this was done."""
    answers = await daemon.group.commit(caller.tenant_id, writes)
    first = writes[0].event
    eyes = Reader(
        tenant_id=first.tenant_id,
        channel=first.channel,
        user_id=first.user_id,
        agent_id=first.agent_id,
    )
    audit.tell(reader=eyes, recorded=len(answers), ref=answers[0].event_id)
    return answers


def _prepare(
    caller: Caller, draft: Draft, moment: datetime, output: bytes | None, place: str
) -> record.Write:
    try:
        write = record.prepare(caller, draft, moment, entropy(), output)
        _check_sight(caller, write.event)
    except errors.MemorydError as error:
        if error.field:
            error.field = place + error.field
        raise
    return write


def _check_sight(caller: Caller, event: Event) -> None:
    """What a key cannot read it does not change either: the answer would tell of it."""
    changes = event.content.get("supersedes") or event.content.get("task_id")
    if event.kind not in ("decision", "task_update") or not changes or not caller.channel:
        return
    if event.sensitivity not in privacy.RULES[caller.channel].sensitivities:
        raise errors.Forbidden(
            f"a key of channel {caller.channel!r} does not see what is {event.sensitivity!r}, "
            "and so does not change it",
            field="sensitivity",
        )
