"""Saving an editable text: whose it is, who reads it, and what it may replace."""

import asyncio
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Query

from memoryd import recording, redact
from memoryd.core import db, errors
from memoryd.core.model import Actor, ActorType, Caller, Channel, Draft, Name, Reader, Redacted
from memoryd.daemon import Daemon
from memoryd.doors.access import reader_for
from memoryd.ledger import texts

SESSION = "views"  # where edits are recorded
ATTEMPTS = 3  # to save over what others save meanwhile

_FIELDS = {"content.text": "text", "replaces": "version"}


@dataclass(frozen=True)
class Editor:
    """Who writes, and where a new view is kept."""

    tenant_id: Annotated[Name | None, Query(description="Must be the key's own.")] = None
    channel: Annotated[
        Channel | None, Query(description="Who reads it: by default as it is now, or `public`.")
    ] = None
    user_id: Annotated[Name | None, Query(description="Whose `rules.user`.")] = None
    agent_id: Name | None = None
    actor_type: ActorType = "human"
    actor_id: Annotated[Name | None, Query(description="By default, the user.")] = None

    def reader(self, caller: Caller) -> Reader:
        """With all that the key may see."""
        return reader_for(caller, self.tenant_id, None, self.user_id, self.agent_id)


@dataclass(frozen=True, kw_only=True)
class Edit:
    """`guard` is {}, or names what it `replaces`: a version, or None where there must be none."""

    name: str
    text: str
    channel: Channel | None
    guard: dict[str, str | None]
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Saved(texts.Text):
    redacted: Redacted = ()


async def save(daemon: Daemon, caller: Caller, editor: Editor, edit: Edit) -> Saved:
    """The version that holds `edit`'s text: a new one, unless that is what holds already.

    Secrets go before the two are compared, or the same text would be new each time.
    """
    seen: set[str] = set()
    clean = replace(edit, text=await asyncio.to_thread(redact.text, edit.text, seen))
    held = await _save(daemon, caller, editor, clean)
    return Saved(**vars(held), redacted=tuple(sorted(seen)))


async def _save(daemon: Daemon, caller: Caller, editor: Editor, edit: Edit) -> texts.Text:
    """Without a guard it is tried again when others save meanwhile, and at last written over
    theirs.
    """
    reader = editor.reader(caller)
    # What the key pins holds for a text that is there already, too.
    reader_for(caller, editor.tenant_id, edit.channel, editor.user_id, editor.agent_id)
    for left in reversed(range(ATTEMPTS)):
        current = await look(daemon, reader, edit.name)
        kept = edit.channel or (current.channel if current else caller.channel)
        if current and (current.text, current.channel) == (edit.text, kept):
            return current
        again = left and not edit.guard
        guard = {"replaces": current.version if current else None} if again else edit.guard
        try:
            placed = replace(edit, channel=kept, guard=guard)
            version = await _record(daemon, caller, editor, placed)
        except errors.Conflict as error:
            if edit.guard == {"replaces": None}:
                raise _there(edit.name) from error
            if not again:
                raise
        else:
            return await find(daemon, reader, edit.name, version)
    raise AssertionError("the last attempt returns or raises")


async def find(daemon: Daemon, reader: Reader, name: str, version: str | None = None) -> texts.Text:
    found = await look(daemon, reader, name, version)
    if found is None:
        raise missing(name, version)
    return found


async def look(
    daemon: Daemon, reader: Reader, name: str, version: str | None = None
) -> texts.Text | None:
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        return await texts.view(conn, reader, name, version)


def _there(name: str) -> errors.Conflict:
    return errors.Conflict(
        f"{name} has a text already; read it, edit that, and send its version with it",
        field="version",
    )


def missing(name: str, version: str | None = None) -> errors.NotFound:
    if version is None:
        return errors.NotFound(f"{name} has no text that you may see; write one with PUT")
    return errors.NotFound(f"there is no version {version!r} of {name} that you may see")


async def _record(daemon: Daemon, caller: Caller, editor: Editor, edit: Edit) -> str:
    user_id = editor.reader(caller).user_id
    owner = user_id if edit.name == texts.OWN else ""
    draft = Draft(
        session_id=SESSION,
        actor=Actor(type=editor.actor_type, id=editor.actor_id or user_id),
        kind="view",
        content={"name": edit.name, "owner": owner, "text": edit.text, **edit.guard},
        tenant_id=editor.tenant_id,
        user_id=user_id,
        agent_id=editor.agent_id,
        channel=texts.channel_of(edit.name, edit.channel),
        refs=edit.refs,
    )
    try:
        writes = await recording.prepare(caller, [draft])
        (answer,) = await recording.commit(daemon, caller, writes)
    except errors.MemorydError as error:
        error.field = _FIELDS.get(error.field or "", error.field)
        raise
    return answer.event_id
