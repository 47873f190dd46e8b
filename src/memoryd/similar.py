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
_ODD = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = np.random.default_rng(0).integers(0, 2**31, HASHES, np.uint32) * np.uint32(2) + 1


def repeats(bodies: Sequence[str]) -> set[int]:
    """The places of those that repeat, nearly word for word, one before them."""
    repeated: set[int] = set()
    triples = functools.cache(lambda at: _triples(bodies[at]))
    for at, other in _alike(_sketches(bodies)):
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
    """MinHash: the share of equal numbers of two sketches is about that of their 8-byte windows."""
    raw = [_even(body.casefold()).encode() + b"\0" * 8 for body in bodies]
    sizes = np.array([len(one) for one in raw], np.intp)
    values = _windows(b"".join(raw) + b"\0" * 16, int(sizes.sum()))
    ends = np.cumsum(sizes)
    # From a body's first window to the last that is not of the next body too.
    spans = np.stack([ends - sizes, ends - 7], axis=1).ravel()
    values += _ODD  # the end of each body is zeros, and a zero would be the least of all products
    values *= _ODD
    values ^= values >> np.uint64(29)
    values *= _ODD
    mixed = (values >> np.uint64(32)).astype(np.uint32)  # products of 32 bits are twice as fast
    found = np.empty((len(bodies), HASHES), np.uint32)
    product = np.empty_like(mixed)
    for at, factor in enumerate(_FACTORS):
        np.multiply(mixed, factor, out=product)
        found[:, at] = np.minimum.reduceat(product, spans)[::2] if len(bodies) else 0
    return found


def _even(body: str) -> str:
    """With one blank between words; most texts have that already, and splitting them takes time."""
    uneven = "\n" in body or "  " in body or "\t" in body
    return " ".join(body.split()) if uneven else body


def _windows(joined: bytes, count: int) -> NDArray[np.uint64]:
    """The first `count` windows of 8 bytes, one beginning at each byte."""
    found = np.empty(count, np.uint64)
    for first in range(8):
        every_eighth = np.frombuffer(joined, np.uint64, (len(joined) - first) // 8, first)
        found[first::8] = every_eighth[: len(found[first::8])]
    return found


def _same(left: set[tuple[str, ...]], right: set[tuple[str, ...]]) -> bool:
    """Nearly the same words, with the same numbers and negations: these turn a meaning around."""
    return len(left & right) >= SAME * len(left | right) and _telling(left) == _telling(right)


def _telling(triples: set[tuple[str, ...]]) -> set[str]:
    return {word for word in {word for words in triples for word in words} if _TELLING.search(word)}


def _triples(body: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+(?:['\u2019]t)?", body.casefold()) or [body]
    return {tuple(words[at : at + 3]) for at in range(max(len(words) - 2, 1))}
