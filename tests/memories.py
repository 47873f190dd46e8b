"""What the tests of memories share: the routes, and calls that must succeed."""

from typing import Any

import httpx

FACTS = "/api/memory/"
SARAH = {
    "content": "Sarah works on the Platform team",
    "category": "person",
    "subject": "Sarah",
}


def users(user_id: str) -> str:
    return f"/api/v1/users/{user_id}/memory"


def agents(agent_id: str) -> str:
    return f"/api/v1/agents/{agent_id}/memories"


async def ask(
    client: httpx.AsyncClient, method: str, path: str, status: int = 200, **more: Any
) -> dict[str, Any]:
    answer = await client.request(method, path, **more)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def add(client: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    return await ask(client, "POST", FACTS, 201, json={**SARAH, **given})


async def listed(client: httpx.AsyncClient, **params: Any) -> list[str]:
    found = await ask(client, "GET", FACTS, params=params)
    return [one["content"] for one in found["memories"]]
