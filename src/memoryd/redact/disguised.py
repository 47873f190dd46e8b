"""Words that are written with letters of another alphabet, or with invisible ones between.

A rule reads letters; "password" with a Cyrillic letter in it, or with a soft hyphen, says the same
to a person. Such a text is read a second time, as it looks.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator

# Each looks like the letter below it, or nearly so: Cyrillic, Greek, and other Latin ones.
_LIKE = str.maketrans(
    "асеорхуіјѕԁһӏոԛԝѵАВСЕНІЈКМОРЅТХУΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαρνικƿɡɩıℓ",
    "aceopxyijsdhlnqwvABCEHIJKMOPSTXYABEZHIKMNOPTYXoapvikpgiil",
)
_WIDE = str.maketrans({0xFF01 + at: 0x21 + at for at in range(94)})
_INVISIBLE = "\u00ad\u034f\u180e\u200b-\u200f\u2060-\u2064\ufeff"
# A Latin letter beside one that only looks so; letters of full width or of mathematics; a word
# with a hole. Emoji and Persian have joiners too, but no Latin letter on both sides of them.
_OTHER = (
    "\u01bf\u0261\u0269\u0370-\u052f\u0578\u2113\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff"
)
_SUSPECT = re.compile(
    f"[{_OTHER}](?:(?<=[A-Za-z].)|(?=[A-Za-z]))"
    "|[\uff21-\uff3a\uff41-\uff5a]{2}|[\U0001d400-\U0001d7ff]{2}"
    f"|[{_INVISIBLE}](?<=[A-Za-z].)[{_INVISIBLE}]{{0,8}}[A-Za-z]"
)
_ODD = re.compile(f"[{_INVISIBLE}{_OTHER}]")
_GONE = re.compile(f"[{_INVISIBLE}]")


def read(given: str) -> tuple[str, list[int]] | None:
    """`given` as it looks, and where in it something was left out; None where it is as it looks."""
    odd = None if given.isascii() else _ODD.search(given)
    if odd is None or not _SUSPECT.search(given, odd.start()):
        return None
    looks = _mathematical(given).translate(_WIDE).translate(_LIKE)
    gone = [hole.start() - at for at, hole in enumerate(_GONE.finditer(looks))]
    return (_GONE.sub("", looks), gone) if looks != given or gone else None


def place(at: int, gone: list[int]) -> int:
    """Where in the text as given stands what stands at `at` in the text as it looks."""
    return at + bisect_right(gone, at)


def _mathematical(given: str) -> str:
    return re.sub("[\U0001d400-\U0001d7ff]+", lambda run: "".join(_plain(run[0])), given)


def _plain(run: str) -> Iterator[str]:
    """The alphabets of mathematics come as A-Z, a-z one after another; digits at the end."""
    for one in run:
        at = ord(one) - 0x1D400
        if at < 0x2A4:
            yield chr((at % 52) + (65 if at % 52 < 26 else 71))
        else:
            yield chr(48 + (ord(one) - 0x1D7CE) % 10) if ord(one) >= 0x1D7CE else one
