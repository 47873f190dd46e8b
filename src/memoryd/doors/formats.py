"""A view as Markdown, YAML or JSON: Markdown is the bare text, the others say of which version.

What comes in is anybody's: it is bounded before it is parsed, and YAML makes only strings.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal

import yaml
from fastapi.exceptions import RequestValidationError
from pydantic import ConfigDict, TypeAdapter, ValidationError

from memoryd.core import errors
from memoryd.core.model import Channel
from memoryd.doors import http
from memoryd.ledger import texts

Format = Literal["markdown", "yaml", "json"]
MEDIA_TYPES: dict[Format, str] = {
    "markdown": "text/markdown",
    "yaml": "application/yaml",
    "json": "application/json",
}
_FORMATS: dict[str, Format] = {
    **{media_type: name for name, media_type in MEDIA_TYPES.items()},
    "text/plain": "markdown",
    **dict.fromkeys(("text/yaml", "text/x-yaml", "application/x-yaml"), "yaml"),
}
# JSON may write a character as twelve bytes; the rest of the document is small.
MAX_BYTES = 12 * texts.MAX_TEXT + 16 * 1024
MOST_NODES = 64  # of a YAML document; ours has some twenty
_LINE_BREAKS = re.compile("[\x85\u2028\u2029\ufeff]")  # which YAML would read back as others


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A view as it comes in: as it was read, or only its text."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    text: str
    version: str | None = None
    name: str | None = None
    channel: Channel | None = None
    # Of the document that was read; what they say is not changed by saying it.
    position: Any = None
    ts: Any = None
    actor: Any = None
    size: Any = None


_sent = TypeAdapter(Sent)
_text = TypeAdapter(texts.Text)


def wanted(asked: Format | None, accept: str) -> Format:
    """What the query asks for, or the best that the Accept header does; otherwise JSON.

    >>> wanted(None, "text/html, application/yaml;q=0.8, text/plain;q=0.9")
    'markdown'
    """
    if asked is not None:
        return asked
    ranges = [part.replace(" ", "").lower().split(";") for part in accept.split(",")]
    ranges.sort(key=_quality, reverse=True)
    return next((_FORMATS[one[0]] for one in ranges if one[0] in _FORMATS), "json")


def _quality(accepted: list[str]) -> float:
    given = next((part[2:] for part in accepted[1:] if part.startswith("q=")), "1")
    return float(given) if re.fullmatch(r"[01](\.\d{0,3})?", given) else 0


def parse(content_type: str, body: bytes) -> Sent:
    """What was sent, checked, as far as that needs no database."""
    media_type, _, parameters = content_type.lower().replace(" ", "").partition(";")
    known = _FORMATS.get(media_type)
    charset = re.search(r"charset=\"?([^\";]+)", parameters)
    if known is None or (charset and charset[1] not in ("utf-8", "utf8", "us-ascii")):
        raise errors.WrongMediaType(
            f"send {', '.join(_FORMATS)}, in UTF-8, not {content_type[:80]!r}", field="Content-Type"
        )
    if known == "json":
        sent = _checked(http.parse_json(body))
    else:
        text = _decode(body)
        sent = Sent(text=text) if known == "markdown" else _checked(_parse_yaml(text))
    if len(sent.text) > texts.MAX_TEXT:
        raise errors.TooLarge(
            f"the text has {len(sent.text):,} characters; keep rules short, and record the rest",
            field="text",
            limit=f"{texts.MAX_TEXT:,} characters",
        )
    return sent


def render(text: texts.Text, wanted: Format) -> bytes:
    if wanted == "markdown":
        return text.text.encode()
    if wanted == "json":
        return _text.dump_json(text)
    said = _text.dump_python(text, mode="json")
    dumped: str = yaml.dump(said, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)
    return dumped.encode()


def _decode(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise errors.Malformed(f"the text is not UTF-8: {error.reason}", field="body") from error


def _checked(given: Any) -> Sent:
    try:
        http.check_width(given)
        return _sent.validate_python(given)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise RequestValidationError(
            [{**one, "loc": ("body", *one["loc"])} for one in found]
        ) from error


class _Loader(yaml.BaseLoader):
    """Makes strings only, and takes no aliases, which a few lines multiply without end."""

    nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.nodes += 1
        if self.check_event(yaml.AliasEvent):
            raise errors.Malformed("aliases (*name) are not taken; write it out", field="body")
        if self.nodes > MOST_NODES:
            raise errors.Malformed(
                "the YAML is no view", field="body", limit=f"{MOST_NODES} keys and values"
            )
        return super().compose_node(parent, index)

    def construct_scalar(self, node: yaml.ScalarNode) -> str:
        """What is quoted says what it says: `""` is an empty text, and not nothing."""
        value: str = super().construct_scalar(node)
        return _Quoted(value) if node.style else value


class _Quoted(str):
    __slots__ = ()


def _parse_yaml(text: str) -> Any:
    try:
        given = yaml.load(text, Loader=_Loader)  # noqa: S506  # it makes strings only
    except yaml.YAMLError as error:
        raise errors.Malformed(f"the body is not YAML: {_where(error)}", field="body") from error
    if not isinstance(given, dict):
        raise errors.Malformed("the YAML has no `text: …`", field="body")
    nothing = ("", "~", "null")
    return {
        name: None if name != "text" and value in nothing and type(value) is str else value
        for name, value in given.items()
    }


def _where(error: yaml.YAMLError) -> str:
    """What and where, without quoting the text."""
    mark = getattr(error, "problem_mark", None)
    place = f", line {mark.line + 1}" if mark else ""
    return f"{getattr(error, 'problem', None) or type(error).__name__}{place}"


class _Dumper(yaml.SafeDumper):
    """Writes a text of several lines as they stand."""


def _as_it_stands(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if _LINE_BREAKS.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _as_it_stands)
