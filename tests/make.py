"""A default for everything, so that a test says only what matters to it."""

from datetime import UTC, datetime
from typing import Any

from memoryd.core import record
from memoryd.core.model import Actor, Caller, Draft

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def draft(**given: Any) -> Draft:
    said = {
        "session_id": "s1",
        "actor": Actor(type="human", id="ada"),
        "kind": "message",
        "content": {"text": "We ship on Friday."},
    }
    return Draft(**{**said, **given})


def body(**given: Any) -> dict[str, Any]:
    """The same, as a client sends it."""
    said = {
        "session_id": "s1",
        "actor": {"type": "human", "id": "ada"},
        "kind": "message",
        "content": {"text": "We ship on Friday."},
    }
    return {**said, **given}


_entropy = iter(range(1, 2**60))


def entropy() -> bytes:
    """Distinct and in order: ids differ, and every run has the same ones."""
    return next(_entropy).to_bytes(10, "big")


def write(
    tenant_id: str = "default", now: datetime = NOW, output: bytes | None = None, **given: Any
) -> record.Write:
    caller = Caller(tenant_id=tenant_id, role="agent")
    return record.prepare(caller, draft(**given), now, entropy(), output)
