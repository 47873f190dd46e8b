"""An item: a piece of a bundle, counted as it is rendered, and cut to fit.

Its tokens are those of its text with the blank line after it.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from memoryd.core import render, tokens

LONG = 500  # tokens; what is longer may be cut to fit, what is shorter fits or not
LEAST = 60  # tokens; a shorter rest of a long text says nothing
SEAMS = 4  # tokens that a text may have more than its pieces, where two are one word's
LONGEST = 16  # characters a token, at most, in what is worth cutting
KEPT_CHARACTERS = 8_000  # of a text whose count is kept: 32 MB of them at most
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_WORDS = re.compile(r"\s*\S+|\s+")  # a token has the blank before its word
_LETTERS = re.compile(r"(?s).{1,32}")


@dataclass(frozen=True, kw_only=True)
class Item:
    """A piece of a bundle: what it says, where that comes from, what it costs."""

    type: str
    position: int
    ordinals: tuple[int, ...] = ()  # chunks it is made of; of a decision, conflicts that are over
    head: str
    body: str
    tokens: int
    refs: tuple[str, ...]
    score: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    after: frozenset[int] = frozenset()  # positions it cites: it stands after these, or nowhere
    artifacts: tuple[str, ...] = ()  # of a tool's output, or an upload: these have the whole
    share: float | None = None  # of an output: how much of it this is, unless it is cut
    place: str = ""  # a chunk's conversation, a decision's scope, a session's "own" task
    raw: str = ""  # of a chunk: exactly its text, so that neighbours join to their event's
    cut: int | None = None  # characters of the body that are kept
    names: Mapping[str, str] = field(default_factory=dict)  # ids of its own, as the answer has them

    @property
    def text(self) -> str:
        if self.cut is None:
            return self.head + self.body
        whole = self.refs[-1 if self.type == "chunk" else 0]
        return self.head + render.cut(self.body, self.cut, whole)


def make(rendered: tuple[str, str], known: int | None = None, **given: Any) -> Item:
    """With its tokens; `known` is the count of the body where that is known."""
    head, body = rendered
    inside = count(body) if known is None else known
    whole = tokens.added(head, _of_head(head), body, inside)
    return Item(head=head, body=body, tokens=tokens.added(head + body, whole, "\n\n", 1), **given)


def count(text: str) -> int:
    """Decisions, tasks and rules come again in every bundle: their counts are kept."""
    return _counted(text) if len(text) <= KEPT_CHARACTERS else tokens.count(text)


def _of_head(head: str) -> int:
    """By its two parts, who and when: both come again more often than together."""
    seam = head.rfind(", ") + 1
    return count(head[:seam]) + count(head[seam:])


_counted = functools.lru_cache(maxsize=4_096)(tokens.count)


def fit(one: Item, room: int, must: bool = False) -> Item | None:
    """`one` as it is, cut at the end of a line (of a word, where a line is too long), or None.
    What `must` be shown is cut however short it is, and inside a word if need be.
    """
    if one.tokens <= room:
        return one
    if (one.tokens <= LONG and one.type != "view" and not must) or room < LEAST:
        return None
    inside = room - shortened(one, 0).tokens - SEAMS
    for pieces in (_LINES, _WORDS, *([_LETTERS] if must else [])):
        kept = _prefix(pieces, one.body, room * LONGEST, inside)
        shorter = shortened(one, kept)
        if kept and shorter.tokens <= room:
            return shorter
    return None


def shortened(one: Item, kept: int) -> Item:
    """`one` with the first `kept` characters of its body, and its tokens counted anew."""
    shorter = replace(one, cut=kept)
    return replace(shorter, tokens=tokens.count(f"{shorter.text}\n\n"))


def _prefix(pieces: re.Pattern[str], body: str, most: int, room: int) -> int:
    """How many of the first `most` characters `room` tokens hold, in whole pieces."""
    kept = used = 0
    for piece in pieces.finditer(body, 0, most):
        used += count(piece[0])
        if used > room or piece.end() == most < len(body):
            break
        kept = piece.end()
    return kept
