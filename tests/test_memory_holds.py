"""A fact that no longer holds: it is kept, and every way back makes it hold again."""

import httpx

from memories import SARAH, add, ask, listed
from memoryd.daemon import Daemon
from test_command import typed
from test_memory_undo import ANY, SORTS, made_and_edited, make
from wire import assert_refused, storing_nothing


async def test_what_no_longer_holds_is_brought_back(client: httpx.AsyncClient) -> None:
    memory_id = (await add(client))["id"]
    off = await ask(client, "POST", f"{ANY}/{memory_id}/deactivate")
    shelf = await typed(client, "/memory list inactive")
    on = await ask(client, "POST", f"{ANY}/{memory_id}/activate")
    await ask(client, "POST", f"{ANY}/{memory_id}/deactivate")
    reply = await typed(client, f"/memory undo {memory_id}")

    assert (off["is_active"], on["is_active"]) == (False, True)
    assert f"• [{memory_id}] {SARAH['content']}" in shelf
    assert reply == f"Restored: '{SARAH['content']}'"
    assert await listed(client) == [SARAH["content"]]


async def test_a_version_brings_back_a_fact_that_no_longer_holds(
    client: httpx.AsyncClient,
) -> None:
    memory_id = await made_and_edited(client, SORTS[0])
    await ask(client, "POST", f"{ANY}/{memory_id}/deactivate")
    reply = await typed(client, f"/memory undo {memory_id} 1")
    restored = await listed(client)
    await ask(client, "POST", f"{ANY}/{memory_id}/deactivate")
    said = {"memory_id": memory_id, "content": "Sarah has left"}
    await ask(client, "POST", "/api/v1/tools/update_memory", json={"arguments": said})

    assert reply == "Restored: 'Sarah is on Platform'"
    assert restored == ["Sarah is on Platform"]
    assert await listed(client) == ["Sarah has left"]


async def test_an_edit_must_not_bring_back_what_another_fact_replaced(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    memory_id = (await add(client))["id"]
    await ask(client, "POST", f"{ANY}/{memory_id}/deactivate")
    other = await add(client, content="Sarah leads Design")
    edit = {"content": "Sarah is on leave"}
    async with storing_nothing(daemon, tenant):
        refused = await client.put(f"{ANY}/{memory_id}", json=edit)

    assert_refused(refused, 409, "subject")
    assert other["id"] in refused.text and "force" not in refused.text


async def test_only_a_fact_can_be_deactivated(client: httpx.AsyncClient) -> None:
    memory_id = await make(client, SORTS[2])
    refused = await client.post(f"{ANY}/{memory_id}/deactivate")

    assert_refused(refused, 409, "memory_id")
