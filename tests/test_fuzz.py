"""Whatever is sent, the daemon does not fail."""

import json
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import make
from memoryd.core import db, read, record
from memoryd.core.model import Reader
from memoryd.daemon import Daemon
from memoryd.doors import app
from wire import EVENTS, JSON


def posting() -> list[str]:
    paths = app.document().openapi()["paths"]
    return [path for path, methods in paths.items() if "post" in methods]


# Escaped by `json.dumps`, so that lone surrogates and NUL reach the daemon too.
TEXTS = st.text(st.characters(), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
KIND_NAMES = st.sampled_from(
    ["message", "tool_call", "tool_result", "decision", "task_update", "artifact"]
)
CONTENT_NAMES = st.sampled_from(
    [
        *(
            "text",
            "excerpt_text",
            "bytes",
            "tool",
            "path",
            "line_range",
            "media_type",
            "artifact_id",
        ),
        *("decision", "scope", "rationale", "supersedes", "task_id", "title", "details", "status"),
        *("name", "truncated", "size"),
    ]
)
CONTENTS = st.dictionaries(CONTENT_NAMES, VALUES, min_size=1, max_size=5)
# Nearly right: these pass the first check and fail, or should, at a later one.
DRAFTS = st.builds(
    lambda kind, content, field, value, odd: make.body(
        **{"kind": kind, "content": content, **({field: value} if odd else {})}
    ),
    KIND_NAMES,
    CONTENTS.map(lambda content: {"text": "x", "tool": "t", "decision": "d", **content}),
    st.sampled_from([*make.body(), "ts", "tags", "refs", "channel", "idempotency_key", "user_id"]),
    VALUES,
    st.booleans(),
)
LIKELY_VALUES = st.recursive(
    st.sampled_from(["x", "YQ==", "text/plain", "", "dec_1", 0, 7, 1e22, -0.0, 1.5, True, None]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["bb", "a", "é", "Z"]), inner, max_size=3)
    ),
    max_leaves=6,
)
LIKELY_DRAFTS = st.builds(
    lambda kind, base, more: make.body(kind=kind, content={**base, **more}),
    KIND_NAMES,
    st.sampled_from(
        [
            {"text": "x"},
            {"tool": "t"},
            {"tool": "t", "text": "x"},
            {"tool": "t", "bytes": "/w=="},
            {"decision": "d"},
            {"title": "t"},
        ]
    ),
    st.dictionaries(CONTENT_NAMES, LIKELY_VALUES, max_size=3),
)
BATCHES = st.lists(DRAFTS, max_size=3).map(lambda drafts: {"events": drafts})
often = settings(
    max_examples=50,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("path", posting())
@often
@given(body=VALUES | DRAFTS | BATCHES)
async def test_no_json_makes_the_daemon_fail(
    client: httpx.AsyncClient, path: str, body: Any
) -> None:
    answer = await client.post(
        path, params={"session_id": "s1"}, content=json.dumps(body), headers=JSON
    )

    assert answer.status_code < 500, answer.text
    done = (200, 201) if path == "/api/v1/prompt" else (201,)  # a prompt needs no field at all
    refused = answer.headers["content-type"] == "application/problem+json"
    assert answer.status_code in done or refused


@often
@given(draft=LIKELY_DRAFTS)
async def test_what_is_taken_is_read_and_replayed_the_same(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, draft: dict[str, Any]
) -> None:
    answer = await client.post(EVENTS, json=draft)
    assert answer.status_code < 500, answer.text
    if answer.status_code != 201:
        return
    event_id = answer.json()["event_id"]
    found = await client.get(f"{EVENTS}/{event_id}")
    async with db.tenant(daemon.pool, tenant) as conn:
        event = await read.event(conn, Reader(tenant_id=tenant), event_id)
        again = record.chunks_of(event, await read.blob_of(conn, event))
        rows = await conn.fetch(
            "select chunk_id, text from chunks where event_id = $1 order by ordinal", event_id
        )

    assert found.status_code == 200
    assert [(one.chunk_id, one.text) for one in again] == [tuple(row) for row in rows]


@pytest.mark.parametrize("path", posting())
@often
@given(raw=st.binary(max_size=200), media_type=st.sampled_from(["application/json", "text/plain"]))
async def test_no_bytes_make_the_daemon_fail(
    client: httpx.AsyncClient, path: str, raw: bytes, media_type: str
) -> None:
    answer = await client.post(
        path, params={"session_id": "s1"}, content=raw, headers={"content-type": media_type}
    )

    assert answer.status_code < 500, answer.text


@often
@given(
    params=st.dictionaries(
        st.sampled_from(
            [
                *(
                    "session_id",
                    "kind",
                    "actor",
                    "tag",
                    "since",
                    "until",
                    "order",
                    "cursor",
                    "limit",
                ),
                *("tenant_id", "channel", "user_id", "agent_id", "idempotency_key", "ts", "tool"),
                *("sensitivity", "actor_type", "path", "name"),
            ]
        ),
        st.text(max_size=20)
        | st.datetimes().map(lambda moment: f"{moment.isoformat()}Z")
        | st.integers().map(str),
        max_size=4,
    )
)
async def test_no_query_makes_the_daemon_fail(
    client: httpx.AsyncClient, params: dict[str, str]
) -> None:
    page = await client.get(EVENTS, params=params)
    upload = await client.post(
        "/api/v1/artifacts", params={"session_id": "s1", **params}, content=b"x"
    )

    assert page.status_code < 500, page.text
    assert upload.status_code < 500, upload.text
