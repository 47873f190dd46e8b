"""Exact token counts (tiktoken's o200k_base), offline.

The vocabulary lies in the package; it takes half a second to load, so that happens at first use.
"""

import base64
import functools
import gzip
import re
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tiktoken

# tiktoken's patterns take time and stack in the length of a run of one kind of character (a
# million spaces make it panic), so it is given pieces of at most this many characters.
PIECE = 65_536
KEPT = 64  # characters around a joint whose count is kept: most end in the same few words

# The definition of o200k_base; a test compares it with tiktoken's own.
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    f"{_ENDING}|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    f"{_ENDING}|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# No token spans these places: before a blank that follows a visible character, and after a line
# break that a visible character follows. Cutting there leaves the count exact.
_SEAM = re.compile(r"(?<=\S)(?= )|(?<=\n)(?=[^\s/])")


def count(text: str) -> int:
    """How many o200k_base tokens `text` has; special tokens count as the plain text they are.

    Exact wherever a seam stands in every 65,536 characters; a longer run of one kind (a million
    spaces) is cut and counted by pieces, which can differ from the uncut count by a few tokens.

    >>> count("hello world"), count("<|endoftext|>")
    (2, 7)
    """
    encode = _encoding().encode_ordinary
    if len(text) <= PIECE:
        return len(encode(text))
    return sum(len(encode(piece)) for piece in _pieces(text))


def added(left: str, left_count: int, right: str, right_count: int) -> int:
    """The count of `left + right`, from theirs: only what lies between the nearest seams on either
    side of the joint is counted again. A bundle joins hundreds of texts whose counts are known.

    >>> added("hello", 1, " world", 1) == count("hello world")
    True
    """
    after_line = left[-1:] == "\n" and right and not right[0].isspace() and right[0] != "/"
    if after_line or (left[-1:].isalnum() and right[:1] == "\n"):
        return left_count + right_count  # the joint is a seam itself
    tail, head = _tail(left), _head(right)
    across = _known_across if len(tail) + len(head) <= KEPT else _across
    return left_count + right_count + across(tail, head)


def _across(tail: str, head: str) -> int:
    """How many tokens more, or fewer, the two are when joined."""
    return count(tail + head) - count(tail) - count(head)


_known_across = functools.lru_cache(maxsize=16_384)(_across)


def _tail(text: str) -> str:
    """What follows the last blank that is a seam."""
    at = text.rfind(" ")
    while at > 0 and text[at - 1].isspace():
        at = text.rfind(" ", 0, at)
    return text[at:] if at > 0 else text


def _head(text: str) -> str:
    seam = _SEAM.search(text, 1)
    return text[: seam.start()] if seam else text


def load() -> None:
    """Load the vocabulary now, so that the first write does not wait for it."""
    _encoding()


def _pieces(text: str) -> list[str]:
    pieces, start = [], 0
    while len(text) - start > PIECE:
        seams = _SEAM.finditer(text, start + 1, start + PIECE)
        end = max((seam.start() for seam in seams), default=start + PIECE)
        pieces.append(text[start:end])
        start = end
    return [*pieces, text[start:]]


@functools.cache
def _encoding() -> "tiktoken.Encoding":
    import tiktoken  # noqa: PLC0415  # 25 ms that a read-only process need not pay

    packed = resources.files("memoryd").joinpath("data/o200k_base/o200k_base.tiktoken.gz")
    lines = gzip.decompress(packed.read_bytes()).split()
    ranks = {
        base64.b64decode(token): int(rank)
        for token, rank in zip(lines[::2], lines[1::2], strict=True)
    }
    return tiktoken.Encoding(
        "o200k_base", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={}
    )
