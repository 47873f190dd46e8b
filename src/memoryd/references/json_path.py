"""A place in a JSON text: `$`, `.name`, `["name"]`, `[3]`, `[-1]`, and `[*]` for all entries.

That is all; what a query language could do besides, an agent does with what it gets.
"""

import re
from collections.abc import Iterator
from typing import Any

from pydantic_core import from_json, to_json

from memoryd.core import errors

LONGEST = 500  # characters
_STEP = re.compile(
    r"""\.(?P<name>[^\s.\[\]"'*$]+)|\[(?P<index>-?[0-9]{1,9})\]|(?P<all>\[\*\]|\.\*)"""
    r"""|\["(?P<double>(?:[^"\\]|\\.)*)"\]|\['(?P<single>[^']*)'\]"""
)
Step = str | int | None  # a name, an index, or all entries


def look(stored: bytes, path: str) -> Any:
    """What is at `path`; with `[*]`, a list of what is at each place.

    >>> look(b'{"a": [{"b": 1}, {"b": 2}]}', "$.a[0].b"), look(b'[{"b": 1}, {"b": 2}]', "$[*].b")
    (1, [1, 2])
    """
    steps = list(parsed(path))
    try:
        whole = from_json(stored)
    except ValueError as error:
        raise errors.Invalid(
            "the text is not JSON, so it has no paths; ask for lines, or find", field="path"
        ) from error
    found, many = [whole], False
    for at, step in enumerate(steps):
        many = many or step is None
        found = [inner for one in found for inner in _inside(one, step)]
        if not found:
            raise errors.NotFound(
                f"there is nothing at {_written(steps[: at + 1])}: {_there(whole, steps[:at])}",
                field="path",
            )
    return found if many else found[0]


def parsed(path: str) -> Iterator[Step]:
    if not path.startswith("$") or len(path) > LONGEST:
        raise errors.Invalid(
            "a path begins with $, as $.items[0].name", field="path", limit=f"{LONGEST} characters"
        )
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise errors.Invalid(
                f'at {path[at : at + 20]!r}: write .name, ["name"], [3], [-1] or [*]', field="path"
            )
        at = found.end()
        yield _step(found)


def text(value: Any) -> str:
    """As JSON; a text as it is."""
    return value if isinstance(value, str) else to_json(value, indent=2).decode()


def _step(found: re.Match[str]) -> Step:
    if found["all"]:
        return None
    if found["index"]:
        return int(found["index"])
    if found["double"] is not None:
        try:
            name: str = from_json(f'"{found["double"]}"')
        except ValueError as error:
            raise errors.Invalid("the name is no JSON string", field="path") from error
        return name
    return str(found["name"] or found["single"] or "")


def _inside(value: Any, step: Step) -> list[Any]:
    if step is None:
        if isinstance(value, dict):
            return list(value.values())
        return value if isinstance(value, list) else []
    if isinstance(step, int):
        fits = isinstance(value, list) and -len(value) <= step < len(value)
        return [value[step]] if fits else []
    return [value[step]] if isinstance(value, dict) and step in value else []


def _there(whole: Any, steps: list[Step]) -> str:
    """What is there instead, for one who guessed."""
    found = [whole]
    for step in steps:
        found = [inner for one in found for inner in _inside(one, step)]
    first = found[0]
    if isinstance(first, dict):
        return "an object of " + ", ".join(repr(name[:40]) for name in list(first)[:20])
    return f"an array of {len(first):,}" if isinstance(first, list) else "a value without entries"


def _written(steps: list[Step]) -> str:
    parts = ["[*]" if one is None else f"[{one!r}]" for one in steps]
    return "$" + "".join(parts)[:200]
