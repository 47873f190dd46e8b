"""What is wrong with a request, in words: what pydantic found → what a person reads.

What has no words here reads as pydantic says it; nothing repeats a value that was sent.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from memoryd.core import errors

_OBJECT = "it must be a JSON object"
_LIST = "it must be a list"
_MISSING = "it is missing"
_UNKNOWN = "there is no such field here"
_ANY_LETTERS = "it must begin with a letter or a digit, and may have those and"

_WORDS = {
    **dict.fromkeys(("dataclass_type", "model_type", "model_attributes_type"), _OBJECT),
    **dict.fromkeys(("dict_type", "mapping_type"), _OBJECT),
    **dict.fromkeys(("list_type", "tuple_type"), _LIST),
    **dict.fromkeys(("missing", "missing_argument", "missing_keyword_only_argument"), _MISSING),
    **dict.fromkeys(("extra_forbidden", "unexpected_keyword_argument"), _UNKNOWN),
    "string_type": "it must be a text",
    "string_too_short": "it must have at least {min_length:,} character{s}",
    "string_too_long": "it must have at most {max_length:,} character{s}",
    "too_short": "it must have at least {min_length:,} item{s}",
    "too_long": "it must have at most {max_length:,} item{s}",
    "value_error": "{error}",
}
_NEXT = "it must be the `next` of the page before"
_NO_NUL = "it must not have a NUL character"
# Regular expressions are for programs: each has its words here, which a test checks.
PATTERNS = {
    r"\S": "it must not be blank",
    r"^[^\x00]*$": _NO_NUL,
    r"^[^\x00]+$": _NO_NUL,
    r"^[^\x00-\x1f\x7f]+$": "it must be one line, without control characters",
    r"^[0-9]{1,18}$": _NEXT,
    r"^[0-9]{1,18}\.[0-9]{1,9}$": _NEXT,
    r"^[0-9]{1,18}\.[0-9]{1,18}$": _NEXT,
    r"^[A-Za-z0-9]{8}$": "it must be eight letters and digits",
    r"^[A-Za-z0-9][A-Za-z0-9._:@+-]*$": f"{_ANY_LETTERS} . _ : @ + -",
    r"^[A-Za-z0-9][A-Za-z0-9._-]*$": f"{_ANY_LETTERS} . _ -",
    r"^[A-Za-z0-9_.+-]+/[A-Za-z0-9_.+-]+$": "it must be a media type, as text/plain",
    r"^prp_[0-9a-f]{16}$": "it must be the id of a proposal, as the list of proposals has it",
    r"^\[MemoryRef: \S+ - .+ - \d+ tokens\]$": (
        "it must be a placeholder, as [MemoryRef: key - what it is - 120 tokens]"
    ),
}
# What the parser of JSON says begins so; where it says it better, it is not here.
_JSON = {
    "EOF while parsing": "it ends too early",
    "expected value": "a value is expected",
    "key must be a string": "a name must stand in double quotes",
    "trailing comma": "a comma stands before the end",
    "trailing characters": "something stands behind its end",
    "control character": "a text has a control character; write it as an escape, as \\n",
    "unexpected end of hex escape": "a lone surrogate is not text",
    "lone leading surrogate": "a lone surrogate is not text",
    "invalid unicode code point": "it is not UTF-8",
    "recursion limit exceeded": "it is nested too deeply",
    "number out of range": "a number has too many digits",
}


def words(found: Mapping[str, Any], asked: Any = None, place: Sequence[str | int] = ()) -> str:
    """Of one violation. Where the type that was `asked` for is known, what is missing is described
    from its `place` in it, and where there is no such field it is said which there are.
    """
    given = found.get("ctx", {})
    if found["type"] == "string_pattern_mismatch":
        return PATTERNS.get(given["pattern"], "it must have another form")
    told = _WORDS.get(found["type"])
    if told is None:
        message: str = found["msg"]
        return message.replace("Input should", "it must", 1)
    if asked is not None and told in (_MISSING, _UNKNOWN):
        return told + _more(asked, place, told)
    least_or_most = given.get("min_length", given.get("max_length"))
    return told.format(**given, s="" if least_or_most == 1 else "s")


def reword(error: errors.MemorydError) -> None:
    """Where a refusal says what pydantic says, let it say that in words."""
    if isinstance(error.__cause__, ValidationError):
        first = error.__cause__.errors(include_url=False, include_input=False)[0]
        error.detail = error.detail.replace(first["msg"], words(first))


def of_json(said: str, body: bytes) -> str:
    """Why a body could not be parsed, and where; `said` is what the parser says."""
    if not body.strip():
        return "the body is empty; send a JSON object"
    what, _, at = said.partition(" at line ")
    told = next((told for begins, told in _JSON.items() if what.startswith(begins)), what)
    where = f" (line {at.replace(' column', ', column')})" if at else ""
    return f"the body is not JSON that can be kept: {told}{where}"


def _more(asked: Any, place: Sequence[str | int], told: str) -> str:
    if told == _MISSING:
        about = _at(asked, place).get("description")
        return f" ({about.removesuffix('.')})" if about else ""
    known = _plain(_schema(asked), _at(asked, place[:-1])).get("properties")
    return f"; there are: {', '.join(sorted(known))}" if known else ""


def _at(asked: Any, place: Sequence[str | int]) -> dict[str, Any]:
    """The JSON Schema of what stands there; empty where that cannot be said."""
    whole = found = _schema(asked)
    for part in place:
        outer = _plain(whole, found)
        inner = (
            outer.get("items") if isinstance(part, int) else outer.get("properties", {}).get(part)
        )
        found = inner or {}
    return found


def _plain(whole: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """What is meant by a reference, or by "this or null"."""
    found = next((one for one in found.get("anyOf", ()) if one.get("type") != "null"), found)
    name = found.get("$ref", "").rpartition("/")[2]
    meant: dict[str, Any] = whole.get("$defs", {}).get(name, found)
    return meant


@functools.cache
def _schema(asked: Any) -> dict[str, Any]:
    return TypeAdapter(asked).json_schema()
