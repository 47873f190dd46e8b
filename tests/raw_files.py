"""Searching every byte of a folder for many texts at once."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

SPAN = 16  # bytes from the middle of a text that stand for it: half a secret is a leak, too
SHORTEST = 8
BLOCK = 16 * 1024 * 1024


class Needles:
    """Texts to look for; what is shorter than eight bytes could be anywhere by chance."""

    def __init__(self, texts: Iterable[str]) -> None:
        written = {form for text in texts for form in (text, text.lower())}
        encoded = [text.encode(code) for text in written for code in ("utf-8", "utf-16-le")]
        self._by_start: dict[bytes, list[bytes]] = {}
        self.sought = {_middle(one) for one in encoded if len(one) >= SHORTEST}
        for needle in self.sought:
            self._by_start.setdefault(needle[:3], []).append(needle)
        self._starts = np.zeros(1 << 24, bool)
        for start in self._by_start:
            self._starts[int.from_bytes(start, "little")] = True

    def within(self, given: bytes) -> set[bytes]:
        """Those in `given`: a table finds their first three bytes, a comparison the rest."""
        found: set[bytes] = set()
        for at in range(0, len(given), BLOCK):
            block = given[at : at + BLOCK + SPAN]
            one = np.frombuffer(block, np.uint8).astype(np.uint32)
            places = np.flatnonzero(self._starts[one[:-2] | one[1:-1] << 8 | one[2:] << 16])
            for place in places.tolist():
                for needle in self._by_start[block[place : place + 3]]:
                    if block.startswith(needle, place):
                        found.add(needle)
        return found


def _middle(text: bytes) -> bytes:
    first = max(len(text) - SPAN, 0) // 2
    return text[first : first + SPAN]


def files(folder: Path) -> Iterator[Path]:
    """All but the server's programs."""
    for path in sorted(folder.resolve().rglob("*")):
        if path.is_file() and not any(part.startswith("binaries-") for part in path.parts):
            yield path


def found(folder: Path, needles: Needles) -> dict[str, set[bytes]]:
    """What is found, by file."""
    read = {str(path): needles.within(path.read_bytes()) for path in files(folder)}
    return {path: some for path, some in read.items() if some}
