r"""A part of a stored text: some of its lines or bytes, a place in its JSON, what is found in it.

A line ends with its `\n`; so any cover of all lines, joined, is the text.
"""

import base64
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from memoryd.core import errors
from memoryd.references import json_path

SHOWN_MOST = 8 * 1024 * 1024  # bytes of an answer, as of a request in JSON
JSON_MOST = 16 * 1024 * 1024  # bytes of a text that is parsed for a path
FIND_LONGEST = 500  # characters
WINDOW = 1024 * 1024  # characters
LINE_MOST = 2_000  # characters; of a longer line `find` shows only what is around the places
AROUND = 300  # characters either side of a place in a long line
_SPAN = re.compile(r"(\d{1,15})-(\d{0,15})|-(\d{1,15})|(\d{1,15})", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Wish:
    """Which part; at most one of the first four."""

    lines: str | None = None
    bytes: str | None = None
    path: str | None = None
    find: str | None = None
    context: int = 2  # lines around what is found
    limit: int = 20  # places that are shown

    def check(self) -> None:
        given = [name for name in ("lines", "bytes", "path", "find") if getattr(self, name)]
        if len(given) > 1:
            raise errors.Invalid(
                f"{' and '.join(given)} are two questions: ask one at a time", field=given[1]
            )


@dataclass(frozen=True, kw_only=True)
class Part:
    """What is shown, and which part of what total it is."""

    kind: Literal["whole", "lines", "bytes", "path", "find"]
    content: str | None  # None where it is no text
    bytes: str | None = None  # in base64, where it is no text
    first: int | None = None  # line, from 1, or byte, from 0
    last: int | None = None  # the last that is shown
    total: int  # lines, bytes, entries at the path, or places found
    unit: Literal["bytes", "lines", "entries", "matches"]


def part(stored: bytes, wish: Wish, *, binary: bool) -> Part:
    """The part of `stored` that `wish` asks for."""
    wish.check()
    if binary and (wish.lines or wish.path or wish.find):
        name = "lines" if wish.lines else "path" if wish.path else "find"
        raise errors.Invalid("it is no text: ask for the whole, or for bytes=0-999", field=name)
    if wish.lines:
        return _lines(stored, wish.lines)
    if wish.bytes:
        return _bytes(stored, wish.bytes)
    if wish.path:
        return _path(stored, wish.path)
    if wish.find:
        return _find(stored, wish)
    fits(len(stored), "key")
    shown = _shown(stored)
    return Part(
        kind="whole", **shown, first=0, last=len(stored) - 1, total=len(stored), unit="bytes"
    )


def span(given: str, total: int, start: int, name: str) -> tuple[int, int]:
    """From where to before where `given` goes, counted from 0; the first has the number `start`.

    >>> span("2-3", 10, 1, "lines"), span("8-", 10, 0, "bytes"), span("-3", 10, 1, "lines")
    ((1, 3), (8, 10), (7, 10))
    """
    found = _SPAN.fullmatch(given.strip())
    if found is None:
        raise errors.Invalid(
            f"{given[:40]!r} is no range; write {start}-20, {start}- or -20", field=name
        )
    first, last, suffix, single = found.groups()
    if suffix is not None:
        return max(total - int(suffix), 0), total
    low = int(single if first is None else first)
    high = low if first is None else int(last) if last else max(total - 1 + start, low)
    if low < start or high < low:
        raise errors.Invalid(
            f"{given!r} ends before it begins, or begins before {start}", field=name
        )
    if low - start >= total:
        raise errors.RangeNotSatisfiable(
            f"it begins after the end: there are {total:,} {name}", field=name, limit=f"{total:,}"
        )
    return low - start, min(high - start + 1, total)


def line_starts(stored: bytes) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Where each line begins, and at the end where the text does."""
    ends = np.flatnonzero(np.frombuffer(stored, np.uint8) == ord("\n")) + 1
    inner = ends[ends < len(stored)]
    return np.concatenate(([0], inner, [len(stored)])) if stored else np.zeros(1, np.int64)


def _lines(stored: bytes, given: str) -> Part:
    starts = line_starts(stored)
    total = len(starts) - 1
    low, high = span(given, total, 1, "lines")
    cut = stored[int(starts[low]) : int(starts[high])]
    fits(len(cut), "lines")
    said = cut.decode()
    return Part(kind="lines", content=said, first=low + 1, last=high, total=total, unit="lines")


def _bytes(stored: bytes, given: str) -> Part:
    low, high = span(given, len(stored), 0, "bytes")
    fits(high - low, "bytes")
    return of_bytes(stored[low:high], low, len(stored))


def of_bytes(cut: bytes, first: int, total: int) -> Part:
    """Bytes that were read from `first` on."""
    last = first + len(cut) - 1
    return Part(kind="bytes", **_shown(cut), first=first, last=last, total=total, unit="bytes")


def _path(stored: bytes, given: str) -> Part:
    if len(stored) > JSON_MOST:
        raise errors.TooLarge(
            f"it has {len(stored):,} bytes: a path is looked up in less; ask for lines, or find",
            field="path",
            limit=f"{JSON_MOST:,} bytes",
        )
    found = json_path.look(stored, given)
    size = len(found) if isinstance(found, dict | list) else 1
    said = json_path.text(found)
    fits(len(said.encode()), "path")
    return Part(kind="path", content=said, total=size, unit="entries")


def _find(stored: bytes, wish: Wish) -> Part:
    """Each place with the lines around it, under a line that says which they are."""
    assert wish.find is not None
    starts = line_starts(stored)
    total = len(starts) - 1
    hits = _hits(stored, wish.find, starts)
    blocks: list[list[int]] = []
    for line in hits[: wish.limit]:
        low, high = max(line - wish.context, 0), min(line + wish.context + 1, total)
        if blocks and low <= blocks[-1][1]:
            blocks[-1][1] = high
        else:
            blocks.append([low, high])
    shown = []
    for low, high in blocks:
        lines = stored[int(starts[low]) : int(starts[high])].decode().removesuffix("\n")
        around = [_around(line, wish.find, wish.limit) for line in lines.split("\n")]
        shown += [f"[lines {low + 1}-{high} of {total}]", *around]
    said = "\n".join(shown)
    fits(len(said.encode()), "find")
    first, last = (hits[0] + 1, hits[: wish.limit][-1] + 1) if hits else (None, None)
    return Part(kind="find", content=said, first=first, last=last, total=len(hits), unit="matches")


def _around(line: str, find: str, limit: int) -> str:
    """A line; of a long one, as minified JSON is, what is around the places, or its beginning."""
    if len(line) <= LINE_MOST:
        return line
    spans: list[tuple[int, int]] = []
    for place in itertools.islice(_places(line, find), limit):
        low, high = max(place - AROUND, 0), place + len(find) + AROUND
        if spans and low <= spans[-1][1]:
            spans[-1] = (spans[-1][0], high)
        else:
            spans.append((low, high))
    spans = spans or [(0, 2 * AROUND)]
    begins, ends = "…" * (spans[0][0] > 0), "…" * (spans[-1][1] < len(line))
    return begins + "…".join(line[low:high] for low, high in spans) + ends


def _hits(stored: bytes, find: str, starts: "np.ndarray[Any, np.dtype[np.int64]]") -> list[int]:
    """The lines, from 0, in which `find` begins; letters of either case are the same."""
    text = stored.decode()
    places = list(_places(text, find))
    if len(text) != len(stored):  # places of letters → places of bytes
        at, size, offsets = 0, 0, []
        for place in places:
            size += len(text[at:place].encode())
            at = place
            offsets.append(size)
        places = offsets
    lines = np.searchsorted(starts, np.array(places, np.int64), side="right") - 1
    return list(dict.fromkeys(lines.tolist()))


def _places(text: str, find: str) -> Iterator[int]:
    """A window at a time: the interpreter serves nobody else while it searches one."""
    pattern = re.compile(re.escape(find), re.IGNORECASE)
    for start in range(0, len(text), WINDOW):
        stop = start + WINDOW
        for found in pattern.finditer(text, start, stop + len(find)):
            if found.start() < stop:
                yield found.start()


def _shown(cut: bytes) -> dict[str, Any]:
    """As text, where it is one; a range may cut a letter in two."""
    try:
        said = cut.decode()
    except UnicodeDecodeError:
        said = "\0"
    if "\0" in said:
        return {"content": None, "bytes": base64.b64encode(cut).decode()}
    return {"content": said}


def fits(size: int, name: str) -> None:
    if size > SHOWN_MOST:
        raise errors.TooLarge(
            f"that has {size:,} bytes; ask for less of it (lines, bytes, path or find), or stream "
            "it whole from /api/v1/references/{key}/raw",
            field=name,
            limit=f"{SHOWN_MOST:,} bytes",
        )
