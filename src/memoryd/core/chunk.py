"""An event's text → chunks that join to exactly that text.

Cuts fall on structure: headings and code fences, blank lines, lines, sentences, words; inside a
word only when a single word is longer than a chunk.
"""

import re
from collections.abc import Iterator

# Characters. Measured best for retrieval: longer chunks blur what a vector says.
TARGET = 1_000
WINDOW = 65_536

# Where a text may be cut, best places first. Each pattern matches the empty string at a cut.
_CUTS = [
    re.compile(r"(?m)^(?=#{1,6} )|^(?=(?:```|~~~)\w)|(?<=^```\n)|(?<=^~~~\n)"),
    re.compile(r"(?<=\n\n)(?=[^\n])|(?<=\n\r\n)(?=[^\r\n])"),
    re.compile(r"(?<=\n)"),
    re.compile(r"(?<=[.!?] )|(?<=[。！？])"),  # noqa: RUF001  # Chinese and Japanese sentence ends
    re.compile(r"(?<=\s)(?=\S)"),
]


def split(text: str, target: int = TARGET) -> list[str]:
    r"""Pieces of about `target` characters at most; their concatenation is `text`.

    >>> split("one two\n\nthree four", target=10)
    ['one two\n\n', 'three four']
    """
    return [piece for part in _windows(text) for piece in _split(part, target, 0)]


def _windows(text: str) -> Iterator[str]:
    """Stretches that a pattern may search without keeping every other thread waiting; they end
    with a line, or a word, wherever there is one.
    """
    start = 0
    while start < len(text):
        end = start + WINDOW
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or text.rfind(" ", start, end) + 1 or end
        yield text[start:end]
        start = end


def _split(text: str, target: int, level: int) -> list[str]:
    if len(text) <= target:
        return [text]
    if level == len(_CUTS):
        return [text[at : at + target] for at in range(0, len(text), target)]
    cuts = [match.start() for match in _CUTS[level].finditer(text)]
    bounds = [0, *(cut for cut in cuts if 0 < cut < len(text)), len(text)]
    pieces: list[str] = []
    for start, end in _packed(bounds, target):
        pieces += _split(text[start:end], target, level + 1)
    return _without_blanks(pieces, target)


def _packed(bounds: list[int], target: int) -> list[tuple[int, int]]:
    """Neighbouring stretches, joined while they fit."""
    spans, start = [], 0
    for here, after in zip(bounds[1:], [*bounds[2:], None], strict=True):
        if after is None or after - start > target:
            spans.append((start, here))
            start = here
    return spans


def _without_blanks(pieces: list[str], target: int) -> list[str]:
    """A piece of white space alone says nothing: it joins the one before it, if there is room."""
    kept: list[str] = []
    for piece in pieces:
        if kept and not piece.strip() and len(kept[-1]) + len(piece) <= 2 * target:
            kept[-1] += piece
        else:
            kept.append(piece)
    return kept
