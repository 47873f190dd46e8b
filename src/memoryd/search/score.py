"""Candidates → scores, with their parts: pure functions on arrays.

The weights are round numbers, chosen on development data and run once on the rest; `mm` maps to
[0, 1] by the smallest and largest value, and what is alone, or equal to all, to the best there is.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

K1, B = 1.2, 0.75
FIRST = {"pooled": 1.0, "bm25": 1.0, "window": 0.5, "session": 0.5}
FINAL = {"maxsim": 1.0, "near": 0.25, "session": 0.5, "pooled": 0.5, "bm25": 0.25}
FOREIGN = 2.0  # added to the weight of words for a question in a script that the model cannot read
SPEAKER, DATE, PARTS = 0.3, 0.2, 0.2
LATIN = "\u024f"  # the last letter of the Latin blocks
# Multiplications. Products this small are done by the calling thread; above it the library's own
# threads spin beside PostgreSQL and the encoder, ten times as long on two busy cores.
AT_ONCE = 2**18
_BYTE_SIGNS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) * np.float32(2) - 1
FLOAT_TOKENS = 12_000  # of the scored chunks together: 5 ms in floats
HALF_LIFE = 365 * 86_400  # seconds; with a month, how old it is outweighed what it says

# Semantic, recency, importance: the seed's by default; asking the memory for something looks
# first for what fits, however old it is.
PRESETS = {
    "default": (0.6, 0.3, 0.1),
    "recall": (1.0, 0.0, 0.0),
    "recent": (0.4, 0.5, 0.1),
    "decide": (0.6, 0.1, 0.3),
}


def mm(values: Floats, low: float | None = None, high: float | None = None) -> Floats:
    """To [0, 1]; `low` and `high` may come from a larger set than `values`."""
    if not values.size:
        return values
    low = float(values.min()) if low is None else low
    high = float(values.max()) if high is None else high
    return np.clip((values - low) / (high - low), 0, 1) if high > low else np.sign(values.clip(0))


def idf(having: int, docs: int) -> float:
    """Lucene's: never negative."""
    return float(np.log(1 + (docs - having + 0.5) / (having + 0.5)))


def saturate(frequency: NDArray[Any], length: NDArray[Any], average: float) -> Floats:
    """A term's share of BM25, before its idf."""
    return frequency / (frequency + K1 * (1 - B + B * length / average))


def products(codes: NDArray[np.uint8], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Packed bits [n, dimensions / 8], read as unit vectors of ±1/√dimensions, times each of the
    query's vectors [m, dimensions] → [n, m].
    """
    dimensions = query.shape[1]
    signs = _BYTE_SIGNS * np.float32(1 / np.sqrt(dimensions))
    found = np.empty((len(codes), len(query)), np.float32)
    rows = max(AT_ONCE // query.size, 1)
    for start in range(0, len(codes), rows):
        here = slice(start, start + rows)
        unpacked = np.take(signs, codes[here], axis=0).reshape(-1, dimensions)
        np.matmul(unpacked, query.T, out=found[here])
    return found


def late(query: NDArray[np.float32], weights: Floats, blobs: Sequence[bytes], width: int) -> Floats:
    """For each chunk, given as the sign bits of its tokens, the weighted mean of each query
    piece's best match in it; 0 for a chunk without tokens.

    Few tokens are compared in floats, many by counting equal bits: nearly the same order, in a
    fifth of the time. Never both in one search, whose scales would not agree.
    """
    met = np.zeros(len(blobs))
    having = [at for at, blob in enumerate(blobs) if blob]
    if having:
        codes = np.frombuffer(b"".join(blobs[at] for at in having), np.uint8).reshape(-1, width)
        sizes = np.array([len(blobs[at]) // width for at in having])
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        best = _best_in_floats if len(codes) <= FLOAT_TOKENS else _best_by_bits
        met[having] = weights @ best(query, codes, starts) / max(float(weights.sum()), 1e-9)
    return met


def _best_in_floats(
    query: NDArray[np.float32], codes: NDArray[np.uint8], starts: NDArray[Any]
) -> NDArray[Any]:
    return np.maximum.reduceat(products(codes, query), starts, axis=0).T


def _best_by_bits(
    query: NDArray[np.float32], codes: NDArray[np.uint8], starts: NDArray[Any]
) -> NDArray[Any]:
    columns = np.ascontiguousarray(codes.view(np.uint64).T)
    best = np.empty((len(query), len(starts)))
    for at, asked in enumerate(np.packbits(query > 0, axis=1).view(np.uint64)):
        differing = np.zeros(len(codes), np.uint16)
        for word, column in zip(asked, columns, strict=True):
            differing += np.bitwise_count(column ^ word)
        best[at] = 1 - np.minimum.reduceat(differing, starts) / (codes.shape[1] * 4)
    return best


def nearby(values: Floats, around: NDArray[Any]) -> Floats:
    """The mean of the neighbours' values, by their places in `values` (-1: not there); who has
    none gets the mean of all, which neither helps nor harms.

    >>> nearby(np.array([1.0, 0.0, 0.5]), np.array([[-1, 0, -1], [1, 2, -1]])).tolist()
    [0.0, 0.75, 0.5]
    """
    padded = np.append(values, 0.0)
    count = (around >= 0).sum(axis=0)
    total = padded[around].sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), values.mean() if len(values) else 0.0)


def answering(values: Floats, before: NDArray[Any], asks: NDArray[Any]) -> Floats:
    """What follows a question is raised halfway to it where that is met better, since an answer
    seldom repeats what it was asked; `before` as in `nearby`.

    >>> answering(np.array([1.0, 0.5, 0.5]), np.array([-1, 0, 1]), np.array([1, 0, 0])).tolist()
    [1.0, 0.75, 0.5]
    """
    asked: Floats = np.append(values * asks, 0.0)[before]
    return values + np.maximum(asked - values, 0) / 2


def combine(weights: dict[str, float], parts: dict[str, Floats]) -> Floats:
    """The sum of the parts that are there: weighted where in [0, 1], as it is where a bonus."""
    shares = [weights[name] * part for name, part in parts.items() if name in weights]
    bonuses = [part for name, part in parts.items() if name in ("speaker", "date", "parts")]
    # Not `np.sum`, which first copies all parts into one array: 7 ms for 150,000 documents.
    return functools.reduce(np.add, [*shares, *bonuses]) if shares or bonuses else np.zeros(0)


def final(text: str) -> dict[str, float]:
    """The weights of the last step for a question. The model was trained on English: in other
    scripts its vectors say little, and the words themselves count the more.

    >>> final("when do we ship?") == FINAL
    True
    """
    letters = [letter for letter in text if letter.isalpha()]
    foreign = sum(letter > LATIN for letter in letters) / max(len(letters), 1)
    return FINAL | {"bm25": FINAL["bm25"] + FOREIGN * foreign}


def largest(weights: dict[str, float]) -> float:
    """What `combine` can reach, so that a score maps to [0, 1] by a constant."""
    return sum(weights.values()) + SPEAKER + DATE


def recency(ts: NDArray[Any], now: float) -> Floats:
    """1 now, halved every half-life; the future counts as now."""
    return np.exp2(-np.maximum(now - ts, 0.0) / HALF_LIFE)
