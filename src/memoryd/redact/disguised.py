"""Words that are not written as they look: with letters of another alphabet, with invisible ones or
a terminal's colours between, or with a letter's code in its place.

A rule reads letters; "password" with a Cyrillic letter in it, or with a soft hyphen, says the same
to a person, and `password%3D` to a program. Such a stretch is read a second time, as it looks.
"""

import html
import re
from bisect import bisect_right
from dataclasses import dataclass

NEAR = 400  # characters around what is disguised, where a word and its value may stand
LINE = 4_096  # characters around it that are read, or up to the line's end

# Each looks like the letter below it, or nearly so: Cyrillic, Greek, and other Latin ones.
_LIKE = str.maketrans(
    "асеорхуіјѕԁһӏոԛԝѵАВСЕНІЈКМОРЅТХУΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαρνικƿɡɩıℓ",
    "aceopxyijsdhlnqwvABCEHIJKMOPSTXYABEZHIKMNOPTYXoapvikpgiil",
)
_LIKE |= {0xFF01 + at: 0x21 + at for at in range(94)}  # of full width
# The alphabets of mathematics come as A-Z, a-z one after another.
_LIKE |= {0x1D400 + at: at % 52 + (65 if at % 52 < 26 else 71) for at in range(0x2A4)}
_LIKE |= {0x1D7CE + at: 48 + at % 10 for at in range(50)}

_INVISIBLE = "\u00ad\u034f\u180e\u200b-\u200f\u2060-\u2064\ufeff"
_OTHER = (
    "\u01bf\u0261\u0269\u0370-\u052f\u0578\u2113\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff"
)
# A Latin letter beside one that only looks so; letters of full width or of mathematics; a word
# with a hole. Emoji and Persian have joiners too, but no Latin letter on both sides of them.
_SUSPECT = re.compile(
    f"[{_OTHER}](?:(?<=[A-Za-z].)|(?=[A-Za-z]))"
    "|[\uff21-\uff3a\uff41-\uff5a]{2}|[\U0001d400-\U0001d7ff]{2}"
    f"|[{_INVISIBLE}](?<=[A-Za-z].)[{_INVISIBLE}]{{0,8}}[A-Za-z]"
)
_ODD = re.compile(f"[{_INVISIBLE}{_OTHER}]")
_GONE = re.compile(f"[{_INVISIBLE}]")
# Codes of ASCII in a URL, in JSON and in HTML, and what colours a terminal's text.
_CODES = ("%3", "%40", "\\u00", "&#", "\x1b[")
_CODE = re.compile(
    r"%[2-7][0-9A-Fa-f]|\\u00[2-7][0-9A-Fa-f]|&#(?:x[2-7][0-9A-Fa-f]|[0-9]{2,3});"
    "|\x1b\\[[0-9;]{0,20}m"
)
_FILLER = "\u200b"


@dataclass(frozen=True)
class Stretch:
    """A stretch of a text from `begin` on as it looks; `gone` is where something was left out."""

    begin: int
    looks: str
    gone: list[int]
    near: range  # where in the text a word may stand that this concerns

    def place(self, at: int) -> int:
        """Where in the text as given stands what stands at `at` of this."""
        return self.begin + at + bisect_right(self.gone, at)


def read(given: str, low: int, high: int) -> Stretch | None:
    """What is disguised in `given[low:high]`; None where all is as it looks."""
    places = [*_letters(given, low, high), *_coded(given, low, high)]
    if not places:
        return None
    first, last = max(min(places) - NEAR, 0), max(places) + NEAR
    begin = given.rfind("\n", max(first - LINE, 0), first) + 1 or max(first - LINE, 0)
    end = given.find("\n", last, last + LINE)
    looks = _CODE.sub(_said, given[begin : end if end >= 0 else last + LINE]).translate(_LIKE)
    gone = [hole.start() - at for at, hole in enumerate(_GONE.finditer(looks))]
    return Stretch(begin, _GONE.sub("", looks), gone, range(first, last))


def _letters(given: str, low: int, high: int) -> list[int]:
    odd = None if given.isascii() else _ODD.search(given, low, high)
    return [one.start() for one in _SUSPECT.finditer(given, odd.start(), high)] if odd else []


def _coded(given: str, low: int, high: int) -> list[int]:
    if all(given.find(code, low, high) < 0 for code in _CODES):
        return []
    return [one.start() for one in _CODE.finditer(given, low, high)]


def _said(code: re.Match[str]) -> str:
    """As long as the code, so that places stay; line ends and the like are not said."""
    if code[0].startswith("\x1b"):
        said = ""
    elif code[0].startswith("&"):
        said = html.unescape(code[0])
    else:
        said = chr(int(code[0][-2:], 16))
    return (said if said.isprintable() else "").ljust(len(code[0]), _FILLER)
