"""The prompt of a session: what it shows, to whom, and what it refuses."""

from typing import Any

import httpx
import pytest

import conftest
from conftest import MakeKey
from memories import FACTS, add, ask
from memoryd.core import tokens
from memoryd.core.model import Caller
from memoryd.daemon import Daemon
from memoryd.memories import places
from memoryd.memories.write import Origin
from prompts import PROMPT, keep, prompt


async def test_a_prompt_shows_what_is_remembered_of_the_user(client: httpx.AsyncClient) -> None:
    made = await add(client)
    found = await prompt(client, system="You are a planner.")

    line = f"- [id:{made['id']}] [Sarah] Sarah works on the Platform team"
    assert found["text"].startswith("You are a planner.\n\n## Using Memory\n")
    assert f"### Person\n{line}\n\nCurrent datetime: 2026-05-01T12:00:00+00:00" in found["text"]
    assert found["memory_ids"] == [made["id"]]
    assert found["tokens"] == tokens.count(found["text"])


async def test_the_block_changes_only_in_the_next_session(client: httpx.AsyncClient) -> None:
    made = await add(client)
    first = await prompt(client)
    await ask(client, "PUT", FACTS + made["id"], json={"content": "Sarah leads Design"})
    await add(client, content="Alec is the boss", subject="Alec")

    assert await prompt(client) == first
    after = await prompt(client, "s2")
    assert "Sarah leads Design" in after["text"]
    assert "Alec is the boss" in after["text"]
    await ask(client, "DELETE", FACTS + made["id"])
    assert await prompt(client) == first
    assert await prompt(client, "s2") == after
    assert "Sarah" not in (await prompt(client, "s3"))["text"]


async def test_only_the_time_differs_between_two_calls_and_it_stands_behind_the_cache(
    client: httpx.AsyncClient,
) -> None:
    await add(client)
    first = await prompt(client, format="anthropic")
    second = await prompt(client, format="anthropic", now="2026-06-01T12:00:00Z")

    cached = [one for one in first["system"] if "cache_control" in one]
    assert cached == [one for one in second["system"] if "cache_control" in one]
    assert first["system"][:-1] == cached
    assert second["system"][-1]["text"] == "Current datetime: 2026-06-01T12:00:00+00:00"


async def test_without_a_session_a_prompt_shows_the_present(client: httpx.AsyncClient) -> None:
    before = await prompt(client, None)
    await add(client)
    after = await prompt(client, None)

    assert not before["pinned"]
    assert before["memory_ids"] == []
    assert len(after["memory_ids"]) == 1


async def test_an_agent_s_prompt_has_its_private_memory_and_no_other_s(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    await keep(daemon, tenant, "scout", "core", "I am helpful")
    await keep(daemon, tenant, "scout", "journal", "Met a user")
    await keep(daemon, tenant, "other", "core", "I am a rogue")
    found = await prompt(client, agent_id="scout", participants=["Ada", "other"])

    block = (
        "# Your Private Memory\n\n## Core Memories (permanent)\n- I am helpful\n\n"
        "## Recent Journal Entries\n- [2026-05-01] Met a user\n\n"
        "You are participating in a group conversation.\n\nOther participants: Ada, other.\n\n"
    )
    assert block in found["text"]
    assert found["text"].startswith("You are scout.\n\n")
    assert "rogue" not in found["text"]
    public = await prompt(client, agent_id="scout", channel="public")
    assert "helpful" not in public["text"]


async def test_a_journal_entry_stays_until_the_session_ends(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    await keep(daemon, tenant, "scout", "journal", "Met a user")
    await prompt(client, agent_id="scout")
    later = "2026-05-09T12:00:00Z"

    assert "Met a user" in (await prompt(client, agent_id="scout", now=later))["text"]
    assert "Met a user" not in (await prompt(client, "s2", agent_id="scout", now=later))["text"]


async def test_an_identity_is_the_beginning_where_no_other_is_given(
    client: httpx.AsyncClient,
) -> None:
    text = {"text": "You are Scout, a careful planner."}
    await ask(client, "PUT", "/api/v1/views/identity.scout", 200, json=text)
    found = await prompt(client, agent_id="scout")
    await ask(client, "PUT", "/api/v1/views/identity.scout", json={"text": "You are rude."})

    assert found["text"].startswith("You are Scout, a careful planner.\n\n")
    assert await prompt(client, agent_id="scout") == found
    assert (await prompt(client, agent_id="scout", system="Hi."))["text"].startswith("Hi.\n\n")


async def test_places_are_shown_with_the_conversations_that_mention_them(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    caller = Caller(tenant_id=tenant, role="agent")
    said = {"place_id": "p1", "place_name": "Home", "notes": "123 Main St, Seattle"}
    for conversation in ("c1", "c2", "c3", "c3"):
        origin = Origin(conversation_id=conversation, message_id="m1")
        await places.keep(daemon, caller, origin, **said)
    await add(client)
    found = await prompt(client, facts="by_date")

    line = "- Home: 123 Main St, Seattle (mentioned in 3 conversations)"
    assert f"PLACES OF INTEREST:\n{line}\n\nCurrent datetime" in found["text"]
    assert "USER'S STORED MEMORIES:\n- [" in found["text"]
    assert "## Your Memory" not in found["text"]


async def test_what_is_inactive_evicted_or_another_user_s_is_not_shown(
    client: httpx.AsyncClient,
) -> None:
    await add(client, user_id="bob")
    found = await prompt(client)

    assert found["memory_ids"] == []
    assert "## Your Memory" not in found["text"]
    assert len((await prompt(client, user_id="bob"))["memory_ids"]) == 1


async def test_a_key_sees_the_prompt_of_its_own_agent_and_user(
    url: str, tenant: str, make_key: MakeKey
) -> None:
    key = await make_key(tenant, user_id="ada", agent_id="scout")
    async with conftest.asking(url, key) as pinned:
        own = await pinned.get(PROMPT)
        others = [
            await pinned.get(PROMPT, params=one) for one in ({"user_id": "bob"}, {"agent_id": "x"})
        ]

    assert own.status_code == 200
    assert [one.status_code for one in others] == [403, 403]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"session_id": "x" * 256}, "session_id"),
        ({"session_id": ""}, "session_id"),
        ({"facts": "by_magic"}, "facts"),
        ({"format": "yaml"}, "format"),
        ({"now": "yesterday"}, "now"),
        ({"channel": "loud"}, "channel"),
        ({"query": ""}, "query"),
        ({"participants": ["a\nb"]}, "participants.0"),
    ],
)
async def test_a_prompt_refuses_what_it_cannot_take(
    client: httpx.AsyncClient, given: dict[str, Any], field: str
) -> None:
    address = await client.get(PROMPT, params=given)
    body = await client.post(PROMPT, json=given)

    for answer in (address, body):
        assert answer.status_code == 422, answer.text
        assert answer.json()["field"] == field


async def test_long_instructions_come_in_a_body(client: httpx.AsyncClient) -> None:
    long = await ask(client, "POST", PROMPT, json={"system": "Be kind. " * 9_000})
    too_long = await client.post(PROMPT, json={"system": "x" * 100_001})
    unknown = await client.post(PROMPT, json={"sistem": "x"})

    assert len(long["text"]) > 80_000
    assert (too_long.status_code, too_long.json()["limit"]) == (422, "100000")
    assert unknown.status_code == 422
