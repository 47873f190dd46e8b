"""Events → decisions, tasks, editable texts, summaries and handoffs, in the event's transaction;
memories and references by projections of their own.

A replay runs the same functions over the same events, so it must find the same rows.
"""

import functools
from collections.abc import Awaitable, Callable
from typing import Any

from memoryd.core import db, errors, ids
from memoryd.core.model import Event
from memoryd.memories import project as memories
from memoryd.memories.model import folded
from memoryd.seal import rows as sealed
from memoryd.seal.vault import Keys
from memoryd.search import analyze

# What the projections below fill, and the chunks.
TABLES = ("chunks", "decisions", "tasks", "view_texts", "summaries", "handoffs", *memories.TABLES)
MOST_RIVALS = 20  # conflicts reported of one decision, the newest
ALIKE = 0.6  # of the shorter decision's terms: then the two seem to speak of the same


async def project(conn: db.Conn, event: Event, keys: Keys) -> None:
    """Change what `event` changes; most kinds change nothing. `keys` seal what it says."""
    change = _CHANGES.get(event.kind)
    if change is not None and event.sensitivity != "secret":
        await change(conn, event, keys)


def _row(event: Event) -> tuple[Any, ...]:
    """What every row takes from its event."""
    return (
        *(event.tenant_id, event.event_id, event.position, event.ts, event.session_id),
        *(event.user_id, event.agent_id, event.channel, event.sensitivity, event.refs),
    )


def _owner(event: Event) -> tuple[str, ...]:
    """Whose rows `event` may change."""
    return (event.tenant_id, event.channel, event.sensitivity, event.user_id)


def _where(event: Event) -> str:
    """Where a refused change looked: what is elsewhere is not told apart from what is nowhere."""
    return (
        f"in channel {event.channel!r} with sensitivity {event.sensitivity!r}"
        " that you may change; name the channel and sensitivity that it has"
    )


async def _decide(conn: db.Conn, event: Event, keys: Keys) -> None:
    said = event.content
    decision_id = ids.same("dec", event.event_id)
    old, scope = said.get("supersedes"), said.get("scope", "project")
    old = old and await _supersede(conn, event, old, decision_id)
    topic = sealed.key(keys, event, folded(said.get("subject")))
    asked = (*_owner(event), scope, topic, said["decision"])
    rivals = await conn.fetch(db.query("project.rivals"), *asked)
    parts = ("rationale", "constraints", "alternatives", "consequences")
    await conn.execute(
        db.query("project.add_decision"),
        *(*_row(event), decision_id, scope),
        *(sealed.text(keys, event, said.get(name)) for name in ("subject", "decision")),
        *(sealed.texts(keys, event, said.get(part, [])) for part in parts),
        *(old, _conflicts(said, rivals), topic),
    )


async def _supersede(conn: db.Conn, event: Event, old: str, new: str) -> str:
    """Returns which it was: what an erased one had replaced, in that one's place."""
    changed = (*_owner(event), old, new, event.position)
    row = await conn.fetchrow(db.query("project.supersede"), *changed)
    if row is None and await _erased_since(conn, event, old):
        return old
    if row is None:
        raise errors.Invalid(
            f"there is no decision {old!r} {_where(event)}", field="content.supersedes"
        )
    if row["superseded_by"] != new:
        last = await conn.fetchval(db.query("project.last_of_line"), event.tenant_id, old)
        raise errors.Conflict(
            f"decision {old!r} was superseded already: supersede {last!r}, which holds now",
            field="content.supersedes",
        )
    return str(row["decision_id"])


async def _erased_since(conn: db.Conn, event: Event, referred: str | None) -> bool:
    """Whether what `event` refers to was there then, and erased later: a replay passes over it."""
    asked = (event.tenant_id, ids.same("evt", referred or ""), event.position)
    return bool(await conn.fetchval(db.query("project.erased_since"), *asked))


async def _check_cited(conn: db.Conn, event: Event) -> None:
    """A text made of others, under way while one of these was erased, would bring it back."""
    gone = await conn.fetchval(db.query("project.erased"), event.tenant_id, event.refs)
    if gone is not None:
        raise errors.Conflict(f"{gone!r}, which it cites, was erased: make it anew", field="refs")


def _conflicts(said: dict[str, Any], rivals: list[Any]) -> list[str]:
    """The active decisions that seem to speak of the same: of one subject, or in the same words."""
    subject, terms = folded(said.get("subject")), _terms(said["decision"])
    found = []
    for rival in rivals:
        other, theirs = folded(rival["subject"]), _terms(rival["decision"])
        alike = len(terms & theirs) >= max(2, ALIKE * min(len(terms), len(theirs)))
        same = rival["decision"] == said["decision"]  # said again, not contradicted
        if not same and (subject == other if subject and other else alike):
            found.append(rival["decision_id"])
    return found[:MOST_RIVALS]


@functools.lru_cache(maxsize=4096)
def _terms(decision: str) -> frozenset[str]:
    """Each is compared with hundreds of others."""
    return frozenset(analyze.query_terms(decision))


async def _update_task(conn: db.Conn, event: Event, keys: Keys) -> None:
    said = event.content
    given = said.get("task_id")
    task_id = given or ids.same("tsk", event.event_id)
    words = (sealed.text(keys, event, said.get(name), task_id) for name in ("title", "details"))
    values = (said.get("status"), *words)
    if given:
        when = (event.position, event.event_id, event.ts, event.refs)
        changed = (*_owner(event), task_id, *when, *values)
        found = await conn.fetchval(db.query("project.update_task"), *changed)
        if not found and not await _erased_since(conn, event, task_id):
            raise errors.Invalid(
                f"there is no task {task_id!r} {_where(event)}", field="content.task_id"
            )
        return
    await conn.execute(db.query("project.add_task"), *_row(event), task_id, *values)


async def _edit_view(conn: db.Conn, event: Event, keys: Keys) -> None:
    said = event.content
    key = (event.tenant_id, said["name"], said["owner"])
    current = await conn.fetchrow(db.query("project.current_text"), *key)
    old = said.get("replaces", current and current["event_id"])
    if old != (current and current["event_id"]) and not await _erased_since(conn, event, old):
        raise errors.Conflict(
            f"{said['name']} was edited meanwhile: read it again, and edit that", field="replaces"
        )
    if current is not None and current["channel"] != event.channel:
        raise errors.Invalid(
            f"{said['name']} is kept in another channel; say which", field="channel"
        )
    await conn.execute(db.query("project.end_text"), *key, event.position)
    text = sealed.text(keys, event, said["text"])
    await conn.execute(db.query("project.add_text"), *_row(event), *key[1:], text)


async def _summarize(conn: db.Conn, event: Event, keys: Keys) -> None:
    await _check_cited(conn, event)
    summary_id = ids.same("sum", event.event_id)
    about = (event.content["about"], sealed.text(keys, event, event.content["text"]))
    await conn.execute(db.query("project.add_summary"), *_row(event), summary_id, *about)


async def _hand_over(conn: db.Conn, event: Event, keys: Keys) -> None:
    said = event.content
    if handoff_id := said.get("handoff_id"):
        await _answer_handoff(conn, event, handoff_id, keys)
        return
    await _check_cited(conn, event)
    handoff_id = ids.same("hnd", event.event_id)
    words = (sealed.text(keys, event, said[name], handoff_id) for name in ("note", "packet"))
    packed = (said["to_agent"], *words)
    await conn.execute(db.query("project.add_handoff"), *_row(event), handoff_id, *packed)


async def _answer_handoff(conn: db.Conn, event: Event, handoff_id: str, keys: Keys) -> None:
    said = event.content
    status = await conn.fetchval(
        db.query("project.answer_handoff"),
        *(event.tenant_id, handoff_id, event.agent_id, event.position, event.event_id, event.ts),
        *(event.session_id, said["status"], sealed.text(keys, event, said["note"], handoff_id)),
    )
    if status is None and await _erased_since(conn, event, handoff_id):
        return
    if status is None:
        raise errors.NotFound(f"there is no handoff {handoff_id!r} to the agent {event.agent_id!r}")
    if status != "pending":
        raise errors.Conflict(f"handoff {handoff_id!r} was {status} already", field="handoff_id")


_CHANGES: dict[str, Callable[[db.Conn, Event, Keys], Awaitable[None]]] = {
    "decision": _decide,
    "task_update": _update_task,
    "view": _edit_view,
    "summary": _summarize,
    "handoff": _hand_over,
    **memories.CHANGES,
}
