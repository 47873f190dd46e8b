"""`/memory` as a person types it in a chat."""

from typing import Any

import httpx
import pytest

import conftest
from conftest import MakeKey
from memories import FACTS, add, ask, listed
from memoryd.daemon import Daemon
from memoryd.memories import command
from wire import embedded

COMMAND = "/api/v1/commands/memory"
BOSS = "Alec is the user's boss"


async def typed(client: httpx.AsyncClient, text: str, **given: Any) -> str:
    found = await ask(client, "POST", COMMAND, json={"text": text, **given})
    reply: str = found["reply"]
    return reply


async def boss(client: httpx.AsyncClient, **given: Any) -> str:
    made = await add(client, content=BOSS, subject="Alec", **given)
    memory_id: str = made["id"]
    return memory_id


@pytest.mark.parametrize(
    "asked", ["/memory", "/memory list", " /MEMORY@our_bot  List ", "/memory\n"]
)
async def test_memories_are_listed_in_the_seed_s_format(
    client: httpx.AsyncClient, asked: str
) -> None:
    alec = await boss(client)
    said = {"content": "User prefers Thursday due dates", "category": "preference"}
    dates = await add(client, **said, subject=None)

    assert await typed(client, asked) == (
        "📝 Your memories:\n"
        "\n"
        "**Person**\n"
        f"• [{alec}] Alec is the user's boss\n"
        "\n"
        "**Preference**\n"
        f"• [{dates['id']}] User prefers Thursday due dates\n"
        "\n"
        "Use /memory delete <id> to remove a memory."
    )


async def test_a_deletion_says_what_is_gone_and_undo_brings_it_back(
    client: httpx.AsyncClient,
) -> None:
    memory_id = await boss(client)
    deleted = await typed(client, f"/memory delete {memory_id}")
    nothing = await typed(client, "/memory")
    restored = await typed(client, f"/memory undo {memory_id}")

    assert deleted == "Deleted: 'Alec is the user's boss'"
    assert nothing.startswith("📝 You have no memories yet.")
    assert restored == "Restored: 'Alec is the user's boss'"
    assert await listed(client) == [BOSS]


async def test_an_edit_is_undone_and_done_again(client: httpx.AsyncClient) -> None:
    memory_id = await boss(client)
    edited = await typed(client, f"/memory edit [id:{memory_id}] Alec left, and Bob is the boss")
    undone = await typed(client, f"/memory undo {memory_id}")
    again = await typed(client, f"/memory undo {memory_id}")
    first = await typed(client, f"/memory undo {memory_id} v1")
    shown = await typed(client, f"/memory show {memory_id}")

    assert edited == f"Updated: '{BOSS}' → 'Alec left, and Bob is the boss'"
    assert undone == f"Undone: 'Alec left, and Bob is the boss' → '{BOSS}'"
    assert again == f"Undone: '{BOSS}' → 'Alec left, and Bob is the boss'"
    assert first == f"Undone: 'Alec left, and Bob is the boss' → '{BOSS}'"
    lines = shown.split("\n")
    assert lines[:2] == [f"📝 [{memory_id}] Person about Alec", BOSS]
    assert [line.split(" ", 2)[1] for line in lines if line.startswith("• ")] == [
        *("v5", "v4", "v3", "v2", "v1")
    ]


async def test_a_search_finds_what_is_remembered(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    memory_id = await boss(client)
    await add(client, content="The user drinks green tea", subject="tea")
    await embedded(daemon, tenant)
    found = await typed(client, "/memory search who is the boss?")
    meant = await typed(client, "/memory search which beverage?")
    nothing = await typed(client, "/memory search parrots")
    empty = await typed(client, "/memory search parrots", user_id="bob")

    assert found.split("\n")[:2] == ["📝 Found for “who is the boss?”:", f"• [{memory_id}] {BOSS}"]
    assert len(found.split("\n")) == 2
    assert meant.endswith("The user drinks green tea")
    assert nothing == empty
    assert nothing == (
        "I found nothing about “parrots”. Try other words, or /memory list to see all."
    )


@pytest.mark.parametrize(
    ("asked", "reply"),
    [
        ("/memory delete zzzzzzzz", "There is no memory [zzzzzzzz]. /memory list shows "),
        ("/memory show zzzzzzzz", "There is no memory [zzzzzzzz]. "),
        ("/memory undo zzzzzzzz", "There is no memory [zzzzzzzz]. "),
        ("/memory edit zzzzzzzz a new text", "There is no memory [zzzzzzzz]. "),
        ("/memory delete", "Say which memory: /memory delete <id>.\n\n/memory or /memory list"),
        ("/memory delete all", "“all” is no id: an id has 8 letters and digits.\n\n/memory or"),
        ("/memory edit zzzzzzzz", "Say the new text: /memory edit zzzzzzzz <new text>."),
        ("/memory list everything", "I have no list “everything”.\n\n/memory or /memory list"),
        ("/memory list places", "📝 Your places: there is nothing."),
        ("/memory undo zzzzzzzz soon", "“soon” is no version: say its number."),
        ("/memory search", "Say what to search for."),
        ("/memory explode", "I don't know “explode”.\n\n/memory or /memory list: what I remember"),
        ("/memory help", "/memory or /memory list: what I remember"),
    ],
)
async def test_what_is_unknown_gets_a_helpful_answer(
    client: httpx.AsyncClient, asked: str, reply: str
) -> None:
    assert (await typed(client, asked)).startswith(reply)


@pytest.mark.parametrize("text", ["abc", "x" * 501])
async def test_an_edit_that_is_too_short_or_too_long_is_told(
    client: httpx.AsyncClient, text: str
) -> None:
    memory_id = await boss(client)
    reply = await typed(client, f"/memory edit {memory_id} {text}")

    size = f"it has {len(text)} characters: a memory of type fact has 5 to 500"
    assert reply == f"I can't remember that: {size}"
    assert await listed(client) == [BOSS]


async def test_there_may_be_nothing_to_undo_or_no_such_version(client: httpx.AsyncClient) -> None:
    memory_id = await boss(client)

    only = await typed(client, f"/memory undo {memory_id}")
    assert only == f"[{memory_id}] has only one version: there is nothing to undo."
    assert "has no version 9; it has 1 to 1" in await typed(client, f"/memory undo {memory_id} 9")


async def test_a_secret_is_not_remembered(client: httpx.AsyncClient) -> None:
    memory_id = await boss(client)
    reply = await typed(client, f"/memory edit {memory_id} Alec's password is Sommer2024!")

    assert reply.startswith("I can't remember that: it holds a secret")
    assert await listed(client) == [BOSS]


async def test_a_person_typed_it_and_the_log_says_so(client: httpx.AsyncClient) -> None:
    memory_id = await boss(client, user_id="ada")
    await typed(client, f"/memory delete {memory_id}", user_id="ada", session_id="chat-1")
    events = await ask(client, "GET", "/api/v1/events", params={"user_id": "ada"})

    assert events["events"][0]["actor"] == {"type": "human", "id": "ada"}
    assert events["events"][0]["session_id"] == "chat-1"


async def test_a_reader_s_key_lists_and_does_not_delete(
    client: httpx.AsyncClient, url: str, tenant: str, make_key: MakeKey
) -> None:
    memory_id = await boss(client)
    async with conftest.asking(url, await make_key(tenant, role="reader")) as reading:
        shown = await typed(reading, "/memory")
        body = {"text": f"/memory delete {memory_id}"}
        refused = await reading.post(COMMAND, json=body)

    assert memory_id in shown
    assert refused.status_code == 403


@pytest.mark.parametrize(
    "text", ["memory", "/memoryless", "/memories", "", "x" * 4_097, "/memory\0"]
)
async def test_what_is_no_command_is_refused(client: httpx.AsyncClient, text: str) -> None:
    refused = await client.post(COMMAND, json={"text": text})

    assert refused.status_code == 422
    assert refused.json()["field"] == "text"


async def test_another_user_s_memory_is_as_unknown_as_none(client: httpx.AsyncClient) -> None:
    memory_id = await boss(client, user_id="ada")
    reply = await typed(client, f"/memory delete {memory_id}", user_id="bob")
    found = await ask(client, "GET", FACTS + memory_id, params={"user_id": "ada"})

    assert reply == command.unknown(memory_id)
    assert not found["deleted"]


async def test_a_new_line_or_tab_parts_words_as_a_blank_does(client: httpx.AsyncClient) -> None:
    memory_id = await boss(client)
    edited = await typed(client, f"/memory edit {memory_id}\nAlec was\nthe boss")
    deleted = await typed(client, f"/memory delete\t{memory_id}")

    assert edited == f"Updated: '{BOSS}' → 'Alec was the boss'"
    assert deleted == "Deleted: 'Alec was the boss'"


@pytest.mark.parametrize("again", ["/memory delete {}", "/memory edit {} Alec has left"])
async def test_what_was_deleted_is_told_with_the_way_back(
    client: httpx.AsyncClient, again: str
) -> None:
    memory_id = await boss(client)
    await typed(client, f"/memory delete {memory_id}")

    reply = await typed(client, again.format(memory_id))
    assert reply == f"[{memory_id}] was deleted. /memory undo {memory_id} brings it back."


@pytest.mark.parametrize("asked", ["delete {}", "edit {} Alec has left", "undo {} 1"])
async def test_what_another_user_shares_is_read_and_not_changed(
    client: httpx.AsyncClient, asked: str
) -> None:
    memory_id = await boss(client, user_id="ada", channel="team")
    shown = await typed(client, f"/memory show {memory_id}", user_id="bob")
    reply = await typed(client, f"/memory {asked.format(memory_id)}", user_id="bob")

    assert BOSS in shown
    assert reply == f"[{memory_id}] is another user's memory: only they can change it."
    assert await listed(client, user_id="ada") == [BOSS]
