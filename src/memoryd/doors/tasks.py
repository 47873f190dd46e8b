"""The HTTP API of tasks: parse, one call, answer."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import ConfigDict, Field

from memoryd.core import db, errors, ids
from memoryd.core.content import Text
from memoryd.core.model import Name, Progress, Redacted
from memoryd.custody import audit
from memoryd.doors import http
from memoryd.doors.access import DaemonOf, ReaderOf, WriterOf, problems
from memoryd.doors.ledger import Asked, PagingOf, moment, write
from memoryd.doors.search import AsOfQuery
from memoryd.ledger import tasks
from memoryd.ledger.tasks import Change, Task

router = APIRouter(prefix="/api/v1/tasks", tags=["ledger"], route_class=http.JsonRoute)


@dataclass(frozen=True, kw_only=True)
class TaskAsked(Asked):
    __pydantic_config__ = ConfigDict(extra="forbid")

    task_id: Annotated[
        Name | None,
        Field(description="The task to change, of the same channel and sensitivity."),
    ] = None
    title: Annotated[Text | None, Field(description="A new task needs one.")] = None
    details: str | None = None
    status: Annotated[Progress | None, Field(description="A new task is open.")] = None


@dataclass(frozen=True, kw_only=True)
class TaskRecorded(Task):
    chunk_ids: tuple[str, ...]
    created_at: datetime
    redacted: Redacted = ()


@dataclass(frozen=True, kw_only=True)
class TaskFound(Task):
    history: Annotated[tuple[Change, ...], Field(description="Oldest first.")]


@dataclass(frozen=True)
class TaskPage:
    tasks: tuple[Task, ...]
    next: Annotated[str | None, Field(description="Pass it as `cursor` for the next page.")]
    position: Annotated[int, Field(description="How far into the log this looked.")]


@router.post(
    "",
    status_code=201,
    responses={
        200: {"model": TaskRecorded, "description": "Changed"},
        **problems(400, 409, 413, 415),
    },
)
async def record_task(
    asked: TaskAsked, response: Response, daemon: DaemonOf, caller: WriterOf
) -> TaskRecorded:
    """Make a task (201) or, with `task_id`, change what is named of one (200). Every change of
    status is allowed; one from `done` is marked as reopened in the task's history.

    An event of `kind=task_update` does the same.
    """
    if (asked.task_id, asked.title, asked.details, asked.status) == (None, None, None, None):
        raise errors.Invalid(
            "a new task needs a `title`; a change, a `task_id` and what is to change", field="body"
        )
    done = await write(daemon, caller, "task_update", asked)
    task_id = asked.task_id or ids.same("tsk", done.recorded.event_id)
    async with db.tenant(daemon.pool, caller.tenant_id) as conn:
        at = await done.position(conn)
        task = await tasks.one(conn, done.owner, task_id, as_of=at)
    response.status_code = 200 if asked.task_id else 201
    return TaskRecorded(**asdict(task) | asdict(done.recorded))


@router.get("", responses=problems())
async def list_tasks(
    daemon: DaemonOf,
    reader: ReaderOf,
    paging: PagingOf,
    status: Annotated[
        list[Progress] | None, Query(max_length=3, description="Repeated: any of them.")
    ] = None,
    session_id: Annotated[Name | None, Query(description="In which it was created.")] = None,
) -> TaskPage:
    """Tasks as they stand, or stood at `as_of`, last changed first."""
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        at, after = await paging.begin(conn, reader)
        found = await tasks.page(
            *(conn, reader, status or (), session_id),
            as_of=at,
            cursor=after,
            limit=paging.limit + 1,
        )
    audit.tell(items=min(len(found), paging.limit))
    return TaskPage(tuple(found[: paging.limit]), paging.more(found, at), at)


@router.get("/{task_id}", responses=problems(404))
async def get_task(
    task_id: Annotated[Name, Path()],
    daemon: DaemonOf,
    reader: ReaderOf,
    as_of: AsOfQuery = None,
) -> TaskFound:
    """One task with what each event made of it, if the reader may see it; otherwise it is as if it
    did not exist.
    """
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        at = await moment(conn, reader, as_of)
        task = await tasks.one(conn, reader, task_id, as_of=at)
        history = await tasks.history(conn, reader, task_id, as_of=at)
    return TaskFound(**asdict(task), history=tuple(history))
