"""The front matter of a file: a few named values, in YAML, between two lines of `---`.

It may be anybody's: it is read event by event into strings and lists of strings, and nothing else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from memoryd.core import errors

MOST_FIELDS = 32  # ours have ten
MOST_VALUES = 256  # of a list: as many as an event has refs
FENCE = "---"
_ABSENT = ("", "~", "null", "Null", "NULL")  # as YAML writes nothing, without quotes
_ENDLESS = 10**9  # columns: a value is never folded, so that a line of it cannot be `---`

Value = str | tuple[str, ...]


class Broken(errors.Invalid):
    """A file that cannot be taken as it is, with the line and the field."""

    def __init__(self, said: str, *, file: str, line: int, field: str | None = None) -> None:
        named = f"{field}: " if field else ""
        super().__init__(f"{file}:{line}: {named}{said}", field=field)
        self.file, self.line, self.said = file, line, f"{named}{said}"


@dataclass(frozen=True)
class Field:
    value: Value
    line: int


def split(text: str, file: str) -> tuple[str, str, int]:
    """The front matter, what follows it, and the line that begins on.

    An editor that ended every line its own way, or put a mark in front, changed nothing.
    """
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[0].rstrip() != FENCE:
        said = f"it has no front matter; begin with a line {FENCE!r}, fields, and another {FENCE!r}"
        raise Broken(said, file=file, line=1)
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        said = f"the front matter does not end; close it with a line {FENCE!r}"
        raise Broken(said, file=file, line=len(lines))
    body = "\n".join(lines[end + 1 :])
    if lines[0].endswith("\r"):
        body = body.replace("\r\n", "\n")
    return "\n".join(lines[1:end]), body, end + 2


def dump(values: Mapping[str, Value | None]) -> str:
    """The front matter of `values`, with its fences; what is None or empty is left out."""
    said = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value is not None and value != ()
    }
    dumped = yaml.dump(said, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=_ENDLESS)
    return f"{FENCE}\n{dumped if said else ''}{FENCE}\n"


class _Dumper(yaml.SafeDumper):
    """Quotes what would be read back as another text; every value is text, so nothing else."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # the class's own, as in PyYAML

    def ignore_aliases(self, _: Any) -> bool:
        return True


def _quoted(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if not text.isprintable() else "'" if text in _ABSENT else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _quoted)


def parse(head: str, file: str) -> dict[str, Field]:
    """The fields of a front matter, which begins on line 2; empty ones are left out."""
    events = _Events(head, file)
    found: dict[str, Field] = {}
    names: set[str] = set()
    if not events.begin():
        return {}
    while not isinstance(event := events.take(), yaml.MappingEndEvent):
        name = events.scalar(event, "a name is one word, as in `name: value`")
        line = events.line(event)
        if name in names or len(names) >= MOST_FIELDS:
            said = "it is there twice" if name in names else "these are too many fields"
            raise Broken(said, file=file, line=line, field=name[:40])
        names.add(name)
        value = events.value(name)
        if value is not None:
            found[name] = Field(value, line)
    events.end()
    return found


class _Events:
    """What PyYAML finds, one after the other: nothing is built, so nothing can multiply."""

    def __init__(self, head: str, file: str) -> None:
        self._head, self._file = head, file
        self._found = self._checked()

    def _checked(self) -> Iterator[yaml.Event]:
        try:
            yield from yaml.parse(self._head, Loader=yaml.BaseLoader)
        except yaml.reader.ReaderError as error:
            line = self._head.count("\n", 0, error.position) + 2
            said = f"the character U+{int(error.character):04X} has no place here"
            raise Broken(said, file=self._file, line=line) from error
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 2 if mark else 1
            said = f"the front matter is no YAML: {error.problem or error.context}"
            raise Broken(said, file=self._file, line=line) from error

    def take(self) -> yaml.Event:
        event = next(self._found)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise self.broken(event, "anchors and aliases (&name, *name) are not taken")
        if getattr(event, "tag", None):
            raise self.broken(event, "tags (!name) are not taken")
        return event

    def begin(self) -> bool:
        """Whether there is a mapping; anything else but nothing is refused."""
        self.take()
        if isinstance(self.take(), yaml.StreamEndEvent):
            return False
        event = self.take()
        if isinstance(event, yaml.ScalarEvent) and self.absent(event):
            return False
        if not isinstance(event, yaml.MappingStartEvent):
            raise self.broken(event, "write each field on a line of its own, as `name: value`")
        return True

    def end(self) -> None:
        self.take()
        if not isinstance(event := self.take(), yaml.StreamEndEvent):
            raise self.broken(event, "a second document is not taken")

    def scalar(self, event: yaml.Event, otherwise: str, field: str | None = None) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise self.broken(event, otherwise, field)
        value: str = event.value
        return value

    def value(self, name: str) -> Value | None:
        event = self.take()
        if not isinstance(event, yaml.SequenceStartEvent):
            value = self.scalar(event, "it is one value, or a list of values", name[:40])
            return None if self.absent(event) else value
        values: list[str] = []
        while not isinstance(event := self.take(), yaml.SequenceEndEvent):
            values.append(self.scalar(event, "a list has only values in it", name[:40]))
            if len(values) > MOST_VALUES:
                raise self.broken(event, f"a list has at most {MOST_VALUES} values", name[:40])
        return tuple(values) or None

    def absent(self, event: yaml.Event) -> bool:
        return isinstance(event, yaml.ScalarEvent) and not event.style and event.value in _ABSENT

    def line(self, event: yaml.Event) -> int:
        return event.start_mark.line + 2 if event.start_mark else 1

    def broken(self, event: yaml.Event, said: str, field: str | None = None) -> Broken:
        return Broken(said, file=self._file, line=self.line(event), field=field)
