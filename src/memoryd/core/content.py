"""What a client sent as `content` → what the log keeps, and the text that is chunked.

`text_of` reads only what is stored, so that a replay finds the same text as the first write.
"""

import base64
import binascii
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, FailFast, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import to_json
from typing_extensions import TypedDict

from memoryd import redact
from memoryd.core import errors, values
from memoryd.core.model import EXCERPT_BYTES, MAX_CONTENT_BYTES, Name, Progress, Scope
from memoryd.memories import model as memories
from memoryd.redact import writes
from memoryd.references.model import Kept

Text = Annotated[str, StringConstraints(pattern=r"\S")]
Lines = Annotated[list[str], FailFast(), Field(max_length=1_000)]
# Letters of ASCII only: it becomes a header when the artifact is read.
MediaType = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9_.+-]+/[A-Za-z0-9_.+-]+$", max_length=127)
]
LineRange = Annotated[
    list[Annotated[int, Field(ge=0, le=10**9, strict=True)]], Field(min_length=2, max_length=2)
]

REDACTED = {"text": "[redacted:secret]"}
_OUTPUTS = ("text", "excerpt_text", "bytes")


class _Content(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]  # how pydantic takes it


class Message(_Content):
    text: Text


class ToolCall(_Content):
    tool: Name


class ToolResult(_Content):
    tool: Name
    path: NotRequired[str | None]
    line_range: NotRequired[LineRange | None]
    text: NotRequired[str]
    excerpt_text: NotRequired[str]
    bytes: NotRequired[str]
    media_type: NotRequired[MediaType]


class Decision(_Content):
    decision: Text
    subject: NotRequired[Name | None]
    scope: NotRequired[Scope]
    rationale: NotRequired[Lines]
    constraints: NotRequired[Lines]
    alternatives: NotRequired[Lines]
    consequences: NotRequired[Lines]
    supersedes: NotRequired[Name | None]


class TaskUpdate(_Content):
    task_id: NotRequired[Name | None]
    title: NotRequired[Text]
    details: NotRequired[str]
    status: NotRequired[Progress]


class Artifact(_Content):
    name: NotRequired[Name]
    reference: NotRequired[Kept]
    text: NotRequired[str]
    bytes: NotRequired[str]
    media_type: NotRequired[MediaType]


class View(_Content):
    name: str
    owner: str
    text: str
    replaces: NotRequired[Name | None]


class Summary(_Content):
    about: Name
    text: Text


class Handoff(_Content):
    to_agent: Name
    note: str
    packet: str


class HandoffAnswer(_Content):
    handoff_id: Name
    status: Literal["accepted", "rejected"]
    note: str


_SHAPES: dict[str, TypeAdapter[Any]] = {
    "message": TypeAdapter(Message),
    "tool_call": TypeAdapter(ToolCall),
    "tool_result": TypeAdapter(ToolResult),
    "decision": TypeAdapter(Decision),
    "task_update": TypeAdapter(TaskUpdate),
    "artifact": TypeAdapter(Artifact),
    "view": TypeAdapter(View),
    "summary": TypeAdapter(Summary),
    "handoff": TypeAdapter(HandoffAnswer | Handoff),
    "erasure": TypeAdapter(_Content),
    "memory": TypeAdapter(memories.Change),
}
# Not cut into chunks: a bundle has a section for each, and what they quote is found at its source.
_UNSEARCHED = ("view", "handoff", "erasure")


@dataclass(frozen=True)
class Normal:
    """Content as the log keeps it; `blob` goes to the artifacts and is None when nothing does."""

    content: dict[str, Any]
    blob: bytes | None = None
    media_type: str = "text/plain"


def normalize(
    kind: str, content: dict[str, Any], seen: set[str], output: bytes | None = None
) -> Normal:
    """Check `content` for its kind, redact secrets in it, and set a tool's output apart.

    `output` is the raw output where it came beside the JSON, as an upload. `seen` gets the names of
    the rules that found a secret.
    """
    values.check(content, "content", 1)
    _check_shape(kind, content)
    if kind in ("tool_result", "artifact"):
        normal = _set_apart(kind, content, seen, output)
    else:
        normal = Normal(redact.value(content, seen=seen))
    if (size := len(to_json(normal.content))) > MAX_CONTENT_BYTES:
        raise errors.TooLarge(
            f"content has {size:,} bytes as JSON; send long outputs as a tool_result, or upload "
            "them to POST /api/v1/artifacts",
            field="content.text" if "text" in normal.content else "content",
            limit=f"{MAX_CONTENT_BYTES:,} bytes",
        )
    return normal


def text_of(kind: str, content: dict[str, Any], blob: bytes | None) -> str:
    """The text of a stored event: all of it, not only its excerpt."""
    if kind in ("tool_result", "artifact"):
        whole = _decode(blob) if blob is not None else None
        return content["excerpt_text"] if whole is None else whole
    if kind == "memory":
        content = {"text": memories.text_of(content)}
    if kind in _UNSEARCHED or isinstance(content.get("text"), str):
        return "" if kind in _UNSEARCHED else content["text"]
    if kind == "decision":
        parts = ("rationale", "constraints", "alternatives", "consequences")
        lines = [line for part in parts for line in content.get(part, ())]
        subject = [content["subject"]] if content.get("subject") else []
        return "\n".join([content["decision"], *subject, *lines])
    if kind == "task_update":
        return "\n".join(content[p] for p in ("title", "details") if content.get(p))
    if kind == "tool_call":
        rest = {name: value for name, value in content.items() if name != "tool"}
        return f"{content['tool']} {_as_read_back(rest)}" if rest else content["tool"]
    return _as_read_back(content)


def _as_read_back(content: dict[str, Any]) -> str:
    """JSON that is the same before and after the database kept it."""
    return to_json(_plain(content)).decode()


def _plain(value: Any) -> Any:
    """Without what jsonb changes: the order of keys, 1e22 into an integer, -0.0 into 0.0."""
    if isinstance(value, dict):
        return {name: _plain(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check_shape(kind: str, content: dict[str, Any]) -> None:
    if not content:
        raise errors.Invalid("content is empty", field="content")
    try:
        _SHAPES[kind].validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in ("content", *first["loc"]))
        raise errors.Invalid(f"a {kind} needs it so: {first['msg']}", field=place) from error
    if kind == "task_update" and not (content.get("title") or content.get("task_id")):
        raise errors.Invalid("a new task needs a title", field="content.title")


def _set_apart(kind: str, content: dict[str, Any], seen: set[str], output: bytes | None) -> Normal:
    output = writes.output(_output(content) if output is None else output, seen)
    whole = _decode(output)
    kept = {name: value for name, value in content.items() if name not in _OUTPUTS}
    kept = redact.value(kept, seen=seen)
    media_type = kept.get("media_type", "text/plain")
    if whole is None:
        excerpt = f"[binary output, {len(output):,} bytes, {media_type}]"
    else:
        excerpt = _excerpt(whole)
        kept["line_range"] = _line_range(content, excerpt)
    kept["excerpt_text"] = excerpt
    kept["truncated"] = whole is None or len(excerpt) < len(whole)
    if kind == "tool_result":
        kept.setdefault("path", None)
    if kind == "artifact":
        kept |= {"media_type": media_type, "size": len(output)}
    keep_bytes = kept["truncated"] or kind == "artifact"
    return Normal(kept, output if keep_bytes else None, media_type)


def _output(content: dict[str, Any]) -> bytes:
    given = [name for name in _OUTPUTS if name in content]
    if len(given) != 1:
        raise errors.Invalid(
            "the output comes as `text` or, in base64, as `bytes`: one of them",
            field="content.text",
        )
    if "artifact_id" in content:
        raise errors.Invalid("it is set by the daemon; leave it out", field="content.artifact_id")
    value: str = content[given[0]]
    if given[0] != "bytes":
        return value.encode()
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise errors.Invalid(f"it is not base64: {error}", field="content.bytes") from error


def _decode(output: bytes) -> str | None:
    """The text that `output` is, or None for what PostgreSQL could not keep as text."""
    try:
        text = output.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _excerpt(whole: str) -> str:
    """The first 64 KB, cut at a line's end where there is one."""
    raw = whole.encode()
    if len(raw) <= EXCERPT_BYTES:
        return whole
    cut = raw[:EXCERPT_BYTES].decode(errors="ignore")
    return cut[: cut.rfind("\n") + 1] or cut


def _line_range(content: dict[str, Any], excerpt: str) -> list[int]:
    """Which lines the excerpt holds, counted from where the client says that it began."""
    first: int = (content.get("line_range") or [1])[0]
    lines = excerpt.count("\n") + (not excerpt.endswith("\n")) if excerpt else 0
    return [first, first + max(lines - 1, 0)]
