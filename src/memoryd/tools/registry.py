"""Which tools an agent is offered: the system's always, others as the message asks for them.

System tools do not count towards the limit. The same tools and message give the same choice.
"""

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from memoryd.core import errors
from memoryd.search import analyze
from memoryd.tools.definition import ToolDef

NAME_WEIGHT = 2  # a word of the message in a tool's name or tags counts more than in its text


@dataclass(frozen=True)
class Registry:
    tools: tuple[ToolDef, ...]

    def __post_init__(self) -> None:
        counted = Counter(_plain(one.name) for one in self.tools)
        assert max(counted.values(), default=1) == 1, "two tools have one name"

    def get(self, name: str) -> ToolDef:
        """By its name, with or without the prefix `memory_`, or with `memory.` as seed 003 has it:
        clients refuse dots, so none is listed.
        """
        for one in self.tools:
            if _plain(one.name) == _plain(name):
                return one
        known = ", ".join(sorted(one.name for one in self.tools))
        raise errors.NotFound(f"there is no tool {name!r}; there are: {known}", field="name")

    def select(
        self, limit: int, message: str | None = None, tags: Collection[str] = ()
    ) -> list[ToolDef]:
        """The system's tools in their order, then at most `limit` others that have one of `tags`,
        the most relevant to `message` first.
        """
        others = [one for one in self.tools if not one.system]
        tagged = [one for one in others if not tags or one.tags & set(tags)]
        points = _points(others, message or "")
        ranked = sorted(tagged, key=lambda one: (-points[one.name], one.name))
        return [*(one for one in self.tools if one.system), *ranked[:limit]]


def _plain(name: str) -> str:
    return name.replace(".", "_").removeprefix("memory_")


def _points(tools: list[ToolDef], message: str) -> dict[str, float]:
    """How much of the message each speaks of; words that every tool has count little."""
    asked = set(analyze.query_terms(message)) if message else set()
    named = {one.name: _terms(f"{one.name} {' '.join(sorted(one.tags))}") for one in tools}
    said = {one.name: _terms(one.description) for one in tools}
    having = Counter(term for name in named for term in named[name] | said[name])

    def weight(name: str) -> float:
        found = asked & (named[name] | said[name])
        return math.fsum(
            math.log1p(len(tools) / having[term]) * (NAME_WEIGHT if term in named[name] else 1)
            for term in sorted(found)
        )

    return {one.name: weight(one.name) for one in tools}


def _terms(text: str) -> set[str]:
    return set(analyze.query_terms(text))
