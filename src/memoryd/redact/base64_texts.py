"""Texts that stand in a text in base64, as configuration and commands carry them."""

import base64
import re
from collections.abc import Iterator

SHORTEST = 24  # characters: what is shorter holds no secret that a rule would know
WINDOW = 65_536  # characters looked through at once; the interpreter serves nobody else meanwhile
BROKEN = 60  # characters of a line, at least, where a long text was broken into lines
SAMPLE = 64  # characters that tell an image from a text

_RUN = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{SHORTEST},}}+={{0,2}}")
# Further lines of a text that was broken into them, and its last, which may be any word instead.
_MORE = re.compile(
    rf"((?:\r?\n[ \t]{{0,16}}[A-Za-z0-9+/]{{{BROKEN},100}}(?=\s)){{0,200}})"
    r"(?:\r?\n[ \t]{0,16}[A-Za-z0-9+/]{2,100}={0,2}(?!\S))?"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_URL_SAFE = str.maketrans("-_", "+/")


def within(given: str, low: int, high: int) -> Iterator[tuple[int, int, str]]:
    """Where in `given[low:high]` each begins and ends, and what it says."""
    at = low
    while at < high:
        begun = _RUN.search(given, at, min(at + WINDOW, high))
        if begun is None:
            at += WINDOW - SHORTEST  # one may begin where the window ends
        elif run := _RUN.match(given, begun.start()):
            at = run.end()
            if _text(run[0][:SAMPLE]):
                for end in _ends(given, run):
                    if plain := _text(given[run.start() : end]):
                        yield run.start(), end, plain
                        at = end
                        break


def _ends(given: str, run: re.Match[str]) -> list[int]:
    """Where a text that begins with `run` may end, the farthest first."""
    if not BROKEN <= len(run[0]) <= 100 or run[0].endswith("="):
        return [run.end()]
    more = _MORE.match(given, run.end())
    return [more.end(), more.end(1), run.end()] if more else [run.end()]


def _text(encoded: str) -> str | None:
    """What `encoded` says, in UTF-8 or, with a zero in every other byte, in UTF-16."""
    whole = "".join(encoded.split()).rstrip("=").translate(_URL_SAFE)
    whole = whole[: len(whole) - (len(whole) % 4 == 1)]
    raw = base64.b64decode(whole + "=" * (-len(whole) % 4))
    code = {raw[1:4:2]: "utf-16-le", raw[0:4:2]: "utf-16-be"}.get(b"\0\0", "utf-8")
    try:
        text = raw[: len(raw) - (code != "utf-8" and len(raw) % 2)].decode(code)
    except UnicodeDecodeError as error:
        if error.start < len(raw) - 3:
            return None
        text = raw[: error.start].decode(code)  # cut inside its last character
    return None if _CONTROL.search(text) else text
