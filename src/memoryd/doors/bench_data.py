"""Public benchmarks as conversations: LoCoMo's one file, BEAM's folder a chat, as published.

Gold that names no turn is dropped, and with it a question that has none left, since no ranking
could find it.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from memoryd.core import errors

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
PACE = timedelta(seconds=5)  # between the turns of a session, which carry no time of their own
UNDATED = datetime(2024, 1, 1, tzinfo=UTC)  # of a chat that gives no date at all

_TURN = re.compile(r"D\d+:\d+")
_SESSION = re.compile(r"session_(\d+)")
# BEAM's generator leaves its own numbering at the end of what users say: "->-> 1,12".
_NUMBERING = re.compile(r"\s*->->[\w\s,/]*$")


@dataclass(frozen=True)
class Turn:
    """One event to be, and the id by which gold names it."""

    turn_id: str
    session: str
    speaker: str
    role: Literal["human", "agent"]
    ts: datetime
    text: str


@dataclass(frozen=True)
class Question:
    text: str
    gold: frozenset[str]
    category: str


@dataclass(frozen=True)
class Conversation:
    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]

    @property
    def user_id(self) -> str:
        """Its own, and another when the text is another: a running daemon mixes no two."""
        told = repr([(turn.speaker, turn.ts, turn.text) for turn in self.turns])
        return f"{self.name}-{hashlib.sha256(told.encode(errors='replace')).hexdigest()[:8]}"

    @property
    def after(self) -> datetime:
        """Just after its last turn: when its questions are asked."""
        return max(turn.ts for turn in self.turns) + timedelta(minutes=1)


def locomo(path: Path) -> list[Conversation]:
    """The conversations of `locomo10.json` or a part of it."""
    try:
        return [_locomo(sample, number) for number, sample in enumerate(_json(path))]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise errors.Invalid(f"{path} is not in LoCoMo's format ({error!r})") from error


def beam(path: Path) -> list[Conversation]:
    """The chats in or under the folder `path`: each a `chat.json` with its probing questions."""
    chats = sorted(path.rglob("chat.json"), key=_natural)
    if not chats:
        raise errors.Invalid(f"there is no chat.json in or under {path}")
    try:
        return [_beam(chat) for chat in chats]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise errors.Invalid(f"{path} is not in BEAM's format ({error!r})") from error


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise errors.Invalid(f"cannot read {path}: {error}") from error


def _locomo(sample: dict[str, Any], number: int) -> Conversation:
    talk = sample["conversation"]
    sessions = sorted(
        int(found[1]) for key in talk if (found := _SESSION.fullmatch(key)) and talk[key]
    )
    turns = [turn for session in sessions for turn in _session(talk, session)]
    known = {turn.turn_id for turn in turns}
    questions = [
        Question(asked["question"], gold, CATEGORIES.get(asked["category"], "other"))
        for asked in sample["qa"]
        if (gold := frozenset(_TURN.findall(str(asked.get("evidence")))) & known)
    ]
    return Conversation(f"locomo-{sample.get('sample_id', number)}", tuple(turns), tuple(questions))


def _session(talk: dict[str, Any], number: int) -> Iterator[Turn]:
    told = talk[f"session_{number}_date_time"]
    begun = datetime.strptime(f"{told} UTC", "%I:%M %p on %d %B, %Y %Z").replace(tzinfo=UTC)
    for place, turn in enumerate(talk[f"session_{number}"]):
        yield Turn(
            turn_id=turn["dia_id"],
            session=f"session-{number}",
            speaker=turn["speaker"],
            role="human",
            ts=begun + place * PACE,
            text=" ".join(filter(None, (turn["text"], turn.get("blip_caption")))),
        )


def _beam(chat: Path) -> Conversation:
    turns = tuple(_messages(_json(chat)))
    known = {turn.turn_id for turn in turns}
    probing = _json(chat.parent / "probing_questions" / "probing_questions.json")
    questions = [
        Question(asked["question"], gold, category.replace("_", " "))
        for category, group in probing.items()
        for asked in group
        if (gold := frozenset(map(str, _integers(asked.get("source_chat_ids")))) & known)
    ]
    return Conversation(f"beam-{chat.parent.name}", turns, tuple(questions))


def _messages(chat: Any) -> Iterator[Turn]:
    """The messages in order; a list that holds them is a session, and a date holds until the next.

    Longer chats nest their lists deeper, so the nesting is followed and not spelt out.
    """
    found = list(_walk(chat, ()))
    dates = [_date(node.get("time_anchor")) for node, _ in found]
    ts = next(filter(None, dates), UNDATED)
    for (node, place), date in zip(found, dates, strict=True):
        ts = date if date and date.date() != ts.date() else ts + PACE
        if "role" in node:
            role: Literal["human", "agent"] = "human" if node["role"] == "user" else "agent"
            text = _NUMBERING.sub("", node["content"])
            yield Turn(str(node["id"]), f"session-{place}", node["role"], role, ts, text)


def _walk(node: Any, place: tuple[int, ...]) -> Iterator[tuple[dict[str, Any], str]]:
    """Every object in document order, with the place of the list it stands in."""
    if isinstance(node, list):
        for number, inner in enumerate(node):
            yield from _walk(inner, (*place, number))
    elif isinstance(node, dict):
        yield node, "-".join(map(str, place[:-1]))
        for inner in node.values():
            yield from _walk(inner, place)


def _date(anchor: Any) -> datetime | None:
    try:
        return datetime.strptime(str(anchor), "%B-%d-%Y").replace(tzinfo=UTC)
    except ValueError:
        return None


def _integers(nested: Any) -> Iterator[int]:
    if isinstance(nested, int):
        yield nested
    elif isinstance(nested, (dict, list)):
        for inner in nested.values() if isinstance(nested, dict) else nested:
            yield from _integers(inner)


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(part) if part.isdecimal() else -1, part) for part in path.parts]
