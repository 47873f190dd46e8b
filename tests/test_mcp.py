"""MCP over HTTP, asked by the official SDK's client."""

import asyncio
import re
from typing import Any

import httpx
import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

import conftest
import wire
from conftest import MakeKey
from mcp_client import MODES, refused, said, speaking, use
from memoryd import __version__
from memoryd.daemon import Daemon
from memoryd.tools import catalog

LOG = ("record_event", "build_acb", "get_artifact", "query_decisions")
ALEC = {"content": "Alec is the user's boss", "category": "person", "subject": "Alec"}


@pytest.fixture
async def key(tenant: str, make_key: MakeKey) -> str:
    return await make_key(tenant)


@pytest.mark.parametrize("mode", MODES)
async def test_every_tool_is_listed_with_both_its_shapes(url: str, key: str, mode: str) -> None:
    async with speaking(url, key, mode) as client:
        tools = {one.name: one for one in (await client.list_tools()).tools}
        assert client.server_info is not None
        named = (client.server_info.name, client.server_info.version)

    assert named == ("memoryd", __version__)
    assert set(tools) == {one.name for one in catalog.TOOLS.tools}
    assert {f"memory_{name}" for name in LOG} < set(tools)
    for name, tool in tools.items():
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name), "some clients take no other names"
        assert tool.output_schema is not None, name
        assert tool.output_schema["type"] == "object"
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is catalog.TOOLS.get(name).read_only


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_recorded_is_bundled_and_read_again(url: str, key: str, mode: str) -> None:
    async with speaking(url, key, mode) as client:
        done = await use(client, "memory_record_event", text="We ship on Friday.", session_id="s1")
        built = await use(client, "memory_build_acb", query_text="when do we ship?")
        again = await client.read_resource(f"memory://bundle/{built['acb_id']}")

    assert done["event_id"].startswith("evt_") and len(done["chunk_ids"]) == 1
    assert "We ship on Friday." in built["text"]
    assert built["token_used_est"] <= built["budget_tokens"] == 65_000
    (text,) = again.contents
    assert isinstance(text, types.TextResourceContents)
    assert '"We ship on Friday."' in text.text or "We ship on Friday." in text.text


@pytest.mark.parametrize("name", ["memory.record_event", "memory_record_event", "record_event"])
async def test_the_dotted_name_of_the_seed_is_answered_too(url: str, key: str, name: str) -> None:
    async with speaking(url, key) as client:
        done = await use(client, name, text="Hello.")

    assert done["event_id"].startswith("evt_")


async def test_every_tool_answers_what_its_shape_says(url: str, tenant: str, key: str) -> None:
    """The SDK's client checks each result against the tool's output schema."""
    long = "line of the log\n" * 9_000
    async with speaking(url, key, agent_id="scout", session_id="talk") as client:
        await client.list_tools()  # that it knows them
        added = await use(client, "add_to_memory", **ALEC)
        await use(client, "update_memory", memory_id=added["memory_id"], content="Alec has left")
        await use(client, "save_to_journal", content="Today I learned something")
        await use(client, "save_to_core", content="I am helpful")
        await use(client, "manage_user_memory", operation="add_fact", content="User likes tea")
        whole = await use(client, "manage_user_memory", operation="get_memory")
        decision = {"decision": "Use PostgreSQL.", "rationale": ["it holds"]}
        await use(client, "memory_record_event", kind="decision", content=decision)
        stored = await use(client, "store_memory", content="a\nb\nc\n", description="Letters")
        cut = await use(client, "retrieve_memory", memory_key=stored["placeholder"], lines="2-2")
        await use(client, "search_memory", query="Letters")
        found = await use(client, "memory_query_decisions", text="PostgreSQL?")
        listed = await use(client, "memory_query_decisions", limit=1)
        shell = {"tool": "bash", "path": "build.log"}
        await use(client, "memory_record_event", kind="tool_result", text=long, content=shell)
    async with conftest.asking(url, key) as http:
        (kept, *_) = await wire.listed(http, kind="tool_result")
    async with speaking(url, key) as client:
        art = kept["content"]["artifact_id"]
        first = await use(client, "memory_get_artifact", artifact_id=art)
        last = await use(client, "memory_get_artifact", artifact_id=art, start=len(long) - 4)

    assert len(whole["memory"]["facts"]) == 2
    assert cut["content"] == "b\n"
    assert [one["decision"] for one in found["decisions"]] == ["Use PostgreSQL."]
    assert (listed["more"], kept["session_id"]) == (False, "talk")
    assert first["text"] == long[: 64 * 1024]
    assert (first["size"], first["stop"], last["text"]) == (len(long), 64 * 1024, long[-4:])


async def test_twenty_calls_at_once_lose_nothing(
    url: str, daemon: Daemon, tenant: str, key: str
) -> None:
    async with speaking(url, key) as client:
        texts = [f"Note number {number}." for number in range(20)]
        done = await asyncio.gather(
            *(use(client, "memory_record_event", text=text) for text in texts)
        )
    async with conftest.asking(url, key) as http:
        kept = {one["event_id"]: one["content"]["text"] for one in await wire.listed(http)}

    assert [kept[one["event_id"]] for one in done] == texts
    assert await wire.count(daemon, tenant) == 20


async def test_a_refusal_is_the_tool_s_error_in_the_problem_s_words(url: str, key: str) -> None:
    async with speaking(url, key) as client:
        await use(client, "add_to_memory", **ALEC)
        twice = await refused(client, "add_to_memory", **{**ALEC, "content": "Alec has left"})
        short = await refused(client, "add_to_memory", content="Al", category="person")
        unknown = await refused(client, "memory_get_artifact", artifact_id="art_none")
        nobody = await refused(client, "save_to_core", content="I am helpful")

    assert "suggestion: update_memory" in twice
    assert ALEC["content"] in twice
    assert "at least 5 characters" in short and "field: content\nlimit: 5" in short
    assert "there is no artifact 'art_none' that you may see" in unknown
    assert "only works in group conversations" in nobody


async def test_what_is_not_there_is_an_error_of_the_protocol(url: str, key: str) -> None:
    async with speaking(url, key) as client:
        with pytest.raises(MCPError, match="there is no tool 'launch_rocket'; there are:"):
            await client.call_tool("launch_rocket", {})
        for uri in ("memory://bundle/acb_none", "memory://views/rules.project"):
            with pytest.raises(MCPError, match=r"there is no bundle|has no text that you may see"):
                await client.read_resource(uri)
        with pytest.raises(MCPError, match="there is no view"):
            await client.read_resource("memory://views/../../keys")
        with pytest.raises(MCPError, match="there is no resource 'file:///etc/passwd'"):
            await client.read_resource("file:///etc/passwd")
        with pytest.raises(MCPError, match="there is no prompt"):
            await client.get_prompt("forget", {})


async def test_views_are_resources(url: str, key: str) -> None:
    async with conftest.asking(url, key) as http:
        await wire.write_view(http, "rules.project", "# Rules\n\n- Tests first.\n")
    async with speaking(url, key) as client:
        (listed,) = (await client.list_resources()).resources
        (text,) = (await client.read_resource(str(listed.uri))).contents
        templates = (await client.list_resource_templates()).resource_templates

    assert str(listed.uri) == "memory://views/rules.project"
    assert isinstance(text, types.TextResourceContents)
    assert (text.text, text.mime_type) == ("# Rules\n\n- Tests first.\n", "text/markdown")
    assert [one.uri_template for one in templates] == [
        "memory://views/{name}",
        "memory://bundle/{acb_id}",
    ]


async def test_a_prompt_recalls_what_is_known_of_something(url: str, key: str) -> None:
    async with speaking(url, key) as client:
        await use(client, "memory_record_event", text="The launch code name is Heron.")
        (prompt,) = (await client.list_prompts()).prompts
        found = await client.get_prompt(prompt.name, {"about": "the launch"})
        nothing = await client.get_prompt(prompt.name, {"about": "zzzzqq"})
        with pytest.raises(MCPError, match="about"):
            await client.get_prompt(prompt.name, {"about": "  "})

    (message,) = found.messages
    assert isinstance(message.content, types.TextContent)
    assert message.content.text.startswith("What do you remember about the launch?")
    assert "Heron" in message.content.text and "<memory" in message.content.text
    assert isinstance(nothing.messages[0].content, types.TextContent)


async def test_a_key_fixes_whom_it_asks_for(url: str, tenant: str, make_key: MakeKey) -> None:
    pinned = await make_key(tenant, user_id="ada", agent_id="scout", channel="private")
    async with speaking(url, pinned) as client:
        await use(client, "save_to_core", content="I am helpful")
        await use(client, "add_to_memory", **ALEC)
    async with speaking(url, await make_key(tenant), user_id="bob") as client:
        foreign = await use(client, "manage_user_memory", operation="get_memory")
    async with conftest.asking(url, pinned) as http:
        refused = await http.post("/mcp", params={"user_id": "bob"}, json=ping())
        own = await http.get("/api/memory/")

    assert [one["content"] for one in own.json()["memories"]] == [ALEC["content"]]
    assert foreign["memory"]["facts"] == []
    wire.assert_problem(refused, 403, "user_id")


async def test_a_reader_s_key_calls_what_only_reads(
    url: str, tenant: str, make_key: MakeKey
) -> None:
    async with speaking(url, await make_key(tenant, role="reader")) as client:
        await use(client, "memory_build_acb", query_text="anything")
        await use(client, "memory_query_decisions")
        told = await refused(client, "memory_record_event", text="Hello.")

    assert "a key with the role `reader` does not write" in told


def ping() -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.mark.parametrize("path", ["/mcp"])
async def test_strangers_and_pages_of_others_are_refused(url: str, key: str, path: str) -> None:
    async with conftest.asking(url) as anyone:
        wrong = await anyone.post(path, json=ping(), headers={"authorization": "Bearer mdk_x"})
        page = await anyone.post(path, json=ping(), headers={"origin": "https://evil.example"})
        rebound = await anyone.post(path, json=ping(), headers={"host": "evil.example"})
        local = await anyone.post(path, json=ping(), headers={"accept": "application/json"})

    wire.assert_problem(wrong, 401)
    assert wrong.headers["www-authenticate"] == "Bearer"
    wire.assert_problem(page, 403, "Origin")
    wire.assert_problem(rebound, 421, "Host")
    assert local.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}, "on loopback, without a key"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"\xff\xfe", 400),
        (b"[" * 100_000, 400),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 5_000, 400),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 400),
        (b'{"id":1}', 400),
        (b"{" + b" " * (9 * 1024 * 1024), 413),
    ],
)
async def test_what_is_no_message_is_refused(
    client: httpx.AsyncClient, body: bytes, status: int
) -> None:
    headers = {"content-type": "application/json", "accept": "application/json"}
    answer = await client.post("/mcp", content=body, headers=headers)

    assert answer.status_code == status, answer.text
    assert "json" in answer.headers["content-type"]


async def test_other_ways_to_ask_are_refused(client: httpx.AsyncClient) -> None:
    form = await client.post("/mcp", content=b"{}", headers={"content-type": "text/plain"})
    stream = await client.get("/mcp", headers={"accept": "text/event-stream"})
    ended = await client.delete("/mcp")

    wire.assert_problem(form, 415, "Content-Type")
    wire.assert_problem(stream, 405)
    wire.assert_problem(ended, 405)


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "x", "mood": "good"},
        {"text": 7},
        {"text": "x", "kind": "erasure"},
        {"text": "x", "session_id": "a\nb"},
        {"text": "x", "tags": ["t"] * 300},
        {"text": "x\x00"},
        {"content": {"a": {}}},
        {},
        {f"a{number}": 1 for number in range(200)},
    ],
)
async def test_hostile_arguments_are_the_tool_s_error_and_store_nothing(
    url: str, daemon: Daemon, tenant: str, key: str, arguments: dict[str, Any]
) -> None:
    async with speaking(url, key) as client, wire.storing_nothing(daemon, tenant):
        done = await client.call_tool("memory_record_event", arguments)

    assert done.is_error
    assert "field: " in said(done)


async def test_calls_are_audited_as_what_they_do(
    url: str, tenant: str, make_key: MakeKey, daemon: Daemon
) -> None:
    async with speaking(url, await make_key(tenant)) as client:
        await use(client, "memory_record_event", text="Hello.")
    await daemon.audit.flush()
    async with conftest.asking(url, await make_key(tenant, role="admin")) as admin:
        found = (await admin.get("/api/v1/audit")).json()["accesses"]

    (call,) = [one for one in found if one["route"] == "/api/v1/tools/{name}"]
    assert (call["recorded"], call["status"]) == (1, 200)
