"""Text to terms: the one analyser that both the index and its queries go through.

A term is found only if both sides spell it alike, so anything that changes terms changes `VERSION`,
and an index written under another `VERSION` is rebuilt from the log.

>>> terms("getUserById failed")
['getuserbyid', 'get', 'user', 'by', 'id', 'fail']
>>> query_terms("What did the user's houses cost?")
['user', 'hous', 'cost']
"""

import operator
import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import Stemmer  # type: ignore[import-not-found]

# Our rules and the index's records, then the two tables that are not ours: Python releases carry
# different Unicode data (3.11 has 14.0), which moves only characters assigned since, and Snowball
# revises its stemmers.
VERSION = f"2 unicode-{unicodedata.unidata_version} snowball-{Stemmer.version()}"

# UTF-8 bytes. A SHA-256 in hex is kept whole; what is longer is cut, not hashed: a prefix this long
# still names one thing, and the two sides cut alike.
MAX_TERM_BYTES = 64
# Distinct terms. Each costs a fetch of posting blocks, and a question has 2 to 20; past this it is
# a pasted document, whose first lines say what it is about.
MAX_QUERY_TERMS = 64
# Words, and characters in one: full, the cache takes 11 MB of plain words or 22 MB of paths, and
# five long conversations have some 5,000 words between them.
_CACHED_WORDS, _CACHED_LENGTH = 1 << 14, 32

_ENGLISH = """
    a an the and or but if nor of at by for with to from in into on onto off out over under up
    down as than then so too very just also only own same such both each few more most other all
    no not am is are was were be been being it its this that these those there here again once
    because until while during before after above below between through against further
    what when where who whom whose which why how did does do doing done has have had having can
    could would should will shall might must i me my mine myself you your yours yourself he him his
    himself she her hers herself they them their theirs themselves we our ours ourselves itself
    about many much any some"""
# Only words that are not English ones too ("die", "war", "man" are): they also tell the language.
_GERMAN = """
    der das dem und oder aber ist sind nicht ein eine einen einem einer ich mich mir wir uns ihr
    ihre ihren sie mein meine dein deine kein keine mit auf für von vom zu zum zur bei beim nach aus
    auch noch nur sich wenn dass haben habe hatte wird werden wurde wurden über durch gegen ohne
    wer wie wo wann warum wieso welche welcher welches wem wen wieviel"""
_STOP = dict.fromkeys(_ENGLISH.split(), -1) | dict.fromkeys(_GERMAN.split(), 1)

# Scripts written without spaces, as pairs of characters: Thai, Lao, Burmese, Khmer, Han, kana; and
# Hangul, whose particles hang on to the noun.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf\u1000-\u1049\u1050-\u109f\u1100-\u11ff\u1780-\u17d3"
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
# The scripts of India need their vowel signs, which `\w` leaves out.
_LETTER = rf"(?:[^\W{_UNSPACED}]++|[\u0900-\u0963\u0966-\u0dff]++)++"
_TOKEN = re.compile(
    rf"[{_UNSPACED}]++"
    rf"|{_LETTER}(?:['\u2019](?i:[stdm]|re|ve|ll)(?!\w)"
    rf"|(?:(?:://|::|:?\\{{1,2}}|[-./:@?&=#%+~]){_LETTER})*+(?:\+\+|\#)?)"
)
_UNSPACED_START = re.compile(f"[{_UNSPACED}]")
_SEGMENT = re.compile(r"[/\\:@?&=#%+~]+")
_WORD = re.compile(r"[-.]")
_PIECE = re.compile(r"\d+|[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+")
_PIECE_BEYOND_ASCII = re.compile(r"\d+|[^\d_]+")
_HEX = re.compile(r"0x[0-9a-f]+|(?=[a-f]*\d+[a-f])[0-9a-f]{4,}", re.IGNORECASE)

# No word of any language has 32 marks on a letter, and normalising is quadratic in such a run.
_MARK_RUN = re.compile(r"([^\w\x00-\x7f]{32})[^\w\x00-\x7f]+")
# Joiners, selectors, and marks that writers leave out at will (accents that NFKC could not compose,
# Hebrew points, Arabic vowels).
_UNSAID = re.compile(
    "[\u00ad\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\ufeff\U000e0000-\U000e0fff]+"
)


class _Word(NamedTuple):
    terms: tuple[str, ...]
    german: tuple[str, ...]  # German stems, marked, so that they meet no English one
    weak: frozenset[str]  # what a query leaves out while it has something better
    lean: int  # towards German 1, towards English -1


class _Stemmers(threading.local):
    """One set a thread, since a Snowball stemmer is not to be shared."""

    def __init__(self) -> None:
        self.english, self.german, self.russian = (
            Stemmer.Stemmer(name, 0).stemWord for name in ("english", "german", "russian")
        )


_stemmers = _Stemmers()


def terms(text: str) -> list[str]:
    """The terms of a text to be indexed, in order and with repeats.

    A text that leans towards German gets German stems beside the English ones.
    """
    words = [_word(token) for token in _tokens(text)]
    if sum(word.lean for word in words) > 0:
        return [term for word in words for term in word.terms + word.german]
    return [term for word in words for term in word.terms]


def query_terms(text: str) -> list[str]:
    """The first `MAX_QUERY_TERMS` distinct terms of a query, in order.

    Stop words and question words are left out, unless the query has nothing else. German stems are
    asked for too unless the query leans towards English: "Haus" alone might be either.
    """
    words = [_word(token) for token in _tokens(text)]
    german = sum(word.lean for word in words) >= 0
    asked = [(word.terms + word.german if german else word.terms, word.weak) for word in words]
    strong = dict.fromkeys(term for found, weak in asked for term in found if term not in weak)
    chosen = strong or dict.fromkeys(term for found, _ in asked for term in found)
    return list(chosen)[:MAX_QUERY_TERMS]


def _tokens(text: str) -> list[str]:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _MARK_RUN.sub(r"\1", text))
        text = _UNSAID.sub("", text)
    return _TOKEN.findall(text)


def _word(token: str) -> _Word:
    if token[0] >= "\u0e01" and _UNSPACED_START.match(token):
        return _pairs(token)
    return _known(token) if len(token) <= _CACHED_LENGTH else _spell(token)


def _pairs(run: str) -> _Word:
    """Every character and every two neighbours; a query uses the pairs, or a lone character."""
    pairs = tuple(map(operator.add, run, run[1:]))
    return _Word(tuple(run) + pairs, (), frozenset(run if pairs else ()), 0)


def _spell(token: str) -> _Word:
    found: list[str] = []
    german: list[str] = []
    weak: set[str] = set()
    token = token.replace("\u2019", "'").strip("_").removesuffix("'s").removesuffix("'S")
    for name in filter(None, _names(token)):
        word = name[:MAX_TERM_BYTES].casefold()
        stems = _stems(word)
        found.append(stems[0])
        german.extend(stems[1:])
        if word in _STOP or "'" in word or (len(name) == 1 and name != token):
            weak.update(stems)
    whole = token.casefold()
    lean = _STOP.get(whole, any(umlaut in whole for umlaut in "äöü") - ("'" in whole))
    return _Word(tuple(found), tuple(german), frozenset(weak), lean)


_known = lru_cache(_CACHED_WORDS)(_spell)


def _names(token: str) -> Iterator[str]:
    """A token and what it is made of, each before its parts: a path, its files, words, pieces."""
    yield token
    for segment in _SEGMENT.split(token):
        words = _WORD.split(segment)
        if len(words) > 1 and segment != token:
            yield segment
        for word in words:
            name = word.strip("_")
            if name != token:
                yield name
            if len(name) <= MAX_TERM_BYTES:
                yield from _pieces(name)


def _pieces(name: str) -> list[str]:
    """`HTTPServer2` as HTTP, Server, 2; nothing for a plain word, or for a code such as a hash."""
    pieces = (_PIECE if name.isascii() else _PIECE_BEYOND_ASCII).findall(name)
    is_code = _HEX.fullmatch(name) or (len(pieces) > 4 and len(name) < 3 * len(pieces))
    return [] if is_code or "'" in name or pieces == [name] else pieces


@lru_cache(_CACHED_WORDS // 8)
def _stems(word: str) -> tuple[str, ...]:
    """The term a word becomes and, in Latin script, its German stem."""
    if word < "\u0370" or "\u1e00" <= word < "\u1f00":
        word = _bare(word)
        if word.isalpha():
            return _cut(_stemmers.english(word)), _cut(f"de {_stemmers.german(word)}")
    elif "\u0400" <= word < "\u0530":
        word = _stemmers.russian(word)
    return (_cut(word),)


def _bare(word: str) -> str:
    """A Latin word without its accents, so that "Muller" finds Müller."""
    return word if word.isascii() else _UNSAID.sub("", unicodedata.normalize("NFKD", word))


def _cut(term: str) -> str:
    return term.encode()[:MAX_TERM_BYTES].decode(errors="ignore")
