"""What a text is, in one line and without a model: the command and how it ended, its errors, the
shape of JSON, the first heading, the file.

Given what the log keeps, so that no secret gets into a description.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import from_json

LOOKED_AT = 1024 * 1024  # characters; more than that is looked at by its beginning and end
JSON_LONGEST = 1024 * 1024  # characters that are parsed for their shape
NAMES = 4  # entries of a JSON object that are named
LINE = 80  # characters of a line that is quoted
COMMANDS = ("command", "source_command", "cmd", "tool")
STATUSES = ("exit_status", "exit_code", "status", "returncode")
PATHS = ("path", "file_path", "file", "url")

_ERROR = re.compile(
    r"^(?=.*(?:\b(?:error|errors|fatal|panic|exception|traceback|failed|failure)\b|ERR!|E\d{3,}:"
    r"|\w(?:Error|Exception)\b))(?!.*\b(?:0|no|without) (?:errors?|failed|failures?)\b).+$",
    re.IGNORECASE | re.MULTILINE,
)
_EXIT = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?: (?:code|status))|return code)[ :=]+(-?\d{1,5})", re.IGNORECASE
)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(\S.*?)[ \t#]*$", re.MULTILINE)
_TITLE = re.compile(r"<title[^>]*>\s*([^<]{1,200}?)\s*</title>", re.IGNORECASE)
_DIFF = re.compile(r"^diff --git a/(\S+)", re.MULTILINE)
_RAISED = re.compile(r"^(?:[A-Za-z_][\w.]*(?:Error|Exception|Warning)): .+$", re.MULTILINE)
_FORMATS = {  # how files begin
    b"\x89PNG\r\n\x1a\n": "PNG image",
    b"\xff\xd8\xff": "JPEG image",
    b"GIF8": "GIF image",
    b"%PDF-": "PDF document",
    b"PK\x03\x04": "ZIP archive",
    b"\x1f\x8b": "gzip archive",
    b"\x7fELF": "ELF program",
    b"SQLite format 3\0": "SQLite database",
}


def text(said: str, metadata: Mapping[str, Any]) -> str:
    r"""What `said` is; what is known beside it comes first.

    >>> text("ok\nnpm ERR! code ERESOLVE\n", {"command": "npm install", "exit_status": 1})
    'npm install, exit 1, 1 error line: npm ERR! code ERESOLVE'
    """
    more = "over " if len(said) > LOOKED_AT else ""
    if more:
        said = said[: LOOKED_AT // 2] + "\n" + said[-LOOKED_AT // 2 :]
    known = [*_first(metadata, COMMANDS), *_first(metadata, PATHS)]
    parts = [*known, *_status(said, metadata)]
    shape = _shape(said)
    parts += [shape] if shape else [more + told for told in _errors(said)]
    if not parts or (len(parts) == len(known) and not shape):
        parts += _beginning(said)
    return ", ".join(parts) or "empty text"


def binary(begins: bytes, size: int, media_type: str, metadata: Mapping[str, Any]) -> str:
    """What bytes are that are no text.

    >>> binary(b"%PDF-1.7...", 2_000, "application/octet-stream", {"path": "a.pdf"})
    'a.pdf, PDF document, 2,000 bytes'
    """
    kind = next((name for start, name in _FORMATS.items() if begins.startswith(start)), None)
    known = [*_first(metadata, COMMANDS), *_first(metadata, PATHS)]
    return ", ".join([*known, kind or f"binary {media_type}", f"{size:,} bytes"])


def _first(metadata: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    for name in names:
        if isinstance(found := metadata.get(name), str) and found.strip():
            return [_line(found)]
    return []


def _status(said: str, metadata: Mapping[str, Any]) -> Iterator[str]:
    for name in STATUSES:
        found = metadata.get(name)
        if isinstance(found, int) and not isinstance(found, bool):
            yield f"exit {found}"
            return
        if isinstance(found, str) and found.strip():
            yield _line(found)
            return
    if found := _EXIT.search(said):
        yield f"exit {found[1]}"


def _errors(said: str) -> list[str]:
    """How many lines tell of an error, and the one that says most."""
    lines = [found[0].strip() for found in _ERROR.finditer(said)]
    if not lines:
        return []
    raised = _RAISED.findall(said)
    told = raised[-1] if raised else lines[0]
    return [f"{len(lines):,} error line{'s' * (len(lines) > 1)}: {_line(told)}"]


def _shape(said: str) -> str | None:
    """Of JSON, and of a difference between files."""
    if files := _DIFF.findall(said):
        return f"diff of {len(files):,} file{'s' * (len(files) > 1)}: {_line(', '.join(files))}"
    if said.lstrip()[:1] not in ("{", "[") or len(said) > JSON_LONGEST:
        return None
    try:
        found = from_json(said)
    except ValueError:
        return None
    return f"JSON {_kind(found)}" if isinstance(found, dict | list) else None


def _kind(found: Any) -> str:
    if isinstance(found, dict):
        more = ", …" if len(found) > NAMES else ""
        names = ", ".join(_line(name, 30) for name in list(found)[:NAMES])
        return f"object of {len(found):,}: {names}{more}" if found else "object, empty"
    if not found:
        return "array, empty"
    first = found[0]
    if isinstance(first, dict):
        names = ", ".join(_line(name, 30) for name in list(first)[:NAMES])
        return f"array of {len(found):,} objects: {names}"
    return f"array of {len(found):,}"


def _beginning(said: str) -> list[str]:
    """Its first heading or title, or its first line with a word in it."""
    for pattern in (_HEADING, _TITLE):
        if found := pattern.search(said):
            return [_line(found[1])]
    lines = (line.strip() for line in said.splitlines())
    return [_line(line) for line in lines if re.search(r"\w", line)][:1]


def _line(given: str, longest: int = LINE) -> str:
    line = " ".join(given.split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
