"""Short texts that say the same: the same words in the same order, with the same numbers and
negations; the longer may have a word more.

Repetitions in bundles are found by runs of words (search/similar.py); a memory is one sentence, in
which a changed article breaks every run.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from memoryd.search import analyze

# Of the longer text's terms, how many the shorter must have: one word more in four is an aside
# ("User likes green tea" and "The user likes green tea now"), two in four are another matter.
SAME = 0.75
_TELLING = re.compile(
    r"\w*\d\w*|\w+['\u2019]t\b|\b(?:not?|never|none|without|nicht|keine?|pas|non)\b"
)

T = TypeVar("T")


@dataclass(frozen=True)
class _Sketch:
    terms: tuple[str, ...]  # in their order: who manages whom
    telling: frozenset[str]  # what turns a meaning around


def groups(
    things: Sequence[T], text: Callable[[T], str], about: Callable[[T], object] = lambda _: None
) -> list[list[T]]:
    """Those that say the same of the same thing (`about`), together; in their order, so that the
    choice is the same every time.
    """
    found: list[tuple[_Sketch, list[T]]] = []
    for one in things:
        own = _sketch(text(one))
        for other, members in found:
            if _same(own, other) and about(one) == about(members[0]):
                members.append(one)
                break
        else:
            found.append((own, [one]))
    return [members for _, members in found if len(members) > 1]


def alike(left: str, right: str) -> bool:
    """Whether two texts say the same.

    >>> alike("The user likes green tea", "User likes green teas.")
    True
    >>> alike("The user likes green tea", "The user does not like green tea")
    False
    >>> alike("Alice manages Bob", "Bob manages Alice")
    False
    """
    return _same(_sketch(left), _sketch(right))


def _sketch(text: str) -> _Sketch:
    folded = text.casefold()
    found = analyze.query_terms(text)
    # Where the language is open, German stems come beside the English ones, marked by a blank.
    plain = [term for term in found if " " not in term] or found or [folded]
    return _Sketch(tuple(plain), frozenset(_TELLING.findall(folded)))


def _same(left: _Sketch, right: _Sketch) -> bool:
    short, long = sorted((left.terms, right.terms), key=len)
    if left.telling != right.telling or len(short) < SAME * len(long):
        return False
    rest = iter(long)
    return all(term in rest for term in short)  # each after the one before it
