"""Views, decisions, tasks and memories as files to read and edit, and back: `parse(write(x)) == x`.

A file is a front matter and a body; whatever an editor does to the ends of lines changes nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memoryd.custody import markdown_head
from memoryd.custody.markdown_head import Broken, Field, Value
from memoryd.custody.markdown_things import (
    FIELDS,
    SECTIONS,
    Memory,
    T,
    Task,
    Thing,
    View,
    body_fields,
    check,
    texts,
)

_HEADING = re.compile(rf"(\\*)##[ \t]+({'|'.join(SECTIONS)})[ \t\r]*", re.IGNORECASE | re.ASCII)
_BULLET = re.compile(r"[-*+](?: |\r?$)")
_INDENT = re.compile(r" {1,2}|\t")
# Beside the fields of a thing: how its text differs from the body that shows it.
_CRLF, _OPEN = ("newlines", "crlf"), ("ends", "without newline")
MAX_BYTES = 4 * 1024 * 1024  # of a file: an event has 1 MB, of which indenting may make three


def write(thing: Thing) -> str:
    """The file of `thing`: the same thing, the same bytes."""
    body = {name: getattr(thing, name) for name in body_fields(thing)}
    marks = {}
    if _windows([text for value in body.values() for text in texts(value)]):
        marks = dict([_CRLF])
        body = {name: _mapped(value, "\r\n", "\n") for name, value in body.items()}
    if isinstance(thing, View) and thing.text and not body["text"].endswith("\n"):
        marks |= dict([_OPEN])
    head = {name: getattr(thing, name) for name in FIELDS[type(thing)]}
    return markdown_head.dump({**head, **marks}) + "".join(_shown(thing, body))


def _shown(thing: Thing, body: Mapping[str, Any]) -> Iterator[str]:
    if isinstance(thing, View):
        yield body["text"]
        yield "\n" if body["text"] and not body["text"].endswith("\n") else ""
    elif isinstance(thing, Task | Memory):
        (text,) = body.values()
        yield f"{text}\n" if text else ""
    else:
        lines = body["decision"].split("\n")
        yield "".join(f"\\{line}\n" if _HEADING.fullmatch(line) else f"{line}\n" for line in lines)
        for name in SECTIONS:
            if body[name]:
                yield f"\n## {name.capitalize()}\n\n"
                yield "".join(map(_item, body[name]))


def _item(text: str) -> str:
    """A line of a list, with what follows it indented. An empty line within stays empty; at the
    end it is indented too, since there it would be lost.
    """
    first, *rest = text.split("\n")
    last = max((at for at, line in enumerate(rest) if line), default=-1)
    more = [f"  {line}\n" if line or at > last else "\n" for at, line in enumerate(rest)]
    return (f"- {first}\n" if first else "-\n") + "".join(more)


def decode(raw: bytes, file: str) -> str:
    """The text of a file, if it is one."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise Broken(f"it is not UTF-8: {error.reason}", file=file, line=line) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise Broken("a NUL character cannot be stored; remove it", file=file, line=line)
    return text


def parse(kind: type[T], text: str, file: str) -> T:
    """What a file says; `Broken` names the line and the field that it does not say right."""
    head, body, line = markdown_head.split(text, file)
    given = markdown_head.parse(head, file)
    marks = [mark for mark in (_CRLF, _OPEN) if mark[0] in given and _is(given, mark, kind)]
    said: dict[str, Any] = {}
    for name, field in given.items():
        wrong = check(kind, name, field.value)
        if wrong:
            raise Broken(wrong, file=file, line=field.line, field=name[:40])
        said[name] = field.value
    parts = _parts(kind, body, file, line)
    if _OPEN in marks:
        parts["text"] = parts["text"].removesuffix("\n")
    if _CRLF in marks:
        parts = {name: _mapped(value, "\n", "\r\n") for name, value in parts.items()}
    return kind(**said, **parts)


def _is(given: dict[str, Field], mark: tuple[str, str], kind: type[object]) -> bool:
    """Whether the mark is set; one of another value or kind stays among the fields: unknown."""
    name, value = mark
    known = given[name].value == value and (mark == _CRLF or kind is View)
    return known and given.pop(name) is not None


def _parts(kind: type[object], body: str, file: str, line: int) -> dict[str, Any]:
    if kind is View:
        return {"text": body}
    if kind in (Task, Memory):
        return {"details" if kind is Task else "content": body.removesuffix("\n")}
    lines = body.split("\n")
    heads = [at for at, one in enumerate(lines) if (m := _HEADING.fullmatch(one)) and not m[1]]
    ends = [*heads, len(lines)]
    text = [one[1:] if _HEADING.fullmatch(one) else one for one in lines[: ends[0]]]
    parts: dict[str, Any] = {"decision": "\n".join(text).removesuffix("\n")}
    for start, end in zip(heads, ends[1:], strict=True):
        name = lines[start].split()[1].lower()
        if name in parts:
            raise Broken("it is there twice", file=file, line=line + start, field=name)
        parts[name] = _items(lines[start + 1 : end], name, file, line + start + 1)
    return parts


def _items(lines: Sequence[str], name: str, file: str, line: int) -> tuple[str, ...]:
    found: list[list[str]] = []
    empty = 0
    for at, one in enumerate(lines):
        if bullet := _BULLET.match(one):
            found.append([one[bullet.end() :]])
        elif one in ("", "\r"):
            empty += 1
            continue
        elif found and (indent := _INDENT.match(one)):
            found[-1] += [*[""] * empty, one[indent.end() :]]
        else:
            known = ", ".join(f"`## {section.capitalize()}`" for section in SECTIONS)
            said = f"begin what it lists with `- `, and what goes on with two spaces (or: {known})"
            raise Broken(said, file=file, line=line + at, field=name)
        empty = 0
    return tuple("\n".join(item) for item in found)


def _mapped(value: Value, old: str, new: str) -> Value:
    if isinstance(value, str):
        return value.replace(old, new)
    return tuple(one.replace(old, new) for one in value)


def _windows(texts: Sequence[str]) -> bool:
    """Whether every line ends in CR and LF, and there is one that does."""
    return any("\r\n" in one for one in texts) and not any(
        re.search(r"(?<!\r)\n", one) for one in texts
    )
