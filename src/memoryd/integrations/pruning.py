"""The newest messages that fit a budget, with what was recalled and the placeholders of the others.

Knows no framework: `Kind` says what is to be known of a framework's messages.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from memoryd.core import tokens

M = TypeVar("M")
Unit = Sequence[M]
# A `result` belongs to the `agent` message that called for it, a `thought` to the one after it;
# `memory` is what was recalled for an instruction, and none itself.
Role = Literal["system", "user", "agent", "thought", "result", "memory"]

FRAME = 8  # tokens around a text: its role, its name, what a provider puts between messages
IMAGE = 1_000  # tokens, an estimate: providers reckon by size
PLACEHOLDERS = 4  # one part in so many of the budget is for placeholders of what is not shown
CUT = "…(cut to fit; it is too long for this context)"
LISTED = "Stored earlier, not shown any more:"

# A context is counted before every call of a model, and most of it was there before.
count = functools.lru_cache(maxsize=8_192)(tokens.count)


@dataclass(frozen=True)
class Kind(Generic[M]):
    """What is to be known of a framework's messages."""

    role: Callable[[M], Role]
    texts: Callable[[M], list[str]]  # all that a model reads of it
    images: Callable[[M], int]
    cut: Callable[[M, Callable[[str], str]], M]  # a copy with its texts made short
    say: Callable[[str], M]  # a message of our own

    def cost(self, message: M) -> int:
        """Tokens, reckoned a little high: every text by itself, with a frame."""
        said = sum(count(one) + FRAME for one in self.texts(message))
        return FRAME + IMAGE * self.images(message) + said

    def costs(self, messages: Sequence[M]) -> int:
        return sum(map(self.cost, messages))


def pruned(
    kind: Kind[M], messages: Sequence[M], budget: int, recalled: str | None, issued: Sequence[str]
) -> list[M]:
    """The newest that fit, with the instructions of the system and of the user and what was
    recalled for it; in place of the others one message with the placeholders that they had.
    """
    every = units(kind, messages)
    extra = [kind.say(recalled)] if recalled else []
    room = budget - kind.costs(extra)
    at = _instruction(kind, every)
    if sum(map(kind.costs, every)) <= room:
        return _joined(kind, every, range(len(every)), at, extra, [])
    listed = budget // PLACEHOLDERS
    chosen = _chosen(kind, every, at, room - listed)
    told = "\n".join(text for number in chosen for one in every[number] for text in kind.texts(one))
    left_out = _fitting([one for one in issued if one not in told], listed - 4 * FRAME)
    note = [kind.say("\n".join([LISTED, *left_out]))] if left_out else []
    joined = _joined(kind, every, sorted(chosen), at, extra, note)
    return _fitted(kind, joined, budget, [*extra, *note])


def units(kind: Kind[M], messages: Sequence[M]) -> list[list[M]]:
    """What is shown together or not at all: providers refuse a call without its result, and a
    result without its call.
    """
    found: list[list[M]] = []
    for message in messages:
        role = kind.role(message)
        before = kind.role(found[-1][-1]) if found else None
        if role == "agent" and before == "thought":
            found[-1].append(message)
        elif role != "result":
            found.append([message])
        elif before in ("agent", "result"):
            found[-1].append(message)
    return found


def _instruction(kind: Kind[M], every: Sequence[Unit[M]]) -> int:
    """Where the last of the user's messages stands; -1 where there is none."""
    return max((at for at, unit in enumerate(every) if kind.role(unit[0]) == "user"), default=-1)


def _chosen(kind: Kind[M], every: Sequence[Unit[M]], at: int, room: int) -> set[int]:
    """The newest unit always; then the instructions; then the newest, without a gap."""
    newest = len(every) - 1
    system = [n for n, unit in enumerate(every) if kind.role(unit[0]) == "system"]
    chosen: set[int] = set()
    for number in dict.fromkeys([newest, at, *reversed(system)]):
        cost = kind.costs(every[number])
        if number == newest and cost > room:  # it will be cut: others have the other half
            cost = room // 2
        if number >= 0 and cost <= room:
            chosen.add(number)
            room -= cost
    for number in range(newest, -1, -1):
        if number in chosen:
            continue
        room -= kind.costs(every[number])
        if room < 0:
            break
        chosen.add(number)
    return chosen


def _joined(
    kind: Kind[M],
    every: Sequence[Unit[M]],
    chosen: Sequence[int],
    at: int,
    extra: Sequence[M],
    note: Sequence[M],
) -> list[M]:
    """In their order: what is not shown before the first that is no system message, what was
    recalled after the instruction that it is for.
    """
    shown: list[M] = []
    told = False
    for number in chosen:
        if not told and kind.role(every[number][0]) != "system":
            shown += note
            told = True
        shown += every[number]
        if number == at:
            shown += extra
    return shown if at in chosen else [*shown, *extra]


def _fitting(placeholders: Sequence[str], room: int) -> list[str]:
    """The newest of them, in their order."""
    kept: list[str] = []
    for one in reversed(placeholders):
        room -= count(one) + 1
        if room < 0:
            break
        kept.append(one)
    return kept[::-1]


def _fitted(kind: Kind[M], messages: list[M], budget: int, own: Sequence[M]) -> list[M]:
    """Where even the newest is too long, texts are cut: the budget holds. Our own have a share."""
    whole = {id(one) for one in own}
    longest = max((len(text) for message in messages for text in kind.texts(message)), default=0)
    while kind.costs(messages) > budget and longest > len(CUT):
        longest //= 2
        short = functools.partial(shortened, longest=longest)
        messages = [one if id(one) in whole else kind.cut(one, short) for one in messages]
    return messages


def shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest].removesuffix(CUT) + CUT
