"""Texts that say the same: found by MinHash sketches, then compared in full. Deterministic."""

import functools
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SAME = 0.8  # of the word triples of two texts: then they say the same
HASHES = 12  # numbers of a text's sketch
AGREEING = 7  # of them: then two texts are compared in full
MOST = 8  # earlier texts that one is compared with in full
# What turns a meaning around: numbers with their signs, negations, comparisons.
_TELLING = re.compile(
    r"(?<!\w)[-+]?\w*\d[\w.]*|\w['\u2019]t\b|\b(?:not?|never|none|without|nicht|keine?|pas|non)\b"
    r"|[<>]=?|[!=]="
)
_WORD = re.compile(r"\w+(?:['\u2019]t)?")
BETWEEN = "\0" * 8  # two texts; no text has a zero
_BLANKS = bytes.maketrans(b"\t\n\v\f\r", b"     ")
LEADING = 0xC0  # from here on a byte begins a letter beyond ASCII, in UTF-8
_INSIDE = np.array([at >= 0x80 or chr(at).isalnum() for at in range(256)])  # bytes of words
_ODD = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.random.default_rng(0).integers(0, 2**31, HASHES, np.uint32) * np.uint32(2) + 1


def repeats(
    bodies: Sequence[str], asked: Sequence[str] = (), speakers: Sequence[str] = ()
) -> dict[int, int]:
    """The places of those that repeat, nearly word for word, one before them, and where that is.
    What differs in a name, or in a word that begins with a term of those `asked` for, does not;
    nor what another of the `speakers` said, but for the same words.
    """
    found: dict[int, int] = {}
    said = functools.cache(lambda at: _Said(bodies[at]))
    compared: Counter[int] = Counter()
    for at, other in _pairs(bodies) if bodies else ():
        if at not in found and other not in found and compared[at] < MOST:
            compared[at] += 1
            left, right = said(other), said(at)
            alike = not speakers or speakers[at] == speakers[other] or left.all == right.all
            if alike and _same(left, right, tuple(asked)):
                found[at] = other
    return found


def _pairs(bodies: Sequence[str]) -> list[list[int]]:
    """Two and two, the later text first, in order, that tell the same and may be equal."""
    pairs = _alike(_sketches(bodies))
    numbers: dict[tuple[str, ...], int] = {}
    tells = np.zeros(len(bodies), int)
    for at in np.unique(pairs).tolist():
        telling = tuple(_TELLING.findall(bodies[at].casefold()))
        tells[at] = numbers.setdefault(telling, len(numbers))
    listed: list[list[int]] = pairs[tells[pairs[:, 0]] == tells[pairs[:, 1]]].tolist()
    return listed


def _alike(sketches: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Those whose sketches agree so far that they may be equal."""
    agreeing = np.zeros((len(sketches), len(sketches)), np.uint8)
    for column in sketches.T:
        agreeing += column[:, None] == column
    pairs = np.argwhere(agreeing >= AGREEING)
    return pairs[pairs[:, 0] > pairs[:, 1]]


def _sketches(bodies: Sequence[str]) -> NDArray[np.uint8]:
    """MinHash: the share of equal numbers of two sketches is about that of the 8-byte windows at
    the beginnings of their words.
    """
    raw = "".join([body + BETWEEN for body in bodies]).casefold().encode()
    joined = _even(raw.translate(_BLANKS))
    ends = np.flatnonzero(joined == 0).reshape(-1, len(BETWEEN))[:, -1] + 1
    starts = np.concatenate([[0], ends[:-1]])
    begins = _begins(joined, starts)
    # Of eight bytes that may lie anywhere, a number.
    values = np.ndarray(len(joined) - 7, "<u8", joined, strides=(1,))[begins]
    values += _ODD  # a zero would be the least of all products
    values *= _ODD
    values ^= values >> np.uint64(29)
    values *= _ODD
    mixed = (values >> np.uint64(32)).astype(np.uint32)  # products of 32 bits are twice as fast
    spans = np.searchsorted(begins, starts)
    found = [np.minimum.reduceat(mixed * factor, spans) for factor in _FACTORS]
    # A byte of each is compared four times as fast; chance makes few pairs more.
    return np.stack(found, axis=1).astype(np.uint8)


def _begins(joined: NDArray[np.uint8], bodies: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where bodies and words begin, and every letter beyond ASCII: some scripts have no blanks."""
    inside = _INSIDE.take(joined)
    begins = joined >= LEADING
    begins[1:] |= inside[1:] & ~inside[:-1]
    begins[bodies] = True
    return np.flatnonzero(begins)


def _even(text: bytes) -> NDArray[np.uint8]:
    """Its bytes, with one blank between words."""
    found = np.frombuffer(text, np.uint8)
    again = found == ord(" ")
    again[1:] &= again[:-1]
    again[:1] = False
    return found[~again] if again.any() else found


class _Said:
    """What is compared in full: the words of a text, and each three that follow each other."""

    def __init__(self, body: str) -> None:
        words = _WORD.findall(body) or [body]
        self.all = [word.casefold() for word in words]
        self.triples = {tuple(self.all[at : at + 3]) for at in range(max(len(self.all) - 2, 1))}
        self.words = set(self.all)
        names = {low for low, word in zip(self.all, words, strict=True) if low != word}
        self.names = names if 2 * len(names) < len(self.words) else set()  # some texts SHOUT


def _same(left: _Said, right: _Said, asked: tuple[str, ...]) -> bool:
    shared = len(left.triples & right.triples)
    if shared < SAME * (len(left.triples) + len(right.triples) - shared):
        return False
    differing = left.words ^ right.words
    named = differing & (left.names | right.names)
    return not named and not any(word.startswith(asked) for word in differing)
