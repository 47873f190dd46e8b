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
PIECE = 8_192

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

    Exact wherever a seam stands in every 8,192 characters; a longer run of one kind (a million
    spaces) is cut and counted by pieces, which can differ from the uncut count by a few tokens.

    >>> count("hello world"), count("<|endoftext|>")
    (2, 7)
    """
    encode = _encoding().encode_ordinary
    if len(text) <= PIECE:
        return len(encode(text))
    return sum(len(encode(piece)) for piece in _pieces(text))


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
