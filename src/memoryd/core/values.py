"""What JSON can say and the log cannot keep."""

import math
from typing import Any

from memoryd.core import errors
from memoryd.core.model import MAX_CONTENT_DEPTH

_LARGEST_NUMBER = 10**308  # what a double, and so any JSON reader, can hold


def check(value: Any, at: str, depth: int) -> None:
    """Refuse what the log cannot keep, naming the place."""
    if depth > MAX_CONTENT_DEPTH:
        limit = f"{MAX_CONTENT_DEPTH} levels"
        raise errors.Invalid("content is nested too deeply", field="content", limit=limit)
    if isinstance(value, str):
        _check_string(value, at)
    elif isinstance(value, dict):
        for name, inner in value.items():
            _check_string(name, at)
            check(inner, f"{at}.{name[:40]}", depth + 1)
    elif isinstance(value, (list, tuple)):
        for number, inner in enumerate(value):
            check(inner, f"{at}.{number}", depth + 1)
    elif isinstance(value, (int, float)):
        _check_number(value, at)


def _check_string(text: str, at: str) -> None:
    if "\0" in text:
        raise errors.Invalid("a NUL character cannot be stored; remove it", field=at)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise errors.Invalid("a lone surrogate is not text; remove it", field=at) from error


def _check_number(number: float, at: str) -> None:
    if not (math.isfinite(number) if isinstance(number, float) else abs(number) < _LARGEST_NUMBER):
        raise errors.Invalid("not a number that can be stored", field=at, limit="1e308")
