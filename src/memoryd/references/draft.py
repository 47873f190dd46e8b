"""What a client sends as a reference → the draft of its event, and the bytes beside it."""

import base64
import binascii
from typing import Any

from pydantic_core import from_json

from memoryd.core import errors
from memoryd.core.model import Actor, Draft

SESSION = "references"  # of what belongs to no conversation
BINARY = "application/octet-stream"
SAID = (
    *("description", "type", "metadata", "key", "media_type", "session_id", "actor", "tenant_id"),
    *("user_id", "agent_id", "channel", "sensitivity", "ts", "idempotency_key"),
)
_KEPT = ("key", "type", "description", "metadata")
_ORIGIN = ("tenant_id", "user_id", "agent_id", "channel", "sensitivity", "ts", "idempotency_key")


def make(**said: Any) -> Draft:
    """The names of `SAID`; those of a reference go into the content."""
    kept = {name: said[name] for name in _KEPT if said.get(name)}
    content = {"reference": kept, "media_type": said.get("media_type")}
    return Draft(
        session_id=said.get("session_id") or SESSION,
        actor=said.get("actor") or Actor(type="tool", id=said["type"]),
        kind="artifact",
        content={name: value for name, value in content.items() if value is not None},
        **{name: said[name] for name in _ORIGIN if said.get(name) is not None},
    )


def output(content: str | None, encoded: str | None) -> bytes:
    """The bytes of a text, or those that came in base64."""
    if (content is None) == (encoded is None):
        raise errors.Invalid("send `content` or, in base64, `bytes`: one of them", field="content")
    if content is not None:
        return text(content)
    assert encoded is not None
    try:
        return check(base64.b64decode(encoded, validate=True), "bytes")
    except (binascii.Error, ValueError) as error:
        raise errors.Invalid(f"it is not base64: {error}", field="bytes") from error


def text(content: str) -> bytes:
    try:
        return check(content.encode(), "content")
    except UnicodeEncodeError as error:
        raise errors.Invalid("a lone surrogate is not text; remove it", field="content") from error


def check(given: bytes, name: str) -> bytes:
    if not given:
        raise errors.Invalid("it is empty: there is nothing to store", field=name, limit="1 byte")
    return given


def metadata(given: str) -> dict[str, Any]:
    """A JSON object that came in an address."""
    try:
        found = from_json(given, allow_inf_nan=False)
    except ValueError as error:
        raise errors.Invalid(f"it is not JSON: {error}", field="metadata") from error
    if not isinstance(found, dict):
        raise errors.Invalid("it must be a JSON object", field="metadata")
    return found
