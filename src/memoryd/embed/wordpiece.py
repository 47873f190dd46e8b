"""Text → word pieces, as BERT's uncased vocabularies want them.

A character becomes the same letters wherever it stands, so cleaning, accents, case and the spaces
around what stands alone are one pass, linear in the text whatever it holds.

>>> WordPiece(["[UNK]", "paint", "##ings", "!"]).pieces("Paintings!")
[Piece(id=1, word='paintings'), Piece(id=2, word='paintings'), Piece(id=3, word='!')]
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

MAX_WORD = 100  # characters; a longer word is unknown, by BERT's own rule
CACHED_WORDS = 1 << 14  # about 10 MB when full; five long conversations have some 9,000
CACHED_CHARACTERS = 1 << 12

# Chinese characters as the vocabulary's authors listed them: each a word.
_HAN = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f"
    "\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f]"
)
_SYMBOLS = frozenset("$+<=>^`|~")  # punctuation to BERT, as all of ASCII that is no letter
_UNREADABLE = {"Cc", "Cf", "Co", "Cs"}  # what is not assigned yet makes its word unknown


class Piece(NamedTuple):
    id: int
    word: str  # which it is part of: in lower case, without accents


class WordPiece:
    """A vocabulary, in which a piece's place is its id. Safe to share between threads."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._ids = {piece: place for place, piece in enumerate(vocabulary)}
        self._longest = max(map(len, vocabulary))
        self._known = lru_cache(CACHED_WORDS)(self._spell)

    def pieces(self, text: str) -> list[Piece]:
        """The pieces of `text` in order; a word that has none is one `[UNK]`."""
        words = "".join(map(_letters, text)).split()
        return [piece for word in words for piece in self._known(word[: MAX_WORD + 1])]

    def _spell(self, word: str) -> tuple[Piece, ...]:
        """The longest piece that fits, again and again."""
        found: list[Piece] = []
        start, prefix = 0, ""
        while start < len(word) <= MAX_WORD:
            for end in range(min(len(word), start + self._longest), start, -1):
                if (place := self._ids.get(prefix + word[start:end])) is not None:
                    found.append(Piece(place, word))
                    start, prefix = end, "##"
                    break
            else:
                break
        return tuple(found) if start == len(word) else (Piece(self._ids["[UNK]"], word),)


@lru_cache(CACHED_CHARACTERS)
def _letters(character: str) -> str:
    kind = unicodedata.category(character)
    if kind[0] == "Z" or character in "\t\n\r":
        return " "
    if kind in _UNREADABLE or character == "\ufffd":
        return ""
    bare = "".join(map(_bare, unicodedata.normalize("NFD", character)))
    return f" {bare} " if _HAN.match(character) else bare


def _bare(part: str) -> str:
    kind = unicodedata.category(part)
    if kind == "Mn":
        return ""
    return f" {part} " if kind[0] == "P" or part in _SYMBOLS else part.lower()
