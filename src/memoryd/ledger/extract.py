"""A summary of a session without a model: its most central sentences, each cited, in their order.

The same passages give the same summary, in whatever order they come.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import NamedTuple

from memoryd.core import chunk, tokens
from memoryd.core.model import MAX_NAMES, Sensitivity
from memoryd.search import analyze

LONGEST = 400  # characters of a sentence; a longer one is cut between its words
ALIKE = 0.7  # of the terms that either of two sentences has: then they say the same
FEWEST = 4  # tokens; a sentence has more
OPENING = 1.2  # how much more the first sentence of a passage counts
K1, B = 1.2, 0.75  # of BM25

_END = re.compile(r"\n+|(?<=[.!?])\s+(?![a-z])|(?<=[。！？])")  # noqa: RUF001  # Chinese sentence ends


@dataclass(frozen=True, kw_only=True)
class Passage:
    """What was said or decided; `label` tells by whom, and the lowest `rank` comes first. It is
    from the events that it `cites`.
    """

    cites: tuple[str, ...]
    position: int
    ordinal: int
    rank: int
    label: str
    text: str
    sensitivity: Sensitivity


class _Sentence(NamedTuple):
    place: tuple[int, int, int]
    line: str
    terms: list[str]
    source: Passage


def summarize(passages: Sequence[Passage], max_tokens: int) -> tuple[str, list[str]]:
    """At most `max_tokens` of what `passages` say, and the events it is from."""
    found = sorted(one for passage in passages for one in _sentences(passage))
    chosen = _choose(_ranked(found), max_tokens)
    while tokens.count(text := "\n".join(one.line for one in sorted(chosen))) > max_tokens:
        chosen.pop()
    return text, list(dict.fromkeys(cited for one in sorted(chosen) for cited in one.source.cites))


def _sentences(passage: Passage) -> Iterator[_Sentence]:
    """Those that say something: more than one word, or a decision or task."""
    pieces = [part for line in _END.split(passage.text) for part in chunk.split(line, LONGEST)]
    for number, piece in enumerate(pieces):
        place = (passage.position, passage.ordinal, number)
        line = passage.label + " ".join(piece.split())
        # A word's German stem, which it has beside the English one, would count it twice.
        terms = [term for term in analyze.query_terms(piece) if not term.startswith("de ")]
        if len(terms) > (passage.rank > 1):
            yield _Sentence(place, line, terms, passage)


def _ranked(found: list[_Sentence]) -> list[_Sentence]:
    """By rank, then by how much of what all of them speak of is in each."""
    known = Counter(term for one in found for term in one.terms)
    rare = {term: log(1 + (len(found) - n + 0.5) / (n + 0.5)) for term, n in known.items()}
    mean = known.total() / max(len(found), 1)

    def key(one: _Sentence) -> tuple[int, float]:
        central = sum(known[term] * rare[term] for term in one.terms)
        opening = OPENING if one.place[2] == 0 else 1
        length = 1 + K1 * (1 - B + B * len(one.terms) / mean)
        return one.source.rank, -central * opening / length

    return sorted(found, key=key)


def _choose(ranked: list[_Sentence], room: int) -> list[_Sentence]:
    """The first that fit, without those that say the same again; of no more events than a summary
    may cite.
    """
    chosen: list[_Sentence] = []
    cited: set[str] = set()
    for one in ranked:
        cost = tokens.count(one.line + "\n")
        fits = cost <= room and len(cited.union(one.source.cites)) <= MAX_NAMES
        if fits and not any(_alike(one.terms, other.terms) for other in chosen):
            chosen.append(one)
            cited.update(one.source.cites)
            room -= cost
        if room < FEWEST or len(cited) == MAX_NAMES:
            break
    return chosen


def _alike(terms: list[str], others: list[str]) -> bool:
    return len({*terms} & {*others}) >= ALIKE * len({*terms, *others})
