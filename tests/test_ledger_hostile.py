"""Decisions, tasks and queries that nobody should send are refused, and nothing is stored."""

from typing import Any

import httpx
import pytest

import conftest
from conftest import MakeKey
from memoryd.daemon import Daemon
from wire import (
    DECISIONS,
    MEBIBYTE,
    ONE_LINE,
    TASKS,
    assert_problem,
    assert_refused,
    count,
    decide,
    plan,
    storing_nothing,
)

QUERY = f"{DECISIONS}/query"

BAD_DECISIONS: dict[str, tuple[dict[str, Any], int, str, str | None]] = {
    "nothing": ({}, 422, "decision", None),
    "a blank decision": ({"decision": " \n"}, 422, "decision", r"\S"),
    "a decision as a list": ({"decision": ["x"]}, 422, "decision", None),
    "NUL": ({"decision": "a\0b"}, 422, "decision", None),
    "NUL in a rationale": ({"decision": "x", "rationale": ["a", "\0"]}, 422, "rationale.1", None),
    "too many reasons": ({"decision": "x", "rationale": ["y"] * 1001}, 422, "rationale", "1000"),
    "a reason as text": ({"decision": "x", "rationale": "because"}, 422, "rationale", None),
    "an unknown scope": (
        *({"decision": "x", "scope": "all"}, 422, "scope"),
        "'project', 'user' or 'global'",
    ),
    "a long subject": ({"decision": "x", "subject": "y" * 256}, 422, "subject", "255"),
    "a subject of two lines": ({"decision": "x", "subject": "a\nb"}, 422, "subject", ONE_LINE),
    "superseding nothing": ({"decision": "x", "supersedes": "dec_none"}, 422, "supersedes", None),
    "superseding itself": ({"decision": "x", "supersedes": ""}, 422, "supersedes", "1"),
    "a secret": (
        *({"decision": "x", "sensitivity": "secret"}, 422, "sensitivity"),
        "'none', 'low' or 'high'",
    ),
    "too many refs": ({"decision": "x", "refs": ["y"] * 257}, 422, "refs", "256"),
    "too large": ({"decision": "x" * MEBIBYTE}, 413, "body", "1,048,576 bytes"),
    "a field of an event": ({"decision": "x", "kind": "message"}, 422, "kind", None),
    "content": ({"decision": "x", "content": {}}, 422, "content", None),
    "another tenant": ({"decision": "x", "tenant_id": "other"}, 403, "tenant_id", None),
    "the far future": (
        *({"decision": "x", "ts": "9000-01-01T00:00:00Z"}, 422, "ts"),
        "from 1900-01-01 to a day from now",
    ),
    "a time without a zone": ({"decision": "x", "ts": "2026-01-01T00:00:00"}, 422, "ts", None),
    "an actor without an id": (
        {"decision": "x", "actor": {"type": "human"}},
        422,
        "actor.id",
        None,
    ),
}


BAD_TASKS: dict[str, tuple[dict[str, Any], int, str, str | None]] = {
    "nothing": ({}, 422, "body", None),
    "no title": ({"status": "open"}, 422, "title", None),
    "a blank title": ({"title": "\t"}, 422, "title", r"\S"),
    "NUL": ({"title": "a\0b"}, 422, "title", None),
    "NUL in the details": ({"title": "x", "details": "\0"}, 422, "details", None),
    "details as a list": ({"title": "x", "details": ["y"]}, 422, "details", None),
    "an unknown status": (
        *({"title": "x", "status": "late"}, 422, "status"),
        "'open', 'doing' or 'done'",
    ),
    "a task that is not there": ({"task_id": "tsk_none"}, 422, "task_id", None),
    "a task of no name": ({"task_id": ""}, 422, "task_id", "1"),
    "a secret": (
        *({"title": "x", "sensitivity": "secret"}, 422, "sensitivity"),
        "'none', 'low' or 'high'",
    ),
    "too large": ({"title": "x", "details": "y" * MEBIBYTE}, 413, "body", "1,048,576 bytes"),
    "an extra field": ({"title": "x", "priority": 1}, 422, "priority", None),
    "another tenant": ({"title": "x", "tenant_id": "other"}, 403, "tenant_id", None),
}


@pytest.mark.parametrize("what", BAD_DECISIONS)
async def test_a_hostile_decision_is_refused(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, what: str
) -> None:
    body, status, field, limit = BAD_DECISIONS[what]
    async with storing_nothing(daemon, tenant):
        answer = await client.post(DECISIONS, json=body)

    assert_refused(answer, status, field, limit)


@pytest.mark.parametrize("what", BAD_TASKS)
async def test_a_hostile_task_is_refused(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, what: str
) -> None:
    body, status, field, limit = BAD_TASKS[what]
    async with storing_nothing(daemon, tenant):
        answer = await client.post(TASKS, json=body)

    assert_refused(answer, status, field, limit)


BAD_QUERIES: dict[str, tuple[str, dict[str, Any], str]] = {
    "unknown standing": (QUERY, {"status": "old"}, "status"),
    "unknown scope": (QUERY, {"scope": "all"}, "scope"),
    "empty text": (QUERY, {"text": ""}, "text"),
    "NUL in the text": (QUERY, {"text": "a\0b"}, "text"),
    "long text": (QUERY, {"text": "x" * 20_001}, "text"),
    "a second page by text": (QUERY, {"text": "x", "cursor": "7.7"}, "cursor"),
    "a number as a time": (QUERY, {"since": "5"}, "since"),
    "too many refs": (QUERY, {"ref": ["x"] * 21}, "ref"),
    "blank text": (QUERY, {"text": " \t"}, "text"),
    "two standings": (QUERY, {"status": ["active", "superseded"]}, "status"),
    "one standing twice": (QUERY, {"status": ["active", "active"]}, "status"),
    "a ref of two lines": (QUERY, {"ref": "a\nb"}, "ref.0"),
    "unknown progress": (TASKS, {"status": "late"}, "status.0"),
    "two in one": (TASKS, {"status": "open,doing"}, "status.0"),
    "two limits": (TASKS, {"limit": ["1", "2"]}, "limit"),
    "a long session": (TASKS, {"session_id": "x" * 256}, "session_id"),
}
BAD_QUERIES |= {
    f"{name}, {route}": (route, params, next(iter(params)))
    for route in (QUERY, TASKS)
    for name, params in {
        "no rows": {"limit": "0"},
        "too many rows": {"limit": "201"},
        "a position as a cursor": {"cursor": "7"},
        "a negative cursor": {"cursor": "-1.5"},
        "a cursor past the log": {"cursor": "999999.999999"},
        "a position below zero": {"as_of": "-1"},
        "no time": {"as_of": "soon"},
        "a time without a zone": {"as_of": "2026-01-01T00:00:00"},
        "a position too high": {"as_of": str(2**62)},
        "unknown channel": {"channel": "loud"},
    }.items()
}


@pytest.mark.parametrize("what", BAD_QUERIES)
async def test_a_hostile_query_is_refused(client: httpx.AsyncClient, what: str) -> None:
    route, params, field = BAD_QUERIES[what]
    answer = await client.get(route, params=params)

    assert_problem(answer, 422, field)


@pytest.mark.parametrize("route", [f"{DECISIONS}/dec_1", f"{TASKS}/tsk_1"])
async def test_a_hostile_moment_of_one_row_is_refused(
    client: httpx.AsyncClient, route: str
) -> None:
    assert_problem(await client.get(route, params={"as_of": "soon"}), 422, "as_of")


async def test_a_reader_key_writes_nothing(
    url: str, daemon: Daemon, tenant: str, make_key: MakeKey
) -> None:
    async with conftest.asking(url, await make_key(tenant, role="reader")) as reader:
        decision = await reader.post(DECISIONS, json={"decision": "x"})
        task = await reader.post(TASKS, json={"title": "x"})

    assert_problem(decision, 403)
    assert_problem(task, 403)
    assert await count(daemon, tenant) == 0


async def test_a_pinned_key_writes_for_nobody_else(
    url: str, tenant: str, make_key: MakeKey
) -> None:
    async with conftest.asking(url, await make_key(tenant, user_id="ada")) as ada:
        answer = await ada.post(DECISIONS, json={"decision": "x", "user_id": "bob"})

    assert_problem(answer, 403, "user_id")


@pytest.mark.parametrize(("route", "said"), [(DECISIONS, "decision"), (TASKS, "title")])
async def test_what_nobody_could_read_is_not_written(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, route: str, said: str
) -> None:
    async with storing_nothing(daemon, tenant):
        answer = await client.post(route, json={said: "x", "user_id": "agent:x"})
    listed = await client.get(TASKS, params={"user_id": "agent:x"})

    refused = assert_problem(answer, 403, "user_id")
    assert refused["detail"] == assert_problem(listed, 403, "user_id")["detail"]


async def test_a_key_changes_nothing_that_it_cannot_read(
    url: str, client: httpx.AsyncClient, daemon: Daemon, tenant: str, make_key: MakeKey
) -> None:
    """Its answer would show what others wrote there."""
    said = {"channel": "public", "sensitivity": "high"}
    task = await plan(client, **said, title="The launch is on the ninth.")
    decision = await decide(client, **said)
    async with conftest.asking(url, await make_key(tenant, channel="public")) as public:
        async with storing_nothing(daemon, tenant):
            changed = await public.post(TASKS, json={**said, "task_id": task["task_id"]})
            superseding = {**said, "decision": "x", "supersedes": decision["decision_id"]}
            superseded = await public.post(DECISIONS, json=superseding)
        own = await plan(public, **said, title="A task of its own.")

    assert_problem(changed, 403, "sensitivity")
    assert_problem(superseded, 403, "sensitivity")
    assert "ninth" not in changed.text
    assert own["title"] == "A task of its own."
