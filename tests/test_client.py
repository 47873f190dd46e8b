"""The Python client: over HTTP and in process, sync and async."""

import asyncio
import dataclasses
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, assert_type

import pytest

import memoryd
import wire
from conftest import MakeKey
from memoryd.client import AsyncClient, Client, kept, values
from memoryd.core import errors
from memoryd.daemon import Daemon
from memoryd.doors import app


@pytest.fixture
async def memory(url: str, tenant: str, make_key: MakeKey) -> AsyncIterator[AsyncClient]:
    async with memoryd.aconnect(url, key=await make_key(tenant)) as client:
        yield client


async def everything(memory: AsyncClient) -> None:
    """Each method once; mypy checks the types that a user's editor shows."""
    said = await memory.record("We ship on Friday.", session_id="standup", tags=["topic:release"])
    assert_type(said, values.Recorded)
    both = await memory.record_batch(
        [
            {"text": "Who tests?", "actor": "human:ada"},
            {"kind": "tool_call", "content": {"tool": "x"}},
        ]
    )
    event = await memory.event(said.event_id)
    found = await memory.search("when do we ship?", explain=True)
    built = await memory.bundle("when do we ship?", max_tokens=2_000)
    fact = await memory.remember("Ada prefers short answers.", category="preference")
    facts = await memory.recall("short answers")
    assert_type(facts, tuple[values.Fact, ...])
    decision = await memory.decide("Use PostgreSQL.", subject="store", rationale=["it holds"])
    task = await memory.plan("Ship it")
    await memory.plan(task_id=task.task_id, status="doing")
    uploaded = await memory.upload(b"x" * 99, media_type="text/plain", name="x.txt")
    assert uploaded.artifact_id
    prompt = await memory.prompt(session_id="standup", format="anthropic")

    assert event.content == {"text": "We ship on Friday."}
    assert (event.session_id, event.tags) == ("standup", ("topic:release",))
    assert len(both) == 2
    assert found.results[0].event_id == said.event_id and found.results[0].parts
    assert "We ship on Friday." in built.text
    assert await memory.replay(built.acb_id) == built
    assert [one.id for one in facts] == [fact.id] == [one.id for one in await memory.recall()]
    assert [one.decision_id async for one in memory.decisions()] == [decision.decision_id]
    assert [one.status async for one in memory.tasks(status=["doing"])] == ["doing"]
    assert await memory.artifact(uploaded.artifact_id, start=90) == b"x" * 9
    assert await memory.artifact(uploaded.artifact_id, stop=3) == b"xxx"
    assert "Ada prefers short answers." in prompt.text and prompt.system
    await references(memory)
    await tools(memory)


async def references(memory: AsyncClient) -> None:
    lines = "".join(f"line {number}\n" for number in range(3_000))
    log = await memory.store(lines, description="A log", metadata={"command": "make"})
    raw = await memory.store(bytes(range(256)), key="raw", metadata={"path": "x"})
    part = await memory.retrieve(log.key, lines="10-11")
    found = await memory.search_references("line 17")
    vague = await memory.intent("Connect to the DB", context=["Hello."])

    assert (vague.action, bool(vague.query), bool(vague.reason)) == ("search", True, True)
    assert log.placeholder.startswith(f"[MemoryRef: {log.key} - A log - ")
    assert (part.content, part.part.total) == ("line 9\nline 10\n", 3_000)
    assert (await memory.retrieve(log.key)).content == lines
    assert (await memory.retrieve(log.placeholder)).content == lines
    assert raw.binary and raw.metadata["path"] == "x"
    assert found[0].key == log.key


async def tools(memory: AsyncClient) -> None:
    listed = [one["name"] for one in await memory.tools()]
    done = await memory.call_tool("manage_user_memory", {"operation": "get_memory"})
    answer = await memory.request("GET", "/api/v1/events", params={"limit": 1})

    assert "add_to_memory" in listed and "memory_record_event" in listed
    assert done["memory"]["facts"][0]["content"] == "Ada prefers short answers."
    assert len(answer.json()["events"]) == 1


async def test_everything_over_http(memory: AsyncClient) -> None:
    await everything(memory)


async def test_everything_in_process_without_a_network(
    home: Path, tenant: str, make_key: MakeKey
) -> None:
    key = await make_key(tenant)
    async with memoryd.aconnect(in_process=True, home=home, key=key) as memory:
        await everything(memory)


def as_a_script_does(memory: Client) -> tuple[Any, ...]:
    said = memory.record("We ship on Friday.")
    assert_type(said, values.Recorded)
    for number in range(24):
        memory.record(f"Turn {number}")
    texts = [event.content["text"] for event in memory.events(order="oldest", limit=7)]
    return said, memory.search("ship Friday").results[0].event_id, texts


async def test_a_script_needs_no_event_loop(url: str, tenant: str, make_key: MakeKey) -> None:
    key = await make_key(tenant)

    def script() -> tuple[Any, ...]:
        with memoryd.connect(url, key=key) as memory:
            return as_a_script_does(memory)

    said, found, texts = await asyncio.to_thread(script)

    assert found == said.event_id
    assert texts == ["We ship on Friday.", *(f"Turn {number}" for number in range(24))]


async def test_threads_share_a_client(
    url: str, daemon: Daemon, tenant: str, make_key: MakeKey
) -> None:
    key = await make_key(tenant)
    with memoryd.connect(url, key=key) as memory:
        await asyncio.gather(
            *(asyncio.to_thread(memory.record, f"Note {number}") for number in range(20))
        )
        await asyncio.to_thread(memory.close)

    assert await wire.count(daemon, tenant) == 20


async def test_all_pages_are_followed(memory: AsyncClient) -> None:
    await memory.record_batch([{"text": f"Turn {number}"} for number in range(23)])
    newest = [event.position async for event in memory.events(limit=5)]
    every = [event.position async for event in memory.events(order="oldest", session_id="default")]

    assert newest == list(range(23, 0, -1))
    assert every == list(range(1, 24))


async def test_refusals_are_exceptions_with_field_and_limit(
    url: str, tenant: str, make_key: MakeKey, memory: AsyncClient
) -> None:
    with pytest.raises(errors.NotFound, match="there is no event 'evt_none'") as missing:
        await memory.event("evt_none")
    with pytest.raises(errors.Invalid) as short:
        await memory.remember("Ada")
    await memory.remember("Ada prefers tea.", subject="Ada")
    with pytest.raises(errors.Conflict, match="update_memory"):
        await memory.remember("Ada prefers coffee.", subject="Ada")
    async with memoryd.aconnect(url, key="mdk_wrong") as stranger:
        with pytest.raises(errors.Unauthorized):
            await stranger.record("Hello.")
    async with memoryd.aconnect(url, key=await make_key(tenant, role="reader")) as reader:
        with pytest.raises(errors.Forbidden):
            await reader.record("Hello.")
    with pytest.raises(errors.MemorydError) as nowhere:
        await memory.request("PATCH", "/api/v1/events")

    assert (missing.value.status, short.value.status, nowhere.value.status) == (404, 422, 405)
    assert (short.value.field, short.value.limit) == ("content", "5")


@pytest.mark.parametrize("name", ["", "..", "a/b", "../keys", "evt?x=1", "évt#"])
async def test_an_odd_id_is_not_found_and_leads_nowhere_else(
    memory: AsyncClient, name: str
) -> None:
    for ask in (memory.event, memory.replay, memory.artifact):
        with pytest.raises(errors.MemorydError) as refused:
            await ask(name)
        assert refused.value.status in (307, 404, 405, 422)


async def test_for_whom_a_client_asks_is_said_once(
    url: str, tenant: str, make_key: MakeKey
) -> None:
    who: Any = {"user_id": "ada", "agent_id": "scout", "channel": "team", "session_id": "talk"}
    async with memoryd.aconnect(url, key=await make_key(tenant), **who) as memory:
        said = await memory.event((await memory.record("Hello.")).event_id)
        other = await memory.event((await memory.record("Hi.", user_id="bob")).event_id)

    assert {name: getattr(said, name) for name in who} == who
    assert other.user_id == "bob"


async def test_times_may_be_datetimes(memory: AsyncClient) -> None:
    moment = datetime(2026, 5, 1, 12, tzinfo=UTC)
    await memory.record("Cabbages.", ts=moment)
    await memory.record("More cabbages.")
    old = [event.ts async for event in memory.events(until=datetime(2026, 6, 1, tzinfo=UTC))]
    found = await memory.search("cabbages", filters={"until": datetime(2026, 6, 1, tzinfo=UTC)})

    assert old == [moment]
    assert [one.text for one in found.results] == ["Cabbages."]


async def test_a_closed_client_says_so(url: str) -> None:
    memory = memoryd.connect(url)
    memory.close()
    memory.close()

    with pytest.raises(RuntimeError, match="this client is closed"):
        memory.record("Hello.")


def test_importing_memoryd_is_cheap() -> None:
    program = "import sys, memoryd; print(sorted({'httpx', 'pydantic', 'mcp'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"
    with pytest.raises(AttributeError):
        memoryd.disconnect  # noqa: B018


SHOWN = {
    "Recorded": values.Recorded,
    "Event": values.Event,
    "Uploaded": values.Uploaded,
    "Result": values.Hit,
    "SearchAnswer": values.Search,
    "ItemShown": values.Item,
    "SectionShown": values.Section,
    "OmissionShown": values.Omission,
    "BundleShown": values.Bundle,
    "MemoryResponse": values.Fact,
    "Decision": values.Decision,
    "Task": values.Task,
    "PromptShown": values.Prompt,
    "ReferenceStored": kept.StoredReference,
    "ReferenceRead": kept.ReferenceRead,
    "ReferenceFound": kept.ReferenceFound,
    "PartShown": kept.Part,
    "IntentShown": kept.Intent,
    "ExpansionShown": kept.Expansion,
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_the_client_answers_is_in_the_api_document(name: str) -> None:
    schema = app.document().openapi()["components"]["schemas"][name]
    fields = {one.name for one in dataclasses.fields(SHOWN[name])}

    assert fields <= set(schema["properties"])
    needed = {one.name for one in dataclasses.fields(SHOWN[name]) if _needed(one)}
    assert needed <= set(schema["required"])


def _needed(one: "dataclasses.Field[Any]") -> bool:
    return one.default is one.default_factory is dataclasses.MISSING
