"""What is remembered: facts and places of a user, core and journal of an agent, a team's board.

An event of kind `memory` says what changed, never the whole: two who change one memory at once
lose nothing, since the projection merges them in the order of the log.
"""

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from memoryd.core import errors
from memoryd.core.model import Channel, Sensitivity

Category = Literal["person", "preference", "context", "project"]
Type = Literal["fact", "place", "core", "journal", "whiteboard"]
Spoken = Type | Literal["reference"]  # what an event of kind `memory` may speak of
Op = Literal[
    "add",
    "update",
    "restore",
    "delete",
    "undelete",
    "deactivate",
    "activate",
    "evict",
    "promote",
    "place",
    "mention",
]

ID_LENGTH = 8
ALPHABET = string.ascii_letters + string.digits  # 62 letters: 218 million million ids
FACT_SHORTEST, FACT_LONGEST = 5, 500  # characters (seed 000)
SUBJECT_LONGEST = 200  # characters
NOTES_LONGEST = 500  # characters of a place's notes, as of a fact
AGENT_LONGEST = 10_000  # characters of a core memory or a journal entry (seed 002)
LENGTHS: Mapping[Type, tuple[int, int]] = {
    "fact": (FACT_SHORTEST, FACT_LONGEST),
    "place": (1, NOTES_LONGEST),
    **dict.fromkeys(("core", "journal", "whiteboard"), (1, AGENT_LONGEST)),
}
JOURNAL_WINDOW = timedelta(weeks=1)  # how long an entry stays in the prompt
_BREAKS = re.compile(r"\s*[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]\s*")


class Said(TypedDict):
    """Where a thing was mentioned."""

    conversation_id: str
    message_id: str


class Change(TypedDict):
    """The content of an event of kind `memory`."""

    memory_id: str
    op: Op
    type: NotRequired[Spoken]
    category: NotRequired[Category]
    subject: NotRequired[str]
    text: NotRequired[str]
    force: NotRequired[bool]  # although another fact has the same subject; said of what comes back
    holds: NotRequired[bool]  # with a text: the fact holds again, if it no longer did
    restores: NotRequired[str]  # the event that made the version whose text is taken up again
    place_id: NotRequired[str]
    mention: NotRequired[Said]
    document: NotRequired[int]  # an eviction was decided on the document as it was here
    source_conversation_id: NotRequired[str]
    source_message_id: NotRequired[str]


@dataclass(frozen=True, kw_only=True)
class Memory:
    """A memory as it stood at some position of the log."""

    memory_id: str
    type: Type
    category: Category | None
    subject: str | None
    text: str
    version: int
    created_at: datetime
    updated_at: datetime  # of its text
    user_id: str
    agent_id: str
    channel: Channel
    sensitivity: Sensitivity
    is_active: bool
    deleted: bool
    evicted: bool
    source_conversation_id: str | None
    source_message_id: str | None
    event_id: str
    position: int
    born: int  # the position of its first event


@dataclass(frozen=True, kw_only=True)
class Fact(Memory):
    """What is known of a user's world; it belongs to the user."""

    category: Category


@dataclass(frozen=True, kw_only=True)
class Mention:
    conversation_id: str
    message_id: str
    ts: datetime


@dataclass(frozen=True, kw_only=True)
class Place(Memory):
    """A place that a user cares about: its name is the subject, its notes are the text."""

    place_id: str
    mentions: tuple[Mention, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AgentMemory(Memory):
    """Core or journal: it belongs to the agent alone. A whiteboard's note belongs to a team."""

    def expired(self, now: datetime) -> bool:
        """A journal entry leaves the prompt a week after it was written; it is kept."""
        return self.type == "journal" and self.created_at < now - JOURNAL_WINDOW


@dataclass(frozen=True, kw_only=True)
class Version:
    """A text that a memory has had."""

    version: int
    type: Type  # a journal entry may have become core since
    subject: str | None  # of a place, its name
    text: str
    created_at: datetime
    event_id: str
    op: Op
    source_conversation_id: str | None
    source_message_id: str | None


class Taken(errors.Conflict):
    """The random id is another memory's: draw again."""


class Deleted(errors.NotFound):
    """It was deleted, and can be brought back."""

    def __init__(self, memory_id: str) -> None:
        said = f"memory {memory_id!r} was deleted; bring it back with undelete"
        super().__init__(said, field="memory_id")


class SameSubject(errors.Conflict):
    """An active fact has this subject already."""

    def __init__(self, subject: str, memory_id: str, text: str, otherwise: str = "") -> None:
        super().__init__(
            f"a memory about {subject!r} exists: [id:{memory_id}] {text!r}; change it with "
            f"update_memory (memory_id {memory_id!r}){otherwise}",
            field="subject",
        )
        self.memory_id = memory_id
        self.text = text


def missing(memory_id: str) -> errors.NotFound:
    return errors.NotFound(f"there is no memory {memory_id!r} that you may see", field="memory_id")


def short_id(number: int) -> str:
    """Eight letters and digits of a large random number.

    >>> short_id(0), short_id(62**8 - 1)
    ('aaaaaaaa', '99999999')
    """
    letters = []
    for _ in range(ID_LENGTH):
        number, place = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[place])
    return "".join(reversed(letters))


def folded(subject: str | None) -> str | None:
    """By which two subjects are the same.

    >>> folded(" Alec  Smith"), folded("ALEC SMITH"), folded(" ")
    ('alec smith', 'alec smith', None)
    """
    return " ".join((subject or "").casefold().split()) or None


def agent_owner(agent_id: str) -> str:
    """Whose an agent's own memories are: a user that no reader may say to be."""
    return f"agent:{agent_id}"


def team_owner(team_id: str) -> str:
    return f"team:{team_id}"


def blank(text: str) -> bool:
    r"""Whether there is nothing to be read: white space and invisible letters alone.

    >>> blank(" \u200b\ufeff"), blank("tea")
    (True, False)
    """
    return not any(one.isprintable() and one != " " for one in text)


def within(kind: Type, text: str, field: str = "content") -> str:
    """`text` without the white space around it, if a memory of this type may say so much."""
    least, most = LENGTHS[kind]
    short = text.strip()
    if blank(short) or not least <= len(short) or len(text) > most:
        raise errors.Invalid(
            f"it has {len(short):,} characters: a memory of type {kind} has {least} to {most:,}",
            field=field,
            limit=f"{least} to {most:,} characters",
        )
    return short


def text_of(content: Mapping[str, Any]) -> str:
    """The text that is searched: with its subject, unless the text names it. A reference is found
    by what it holds, not by how it is described.
    """
    subject, text = content.get("subject") or "", content.get("text") or ""
    if content["op"] not in ("add", "update", "place") or content.get("type") == "reference":
        return ""
    if not text or not subject or subject.casefold() in text.casefold():
        return text or subject
    return f"{subject}: {text}"


def one_line(given: str) -> str:
    r"""A memory takes one line: with more, it could pass for the headings around it.

    >>> one_line("likes tea\n\n### Person")
    'likes tea ### Person'
    """
    return _BREAKS.sub(" ", given).strip()


def memory_context(memories: Sequence[Memory]) -> str | None:
    """An agent's private memory as its prompt shows it (seed 002); None where there is nothing."""
    core = [f"- {one_line(one.text)}" for one in memories if one.type == "core"]
    journal = [
        f"- [{one.created_at:%Y-%m-%d}] {one_line(one.text)}"
        for one in memories
        if one.type == "journal"
    ]
    sections = [
        "\n".join([head, *lines])
        for head, lines in (
            ("## Core Memories (permanent)", core),
            ("## Recent Journal Entries", journal),
        )
        if lines
    ]
    return "# Your Private Memory\n\n" + "\n\n".join(sections) if sections else None
