"""What a file is about: views, decisions, tasks and memories as a person edits them.

What a field leaves out is not said, and so stays as it is. A kind of thing is one dataclass and one
entry each of `KINDS`, `FIELDS` and `EDITABLE`.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, get_args

from memoryd.core.model import CHANNELS, Progress, Scope
from memoryd.custody.markdown_head import Value
from memoryd.memories.model import Category, Type

SECTIONS = ("rationale", "constraints", "alternatives", "consequences")  # of a decision
SLUG = 40  # characters of a file's name that say what it is about

_PLAIN = re.compile(r"(?!.*-[0-9a-f]{16}$)[a-z0-9][a-z0-9._-]{0,79}")


@dataclass(frozen=True, kw_only=True)
class View:
    """A text that instructs every call; the body is the text, byte for byte."""

    name: str | None = None
    version: str | None = None
    ts: str | None = None
    channel: str | None = None
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The body is what was decided, then a list under a heading for each of `SECTIONS`."""

    id: str | None = None
    status: str | None = None
    ts: str | None = None
    scope: str | None = None
    subject: str | None = None
    channel: str | None = None
    sensitivity: str | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    refs: tuple[str, ...] = ()
    decision: str = ""
    rationale: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    consequences: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Task:
    """The body is its details."""

    id: str | None = None
    version: str | None = None
    ts: str | None = None
    status: str | None = None
    title: str | None = None
    channel: str | None = None
    sensitivity: str | None = None
    details: str = ""


@dataclass(frozen=True, kw_only=True)
class Memory:
    """The body is what is remembered; of a place, its notes."""

    id: str | None = None
    version: str | None = None
    ts: str | None = None
    type: str | None = None
    category: str | None = None
    subject: str | None = None
    place_id: str | None = None
    content: str = ""


Thing = View | Decision | Task | Memory
T = TypeVar("T", bound=Thing)
KINDS: dict[str, type[Thing]] = {
    "views": View,
    "decisions": Decision,
    "tasks": Task,
    "memories": Memory,
}


def key_of(thing: Thing) -> str:
    """What a file is of, whatever it is called; something new is of nothing yet, but a view has its
    name.
    """
    if isinstance(thing, View):
        return f"view {thing.name}" if thing.name else ""
    return thing.id or ""


def path_of(thing: Thing) -> str:
    """Where its file is: of what is stored only letters, digits, dots and dashes get into it."""
    if isinstance(thing, View):
        return f"views/{_name(thing.name or '')}.md"
    if isinstance(thing, Task):
        folder, about = "tasks", thing.title or ""
    elif isinstance(thing, Memory):
        folder, about = "memories", thing.subject or thing.content
    else:
        folder, about = "decisions", thing.subject or thing.decision
    plain = unicodedata.normalize("NFKD", about[: 4 * SLUG]).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", plain.lower())[:SLUG].strip("-")
    named = re.sub(r"[^A-Za-z0-9_]", "_", thing.id or "new")
    return f"{folder}/{named}-{slug}.md" if slug else f"{folder}/{named}.md"


def _name(name: str) -> str:
    """Of a view: as it is where every file system keeps it apart from others; otherwise with a
    hash, so that no two views have one file.
    """
    if _PLAIN.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{re.sub(r'[^a-z0-9._-]+', '-', name.lower())[:60].strip('.-')}-{digest}"


def edits(base: T, file: T) -> dict[str, Any]:
    """What a person changed of `base`. Blank lines around a decision or details are no change."""
    found = {}
    for name in EDITABLE[type(base)]:
        old, new = getattr(base, name), getattr(file, name)
        unsaid = new is None and name != "subject"
        if not unsaid and _compared(base, old) != _compared(base, new):
            found[name] = new if isinstance(base, View) else _trimmed(new)
    return found


def fixed(base: T, file: T) -> str | None:
    """The first field that a file cannot change, and does."""
    names = [name for name in FIELDS[type(base)] if name not in EDITABLE[type(base)]]
    return next((n for n in names if getattr(file, n) not in (None, (), getattr(base, n))), None)


def trimmed(thing: T) -> T:
    """Without blank lines around what is no view: what a person began new."""
    if isinstance(thing, View):
        return thing
    said: dict[str, Any] = {n: _trimmed(getattr(thing, n)) for n in EDITABLE[type(thing)]}
    return replace(thing, **said)


def _compared(base: Thing, value: Value | None) -> Value | None:
    return value if isinstance(base, View) else _trimmed(value)


def _trimmed(value: Value | None) -> Value | None:
    if isinstance(value, tuple):
        return tuple(one.strip() for one in value)
    return value and value.strip()


def texts(value: Value) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


def body_fields(thing: Thing) -> list[str]:
    return [one.name for one in fields(thing) if one.name not in FIELDS[type(thing)]]


def check(kind: type[object], name: str, value: Value) -> str | None:
    """What is wrong with a field, if something is."""
    known = FIELDS[kind]
    if name not in known:
        return f"there is no such field; there are {', '.join(known)}"
    if isinstance(value, tuple) != (name == "refs"):
        return "it is a list" if name == "refs" else "it is one value, not a list"
    return next((wrong for one in texts(value) if (wrong := known[name](one))), None)


Check = Callable[[str], str | None]


def _like(pattern: str, says: str) -> Check:
    return lambda text: None if re.fullmatch(pattern, text) else f"{text[:80]!r} is no {says}"


def _one_of(*values: str) -> Check:
    return lambda text: None if text in values else f"{text[:80]!r} is none of {', '.join(values)}"


def _id(prefix: str) -> Check:
    return _like(rf"{prefix}_[0-9A-HJKMNP-TV-Z]{{26}}", f"id, as {prefix}_ and 26 letters")


def _said(text: str) -> str | None:
    return None if text.strip() else "it is empty"


_NAMES = _like(r"[^\x00-\x1f\x7f]{1,255}", "line of 1 to 255 characters")
_MOMENT = _like(r"\d{4}-\d\d-\d\dT[0-9:.]{5,15}(Z|[+-]\d\d:\d\d)", "moment")
_SEEN_BY: dict[str, Check] = {
    "channel": _one_of(*CHANNELS),
    "sensitivity": _one_of("none", "low", "high"),
}
# The front matter of each kind, in its order; the other fields are the body.
FIELDS: dict[type[object], dict[str, Check]] = {
    View: {
        "name": _like(
            r"rules\.(project|user|org)|identity\.[^\x00-\x1f\x7f]{1,255}",
            "view: there are rules.project, rules.user, rules.org and identity.<agent>",
        ),
        "version": _id("evt"),
        "ts": _MOMENT,
        "channel": _SEEN_BY["channel"],
    },
    Decision: {
        "id": _id("dec"),
        "status": _one_of("active", "superseded"),
        "ts": _MOMENT,
        "scope": _one_of(*get_args(Scope)),
        "subject": _NAMES,
        **_SEEN_BY,
        "supersedes": _id("dec"),
        "superseded_by": _id("dec"),
        "refs": _NAMES,
    },
    Task: {
        "id": _id("tsk"),
        "version": _id("evt"),
        "ts": _MOMENT,
        "status": _one_of(*get_args(Progress)),
        "title": _said,
        **_SEEN_BY,
    },
    Memory: {
        "id": _like(r"[A-Za-z0-9]{8}", "id of eight letters and digits"),
        "version": _like(r"[1-9][0-9]{0,8}", "number of a version"),
        "ts": _MOMENT,
        "type": _one_of(*get_args(Type)),
        "category": _one_of(*get_args(Category)),
        "subject": _said,
        "place_id": _said,
    },
}
EDITABLE: dict[type[object], tuple[str, ...]] = {
    View: ("text",),
    Decision: ("decision", "subject", "scope", *SECTIONS),
    Task: ("title", "status", "details"),
    Memory: ("content",),
}
