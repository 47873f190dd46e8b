"""AutoGen's `Memory` protocol, and the example of a builder, with AutoGen's own agents."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core.memory import MemoryContent
from autogen_core.model_context import UnboundedChatCompletionContext

import autogen_builder
import memoryd
from conftest import MakeKey
from memoryd.client import AsyncClient
from memoryd.core import errors
from memoryd.integrations import autogen
from memoryd.integrations.autogen_memory import UserMemory
from scripted import NPM, WORDS, read_by_model, run_shell, scripted, shown

TEA = MemoryContent(
    content="Ada drinks green tea in the morning.",
    mime_type="text/plain",
    metadata={"category": "preference", "subject": "tea"},
)


@pytest.fixture
async def memory(url: str, tenant: str, make_key: MakeKey) -> AsyncIterator[AsyncClient]:
    async with memoryd.aconnect(url, key=await make_key(tenant)) as client:
        yield client


@pytest.mark.parametrize("own", [True, False])
async def test_an_agent_is_given_what_fits_the_last_message(memory: AsyncClient, own: bool) -> None:
    facts = UserMemory(memory, "ada")
    await facts.add(TEA)
    replay = scripted("Green tea.", "Not that I know.")
    context = autogen.MemoryContext(memory, "ada") if own else UnboundedChatCompletionContext()
    agent = AssistantAgent("host", replay, model_context=context, memory=[facts])
    await agent.run(task="Which tea does Ada drink in the morning?")
    stranger = AssistantAgent("host", replay, memory=[UserMemory(memory, "bob")])
    await stranger.run(task="Which tea does Ada drink in the morning?")

    asked = read_by_model(replay, 0)
    assert "<memory>" in asked and "Ada drinks green tea in the morning." in asked
    assert "green tea" not in read_by_model(replay, 1)


async def test_what_is_recalled_is_no_instruction_and_is_not_stored_again(
    memory: AsyncClient,
) -> None:
    await memory.record(" ".join(WORDS.split()[:250]) + " tea", user_id="ada")
    context = autogen.MemoryContext(memory, "ada")
    agent = AssistantAgent(
        "host", scripted("Yes."), model_context=context, memory=[UserMemory(memory, "ada")]
    )
    await agent.run(task="Explain word17 in tea, please.")

    assert context.issued == ()
    assert "word249 tea" in shown(await context.get_messages())


async def test_what_is_added_is_found_and_nothing_is_cleared(memory: AsyncClient) -> None:
    facts = UserMemory(memory, "ada", limit=2)
    await facts.add(TEA)
    await facts.add(MemoryContent(content=WORDS, mime_type="text/plain"))
    found = await facts.query("green tea")
    long = await facts.query(MemoryContent(content="word777", mime_type="text/plain"))

    assert "green tea" in str(found.results[0].content)
    assert found.results[0].metadata and found.results[0].metadata["event_id"]
    assert "word777" in str(long.results[0].content)
    assert (await facts.query(" ")).results == []
    with pytest.raises(errors.Forbidden, match="memoryd erase"):
        await facts.clear()
    with pytest.raises(errors.Invalid, match="only text and bytes"):
        await facts.add(MemoryContent(content={"a": 1}, mime_type="application/json"))
    await facts.close()
    assert facts.dump_component().config == {
        "user_id": "ada",
        "limit": 2,
        "room": 1_000,
    }


async def test_a_builder_of_a_chat_ui_needs_one_method(memory: AsyncClient) -> None:
    replay = scripted(NPM, "It failed.")
    builder = autogen_builder.UIAgentBuilder(
        replay, [run_shell], user_id="ada", thread_id="t1", data_layer=memory
    )
    session: dict[str, Any] = {}
    autogen_builder.on_chat_start(session, builder)
    answer = await autogen_builder.on_message(session, "Run npm install, please.")
    [stored] = await memory.search_references("left-pad postinstall", user_id="ada")

    assert answer == "It failed."
    assert stored.placeholder in read_by_model(replay)
    assert (stored.session_id, stored.user_id) == ("t1", "ada")
