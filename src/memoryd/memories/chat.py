"""Runs `/memory` for a chat door: parsed and worded by `command`, one call, a reply."""

from dataclasses import dataclass

from memoryd.core import db, errors
from memoryd.core.model import Caller, Reader
from memoryd.daemon import Daemon
from memoryd.memories import command, facts, model, refuse
from memoryd.memories.command import Command
from memoryd.memories.read import Wanted
from memoryd.memories.write import Origin

FOUND = 10  # memories of a search
WRITES = ("delete", "edit", "undo")


@dataclass(frozen=True, kw_only=True)
class Chat:
    """Who types, and where."""

    daemon: Daemon
    caller: Caller
    reader: Reader
    origin: Origin


async def reply(chat: Chat, asked: Command) -> str:
    """What the person reads. A refusal that they can do something about is a reply too."""
    if asked.op in WRITES and chat.caller.role == "reader":
        raise errors.Forbidden("a key with the role `reader` does not write; use an `agent` key")
    try:
        return await _ANSWERS[asked.op](chat, asked)
    except errors.NotFound as error:
        return error.detail if error.field == "version" else command.unknown(asked.memory_id)
    except errors.Invalid as error:
        return f"I can't remember that: {error.detail}"


async def _list(chat: Chat, _: Command) -> str:
    async with db.tenant(chat.daemon.pool, chat.reader.tenant_id) as conn:
        every, _total = await facts.page(conn, chat.reader)
    return command.listed(every)


async def _search(chat: Chat, asked: Command) -> str:
    async with db.tenant(chat.daemon.pool, chat.reader.tenant_id) as conn:
        head: int = await conn.fetchval(db.query("record.head"), chat.reader.tenant_id) or 0
    found = await facts.search(chat.daemon, chat.reader, Wanted(), asked.text, as_of=head)
    return command.found(asked.text, found[:FOUND])


async def _show(chat: Chat, asked: Command) -> str:
    async with db.tenant(chat.daemon.pool, chat.reader.tenant_id) as conn:
        fact = await facts.one(conn, chat.reader, asked.memory_id)
        return command.shown(fact, await facts.versions(conn, chat.reader, asked.memory_id))


async def _delete(chat: Chat, asked: Command) -> str:
    return command.deleted(await facts.delete(*_who(chat), asked.memory_id))


async def _edit(chat: Chat, asked: Command) -> str:
    length = len(asked.text)
    if not model.FACT_SHORTEST <= length <= model.FACT_LONGEST:
        return (
            f"That has {length:,} characters: a memory has {model.FACT_SHORTEST} to "
            f"{model.FACT_LONGEST}."
        )
    refuse.secrets(content=asked.text)
    fact, before = await facts.update(*_who(chat), asked.memory_id, asked.text)
    return command.changed(fact, before)


async def _undo(chat: Chat, asked: Command) -> str:
    """Bring back what was deleted; else the version before, or the one that is named."""
    async with db.tenant(chat.daemon.pool, chat.reader.tenant_id) as conn:
        fact = await facts.one(conn, chat.reader, asked.memory_id)
        had = await facts.versions(conn, chat.reader, asked.memory_id)
    if fact.deleted and asked.version is None:
        return command.undone(await facts.undelete(*_who(chat), asked.memory_id), None)
    if asked.version is None and len(had) == 1:
        return command.nothing_to_undo(asked.memory_id)
    wanted = asked.version or had[-2].version
    done, before = await facts.restore(*_who(chat), asked.memory_id, wanted)
    return command.undone(done, None if fact.deleted else before)


async def _help(_: Chat, asked: Command) -> str:
    return command.help_text(asked.text)


def _who(chat: Chat) -> tuple[Daemon, Caller, Reader, Origin]:
    return (chat.daemon, chat.caller, chat.reader, chat.origin)


_ANSWERS = {
    "list": _list,
    "search": _search,
    "show": _show,
    "delete": _delete,
    "edit": _edit,
    "undo": _undo,
    "help": _help,
}
