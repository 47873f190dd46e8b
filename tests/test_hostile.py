"""Bodies that nobody should send are refused, with the field and the limit named.

Each stores nothing.
"""

from datetime import timedelta
from typing import Any

import httpx
import pytest

import make
from memoryd.daemon import Daemon, now
from wire import EVENTS, MEBIBYTE, ONE_LINE, assert_refused, nested, storing_nothing, tool_result


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in make.body().items() if key != name}


KINDS = "'message', 'tool_call', 'tool_result', 'decision', 'task_update' or 'artifact'"
BODIES: dict[str, tuple[dict[str, Any], int, str, str | None]] = {
    "unknown kind": (make.body(kind="gossip"), 422, "kind", KINDS),
    "a kind with a door of its own": (make.body(kind="erasure"), 422, "kind", KINDS),
    "unknown channel": (
        *(make.body(channel="loud"), 422, "channel"),
        "'private', 'public', 'team' or 'agent'",
    ),
    "unknown sensitivity": (
        *(make.body(sensitivity="extreme"), 422, "sensitivity"),
        "'none', 'low', 'high' or 'secret'",
    ),
    "unknown actor type": (
        *(make.body(actor={"type": "cat", "id": "tom"}), 422, "actor.type"),
        "'human', 'agent' or 'tool'",
    ),
    "no session": (without("session_id"), 422, "session_id", None),
    "no actor": (without("actor"), 422, "actor", None),
    "no kind": (without("kind"), 422, "kind", None),
    "no content": (without("content"), 422, "content", None),
    "no actor id": (make.body(actor={"type": "human"}), 422, "actor.id", None),
    "actor as text": (make.body(actor="ada"), 422, "actor", None),
    "extra field": (make.body(position=7), 422, "position", None),
    "extra field called query": (make.body(query="x"), 422, "query", None),
    "extra field of the actor": (
        *(make.body(actor={"type": "human", "id": "a", "admin": True}), 422, "actor.admin"),
        None,
    ),
    "empty content": (make.body(content={}), 422, "content", None),
    "content as text": (make.body(content="hello"), 422, "content", None),
    "content as a list": (make.body(content=["hello"]), 422, "content", None),
    "empty text": (make.body(content={"text": ""}), 422, "content.text", None),
    "blank text": (make.body(content={"text": " \t\n\u2003"}), 422, "content.text", None),
    "a million spaces alone": (
        *(make.body(content={"text": " " * 1_000_000}), 422, "content.text"),
        None,
    ),
    "text as a number": (make.body(content={"text": 5}), 422, "content.text", None),
    "text over the limit": (
        *(make.body(content={"text": "x" * MEBIBYTE}), 413, "content.text"),
        "1,048,576 bytes",
    ),
    "content over the limit beside its text": (
        *(tool_result(text="short", more="x" * MEBIBYTE), 413, "content"),
        "1,048,576 bytes",
    ),
    "NUL in the text": (make.body(content={"text": "a\0b"}), 422, "content.text", None),
    "NUL in a key": (make.body(content={"text": "a", "b\0c": 1}), 422, "content", None),
    "NUL deep inside": (
        *(make.body(content={"text": "a", "b": [{"c": "d\0"}]}), 422, "content.b.0.c"),
        None,
    ),
    "NUL in a tool's output": (tool_result(text="a\0b"), 422, "content.text", None),
    "NUL in the session": (make.body(session_id="a\0b"), 422, "session_id", ONE_LINE),
    "NUL in a tag": (make.body(tags=["ok", "a\0b"]), 422, "tags.1", ONE_LINE),
    "NUL in a reference": (make.body(refs=["a\0b"]), 422, "refs.0", ONE_LINE),
    "NUL in the actor": (
        *(make.body(actor={"type": "human", "id": "\0"}), 422, "actor.id"),
        ONE_LINE,
    ),
    "NUL in the idempotency key": (
        *(make.body(idempotency_key="\0"), 422, "idempotency_key"),
        ONE_LINE,
    ),
    "a line break in the session": (make.body(session_id="a\nb"), 422, "session_id", ONE_LINE),
    "empty session": (make.body(session_id=""), 422, "session_id", "1"),
    "256 characters of session": (make.body(session_id="s" * 256), 422, "session_id", "255"),
    "256 characters of actor": (
        *(make.body(actor={"type": "human", "id": "a" * 256}), 422, "actor.id"),
        "255",
    ),
    "256 characters of user": (make.body(user_id="u" * 256), 422, "user_id", "255"),
    "256 characters of key": (
        *(make.body(idempotency_key="k" * 256), 422, "idempotency_key"),
        "255",
    ),
    "a tag of 256 characters": (make.body(tags=["t" * 256]), 422, "tags.0", "255"),
    "257 tags": (make.body(tags=[str(n) for n in range(257)]), 422, "tags", "256"),
    "257 references": (make.body(refs=[str(n) for n in range(257)]), 422, "refs", "256"),
    "tags as text": (make.body(tags="red"), 422, "tags", None),
    "65 levels": (make.body(content={"text": "x", "a": nested(64)}), 422, "content", "64 levels"),
    "an integer no double holds": (
        *(make.body(content={"text": "x", "n": 10**400}), 422, "content.n"),
        "1e308",
    ),
    "a clock far ahead": (
        *(make.body(ts=(now() + timedelta(days=2)).isoformat()), 422, "ts"),
        "from 1900-01-01 to a day from now",
    ),
    "the year 1": (
        *(make.body(ts="0001-01-01T00:00:00+14:00"), 422, "ts"),
        "from 1900-01-01 to a day from now",
    ),
    "the last hour of the calendar": (
        *(make.body(ts="9999-12-31T23:59:59-14:00"), 422, "ts"),
        "from 1900-01-01 to a day from now",
    ),
    "a time without a zone": (make.body(ts="2024-01-01T00:00:00"), 422, "ts", None),
    "a time that is none": (make.body(ts="tomorrow"), 422, "ts", None),
    "the 30th of February": (make.body(ts="2024-02-30T00:00:00Z"), 422, "ts", None),
    "a foreign tenant": (make.body(tenant_id="someone-else"), 403, "tenant_id", None),
    "no output": (tool_result(), 422, "content.text", None),
    "no tool": (
        *(make.body(kind="tool_result", content={"text": "x"}), 422, "content.tool"),
        None,
    ),
    "bad base64": (tool_result(bytes="!!!!"), 422, "content.bytes", None),
    "base64 cut short": (tool_result(bytes="YWJjZ"), 422, "content.bytes", None),
    "base64 of other letters": (tool_result(bytes="é" * 4), 422, "content.bytes", None),
    "text and bytes": (tool_result(text="a", bytes="YQ=="), 422, "content.text", None),
    "an artifact of one's own": (
        *(tool_result(text="a", artifact_id="art_1"), 422, "content.artifact_id"),
        None,
    ),
    "a line range of words": (
        *(tool_result(text="a", line_range=["1", "2"]), 422, "content.line_range.0"),
        None,
    ),
    "a line range of one": (
        *(tool_result(text="a", line_range=[1]), 422, "content.line_range"),
        None,
    ),
    "a line range below zero": (
        *(tool_result(text="a", line_range=[-1, 5]), 422, "content.line_range.0"),
        None,
    ),
    "a media type of other letters": (
        *(tool_result(bytes="/w==", media_type="日本/語"), 422, "content.media_type"),
        None,
    ),
    "a media type with a second line": (
        *(tool_result(bytes="/w==", media_type="a/b\r\nx: y"), 422, "content.media_type"),
        None,
    ),
    "a decision that says nothing": (
        *(make.body(kind="decision", content={"rationale": []}), 422, "content.decision"),
        None,
    ),
    "a decision of no scope": (
        *(make.body(kind="decision", content={"decision": "x", "scope": "all"}), 422),
        *("content.scope", None),
    ),
    "a decision before another that is not there": (
        *(make.body(kind="decision", content={"decision": "x", "supersedes": "dec_no"}), 422),
        *("content.supersedes", None),
    ),
    "a task without a title": (
        *(make.body(kind="task_update", content={"status": "open"}), 422, "content.title"),
        None,
    ),
    "a task that is not there": (
        *(make.body(kind="task_update", content={"task_id": "tsk_no"}), 422, "content.task_id"),
        None,
    ),
    "a task of no status": (
        *(make.body(kind="task_update", content={"title": "x", "status": "late"}), 422),
        *("content.status", None),
    ),
}


@pytest.mark.parametrize("what", BODIES)
async def test_a_hostile_body_is_refused(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, what: str
) -> None:
    body, status, field, limit = BODIES[what]

    async with storing_nothing(daemon, tenant):
        answer = await client.post(EVENTS, json=body)
    assert_refused(answer, status, field, limit)
