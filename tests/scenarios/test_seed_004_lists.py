"""Seed 004 step 8, line by line, over HTTP: the model, its operations, the tool, the agent."""

from typing import Any

import httpx
import pytest
from pydantic_core import to_json

from memories import FACTS, ask, users
from memoryd.core import tokens
from memoryd.daemon import Daemon
from prompts import prompt
from wire import storing_nothing

ADA = users("ada")


async def add(client: httpx.AsyncClient, content: str, user: str = ADA, **more: Any) -> str:
    body = {"content": content, **more}
    return str((await ask(client, "POST", f"{user}/facts", 201, json=body))["id"])


async def place(client: httpx.AsyncClient, **more: str) -> Any:
    body = {"place_id": "p1", "place_name": "Home", **more}
    return await ask(client, "POST", f"{ADA}/places", 201, json=body)


async def use(client: httpx.AsyncClient, **arguments: Any) -> httpx.Response:
    """The agent calls the one tool, in a conversation."""
    said = {"session_id": "c1", "message_id": "m1", "user_id": "ada"}
    body = {"arguments": arguments, **said}
    return await client.post("/api/v1/tools/manage_user_memory", json=body)


async def test_all_helper_methods(client: httpx.AsyncClient) -> None:
    """`add_fact`, `deactivate_fact`, `add_poi`, `add_poi_mention`, `get_memory`."""
    old = await add(client, "User lives in Seattle")
    new = await add(client, "User lives in Portland")
    await ask(client, "POST", f"{ADA}/facts/{old}/deactivate")
    missing = await client.post(f"{ADA}/facts/aaaaaaaa/deactivate")
    await place(client, notes="123 Main St", conversation_id="c1", message_id="m1")
    mention = {"conversation_id": "c2", "message_id": "m2"}
    await ask(client, "POST", f"{ADA}/places/p1/mentions", 201, json=mention)
    unknown = await client.post(f"{ADA}/places/p9/mentions", json=mention)
    memory = await ask(client, "GET", ADA)

    assert (missing.status_code, unknown.status_code) == (404, 404)
    assert {one["id"]: one["is_active"] for one in memory["facts"]} == {old: False, new: True}
    (home,) = memory["placer_user_datapoints"]
    assert {name: [one[0] for one in said] for name, said in home["mentioned_in"].items()} == {
        "c1": ["m1"],
        "c2": ["m2"],
    }
    active = await ask(client, "GET", FACTS, params={"user_id": "ada"})
    assert [one["id"] for one in active["memories"]] == [new]


async def test_an_update_leaves_what_was_read_before_as_it_was(client: httpx.AsyncClient) -> None:
    """The immutable update pattern: an older state of the document can be read again."""
    first = await add(client, "User lives in Seattle")
    before = await ask(client, "GET", ADA)
    position = (await prompt(client, None, user_id="ada"))["position"]
    await ask(client, "POST", f"{ADA}/facts/{first}/deactivate")
    await place(client)

    assert await ask(client, "GET", ADA, params={"as_of": position}) == before
    assert await ask(client, "GET", ADA) != before


async def test_metadata_calculation(client: httpx.AsyncClient) -> None:
    old = await add(client, "User lives in Seattle")
    await add(client, "User likes Italian food")
    await ask(client, "POST", f"{ADA}/facts/{old}/deactivate")
    last = await place(client)
    memory = await ask(client, "GET", ADA)

    parts = {name: memory[name] for name in ("facts", "placer_user_datapoints")}
    assert memory["metadata"] == {
        "last_updated": last["added_at"],
        "total_facts": 2,
        "total_active_facts": 1,
        "total_pois": 1,
        "token_count": tokens.count(to_json(parts).decode()),
        "schema_version": "1.0",
    }


async def test_token_limit_enforcement(client: httpx.AsyncClient) -> None:
    made = []
    for number in range(14):
        made.append(await add(client, f"Number {number}: {'龘靐齉爩' * 110}"))
        if number == 3:
            await ask(client, "POST", f"{ADA}/facts/{made[3]}/deactivate")
    memory = await ask(client, "GET", ADA)

    kept = [one["id"] for one in memory["facts"]]
    assert memory["metadata"]["token_count"] <= 10_000
    assert made[3] not in kept  # inactive first
    gone = [one for one in made if one not in kept and one != made[3]]
    assert 0 < len(gone) < 10
    assert gone == [one for one in made if one != made[3]][: len(gone)]  # then the oldest


async def test_all_operations(client: httpx.AsyncClient) -> None:
    """Add a fact, deactivate it, add a place, get the memory; each answers its id."""
    fact_id = await add(client, "x", source_conversation_id="c1", source_message_id="m1")
    kept = await place(client, notes="by the lake")
    memory = await ask(client, "GET", ADA)

    assert kept["place_id"] == "p1"
    (fact,) = memory["facts"]
    assert (fact["id"], fact["source_conversation_id"], fact["source_message_id"]) == (
        *(fact_id, "c1"),
        "m1",
    )
    done = await ask(client, "POST", f"{ADA}/facts/{fact_id}/deactivate")
    assert done["is_active"] is False


async def test_user_isolation(client: httpx.AsyncClient) -> None:
    fact_id = await add(client, "User's name is Ada")
    await place(client)
    bob = users("bob")
    foreign = await client.post(f"{bob}/facts/{fact_id}/deactivate")
    mention = {"conversation_id": "c", "message_id": "m"}
    elsewhere = await client.post(f"{bob}/places/p1/mentions", json=mention)

    assert (foreign.status_code, elsewhere.status_code) == (404, 404)
    assert (await ask(client, "GET", bob))["metadata"]["total_facts"] == 0
    assert (await ask(client, "GET", ADA))["facts"][0]["is_active"] is True


async def test_transaction_rollback_on_error(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    await add(client, "User's name is Ada", idempotency_key="k1")
    before = await ask(client, "GET", ADA)
    async with storing_nothing(daemon, tenant):
        body = {"content": "User's name is Bob", "idempotency_key": "k1"}
        refused = await client.post(f"{ADA}/facts", json=body)
        batch = {"content": "y" * 501}
        long = await client.post(f"{ADA}/facts", json=batch)

    assert (refused.status_code, long.status_code) == (409, 422)
    assert await ask(client, "GET", ADA) == before


async def test_the_tool_runs_every_operation(client: httpx.AsyncClient) -> None:
    added = (await use(client, operation="add_fact", content="User is vegetarian")).json()
    poi = {"place_id": "w", "place_name": "Work", "notes": "5th floor"}
    placed = (await use(client, operation="add_poi", **poi)).json()
    gone = await use(client, operation="deactivate_fact", fact_id=added["fact_id"])
    memory = (await use(client, operation="get_memory")).json()["memory"]

    assert (added["success"], placed["place_id"]) == (True, "w")
    assert gone.status_code == 200
    (fact,), (work,) = memory["facts"], memory["placer_user_datapoints"]
    assert (fact["is_active"], fact["source_conversation_id"]) == (False, "c1")
    assert [one[0] for one in work["mentioned_in"]["c1"]] == ["m1"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "operation"),
        ({"operation": "forget"}, "operation"),
        ({"operation": "add_fact"}, "content"),
        ({"operation": "add_fact", "content": " "}, "content"),
        ({"operation": "add_fact", "content": "x" * 501}, "content"),
        ({"operation": "add_fact", "content": "My password is Sommer2024!"}, "content"),
        ({"operation": "deactivate_fact"}, "fact_id"),
        ({"operation": "add_poi", "place_name": "Home"}, "place_id"),
        ({"operation": "add_poi", "place_id": "p"}, "place_name"),
        ({"operation": "add_poi", "place_id": "p", "place_name": "x" * 256}, "place_name"),
        ({"operation": "add_poi", "place_id": "p", "place_name": "P", "notes": "x" * 501}, "notes"),
        ({"operation": "get_memory", "colour": "red"}, "colour"),
    ],
)
async def test_the_tool_validates_its_input(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, arguments: dict[str, str], field: str
) -> None:
    async with storing_nothing(daemon, tenant):
        refused = await use(client, **arguments)

    assert refused.status_code == 422
    assert (refused.json()["field"], bool(refused.json()["error"])) == (field, True)


async def test_an_agent_stores_recalls_and_retires_across_conversations(
    client: httpx.AsyncClient,
) -> None:
    """What an agent with a model does, by the tool it is offered and the prompt it is given."""
    seattle = (await use(client, operation="add_fact", content="User lives in Seattle")).json()
    recalled = await prompt(client, "c2", user_id="ada", facts="by_date")
    await use(client, operation="deactivate_fact", fact_id=seattle["fact_id"])
    await use(client, operation="add_fact", content="User lives in Portland")
    running = await prompt(client, "c2", user_id="ada", facts="by_date")
    corrected = await prompt(client, "c3", user_id="ada", facts="by_date")

    assert "USER'S STORED MEMORIES:\n- [" in recalled["text"]
    assert "] User lives in Seattle" in recalled["text"]
    assert running == recalled
    assert "] User lives in Portland" in corrected["text"]
    assert "Seattle" not in corrected["text"]
    assert "Current datetime: 2026-05-01T12:00:00+00:00" in corrected["text"]
