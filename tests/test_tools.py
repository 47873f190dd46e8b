"""The tools of memory, over HTTP: results, refusals, and whose they are."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

import conftest
from conftest import MakeKey
from memories import agents, ask, listed, users

TOOLS = "/api/v1/tools"
ALEC: dict[str, Any] = {
    "content": "Alec is the user's boss",
    "category": "person",
    "subject": "Alec",
}


async def use(
    client: httpx.AsyncClient, name: str, status: int = 200, *, where: Any = None, **arguments: Any
) -> dict[str, Any]:
    body = {"arguments": arguments, **(where or {})}
    return await ask(client, "POST", f"{TOOLS}/{name}", status, json=body)


async def test_adding_answers_the_id_and_says_where_it_was_said(client: httpx.AsyncClient) -> None:
    said = {"session_id": "talk-1", "message_id": "m1"}
    done = await use(client, "add_to_memory", where=said, **ALEC)
    found = await ask(client, "GET", f"/api/memory/{done['memory_id']}")

    assert done == {
        **ALEC,
        "success": True,
        "memory_id": done["memory_id"],
        "message": f"Remembered [id:{done['memory_id']}]: Alec is the user's boss",
    }
    assert (found["source_conversation_id"], found["source_message_id"]) == ("talk-1", "m1")


async def test_a_known_subject_is_not_added_again_and_an_update_is_suggested(
    client: httpx.AsyncClient,
) -> None:
    done = await use(client, "add_to_memory", **ALEC)
    other = {**ALEC, "content": "Alec left the company", "subject": "ALEC "}
    again = await use(client, "add_to_memory", 409, **other)

    assert again["suggestion"] == "update_memory"
    assert again["memory_id"] == done["memory_id"]
    assert again["existing_content"] == ALEC["content"]
    assert "update_memory" in again["error"]
    assert await listed(client) == [ALEC["content"]]


@pytest.mark.parametrize("as_cited", ["{}", "[id:{}]", "id:{}", " {} "])
async def test_an_update_answers_old_and_new(client: httpx.AsyncClient, as_cited: str) -> None:
    done = await use(client, "add_to_memory", **ALEC)
    cited = as_cited.format(done["memory_id"])
    new = await use(client, "update_memory", memory_id=cited, content="Alec is a colleague")

    assert new == {
        "success": True,
        "memory_id": done["memory_id"],
        "version": 2,
        "old_content": ALEC["content"],
        "new_content": "Alec is a colleague",
        "message": f"Updated [id:{done['memory_id']}]: Alec is the user's boss → "
        "Alec is a colleague",
    }


@pytest.mark.parametrize("memory_id", ["zzzzzzzz", "no-such-id", "", "x" * 9_999, "\x00" * 8])
async def test_an_unknown_id_is_told(client: httpx.AsyncClient, memory_id: str) -> None:
    text = "Alec is a colleague"
    refused = await use(client, "update_memory", 404, memory_id=memory_id, content=text)

    assert refused["error"].startswith("there is no memory '")


async def test_a_journal_entry_is_saved_and_says_when_it_fades(client: httpx.AsyncClient) -> None:
    where = {"agent_id": "scout"}
    done = await use(client, "save_to_journal", where=where, content=" Today I learned something ")
    kept = await ask(client, "GET", agents("scout"))

    assert done == {
        "success": True,
        "memory_type": "journal",
        "content": "Today I learned something",
        "expires_around": f"{datetime.now(UTC) + timedelta(weeks=1):%Y-%m-%d}",
    }
    assert kept["memories_count"] == {"core": 0, "journal": 1}


async def test_a_core_memory_is_saved_for_good(client: httpx.AsyncClient) -> None:
    done = await use(client, "save_to_core", where={"agent_id": "scout"}, content="I am helpful")
    kept = await ask(client, "GET", agents("scout"))

    assert done == {
        "success": True,
        "memory_type": "core",
        "content": "I am helpful",
        "note": "This memory is now part of your permanent identity",
    }
    assert kept["memories_count"] == {"core": 1, "journal": 0}


@pytest.mark.parametrize("name", ["save_to_journal", "save_to_core"])
async def test_an_agent_s_tools_refuse_in_the_words_of_the_seed(
    client: httpx.AsyncClient, name: str
) -> None:
    own = {"agent_id": "scout"}
    nobody = await use(client, name, 422, content="Test")
    blank = await use(client, name, 422, where=own, content="   ")
    long = await use(client, name, 422, where=own, content="x" * 10_001)
    longest = await use(client, name, where=own, content="x " * 4_999 + "xx")

    assert nobody["error"] == "This tool only works in group conversations"
    assert blank["error"] == "Content cannot be blank"
    assert long["error"] == "Content too long (max 10,000 characters)"
    assert (long["field"], long["limit"]) == ("content", "10,000 characters")
    assert len(longest["content"]) == 10_000
    kept = await ask(client, "GET", agents("scout"))
    assert sum(kept["memories_count"].values()) == 1


async def test_an_agent_s_key_names_the_agent(url: str, tenant: str, make_key: MakeKey) -> None:
    async with conftest.asking(url, await make_key(tenant, agent_id="scout")) as own:
        done = await use(own, "save_to_core", content="I am helpful")
        other = await use(own, "save_to_core", 403, where={"agent_id": "x"}, content="I am mean")

    assert done["success"]
    assert other["field"] == "agent_id"


async def test_a_user_s_memory_is_managed_by_one_tool(client: httpx.AsyncClient) -> None:
    where = {"user_id": "alex", "session_id": "c1", "message_id": "m1"}

    async def manage(operation: str, status: int = 200, **given: Any) -> dict[str, Any]:
        said = {"operation": operation, **given}
        return await use(client, "manage_user_memory", status, where=where, **said)

    name = await manage("add_fact", content="User's name is Alex")
    old = await manage("add_fact", content="User lives in Portland")
    await manage("deactivate_fact", fact_id=old["fact_id"])
    home = await manage("add_poi", place_id="home", place_name="Home", notes="123 Main St")
    memory = (await manage("get_memory"))["memory"]
    unknown = await manage("deactivate_fact", 404, fact_id="zzzzzzzz")

    assert home["place_id"] == "home"
    active = {one["content"]: one["is_active"] for one in memory["facts"]}
    assert active == {"User's name is Alex": True, "User lives in Portland": False}
    assert memory["facts"][0]["id"] == name["fact_id"]
    assert memory["facts"][0]["source_conversation_id"] == "c1"
    (place,) = memory["placer_user_datapoints"]
    assert list(place["mentioned_in"]) == ["c1"]
    assert memory == await ask(client, "GET", users("alex"))
    assert "there is no memory 'zzzzzzzz'" in unknown["error"]


ADD, MANAGE = "add_to_memory", "manage_user_memory"


@pytest.mark.parametrize(
    ("name", "arguments", "field", "limit"),
    [
        (ADD, {**ALEC, "content": "Alec"}, "content", "5"),
        (ADD, {**ALEC, "content": "  Alec  "}, "content", "5"),
        (ADD, {**ALEC, "content": "x" * 501}, "content", "500"),
        (ADD, {**ALEC, "content": 12345}, "content", None),
        (ADD, {**ALEC, "content": "Alec\x00 is the boss"}, "content", None),
        (ADD, {**ALEC, "category": "gossip"}, "category", "'person', 'preference'"),
        (ADD, {**ALEC, "subject": "x" * 201}, "subject", "200"),
        (ADD, {**ALEC, "mood": "good"}, "mood", None),
        (ADD, {"content": "Alec is the boss"}, "category", None),
        (ADD, {"content": "\u200b" * 5, "category": "person"}, "content", "5"),
        (ADD, {}, "content", None),
        ("update_memory", {"memory_id": "aaaaaaaa", "content": "x" * 501}, "content", "500"),
        ("update_memory", {"memory_id": 7, "content": "Alec is the boss"}, "memory_id", None),
        (MANAGE, {"operation": "forget_all"}, "operation", "'add_fact'"),
        (MANAGE, {"operation": "add_fact"}, "content", "1"),
        (MANAGE, {"operation": "add_fact", "content": " "}, "content", "1"),
        (MANAGE, {"operation": "add_fact", "content": "x" * 501}, "content", "500 characters"),
        (MANAGE, {"operation": "deactivate_fact"}, "fact_id", "1"),
        (MANAGE, {"operation": "add_poi", "place_id": "p"}, "place_name", "1"),
        (
            MANAGE,
            {"operation": "add_poi", "place_id": "p" * 256, "place_name": "Home"},
            "place_id",
            "255 characters",
        ),
        (
            MANAGE,
            {"operation": "add_poi", "place_id": "p", "place_name": "Home", "notes": "x" * 501},
            "notes",
            "500 characters",
        ),
        (
            MANAGE,
            {"operation": "add_poi", "place_id": "p", "place_name": "Ho\x07me"},
            "place_name",
            None,
        ),
        (
            MANAGE,
            {"operation": "add_fact", "content": "User's password is Sommer2024!"},
            "content",
            None,
        ),
    ],
)
async def test_a_tool_refuses_what_passes_a_limit_and_stores_nothing(
    client: httpx.AsyncClient,
    name: str,
    arguments: dict[str, Any],
    field: str,
    limit: str | None,
) -> None:
    refused = await use(client, name, 422, **arguments)
    events = await ask(client, "GET", "/api/v1/events")

    assert refused["field"] == field
    assert refused["error"] == refused["detail"]
    if limit is not None:
        assert refused["limit"].startswith(limit)
    assert events["events"] == []


async def test_an_unknown_tool_is_told_with_those_that_are_known(client: httpx.AsyncClient) -> None:
    refused = await use(client, "launch_rocket", 404)

    assert "there is no tool 'launch_rocket'; there are: add_to_memory, " in refused["error"]


async def test_a_reader_s_key_reads_and_does_not_write(
    url: str, tenant: str, make_key: MakeKey
) -> None:
    async with conftest.asking(url, await make_key(tenant, role="reader")) as reading:
        read = await use(reading, MANAGE, operation="get_memory")
        refused = await use(reading, ADD, 403, **ALEC)

    assert read["memory"]["facts"] == []
    assert "does not write" in refused["error"]


async def test_a_retried_call_stores_nothing_new(client: httpx.AsyncClient) -> None:
    once = {"idempotency_key": "call-1"}
    first = await use(client, ADD, where=once, **{**ALEC, "subject": None})
    again = await use(client, ADD, where=once, **{**ALEC, "subject": None})

    assert again == first
    assert len(await listed(client)) == 1
