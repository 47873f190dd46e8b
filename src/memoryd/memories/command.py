"""`/memory` in a chat: what is asked, and how the answer reads. Every chat door uses this.

In the formats of seed 000; bold and bullets are what chat programs show.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from memoryd.memories.model import Fact, Version, one_line

Op = Literal["list", "delete", "show", "edit", "undo", "search", "help"]

HELP = """\
/memory or /memory list: what I remember
/memory search <words>: find a memory
/memory show <id>: one memory and its versions
/memory edit <id> <new text>: change it
/memory undo <id> [version]: take back the last change, or go to a version
/memory delete <id>: forget it (undo brings it back)"""
NOTHING = "📝 You have no memories yet."

_COMMAND = re.compile(r"\s*/memory(?:@\w+)?(?:\s+(?P<rest>.*))?\s*", re.DOTALL | re.IGNORECASE)
_ID = re.compile(r"\[?(?:id:)?([A-Za-z0-9]{8})\]?")
_NEEDS_ID = {"delete", "show", "edit", "undo"}
_OTHER_NAMES: dict[str, Op] = {"remove": "delete", "forget": "delete", "find": "search"}


@dataclass(frozen=True, kw_only=True)
class Command:
    op: Op
    memory_id: str = ""
    text: str = ""  # the new text of `edit`, the words of `search`; of `help`, what was wrong
    version: int | None = None


def parse(said: str) -> Command | None:
    """What is asked; None where it is no `/memory` at all. What is not understood asks for help.

    >>> parse("/memory delete i9j0k1l2")
    Command(op='delete', memory_id='i9j0k1l2', text='', version=None)
    >>> parse("/memory@our_bot").op, parse("/memoryless")
    ('list', None)
    """
    found = _COMMAND.fullmatch(said)
    if found is None:
        return None
    name, _, rest = (found["rest"] or "list").strip().partition(" ")
    name, rest = name.casefold(), rest.strip()
    op = _OTHER_NAMES.get(name, name)
    if op in _NEEDS_ID:
        return _about_one(op, rest)
    if op == "search":
        return Command(op="search", text=rest) if rest else _wrong("Say what to search for.")
    if op in ("list", "help"):
        return Command(op="list") if op == "list" else Command(op="help")
    return _wrong(f"I don't know “{one_line(name)[:40]}”.")


def _about_one(op: str, rest: str) -> Command:
    word, _, text = rest.partition(" ")
    found = _ID.fullmatch(word)
    if not word:
        return _wrong(f"Say which memory: /memory {op} <id>.")
    if found is None:
        return _wrong(f"“{one_line(word)[:40]}” is no id: an id has 8 letters and digits.")
    memory_id, text = found[1], text.strip()
    if op == "edit":
        if not text:
            return _wrong(f"Say the new text: /memory edit {memory_id} <new text>.")
        return Command(op="edit", memory_id=memory_id, text=text)
    if op == "undo":
        return _undo(memory_id, text)
    return Command(op="delete" if op == "delete" else "show", memory_id=memory_id)


def _undo(memory_id: str, text: str) -> Command:
    number = text.casefold().removeprefix("version").removeprefix("v").strip()
    if text and not re.fullmatch(r"[0-9]{1,9}", number):
        return _wrong(f"“{one_line(text)[:40]}” is no version: say its number.")
    return Command(op="undo", memory_id=memory_id, version=int(number) if number else None)


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


def found(words: str, facts: Sequence[Fact]) -> str:
    if not facts:
        return f"I remember nothing about “{one_line(words)[:80]}”. /memory list shows all."
    head = f"📝 Found for “{one_line(words)[:80]}”:"
    return "\n".join([head, *map(_bullet, facts)])


def shown(fact: Fact, versions: Sequence[Version]) -> str:
    """One memory with its history, newest first."""
    about = f" about {one_line(fact.subject)}" if fact.subject else ""
    state = " (deleted)" if fact.deleted else ""
    head = f"📝 [{fact.memory_id}] {fact.category.title()}{about}{state}"
    lines = [
        f"• v{one.version} ({one.created_at:%Y-%m-%d}) {one_line(one.text)}" for one in versions
    ]
    back = f"/memory undo {fact.memory_id} <version> goes back to one of them."
    return "\n".join([head, one_line(fact.text), "", "**Versions**", *reversed(lines), "", back])


def deleted(fact: Fact) -> str:
    return f"Deleted: '{fact.text}'"


def changed(fact: Fact, before: str) -> str:
    return f"Updated: '{before}' → '{fact.text}'"


def undone(fact: Fact, before: str | None) -> str:
    """`before` is the text that it had; None where it was deleted."""
    if before is None:
        return f"Restored: '{fact.text}'"
    return f"Undone: '{before}' → '{fact.text}'"


def nothing_to_undo(memory_id: str) -> str:
    return f"[{memory_id}] has only one version: there is nothing to undo."


def unknown(memory_id: str) -> str:
    return f"There is no memory [{memory_id}]. /memory list shows what I remember."


def help_text(why: str) -> str:
    return f"{why}\n\n{HELP}" if why else HELP


def _bullet(fact: Fact) -> str:
    return f"• [{fact.memory_id}] {one_line(fact.text)}"
