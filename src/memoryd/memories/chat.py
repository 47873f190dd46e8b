"""Runs `/memory` for a chat door: parsed and worded by `command`, one call, a reply."""

from collections.abc import Sequence

from memoryd.core import db, errors
from memoryd.core.model import Reader
from memoryd.daemon import now
from memoryd.memories import agents, change, command, facts, find, read, refuse
from memoryd.memories.change import Hand
from memoryd.memories.command import Command, Shelf
from memoryd.memories.model import Deleted, Memory, SameSubject
from memoryd.memories.read import Wanted

FOUND = 10  # memories of a search
SHOWN = 100  # of a list that may be long, the newest
LATEST = 2**62  # beyond any position
WRITES = ("delete", "edit", "undo")
TYPES = ("fact", "place")  # what a search looks through, and what may be gone


async def reply(chat: Hand, asked: Command) -> str:
    """What the person reads. A refusal that they can do something about is a reply too."""
    if asked.op in WRITES and chat.caller.role == "reader":
        raise errors.Forbidden("a key with the role `reader` does not write; use an `agent` key")
    try:
        return await _ANSWERS[asked.op](chat, asked)
    except Deleted:
        return command.gone(asked.memory_id)
    except errors.NotFound as error:
        return error.detail if error.field == "version" else command.unknown(asked.memory_id)
    except change.Foreign:
        return command.foreign(asked.memory_id)
    except SameSubject as error:
        return command.taken(asked, error)
    except errors.Invalid as error:
        return f"I can't remember that: {error.detail}"


async def _list(chat: Hand, asked: Command) -> str:
    if asked.shelf == "facts":
        async with db.tenant(chat.daemon.pool, chat.reader.tenant_id) as conn:
            every, _total = await facts.page(conn, chat.reader)
        return command.listed(every)
    return command.on_shelf(asked.shelf, await _shelf(chat, asked.shelf, asked.text))


async def _shelf(chat: Hand, shelf: Shelf, team: str) -> Sequence[Memory]:
    """What is not a fact that holds; what an agent keeps only where no others listen."""
    if shelf in ("deleted", "inactive"):
        wanted = Wanted(deleted=shelf == "deleted", inactive=True, evicted=True)
        every = await _page(chat, chat.reader, TYPES, wanted)
        return [one for one in every if (one.deleted if wanted.deleted else not one.is_active)]
    if shelf == "whiteboard":
        return await _page(chat, agents.board_of(chat.reader, team or "default"), agents.BOARD)
    if shelf == "places":
        return await _page(chat, chat.reader, ("place",))
    if chat.reader.channel != "private":
        return []
    owner = agents.reader_of(chat.reader.tenant_id, chat.reader.agent_id)
    return await _page(chat, owner, (shelf,))


async def _page(
    chat: Hand, owner: Reader, types: Sequence[str], wanted: Wanted | None = None
) -> list[Memory]:
    async with db.tenant(chat.daemon.pool, owner.tenant_id) as conn:
        asked = (conn, owner, Memory, types, wanted or Wanted())
        found, _ = await read.page(*asked, as_of=LATEST)
    return found[-SHOWN:]


async def _search(chat: Hand, asked: Command) -> str:
    async with db.tenant(chat.daemon.pool, chat.reader.tenant_id) as conn:
        head: int = await conn.fetchval(db.query("record.head"), chat.reader.tenant_id) or 0
    looked = find.Asked(text=asked.text, now=now(), as_of=head)
    found = await find.search(chat.daemon, chat.reader, Memory, TYPES, looked)
    return command.found(asked.text, found[:FOUND])


async def _show(chat: Hand, asked: Command) -> str:
    one = await change.one(chat, asked.memory_id)
    return command.shown(one, await change.versions(chat, asked.memory_id))


async def _delete(chat: Hand, asked: Command) -> str:
    return command.deleted((await change.delete(chat, asked.memory_id)).after)


async def _edit(chat: Hand, asked: Command) -> str:
    refuse.secrets(content=asked.text)
    done = await change.edit(chat, asked.memory_id, asked.text)
    return command.changed(done.after, done.before)


async def _undo(chat: Hand, asked: Command) -> str:
    """Bring back what is gone; else the version before, or the one that is named."""
    memory_id, force = asked.memory_id, asked.force
    if asked.version is None:
        done = await change.undo(chat, memory_id, force=force)
    else:
        done = await change.restore(chat, memory_id, asked.version, force=force)
    return command.undone(done.after, done.before) if done else command.nothing_to_undo(memory_id)


async def _help(_: Hand, asked: Command) -> str:
    return command.help_text(asked.text)


_ANSWERS = {
    "list": _list,
    "search": _search,
    "show": _show,
    "delete": _delete,
    "edit": _edit,
    "undo": _undo,
    "help": _help,
}
