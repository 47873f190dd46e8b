"""Whether a text leaves the context: a placeholder is worth it only for a long one."""

from memoryd.core import tokens

THRESHOLD = 500  # tokens (seed 001 §4.1); MEMORYD_REFERENCE_TOKENS sets another


def swap(text: str, threshold: int = THRESHOLD) -> int | None:
    """How many tokens `text` has, if that is more than `threshold`; None where it may stay.

    >>> swap("short"), swap("word " * 600)
    (None, 601)
    """
    if len(text.encode(errors="replace")) <= threshold:  # no token is shorter than a byte
        return None
    found = tokens.count(text)
    return found if found > threshold else None
