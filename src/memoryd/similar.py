"""Texts that say the same: found by MinHash sketches, then compared in full. Deterministic."""

import functools
import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

SAME = 0.8  # of the word triples of two texts: then they say the same
HASHES = 12  # numbers of a text's sketch
AGREEING = 7  # of them: then two texts are compared in full
_TELLING = re.compile(r"\d|['\u2019]t$|^(?:not?|never|none|without|nicht|keine?|pas|non)$")
LEADING = 0xC0  # from here on a byte begins a letter beyond ASCII, in UTF-8
_INSIDE = np.array([at >= 0x80 or chr(at).isalnum() for at in range(256)])  # bytes of words
_ODD = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.random.default_rng(0).integers(0, 2**31, HASHES, np.uint32) * np.uint32(2) + 1


def repeats(bodies: Sequence[str]) -> set[int]:
    """The places of those that repeat, nearly word for word, one before them."""
    repeated: set[int] = set()
    triples = functools.cache(lambda at: _triples(bodies[at]))
    for at, other in _alike(_sketches(bodies)) if bodies else ():
        if not repeated & {at, other} and _same(triples(other), triples(at)):
            repeated.add(at)
    return repeated


def _alike(sketches: NDArray[np.uint32]) -> Iterator[tuple[int, int]]:
    """Pairs, the later text first, in order, whose sketches agree so far that they may be equal."""
    agreeing = np.zeros((len(sketches), len(sketches)), np.uint8)
    for column in sketches.T:
        agreeing += column[:, None] == column
    pairs = np.argwhere(np.tril(agreeing >= AGREEING, -1))
    yield from ((int(at), int(other)) for at, other in pairs)


def _sketches(bodies: Sequence[str]) -> NDArray[np.uint32]:
    """MinHash: the share of equal numbers of two sketches is about that of the 8-byte windows at
    the beginnings of their words.
    """
    raw = [_even(body.casefold()).encode() + b"\0" * 8 for body in bodies]
    ends = np.cumsum([0, *map(len, raw)])
    begins = _begins(np.frombuffer(b"".join(raw), np.uint8), ends[:-1])
    # Of eight bytes that may lie anywhere, a number.
    values = np.ndarray(max(ends[-1] - 7, 0), "<u8", b"".join(raw), strides=(1,))[begins]
    values += _ODD  # a zero would be the least of all products
    values *= _ODD
    values ^= values >> np.uint64(29)
    values *= _ODD
    mixed = (values >> np.uint64(32)).astype(np.uint32)  # products of 32 bits are twice as fast
    spans = np.searchsorted(begins, ends[:-1])
    found = [np.minimum.reduceat(mixed * factor, spans) for factor in _FACTORS]
    return np.stack(found, axis=1)


def _begins(joined: NDArray[np.uint8], bodies: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where bodies and words begin, and every letter beyond ASCII: some scripts have no blanks."""
    inside = _INSIDE.take(joined)
    begins = joined >= LEADING
    begins[1:] |= inside[1:] & ~inside[:-1]
    begins[bodies] = True
    return np.flatnonzero(begins)


def _even(body: str) -> str:
    """With one blank between words; most texts have that already, and splitting them takes time."""
    uneven = "\n" in body or "  " in body or "\t" in body
    return " ".join(body.split()) if uneven else body


def _same(left: set[tuple[str, ...]], right: set[tuple[str, ...]]) -> bool:
    """Nearly the same words, with the same numbers and negations: these turn a meaning around."""
    return len(left & right) >= SAME * len(left | right) and _telling(left) == _telling(right)


def _telling(triples: set[tuple[str, ...]]) -> set[str]:
    return {word for word in {word for words in triples for word in words} if _TELLING.search(word)}


def _triples(body: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+(?:['\u2019]t)?", body.casefold()) or [body]
    return {tuple(words[at : at + 3]) for at in range(max(len(words) - 2, 1))}
