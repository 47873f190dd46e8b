"""Reading tasks through a reader's eyes, as they stood at a position of the log."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoryd.core import db, errors, read
from memoryd.core.model import Channel, Progress, Reader, Sensitivity


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is to be done, as its last event until some position of the log left it."""

    task_id: str
    event_id: str
    position: int
    ts: datetime
    status: Progress
    title: str
    details: str
    session_id: str
    user_id: str
    agent_id: str
    channel: Channel
    sensitivity: Sensitivity
    refs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Change:
    """What one event made of a task's status."""

    event_id: str
    position: int
    ts: datetime
    status: Progress
    reopened: bool  # it came back from done


async def page(
    conn: db.Conn,
    reader: Reader,
    statuses: Sequence[Progress] = (),
    session_id: str | None = None,
    *,
    as_of: int,
    cursor: int | None = None,
    limit: int,
) -> list[Task]:
    """At most `limit` tasks as they stood at `as_of`, last changed first.

    Without `statuses`, tasks of every status.
    """
    asked = (*read.eyes(reader), as_of, statuses or None, session_id, cursor, limit)
    return [_task(row) for row in await conn.fetch(db.query("tasks.page"), *asked)]


async def one(conn: db.Conn, reader: Reader, task_id: str, *, as_of: int) -> Task:
    asked = (*read.eyes(reader), as_of, task_id)
    row = await conn.fetchrow(db.query("tasks.one"), *asked)
    if row is None:
        raise errors.NotFound(f"there is no task {task_id!r} that you may see")
    return _task(row)


async def history(conn: db.Conn, reader: Reader, task_id: str, *, as_of: int) -> list[Change]:
    """What each event made of the task, oldest first."""
    asked = (*read.eyes(reader), as_of, task_id)
    return [Change(**row) for row in await conn.fetch(db.query("tasks.history"), *asked)]


async def events(
    conn: db.Conn, tenant_id: str, positions: Sequence[int]
) -> dict[int, tuple[str, ...]]:
    """Of the versions of tasks at `positions`, the events that gave them what they say: who quotes
    one, names all of these, so that erasing any of them erases the quotation.
    """
    found: dict[int, tuple[str, ...]] = {}
    for row in await conn.fetch(db.query("tasks.events"), tenant_id, positions):
        found[row["position"]] = (*found.get(row["position"], ()), row["event_id"])
    return found


def _task(row: Any) -> Task:
    return Task(**{**row, "refs": tuple(row["refs"])})
