"""A body with far too many parts is refused at once, not after counting what is wrong with each."""

import json
import time

import httpx
import pytest

import make

MANY = 400_000
BODIES = {
    "events": ("/api/v1/events/batch", {"events": [1] * MANY}, "events"),
    "tags": ("/api/v1/events", make.body(tags=[1] * MANY), "tags"),
    "fields": ("/api/v1/events", {f"f{n}": 1 for n in range(100_000)}, "body"),
    "rationale": (
        "/api/v1/events",
        make.body(kind="decision", content={"decision": "x", "rationale": [1] * MANY}),
        "content.rationale",
    ),
    "decisions": ("/api/v1/decisions", {"decision": "x", "rationale": [1] * MANY}, "rationale"),
    "tasks": ("/api/v1/tasks", {"title": "x", "refs": [1] * MANY}, "refs"),
    "search": ("/api/v1/search", {f"f{n}": 1 for n in range(100_000)}, "body"),
}


@pytest.mark.parametrize("name", BODIES)
async def test_a_wide_body_is_refused_at_once(client: httpx.AsyncClient, name: str) -> None:
    path, body, field = BODIES[name]
    sent = json.dumps(body).encode()
    began = time.process_time()  # of client and server: what others compute does not count
    answer = await client.post(path, content=sent, headers={"content-type": "application/json"})

    assert answer.status_code == 422, answer.text[:300]
    assert answer.json()["field"].startswith(field)
    assert time.process_time() - began < 2
