"""Candidates → sections within budget: fit, dedupe, spread, join, cite. Pure and deterministic.

An item's tokens are counted on its text as rendered, with the blank line after it, and frames on
theirs; since every joint is a seam, the sum is the exact count of the whole text.
"""

import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memoryd import neutral, similar
from memoryd.core import item, render, tokens
from memoryd.core.item import Item

TOTAL = 65_000
# Tokens of each section at most, by seed 003 §8.1, most important first; the rest is the reserve.
CAPS = {
    "identity": 1_200,
    "rules": 6_000,
    "task_state": 3_000,
    "decision_ledger": 4_000,
    "handoff_packet": 6_000,
    "retrieved_evidence": 28_000,
    "recent_window": 8_000,
}
LAST = "recent_window"  # what it shows stands below all else
EVIDENCE = "retrieved_evidence"
ONCE = ("chunk", "turn", "reference", "decision", "task")  # types whose same text is shown once
BRIEF = 16  # tokens; "yes" said twice in a conversation was said twice
SPREAD = 0.02  # of the best score; more, and questions of one part lose
LISTED = 20  # ids of one kind of omission; the count says how many more


@dataclass(frozen=True)
class Omission:
    reason: str
    section: str
    candidates: tuple[str, ...]
    count: int
    artifact_id: str | None = None
    more: bool | None = None  # there are others, which were not looked at


@dataclass
class Filled:
    """A section as far as it is packed."""

    name: str
    used: int = 0
    items: list[Item] = field(default_factory=list)
    left_out: list[tuple[str, Item]] = field(default_factory=list)


@functools.cache
def _frame(section: str) -> int:
    return tokens.count(render.opening(section)) + tokens.count(render.closing(section))


def pack(candidates: Mapping[str, Sequence[Item]], budget: int) -> dict[str, Filled]:
    """Each section is sure of its share of `budget`; room that one leaves goes to the others, the
    most important first, up to their caps. Only the reserve stays free.
    """
    names = [name for name in CAPS if name in candidates]
    # The conversation before the evidence: what it shows for sure need not be found again.
    order = sorted(names, key=lambda name: name == EVIDENCE)
    found: dict[str, Filled] = {}
    for name in order:
        found[name] = fill(name, candidates[name], share(name, budget), found.values())
    spare = budget - reserve(budget) - sum(filled.used for filled in found.values())
    # Where its share is all that a section may ever have, there is nothing to go to others. The
    # evidence comes once more: what the conversation shows by then need not be found again.
    for name in [*names, *order[-1:]] if budget < TOTAL else ():
        room = min(CAPS[name], found[name].used + spare)
        before = [found[other] for other in order[: order.index(name)]]
        wider = fill(name, candidates[name], room, before)
        # What was cut to its share would be cut again to the size that it has now.
        if name == EVIDENCE or wider.used >= found[name].used:
            spare -= wider.used - found[name].used
            found[name] = wider
    return {name: _settled(found[name]) for name in names}


def share(section: str, budget: int) -> int:
    """Tokens of `budget` that a section is sure of."""
    return min(CAPS[section], CAPS[section] * budget // TOTAL)


def reserve(budget: int) -> int:
    """Tokens of `budget` that stay free."""
    return (TOTAL - sum(CAPS.values())) * budget // TOTAL


def fill(section: str, items: Sequence[Item], room: int, others: Iterable[Filled] = ()) -> Filled:
    """As many of `items`, in their order, as `room` holds; long ones may be cut."""
    filled = Filled(section)
    elsewhere = [one for other in others for one in other.items]
    shown = {one.position for one in elsewhere if _whole(one)}
    below = {one.position for other in others if other.name == LAST for one in other.items}
    said = {_said(one) for one in elsewhere if one.cut is None}
    found = {one.position for one in items}
    # A packet quotes events, and of one that is cut a part is shown: these have evidence in them.
    seen = elsewhere if section == EVIDENCE else ()
    within = [(it.refs, it.body[: it.cut]) for it in seen if it.cut or it.type == "handoff"]
    talk, closed = section == LAST, False
    for one in items:
        if one.position in shown:
            continue
        again = _said(one, talk)
        told = any(one.refs[-1] in refs and one.body in text for refs, text in within)
        # The last would stand above what it cites.
        if told or (again in said and one.type in ONCE) or not below.isdisjoint(one.after):
            filled.left_out.append(("duplicate", one))
            continue
        cited = not one.after or one.after & found <= shown | {it.position for it in filled.items}
        left = room - (filled.used or _frame(section))
        fitting = item.fit(one, left, talk and not filled.items) if cited and not closed else None
        closed = closed or (talk and fitting is None)  # holes in a conversation mislead
        if fitting is None:
            filled.left_out.append(("over_budget", one))
            continue
        said.add(again)
        filled.used = (filled.used or _frame(section)) + fitting.tokens
        filled.items.append(fitting)
    return filled


def _said(one: Item, talk: bool = False) -> str:
    """Equal for what need not be said twice. In a conversation that is a longer text of the same
    speaker: a second "no" is another answer. One decision may hold in two scopes, and a session's
    own task is shown, whoever else has one like it.
    """
    if talk:
        return one.text if one.tokens > BRIEF else f"\0{one.position}"  # like no other
    return f"{one.type} {one.place} {one.body}" if one.names else one.body


def _whole(one: Item) -> bool:
    """It shows all of its event, so that nothing else need show any of it."""
    return one.cut is None and one.type not in ("chunk", "reference")


def _settled(filled: Filled) -> Filled:
    """In the order in which it is read."""
    if filled.name == LAST:
        filled.items.reverse()
    if filled.name == EVIDENCE:
        filled.items = _joined(filled.items)
        used = sum(one.tokens for one in filled.items)
        filled.used = used + _frame(filled.name) if used else 0
    return filled


def _joined(items: Sequence[Item]) -> list[Item]:
    """Neighbouring chunks of one event become one item, where the best of them stood. One that is
    cut stays alone: the others follow what it lacks.
    """
    if len({one.position for one in items}) == len(items):  # of as many events
        return [*items]
    runs: dict[tuple[int, int, int | None], list[Item]] = {}
    for one in sorted(items, key=lambda one: (one.position, one.ordinals)):
        joint = (one.position, one.ordinals[0] - 1, None)
        before = runs.pop(joint, []) if one.cut is None else []
        runs[one.position, one.ordinals[-1], one.cut] = [*before, one]
    place = {id(one): at for at, one in enumerate(items)}
    best = sorted(runs.values(), key=lambda run: min(place[id(one)] for one in run))
    return [one for run in best for one in _cheaper(run)]


def _cheaper(run: list[Item]) -> list[Item]:
    """Joined, unless the white space between them costs more than it saves to join them."""
    if len(run) == 1:
        return run
    joined = _join(run)
    return [joined] if joined.tokens <= sum(one.tokens for one in run) else run


def _join(run: list[Item]) -> Item:
    best = max(run, key=lambda one: one.score or 0.0)
    raw = "".join(one.raw for one in run)
    return item.make(
        (run[0].head, neutral.neutral(raw.strip())),
        type=best.type,
        position=best.position,
        ordinals=tuple(ordinal for one in run for ordinal in one.ordinals),
        refs=(*(ref for one in run for ref in one.refs[:-1]), best.refs[-1]),
        score=best.score,
        parts=best.parts,
        artifacts=best.artifacts,
        share=None if best.share is None else sum(one.share or 0.0 for one in run),
        raw=raw,
    )


def distinct(items: Sequence[Item], asked: Sequence[str] = ()) -> tuple[list[Item], list[Item]]:
    """Those that say something new, and those that repeat one before, nearly word for word. Of
    these the newest stays, in the place of the best: what changed in it may be a correction, but
    not in what is `asked` for, nor by whom it was not said.
    """
    speakers = [one.head[: one.head.rfind(", ")] for one in items]
    if not (repeats := similar.repeats([one.body for one in items], asked, speakers)):
        return [*items], []
    new: dict[int, Item] = {}
    for at, one in enumerate(items):
        first = repeats.get(at, at)
        new[first] = max(new.get(first, one), one, key=_standing)
    kept = {id(one) for one in new.values()}
    shown = [replace(one, score=items[at].score, parts=items[at].parts) for at, one in new.items()]
    return shown, [one for one in items if id(one) not in kept]


def _standing(one: Item) -> tuple[bool, float, int]:
    """A human's own words before the same ones of others; then by when it was said."""
    return one.head.startswith("[0, human "), one.parts.get("recency", 0.0), one.position


def spread(items: Sequence[Item]) -> list[Item]:
    """Best first, but each a little later for what its session has before it: the parts of a
    question are often spoken of in different sessions. Scores stay as they are.
    """
    best = max((one.score or 0.0 for one in items), default=0.0)
    before: Counter[str] = Counter()
    worth: list[float] = []
    for one in items:
        late = SPREAD * best * math.log1p(before[one.place])
        worth.append(round((one.score or 0.0) - late, 6))  # the same on every machine
        before[one.place] += 1
    return [items[at] for at in sorted(range(len(items)), key=lambda at: -worth[at])]


def omissions(
    filled: Filled, unread: Mapping[str, Sequence[str]], more: bool = False
) -> list[Omission]:
    """What was left out of a section, by reason; `unread` is what was before it was packed, and
    `more` says that not even all of it was looked at.
    """
    found: dict[str, list[str]] = {"over_budget": []}
    for reason, one in filled.left_out:
        found.setdefault(reason, []).append(one.refs[0])
    for reason, ids in unread.items():
        found.setdefault(reason, []).extend(ids)
    found["over_budget"][:0] = [one.refs[0] for one in filled.items if one.cut is not None]
    return [
        Omission(reason, filled.name, tuple(ids[:LISTED]), len(ids), more=cut_off or None)
        for reason, ids in found.items()
        if (cut_off := more and reason == "over_budget") or ids
    ]
