"""What the tests of the HTTP door share: the routes, a call, a refusal, what is stored."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

import make
from memoryd.core import db
from memoryd.daemon import Daemon

EVENTS = "/api/v1/events"
BATCH = "/api/v1/events/batch"
ARTIFACTS = "/api/v1/artifacts"
JSON = {"content-type": "application/json"}
ONE_LINE = r"^[^\x00-\x1f\x7f]+$"
MEBIBYTE = 1024 * 1024


async def post(client: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    answer = await client.post(EVENTS, json=make.body(**given))
    assert answer.status_code == 201, answer.text
    recorded: dict[str, Any] = answer.json()
    return recorded


async def listed(client: httpx.AsyncClient, **params: Any) -> list[dict[str, Any]]:
    answer = await client.get(EVENTS, params=params)
    assert answer.status_code == 200, answer.text
    events: list[dict[str, Any]] = answer.json()["events"]
    return events


async def texts(client: httpx.AsyncClient, **params: Any) -> list[str]:
    return [event["content"]["text"] for event in await listed(client, **params)]


async def count(daemon: Daemon, tenant: str) -> int:
    async with db.tenant(daemon.pool, tenant) as conn:
        found: int = await conn.fetchval("select count(*) from events")
        return found


@asynccontextmanager
async def storing_nothing(daemon: Daemon, tenant: str) -> AsyncIterator[None]:
    before = await count(daemon, tenant)
    yield
    assert await count(daemon, tenant) == before


def assert_refused(
    answer: httpx.Response, status: int, field: str | None, limit: str | None = None
) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert problem["title"] and problem["detail"] and problem["type"]
    assert (problem.get("field"), problem.get("limit")) == (field, limit)


def tool_result(**content: Any) -> dict[str, Any]:
    return make.body(kind="tool_result", content={"tool": "bash", **content})


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def assert_problem(answer: httpx.Response, status: int, field: str | None = None) -> dict[str, Any]:
    """RFC 9457, on every refusal."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status
    assert all(isinstance(problem[name], str) and problem[name] for name in ("title", "detail"))
    assert problem["type"] == "about:blank"
    assert problem.get("field") == field
    return problem


async def chunked(daemon: Daemon, tenant: str) -> str:
    async with db.tenant(daemon.pool, tenant) as conn:
        rows = await conn.fetch("select text from chunks order by position, ordinal")
    return "".join(row[0] for row in rows)


async def upload(
    client: httpx.AsyncClient,
    body: bytes,
    media_type: str = "application/octet-stream",
    **given: Any,
) -> dict[str, Any]:
    answer = await client.post(
        ARTIFACTS,
        params={"session_id": "s1", **given},
        content=body,
        headers={"content-type": media_type},
    )
    assert answer.status_code == 201, answer.text
    uploaded: dict[str, Any] = answer.json()
    return uploaded


async def download(
    client: httpx.AsyncClient, uploaded: dict[str, Any], **headers: str
) -> httpx.Response:
    return await client.get(f"{ARTIFACTS}/{uploaded['artifact_id']}", headers=headers)
