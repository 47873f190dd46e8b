"""Events of kind `memory` → memories and mentions, in the event's transaction; those that speak of
references, and those that store one, by a projection of their own.

A change reads the memory as it stands and writes its next row; the tenant's lock is held, so
nothing comes between.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from memoryd.core import db, errors
from memoryd.core.model import Event
from memoryd.memories import model
from memoryd.references import project as references
from memoryd.seal.vault import Keys

Row = dict[str, Any]
TABLES = ("memories", "mentions", *references.TABLES)

_REVIVING = ("undelete", "restore")  # what a deleted memory still takes
COLUMNS = (
    *("tenant_id", "memory_id", "event_id", "position", "ts", "op", "type", "category"),
    *("subject", "subject_key", "text", "place_id", "version", "text_position", "updated_at"),
    *("created_at", "born", "session_id", "user_id", "agent_id", "channel", "sensitivity"),
    *("is_active", "deleted", "evicted", "refs", "source_conversation_id", "source_message_id"),
)


async def project(conn: db.Conn, event: Event, _: Keys) -> None:
    """Nothing is sealed: no door takes a memory that is `high`."""
    op = event.content["op"]
    if event.content.get("type") == "reference":
        await references.change(conn, event)
    elif op == "add":
        await _add(conn, event)
    elif op == "place":
        await _keep_place(conn, event)
    else:
        await _change(conn, event)


async def _add(conn: db.Conn, event: Event) -> None:
    said = event.content
    if await conn.fetchval(db.query("memories.taken"), event.tenant_id, said["memory_id"]):
        raise model.Taken(f"the id {said['memory_id']!r} is taken", field="memory_id")
    key = model.folded(said.get("subject"))
    if said["type"] == "fact" and key and not said.get("force"):
        await _refuse_rival(conn, event, said["subject"], key, said["memory_id"])
    await _put(conn, _fresh(event))


async def _keep_place(conn: db.Conn, event: Event) -> None:
    """A place that is known gets its new name and notes, and keeps its mentions."""
    said = event.content
    found = await conn.fetchrow(
        db.query("memories.current_place"), *_owner(event), said["place_id"]
    )
    if found is None:
        if await conn.fetchval(db.query("memories.taken"), event.tenant_id, said["memory_id"]):
            raise model.Taken(f"the id {said['memory_id']!r} is taken", field="memory_id")
        await _put(conn, _fresh(event))
        memory_id = said["memory_id"]
    else:
        text = {**said, "text": said.get("text", found["text"])}
        await _replace(conn, event, dict(found), _versioned(event, dict(found), text))
        memory_id = found["memory_id"]
    if "mention" in said:
        await _mention(conn, event, memory_id)


async def _change(conn: db.Conn, event: Event) -> None:
    memory_id, op = event.content["memory_id"], event.content["op"]
    found = await conn.fetchrow(db.query("memories.current"), *_owner(event), memory_id)
    if found is None or (found["deleted"] and op not in _REVIVING):
        if not await _erased_since(conn, event):
            raise model.Deleted(memory_id) if found else model.missing(memory_id)
    elif op == "mention":
        await _mention(conn, event, memory_id)
    elif (changes := await _changes(conn, event, dict(found))) is not None:
        await _replace(conn, event, dict(found), changes)


async def _changes(conn: db.Conn, event: Event, old: Row) -> Row | None:
    """What `event` changes of `old`; None where an erasure took what it speaks of."""
    op = event.content["op"]
    if op == "promote":  # a version of its own, so that it can be taken back
        return {"type": "core", "version": old["version"] + 1, "updated_at": event.ts}
    if op == "evict":
        await _check_eviction(conn, event, old)
    if op == "update":
        changes: Row | None = _versioned(event, old, event.content)
    else:
        changes = await _restored(conn, event, old) if op == "restore" else dict(_FLAGS[op])
    if changes is None:
        return None
    changes |= {"is_active": True} if event.content.get("holds") else {}
    if _holds(old | changes) and not _holds(old):
        await _check_subject(conn, event, old)
    return changes


_FLAGS: Mapping[str, Row] = {
    "delete": {"deleted": True},
    "undelete": {"deleted": False, "evicted": False},
    "deactivate": {"is_active": False},
    "activate": {"is_active": True, "evicted": False},
    "evict": {"evicted": True},
}


def _versioned(event: Event, old: Row, said: Mapping[str, Any]) -> Row:
    """A new text; whoever writes one wants it seen, so it is in the document again."""
    subject = said.get("subject", old["subject"])
    return {
        "text": said["text"],
        "subject": subject,
        "subject_key": model.folded(subject),
        "version": old["version"] + 1,
        "text_position": event.position,
        "updated_at": event.ts,
        "evicted": False,
        "deleted": False,
        "source_conversation_id": said.get("source_conversation_id"),
        "source_message_id": said.get("source_message_id"),
    }


async def _restored(conn: db.Conn, event: Event, old: Row) -> Row | None:
    """The text of an earlier version again: what was found of it then is found again."""
    made_by = event.content["restores"]
    key = (event.tenant_id, old["memory_id"], made_by)
    found = await conn.fetchrow(db.query("memories.made_by"), *key)
    if found is None:
        if await _erased_since(conn, event):
            return None
        raise errors.NotFound(f"memory {old['memory_id']!r} has no such version")
    shown = {"evicted": False, "deleted": False}
    return {**found, "version": old["version"] + 1, "updated_at": event.ts, **shown}


def _holds(row: Row) -> bool:
    return bool(row["is_active"] and not row["deleted"])


async def _check_subject(conn: db.Conn, event: Event, old: Row) -> None:
    """What comes back must not contradict what was remembered of its subject meanwhile.

    An event that does not speak of `force` was recorded before this was asked.
    """
    if old["type"] != "fact" or old["subject_key"] is None or event.content.get("force", True):
        return
    said = (old["subject"], old["subject_key"], old["memory_id"])
    otherwise = "" if event.content["op"] == "update" else ", or keep both with `force`"
    await _refuse_rival(conn, event, *said, otherwise)


async def _refuse_rival(
    conn: db.Conn, event: Event, subject: str, key: str, memory_id: str, otherwise: str = ""
) -> None:
    asked = (*_owner(event), key, memory_id)
    rival = await conn.fetchrow(db.query("memories.same_subject"), *asked)
    if rival is not None and not await _erased_since(conn, event):
        raise model.SameSubject(subject, rival["memory_id"], rival["text"], otherwise)


async def _check_eviction(conn: db.Conn, event: Event, old: Row) -> None:
    """It was decided on a document that nobody has changed since."""
    key = (event.tenant_id, event.user_id)
    last = await conn.fetchval(db.query("memories.document_position"), *key)
    moved = old["evicted"] or last > event.content["document"]
    if moved and not await _erased_since(conn, event):
        raise errors.Conflict("the document was changed meanwhile: decide again", field="document")


async def _mention(conn: db.Conn, event: Event, memory_id: str) -> None:
    said = event.content["mention"]
    await conn.execute(
        db.query("memories.mention"),
        *(event.tenant_id, memory_id, event.position, event.event_id, event.ts),
        *(said["conversation_id"], said["message_id"]),
    )


def _fresh(event: Event) -> Row:
    said = event.content
    names = ("memory_id", "op", "category", "subject", "place_id")
    sources = ("source_conversation_id", "source_message_id")
    return {
        **{name: said.get(name) for name in (*names, *sources)},
        "type": said.get("type", "place"),
        "subject_key": model.folded(said.get("subject")),
        "text": said.get("text", ""),
        "version": 1,
        "text_position": event.position,
        "updated_at": event.ts,
        "created_at": event.ts,
        "born": event.position,
        "is_active": True,
        "deleted": False,
        "evicted": False,
        **{name: getattr(event, name) for name in _PLACED if name != "memory_id"},
        **{name: getattr(event, name) for name in ("session_id", "user_id", "agent_id")},
        **{name: getattr(event, name) for name in ("channel", "sensitivity", "refs")},
    }


_PLACED = ("tenant_id", "event_id", "position", "ts")


async def _replace(conn: db.Conn, event: Event, old: Row, changes: Row) -> None:
    await conn.execute(db.query("memories.end"), event.tenant_id, old["memory_id"], event.position)
    placed = {name: getattr(event, name) for name in _PLACED}
    cited = (*old["refs"], *(ref for ref in event.refs if ref not in old["refs"]))
    await _put(conn, old | changes | placed | {"op": event.content["op"], "refs": cited})


async def _put(conn: db.Conn, row: Row) -> None:
    await conn.execute(db.query("memories.put"), *(row[name] for name in COLUMNS))


def _owner(event: Event) -> tuple[str, ...]:
    """Whose memories `event` may change."""
    return (event.tenant_id, event.channel, event.sensitivity, event.user_id)


async def _erased_since(conn: db.Conn, event: Event) -> bool:
    """Whether something was erased later: a replay then finds less than there was, and passes over
    what no longer fits.
    """
    key = (event.tenant_id, event.position)
    return bool(await conn.fetchval(db.query("memories.erased_since"), *key))


CHANGES: dict[str, Callable[[db.Conn, Event, Keys], Awaitable[None]]] = {
    "memory": project,
    "artifact": references.project,
}
