"""Seed 000's scenarios 1 to 6, as an agent and a chat would live through them, over HTTP."""

from typing import Any

import httpx

from memories import ask, listed
from prompts import prompt

TOOLS = "/api/v1/tools"


async def use(client: httpx.AsyncClient, name: str, session: str, **arguments: Any) -> Any:
    body = {"arguments": arguments, "session_id": session}
    return await ask(client, "POST", f"{TOOLS}/{name}", json=body)


async def typed(client: httpx.AsyncClient, text: str) -> str:
    found = await ask(client, "POST", "/api/v1/commands/memory", json={"text": text})
    reply: str = found["reply"]
    return reply


async def remember(
    client: httpx.AsyncClient, content: str, category: str, subject: str | None
) -> str:
    said = {"content": content, "category": category, "subject": subject}
    memory_id: str = (await use(client, "add_to_memory", "earlier", **said))["memory_id"]
    return memory_id


async def test_1_a_fact_is_stored_when_the_user_agrees(client: httpx.AsyncClient) -> None:
    """ "Alec is my boss by the way." The prompt says to ask first; the user says yes."""
    before = await prompt(client, "talk-1")
    done = await use(
        *(client, "add_to_memory", "talk-1"),
        content="Alec is the user's boss",
        category="person",
        subject="Alec",
    )

    assert "Ask first, briefly" in before["text"]
    assert done["success"]
    assert await listed(client) == ["Alec is the user's boss"]
    assert await prompt(client, "talk-1") == before


async def test_2_a_new_session_recalls_it(client: httpx.AsyncClient) -> None:
    memory_id = await remember(client, "Alec is the user's boss", "person", "Alec")
    found = await prompt(client, "talk-2", system="You are a planner.")

    assert f"\n### Person\n- [id:{memory_id}] [Alec] Alec is the user's boss\n" in found["text"]


async def test_3_what_changed_is_updated_under_the_same_id(client: httpx.AsyncClient) -> None:
    memory_id = await remember(client, "Sarah works on the Platform team", "person", "Sarah")
    running = await prompt(client, "talk-3")
    new = "Sarah works on the Design team"
    done = await use(client, "update_memory", "talk-3", memory_id=memory_id, content=new)
    after = await prompt(client, "talk-4")

    assert (done["old_content"], done["new_content"]) == ("Sarah works on the Platform team", new)
    assert await prompt(client, "talk-3") == running
    assert f"- [id:{memory_id}] [Sarah] {new}" in after["text"]
    assert "Platform" not in after["text"]


async def test_4_what_the_user_declines_is_not_stored(client: httpx.AsyncClient) -> None:
    """ "No, it's just for this task." The prompt says so, and no tool is called."""
    found = await prompt(client, "talk-5")

    assert "If they decline, store nothing." in found["text"]
    assert "- details of the task at hand" in found["text"]
    assert await listed(client) == []


async def test_5_memory_is_listed_without_an_agent(client: httpx.AsyncClient) -> None:
    alec = await remember(client, "Alec is the user's boss", "person", "Alec")
    sarah = await remember(client, "Sarah works on the Design team", "person", "Sarah")
    dates = await remember(client, "User prefers Thursday due dates", "preference", None)

    assert await typed(client, "/memory") == (
        "📝 Your memories:\n\n"
        f"**Person**\n• [{alec}] Alec is the user's boss\n"
        f"• [{sarah}] Sarah works on the Design team\n\n"
        f"**Preference**\n• [{dates}] User prefers Thursday due dates\n\n"
        "Use /memory delete <id> to remove a memory."
    )


async def test_6_memory_is_deleted_without_an_agent(client: httpx.AsyncClient) -> None:
    dates = await remember(client, "User prefers Thursday due dates", "preference", None)

    assert await typed(client, f"/memory delete {dates}") == (
        "Deleted: 'User prefers Thursday due dates'"
    )
    assert await listed(client) == []
    assert "Thursday" not in (await prompt(client, "talk-6"))["text"]
