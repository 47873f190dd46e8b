"""Events → decisions and tasks: the views that an event changes, in the event's own transaction.

A replay runs the same functions over the same events, so it must find the same rows.
"""

from memoryd.core import db, errors, ids
from memoryd.core.model import Event

TABLES = ("chunks", "decisions", "tasks")  # all that views.sql makes


async def project(conn: db.Conn, event: Event) -> None:
    """Change what `event` changes; most kinds change nothing."""
    if event.sensitivity == "secret":
        return
    if event.kind == "decision":
        await _decide(conn, event)
    elif event.kind == "task_update":
        await _update_task(conn, event)


async def _decide(conn: db.Conn, event: Event) -> None:
    said = event.content
    decision_id = ids.same("dec", event.event_id)
    if old := said.get("supersedes"):
        await _supersede(conn, event, old, decision_id)
    await conn.execute(
        db.query("project.add_decision"),
        *(event.tenant_id, decision_id, event.event_id, event.ts, said.get("scope", "project")),
        *(said["decision"], said.get("rationale", []), said.get("constraints", [])),
        *(said.get("alternatives", []), said.get("consequences", []), old, event.session_id),
        *(event.user_id, event.agent_id, event.channel, event.sensitivity, event.refs),
    )


async def _supersede(conn: db.Conn, event: Event, old: str, new: str) -> None:
    owner = (event.channel, event.sensitivity, event.user_id)
    row = await conn.fetchrow(db.query("project.supersede"), event.tenant_id, old, new, *owner)
    if row is None:
        raise errors.Invalid(
            f"there is no decision {old!r} of this channel and sensitivity",
            field="content.supersedes",
        )
    if row["superseded_by"] != new:
        raise errors.Conflict(
            f"decision {old!r} was superseded by {row['superseded_by']!r} already: supersede that",
            field="content.supersedes",
        )


async def _update_task(conn: db.Conn, event: Event) -> None:
    said = event.content
    values = (
        *(event.event_id, event.ts, said.get("status"), said.get("title"), said.get("details")),
        event.refs,
    )
    if task_id := said.get("task_id"):
        owner = (event.channel, event.sensitivity, event.user_id)
        task = (event.tenant_id, task_id, *values, *owner)
        if not await conn.fetchval(db.query("project.update_task"), *task):
            raise errors.Invalid(
                f"there is no task {task_id!r} of this channel and sensitivity",
                field="content.task_id",
            )
        return
    await conn.execute(
        db.query("project.add_task"),
        *(event.tenant_id, ids.same("tsk", event.event_id), *values, event.session_id),
        *(event.user_id, event.agent_id, event.channel, event.sensitivity),
    )
