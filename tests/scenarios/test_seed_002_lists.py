"""Seed 002 §7, line by line, over HTTP: a test for each test of the seed, by its name."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from memories import agents, ask
from memoryd.daemon import Daemon
from wire import assert_refused, storing_nothing

AGENT = agents("basic")


async def create(client: httpx.AsyncClient, content: str, memory_type: str, **ago: int) -> Any:
    said = {"content": content, "memory_type": memory_type}
    when = {"ts": (datetime.now(UTC) - timedelta(**ago)).isoformat()} if ago else {}
    return await ask(client, "POST", AGENT, 201, json={**said, **when})


async def for_prompt(client: httpx.AsyncClient) -> list[str]:
    found = await ask(client, "GET", AGENT, params={"for_prompt": True})
    return [one["content"] for one in found["memories"]]


async def context(client: httpx.AsyncClient) -> str | None:
    found: str | None = (await ask(client, "GET", f"{AGENT}/context"))["memory_context"]
    return found


async def journal(client: httpx.AsyncClient, agent_id: str | None, content: str) -> httpx.Response:
    body: dict[str, Any] = {"arguments": {"content": content}}
    body |= {"agent_id": agent_id} if agent_id else {}
    return await client.post("/api/v1/tools/save_to_journal", json=body)


async def test_creates_journal_memory(client: httpx.AsyncClient) -> None:
    made = await create(client, "Test memory", "journal")

    assert (made["memory_type"], made["expired"]) == ("journal", False)


async def test_creates_core_memory(client: httpx.AsyncClient) -> None:
    made = await create(client, "Core belief", "core")

    assert (made["memory_type"], made["expired"]) == ("core", False)


async def test_for_prompt_includes_core_memories(client: httpx.AsyncClient) -> None:
    await create(client, "Core", "core")

    assert await for_prompt(client) == ["Core"]


async def test_for_prompt_includes_recent_journal_entries(client: httpx.AsyncClient) -> None:
    await create(client, "Recent", "journal")

    assert await for_prompt(client) == ["Recent"]


async def test_for_prompt_excludes_old_journal_entries(client: httpx.AsyncClient) -> None:
    await create(client, "Old", "journal", weeks=2)

    assert await for_prompt(client) == []


async def test_expired_returns_true_for_old_journal_entries(client: httpx.AsyncClient) -> None:
    assert (await create(client, "Old", "journal", weeks=2))["expired"] is True


async def test_expired_returns_false_for_core_memories(client: httpx.AsyncClient) -> None:
    assert (await create(client, "Core", "core", days=365))["expired"] is False


async def test_validates_content_presence(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    async with storing_nothing(daemon, tenant):
        refused = await client.post(AGENT, json={"content": "", "memory_type": "journal"})

    assert_refused(refused, 422, "content", "1")
    assert "can't be blank" in refused.json()["detail"]


async def test_validates_content_length(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    async with storing_nothing(daemon, tenant):
        refused = await client.post(AGENT, json={"content": "x" * 10_001})

    assert_refused(refused, 422, "content", "10000")


async def test_memory_context_returns_nil_when_no_memories(client: httpx.AsyncClient) -> None:
    assert await context(client) is None


async def test_memory_context_formats_core_memories(client: httpx.AsyncClient) -> None:
    await create(client, "I am helpful", "core")

    text = await context(client) or ""
    assert "Core Memories" in text
    assert "I am helpful" in text


async def test_memory_context_formats_journal_entries_with_dates(
    client: httpx.AsyncClient,
) -> None:
    await create(client, "Met a user", "journal")

    text = await context(client) or ""
    assert "Journal Entries" in text
    assert "Met a user" in text
    assert re.search(r"\d{4}-\d{2}-\d{2}", text)


async def test_memory_context_excludes_expired_journal_entries(client: httpx.AsyncClient) -> None:
    await create(client, "Old news", "journal", weeks=2)

    assert await context(client) is None


async def test_the_tool_creates_journal_memory(client: httpx.AsyncClient) -> None:
    result = (await journal(client, "basic", "Today I learned something")).json()

    assert result["success"] is True
    assert result["memory_type"] == "journal"
    counts = (await ask(client, "GET", AGENT))["memories_count"]
    assert counts == {"core": 0, "journal": 1}


async def test_the_tool_fails_without_agent(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    async with storing_nothing(daemon, tenant):
        result = await journal(client, None, "Test")

    assert result.status_code == 422
    assert "group conversations" in result.json()["error"]


async def test_the_tool_fails_with_blank_content(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    async with storing_nothing(daemon, tenant):
        result = await journal(client, "basic", "   ")

    assert result.status_code == 422
    assert "blank" in result.json()["error"]
