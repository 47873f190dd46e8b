"""`/memory` in a chat: what is asked, and how the answer reads. Every chat door uses this.

In the formats of seed 000; bold and bullets are what chat programs show.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from memoryd.memories.model import Fact, Memory, SameSubject, Version, one_line

Op = Literal["list", "delete", "show", "edit", "undo", "search", "help"]
Shelf = Literal["facts", "places", "core", "journal", "whiteboard", "deleted", "inactive"]

HELP = """\
/memory or /memory list: what I remember
/memory list places, core, journal, whiteboard <team>, deleted or inactive: the rest
/memory search <words>: find a memory
/memory show <id>: one memory and its versions
/memory edit <id> <new text>: change it
/memory undo <id> [version]: take back the last change, or go to a version; what was deleted or no \
longer holds comes back
/memory delete <id>: forget it (undo brings it back)"""
NOTHING = "📝 You have no memories yet."

_COMMAND = re.compile(r"\s*/memory(?:@\w+)?(?:\s+(?P<rest>.*))?\s*", re.DOTALL | re.IGNORECASE)
_ID = re.compile(r"\[?(?:id:)?([A-Za-z0-9]{8})\]?")
_NEEDS_ID = {"delete", "show", "edit", "undo"}
_OTHER_NAMES: dict[str, Op] = {
    "remove": "delete",
    "forget": "delete",
    "find": "search",
    "restore": "undo",
}
TITLES: dict[Shelf, str] = {
    "facts": "Your memories",
    "places": "Your places",
    "core": "Core memories",
    "journal": "Journal",
    "whiteboard": "Whiteboard",
    "deleted": "Deleted memories",
    "inactive": "Memories that no longer hold",
}
ANYWAY = "anyway"


@dataclass(frozen=True, kw_only=True)
class Command:
    op: Op
    memory_id: str = ""
    text: str = ""  # of `edit` and `search`; the team of a list; of `help`, what was wrong
    version: int | None = None
    shelf: Shelf = "facts"  # of a list
    force: bool = False  # of `undo`: although another fact has the same subject


def parse(said: str) -> Command | None:
    """What is asked; None where it is no `/memory` at all. What is not understood asks for help.

    >>> parse("/memory delete i9j0k1l2") == Command(op="delete", memory_id="i9j0k1l2")
    True
    >>> parse("/memory@our_bot").op, parse("/memoryless")
    ('list', None)
    """
    found = _COMMAND.fullmatch(said)
    if found is None:
        return None
    name, rest = _parted(found["rest"] or "list")
    name = name.casefold()
    op = _OTHER_NAMES.get(name, name)
    if op in _NEEDS_ID:
        return _about_one(op, rest)
    if op == "search":
        return Command(op="search", text=rest) if rest else _wrong("Say what to search for.")
    if op == "list":
        return _list(rest)
    if op == "help":
        return Command(op="help")
    return _wrong(f"I don't know “{one_line(name)[:40]}”.")


def _parted(said: str) -> tuple[str, str]:
    """The first word and the rest, which may begin in a new line."""
    word, *rest = said.split(maxsplit=1) or [""]
    return word, "".join(rest).strip()


def _list(rest: str) -> Command:
    name, team = _parted(rest or "facts")
    for shelf in TITLES:
        if name.casefold() == shelf:
            return Command(op="list", shelf=shelf, text=team)
    return _wrong(f"I have no list “{one_line(name)[:40]}”.")


def _about_one(op: str, rest: str) -> Command:
    word, text = _parted(rest)
    found = _ID.fullmatch(word)
    if not word:
        return _wrong(f"Say which memory: /memory {op} <id>.")
    if found is None:
        return _wrong(f"“{one_line(word)[:40]}” is no id: an id has 8 letters and digits.")
    memory_id = found[1]
    if op == "edit":
        if not text:
            return _wrong(f"Say the new text: /memory edit {memory_id} <new text>.")
        return Command(op="edit", memory_id=memory_id, text=text)
    if op == "undo":
        return _undo(memory_id, text)
    return Command(op="delete" if op == "delete" else "show", memory_id=memory_id)


def _undo(memory_id: str, text: str) -> Command:
    said = text.casefold()
    force = said.endswith(ANYWAY)
    number = said.removesuffix(ANYWAY).strip().removeprefix("version").removeprefix("v").strip()
    if number and not re.fullmatch(r"[0-9]{1,9}", number):
        return _wrong(f"“{one_line(text)[:40]}” is no version: say its number.")
    version = int(number) if number else None
    return Command(op="undo", memory_id=memory_id, version=version, force=force)


def _wrong(why: str) -> Command:
    return Command(op="help", text=why)


def listed(facts: Sequence[Fact]) -> str:
    """By category, as seed 000 shows it; `facts` come in that order."""
    if not facts:
        return f"{NOTHING}\n\n{HELP}"
    parts = [
        "\n".join([f"**{category.title()}**", *map(_bullet, some)])
        for category, some in groupby(facts, lambda one: one.category)
    ]
    end = "Use /memory delete <id> to remove a memory."
    return "\n\n".join(["📝 Your memories:", *parts, end])


def on_shelf(shelf: Shelf, memories: Sequence[Memory]) -> str:
    """What else there is; each can be shown, edited, undone and deleted by its id."""
    if not memories:
        return f"📝 {TITLES[shelf]}: there is nothing."
    end = "Use /memory undo <id> to bring one back." if shelf in ("deleted", "inactive") else ""
    lines = [f"📝 {TITLES[shelf]}:", *map(_bullet, memories)]
    return "\n".join([*lines, "", end] if end else lines)


def found(words: str, memories: Sequence[Memory]) -> str:
    if not memories:
        return (
            f"I found nothing about “{one_line(words)[:80]}”. Try other words, or /memory list to "
            "see all."
        )
    head = f"📝 Found for “{one_line(words)[:80]}”:"
    return "\n".join([head, *map(_bullet, memories)])


def shown(one: Memory, versions: Sequence[Version]) -> str:
    """One memory with its history, newest first."""
    about = f" about {one_line(one.subject)}" if one.subject and one.type == "fact" else ""
    marks = {"deleted": one.deleted, "inactive": not one.is_active, "evicted": one.evicted}
    states = [name for name, holds in marks.items() if holds]
    state = f" ({', '.join(states)})" if states else ""
    head = f"📝 [{one.memory_id}] {(one.category or one.type).title()}{about}{state}"
    lines = [f"• v{each.version} ({each.created_at:%Y-%m-%d}) {words(each)}" for each in versions]
    back = f"/memory undo {one.memory_id} <version> goes back to one of them."
    return "\n".join([head, words(one), "", "**Versions**", *reversed(lines), "", back])


def deleted(one: Memory) -> str:
    return f"Deleted: '{words(one)}'"


def changed(one: Memory, before: Memory) -> str:
    return f"Updated: '{words(before)}' → '{words(one)}'"


def undone(one: Memory, before: Memory) -> str:
    """What came back, or what it said before and says now."""
    if before.deleted or before.evicted or before.is_active < one.is_active:
        return f"Restored: '{words(one)}'"
    if one.type != before.type:
        return f"Undone: '{words(one)}' is {one.type} again, no longer {before.type}"
    return f"Undone: '{words(before)}' → '{words(one)}'"


def nothing_to_undo(memory_id: str) -> str:
    return f"[{memory_id}] has only one version: there is nothing to undo."


def taken(asked: Command, error: SameSubject) -> str:
    version = "" if asked.version is None else f" {asked.version}"
    return (
        f"Another memory has the same subject: [{error.memory_id}] {one_line(error.text)}. Edit or "
        f"delete that one, or keep both with /memory undo {asked.memory_id}{version} {ANYWAY}."
    )


def unknown(memory_id: str) -> str:
    return f"There is no memory [{memory_id}]. /memory list shows what I remember."


def gone(memory_id: str) -> str:
    return f"[{memory_id}] was deleted. /memory undo {memory_id} brings it back."


def foreign(memory_id: str) -> str:
    return f"[{memory_id}] is another user's memory: only they can change it."


def help_text(why: str) -> str:
    return f"{why}\n\n{HELP}" if why else HELP


def words(one: Memory | Version) -> str:
    """What it says in one line; a place by its name."""
    if one.type != "place":
        return one_line(one.text)
    return one_line(f"{one.subject}: {one.text}" if one.text else one.subject or "")


def _bullet(one: Memory) -> str:
    return f"• [{one.memory_id}] {words(one)}"
