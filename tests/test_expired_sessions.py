"""Sessions that ended: nothing of memoryd's hangs on one, and what does end says so clearly."""

import json
from pathlib import Path

import httpx
import pytest
from autogen_core.models import UserMessage

import commands
import conftest
import memoryd
from cli.test_mcp import started
from conftest import MakeKey
from mcp_client import speaking, use
from memories import ask
from memoryd.core import db, errors
from memoryd.custody import keys
from memoryd.daemon import Daemon, now
from memoryd.integrations import autogen
from scripted import calling, result
from stored import LOG, REFERENCES, read, store

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
MCP = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.mark.parametrize("session", ["5f0c9d7e", "", "x" * 300])
async def test_a_session_that_an_mcp_client_remembers_is_none_of_ours_and_harms_nothing(
    client: httpx.AsyncClient, session: str
) -> None:
    headers = {**MCP, "mcp-session-id": session}
    answer = await client.post("/mcp", json=LIST, headers=headers)
    ended = await client.delete("/mcp", headers=headers)

    assert answer.status_code == 200
    assert "store_memory" in {one["name"] for one in answer.json()["result"]["tools"]}
    assert "mcp-session-id" not in answer.headers
    assert ended.status_code == 405


async def test_what_was_stored_in_a_session_of_long_ago_answers_in_any_other(
    client: httpx.AsyncClient, url: str, tenant: str, make_key: MakeKey
) -> None:
    old = {"session_id": "s-2019", "ts": "2019-03-01T08:00:00Z", "user_id": "ada"}
    made = await store(client, key="old-log", **old)
    key = await make_key(tenant)
    async with speaking(url, key, user_id="ada", session_id="s-today") as mcp:
        by_mcp = await use(mcp, "retrieve_memory", memory_key=made["placeholder"])
        [found] = (await use(mcp, "search_memory", query="left-pad"))["results"]
    async with memoryd.aconnect(url, key=key, user_id="ada", session_id="s-today") as memory:
        context = autogen.MemoryContext(memory, "ada", session_id="s-today")
        by_context = await context.retrieve("old-log")

    assert by_mcp["content"] == by_context == LOG
    assert found["placeholder"] == made["placeholder"]
    assert (await read(client, "old-log", user_id="ada"))["session_id"] == "s-2019"


async def test_with_a_revoked_key_everything_is_refused_and_with_a_new_one_everything_is_there(
    url: str, tenant: str, daemon: Daemon, make_key: MakeKey
) -> None:
    key = await make_key(tenant)
    question = UserMessage(content="Why did left-pad fail in the npm log?", source="user")
    async with memoryd.aconnect(url, key=key) as memory:
        context = autogen.MemoryContext(memory, "ada")
        await context.add_message(calling("npm install"))
        await context.add_message(result(LOG))
        async with db.tenant(daemon.pool, tenant) as conn:
            [kept] = await keys.listing(conn, tenant)
            await keys.revoke(conn, tenant, kept.key_id, now())
        with pytest.raises(errors.Unauthorized, match="unknown or revoked; ask for a new one"):
            await context.add_message(result(f"second {LOG}", "call-1"))
        opened = await context.retrieve_memory(context.issued[0])
        state = json.loads(json.dumps(await context.save_state()))
    async with conftest.asking(url, key) as revoked:
        refused = await revoked.post("/mcp", json=LIST, headers=MCP)
    async with memoryd.aconnect(url, key=await make_key(tenant)) as memory:
        again = autogen.MemoryContext(memory, "ada")
        await again.load_state(state)
        await again.add_message(question)
        shown = "\n".join(str(one.content) for one in await again.get_messages())
        whole = await again.retrieve(again.issued[0])

    assert refused.status_code == 401
    assert opened == "Refused: this key is unknown or revoked; ask for a new one"
    assert len(state["messages"]) == 2 and len(again.issued) == 1
    assert whole == LOG
    assert "left-pad@9.9.9 postinstall failed" in shown


async def test_when_the_daemon_that_was_found_is_gone_another_is_found_or_started(
    home: Path, daemon: Daemon
) -> None:
    """Over stdio and by `connect()`, which both look for the daemon of a home."""
    with commands.serving(home) as first:
        async with (
            memoryd.aconnect(home=home, session_id="s-lost", user_id="s-lost") as memory,
            started(home, "--session", "s-lost", "--user", "s-lost") as mcp,
        ):
            stored = await use(mcp, "store_memory", content=LOG, memory_key="lost-log")
            await memory.record("Before.")
            first.process.kill()
            first.process.wait()
            with pytest.raises(errors.Unavailable, match="no daemon answers"):
                await memory.request("POST", "/api/v1/search", json={"query": "before"})
            with commands.serving(home) as second:
                found = await use(mcp, "retrieve_memory", memory_key=stored["placeholder"])
                await memory.record("Between.")
            alone = await use(mcp, "retrieve_memory", memory_key="lost-log", lines="1-1")
            await memory.record("After.")
            texts = [one.content.get("text") async for one in memory.events(session_id="s-lost")]

    assert first.url != second.url
    assert found["content"] == LOG
    assert alone["content"] == LOG.partition("\n")[0] + "\n"
    assert [one for one in texts if one] == ["After.", "Between.", "Before."]


async def test_an_mcp_client_over_http_goes_on_after_the_daemon_was_restarted(
    home: Path, daemon: Daemon
) -> None:
    with commands.serving(home) as first:
        async with speaking(first.url, session_id="s-http") as mcp:
            await use(mcp, "store_memory", content=LOG, memory_key="http-log")
            first.process.kill()
            first.process.wait()
            with commands.serving(home, "--port", first.url.rpartition(":")[2]):
                found = await use(mcp, "retrieve_memory", memory_key="http-log")
                async with conftest.asking(first.url) as http:
                    await ask(http, "GET", f"{REFERENCES}/http-log")

    assert found["content"] == LOG
