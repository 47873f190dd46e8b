"""Whether an instruction needs memory (seed 001 §4.2): skip, search, or expand placeholders.

By rules, in English, without a model. Only placeholders that the context itself issued are ever
expanded: one that stands in a page or in a tool's output is text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from memoryd.references import intent_words as words
from memoryd.references import model
from memoryd.search import analyze

Action = Literal["skip", "search", "expand"]
BUDGET = 8_000  # tokens that expanded placeholders may add to the context
QUERY_WORDS = 16
FIND_WORDS = 4
LOOKED_AT = 2_000  # characters of an instruction: what it wants, it says in the first of them
WORD_LONGEST = 80  # characters; what is longer is no word that anybody looks for
SAID = 20_000  # characters of the context, the newest
_MENTION = re.compile(r"\[MemoryRef:[^\]]{0,700}\]")
_WORD = re.compile(r"[A-Za-z][\w'-]*|\d[\w.,-]*")


@dataclass(frozen=True, kw_only=True)
class Context:
    """What the model has before it."""

    messages: Sequence[str] = ()  # the newest last
    issued: Sequence[str] = ()  # the placeholders that were put there by who builds it
    budget: int = BUDGET


@dataclass(frozen=True, kw_only=True)
class Expansion:
    """A placeholder to open: whole where there is room, else the lines around these words."""

    key: str
    token_count: int
    whole: bool
    find: tuple[str, ...] = ()
    max_tokens: int


@dataclass(frozen=True, kw_only=True)
class Decision:
    action: Action
    reason: str
    query: str | None = None
    expand: tuple[Expansion, ...] = ()
    over_budget: tuple[str, ...] = ()  # keys that were needed too, and had no room

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(one.key for one in self.expand)


@dataclass(frozen=True)
class _Issued:
    key: str
    description: str
    tokens: int
    terms: frozenset[str] = field(compare=False)


def needs_memory(instruction: str, context: Context) -> Decision:
    """What the instruction needs that the context does not have, with the reason."""
    asked = _MENTION.sub(" ", instruction).strip()[:LOOKED_AT]
    issued = _known(context.issued)
    named = [one for one in issued if _names(instruction, one)]
    if named:
        return _expand(asked, named, context.budget, "it names what was stored")
    if not asked or words.CHATTER.search(asked) or words.COMMAND.search(asked):
        return Decision(action="skip", reason="there is nothing to look up")
    if words.QUOTED_MATTER.search(asked):
        return Decision(action="skip", reason="it brings what it speaks of")
    if needed := _needed(asked, issued):
        return _expand(asked, needed, context.budget, "it asks for what a placeholder stands for")
    unopened = _MENTION.search(instruction) is not None
    why = "it names a placeholder that this context did not issue" if unopened else None
    why = why or _vague(asked, _said(context.messages))
    if why:
        return Decision(action="search", reason=why, query=_query(asked, context.messages))
    return Decision(action="skip", reason="it says what it needs, or the context does")


def opened(
    instruction: str, context: Context, keys: Sequence[object], reason: str
) -> Decision | None:
    """Expand these of the placeholders that were issued; None where there is none of them."""
    issued = {one.key: one for one in _known(context.issued)}
    needed = [issued[key] for key in dict.fromkeys(map(str, keys)) if key in issued]
    return _expand(instruction[:LOOKED_AT], needed, context.budget, reason) if needed else None


def _known(placeholders: Sequence[str]) -> list[_Issued]:
    found = [model.PLACEHOLDER.fullmatch(one.strip()) for one in placeholders]
    return [
        _Issued(
            one["key"],
            one["description"],
            int(one["tokens"]),
            _terms(f"{one['description']} {re.sub('[-_.:]', ' ', one['key'])}"),
        )
        for one in found
        if one is not None
    ]


def _names(instruction: str, one: _Issued) -> bool:
    """By its key, alone or in its placeholder."""
    return re.search(rf"(?<![\w.-]){re.escape(one.key)}(?![\w-])", instruction) is not None


def _needed(asked: str, issued: Sequence[_Issued]) -> list[_Issued]:
    """Those whose content the instruction asks for; the best match, or all where it compares."""
    if not issued or words.GENERAL.search(asked) or words.CREATES.search(asked):
        return []
    if not words.LOOKS_INTO.search(asked) and not words.ACCORDING.search(asked):
        return []
    points = {one.key: _points(asked, one) for one in issued}
    best = max(points.values())
    if words.WHOLE_SET.search(asked) and len(issued) > 1:
        return [one for one in issued if points[one.key] > 0] or list(issued)
    if best == 0 and (len(issued) > 1 or not _definite(asked)):
        return []
    return [one for one in issued if points[one.key] == best][-1:]


def _points(asked: str, one: _Issued) -> int:
    """How much the instruction speaks of it: shared words, and what such things are called."""
    shared = len(_terms(asked) & one.terms)
    called = sum(
        re.search(rf"\b(?:{names})\b", asked, re.IGNORECASE) is not None
        and re.search(words.KINDS[kind], one.description, re.IGNORECASE) is not None
        for kind, names in words.CALLED.items()
    )
    return 2 * shared + called


def _definite(asked: str) -> bool:
    """It speaks of something as known."""
    return bool(
        words.DEFINITE.search(asked) or words.POINTS.search(asked) or words.ACCORDING.search(asked)
    )


def _vague(asked: str, said: str) -> str | None:
    """Why the instruction cannot be followed from what is before it; None where it can."""
    if words.GENERAL.search(asked):
        return None
    known = _terms(said)
    return _earlier(asked, known, said) or _which(asked, known, said)


def _earlier(asked: str, known: frozenset[str], said: str) -> str | None:
    found = words.RECALLS.search(asked)
    if found and found[0].strip().lower() in said.lower():
        found = None  # the context says what is meant by it
    if not found and not known:
        found = words.SAID_AGAIN.search(asked)
    return f"it speaks of something earlier: {found[0].strip()!r}" if found else None


def _which(asked: str, known: frozenset[str], said: str) -> str | None:
    if found := words.POSSESSED.search(asked):
        own = _owned(found[1], known, said)
        return None if own else f"it speaks of something of the user's: {found[0].strip()!r}"
    if words.SAID_AGAIN.search(asked) or _specific(asked):
        return None
    if found := _unknown(asked, known):
        return f"the context does not say which: {found[0].strip()!r}"
    if (found := words.POINTS.search(asked)) and not known and not words.CREATES.search(asked):
        return f"the context does not say what {found[0]!r} is"
    return None


def _specific(asked: str) -> bool:
    return bool(words.SPECIFIC.search(asked) or words.NAME.search(asked))


def _owned(named: str, known: frozenset[str], said: str) -> bool:
    """The context tells of it, or the user has said something definite of themselves."""
    told = words.OF_ONESELF.search(said) and words.SPECIFIC.search(said)
    return bool(_terms(named) & known or told)


def _unknown(asked: str, known: frozenset[str]) -> re.Match[str] | None:
    """The first thing that is spoken of as known, and is not; what a new text is about may be
    anything.
    """
    own = words.TOPIC.sub("", asked) if words.CREATES.search(asked) else asked
    for found in words.DEFINITE.finditer(own):
        if not _terms(found[1]) & known:
            return found
    return None


def _said(messages: Sequence[str]) -> str:
    """What was said, without placeholders and without what only opens a conversation."""
    plain = (_MENTION.sub(" ", one) for one in messages)
    bare = (one.partition(": ")[2] or one for one in plain)
    told = (one[-SAID:] for one in bare if not words.CHATTER.search(one.strip()))
    return "\n".join(told)[-SAID:]


def _terms(text: str) -> frozenset[str]:
    kept = [one for one in _WORD.findall(text) if one.lower() not in words.STOP]
    return frozenset(analyze.query_terms(" ".join(kept))) if kept else frozenset()


def _telling(text: str) -> list[str]:
    """Its words, without those that stand in every sentence."""
    found = _WORD.findall(text)
    return [one for one in found if len(one) <= WORD_LONGEST and one.lower() not in words.STOP]


def _query(asked: str, messages: Sequence[str]) -> str:
    """The words that tell, abbreviations written out, with what the talk was about last."""
    last = _said(messages[-1:])
    found = []
    for word in _telling(f"{asked} {last}"):
        found += [word, *([full] if (full := words.ABBREVIATED.get(word.lower())) else [])]
    return " ".join(list(dict.fromkeys(found))[:QUERY_WORDS]) or asked


def _expand(asked: str, needed: Sequence[_Issued], budget: int, reason: str) -> Decision:
    """In their order, as long as there is room: whole, or the lines that are asked for."""
    opened, left, over = [], budget, []
    find = _find(asked)
    for at, one in enumerate(needed):
        if left <= 0:
            over.append(one.key)
            continue
        share = left // (len(needed) - at)
        whole = one.tokens <= share
        room = one.tokens if whole else share
        given = {"key": one.key, "token_count": one.tokens, "max_tokens": room}
        opened.append(Expansion(whole=whole, find=() if whole else find, **given))  # type: ignore[arg-type]
        left -= room
    return Decision(action="expand", reason=reason, expand=tuple(opened), over_budget=tuple(over))


def _find(asked: str) -> tuple[str, ...]:
    """Words to look for in a text that has no room, the longest first."""
    chosen = sorted(dict.fromkeys(_telling(asked)), key=lambda one: -len(one))[:FIND_WORDS]
    if re.search(words.CALLED["failure"], asked, re.IGNORECASE):
        return ("error", *chosen)
    return tuple(chosen)
