"""What the tests of the HTTP door share: the routes, a call, a refusal, what is stored."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx

import make
from memoryd.core import db
from memoryd.daemon import Daemon
from memoryd.search import vectors as codes

EVENTS = "/api/v1/events"
BATCH = "/api/v1/events/batch"
ARTIFACTS = "/api/v1/artifacts"
DECISIONS = "/api/v1/decisions"
TASKS = "/api/v1/tasks"
VIEWS = "/api/v1/views"
SUMMARIES = "/api/v1/summaries"
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


async def decide(client: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    answer = await client.post(DECISIONS, json={"decision": "Use PostgreSQL.", **given})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def decided(client: httpx.AsyncClient, **params: Any) -> list[str]:
    """What a query lists, in its order."""
    answer = await client.get(f"{DECISIONS}/query", params=params)
    assert answer.status_code == 200, answer.text
    return [one["decision"] for one in answer.json()["decisions"]]


async def found(client: httpx.AsyncClient, item_id: str, **params: Any) -> dict[str, Any]:
    """A decision or a task, by its id."""
    route = DECISIONS if item_id.startswith("dec_") else TASKS
    answer = await client.get(f"{route}/{item_id}", params=params)
    assert answer.status_code == 200, answer.text
    one: dict[str, Any] = answer.json()
    return one


async def plan(client: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    """A task created or, with `task_id`, changed."""
    title = {} if "task_id" in given else {"title": "Ship it"}
    answer = await client.post(TASKS, json={**title, **given})
    assert answer.status_code == (200 if "task_id" in given else 201), answer.text
    made: dict[str, Any] = answer.json()
    return made


async def planned(client: httpx.AsyncClient, **params: Any) -> list[str]:
    """The titles that a query lists, in its order."""
    answer = await client.get(TASKS, params=params)
    assert answer.status_code == 200, answer.text
    return [one["title"] for one in answer.json()["tasks"]]


async def pages(
    client: httpx.AsyncClient, route: str, **params: Any
) -> AsyncIterator[dict[str, Any]]:
    """Page after page, as a client follows `next`."""
    while True:
        answer = await client.get(route, params=params)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        yield page
        if page["next"] is None:
            return
        params["cursor"] = page["next"]


async def write_view(
    client: httpx.AsyncClient, name: str, text: str, **params: str
) -> dict[str, Any]:
    address = f"{VIEWS}/{quote(name, safe='')}"
    answer = await client.put(address, params=params, json={"text": text})
    assert answer.status_code == 200, answer.text
    written: dict[str, Any] = answer.json()
    return written


async def embedded(daemon: Daemon, tenant: str) -> None:
    """Give every chunk of the tenant its vector, as the worker of a daemon would."""
    encoder, pending = daemon.encoders.current, 1
    while pending:
        async with db.tenant(daemon.pool, tenant) as conn:
            await codes.embed_next(conn, tenant, encoder)
            pending = await codes.pending(conn, tenant, encoder.name)


async def vectors(client: httpx.AsyncClient) -> None:
    """Wait until a daemon that works in the background has found everything by meaning too."""
    for _ in range(600):
        if (await client.get("/readyz")).json()["pending_vectors"] == 0:
            return
        await asyncio.sleep(0.1)
    raise AssertionError("the vectors do not come")
