"""Which memories matter most when not all have room: importance that decays while unread.

Reading never changes a bundle or a prompt that was built: these numbers are derived from what was
handed out, when they are asked for.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from memoryd.core import tokens
from memoryd.memories.model import Memory

# Of a memory that nobody read: a month, after which most of what people told in passing is over;
# each reading makes it longer.
HALF_LIFE = timedelta(days=30)

T = TypeVar("T", bound=Memory)


@dataclass(frozen=True)
class Access:
    """How often a memory was handed to a model, and when last."""

    access_count: int = 0
    last_accessed_at: datetime | None = None


NEVER = Access()


def importance(memory: Memory, access: Access, now: datetime) -> float:
    """From 1, just written or read, towards 0; what was read often falls more slowly."""
    seen = max(memory.updated_at, access.last_accessed_at or memory.updated_at)
    unread = max((now - seen) / HALF_LIFE, 0.0)
    return float(0.5 ** (unread / (1 + math.log2(1 + access.access_count))))


def by_importance(
    memories: Sequence[T], accesses: Mapping[str, Access], now: datetime
) -> list[str]:
    """Their ids, the most important first; the younger where two are equal."""

    def order(one: T) -> tuple[float, int]:
        access = accesses.get(one.memory_id, NEVER)
        return (-importance(one, access, now), -one.born)

    return [one.memory_id for one in sorted(memories, key=order)]


def fitting(
    memories: Sequence[T],
    line: Callable[[T], str],
    preferred: Sequence[str],
    room: int,
    always: Collection[str] = (),
) -> list[T]:
    """Those that fit into `room` tokens, in the order given: first what is in `always`, then by
    preference. A line ends where no token goes on, so that counts add up.
    """
    rank = {memory_id: place for place, memory_id in enumerate(preferred)}
    last = len(rank)

    def order(one: T) -> tuple[bool, int]:
        return (one.memory_id not in always, rank.get(one.memory_id, last))

    kept: set[str] = set()
    for one in sorted(memories, key=order):
        size = tokens.count(line(one) + "\n")
        if size <= room:
            kept.add(one.memory_id)
            room -= size
    return [one for one in memories if one.memory_id in kept]
