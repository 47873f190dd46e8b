"""The model context by itself: what is swapped, what is pruned, what is kept."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)

import conversation
import conversation_plot
import memoryd
from conftest import MakeKey
from memoryd.client import AsyncClient
from memoryd.integrations import autogen, autogen_messages
from memoryd.references import model
from scripted import WORDS, calling, result, shown


@pytest.fixture
async def memory(url: str, tenant: str, make_key: MakeKey) -> AsyncIterator[AsyncClient]:
    async with memoryd.aconnect(url, key=await make_key(tenant)) as client:
        yield client


@pytest.fixture
def context(memory: AsyncClient) -> autogen.MemoryContext:
    return autogen.build_model_context("ada", memory=memory, agent_id="coder", session_id="s1")


async def test_every_kind_of_large_text_is_swapped_in_a_copy(
    context: autogen.MemoryContext,
) -> None:
    call = FunctionCall(id="c", name="write_file", arguments=json.dumps({"text": WORDS}))
    given: list[LLMMessage] = [
        SystemMessage(content=f"Obey. {WORDS}"),
        UserMessage(content=f"Look at this: {WORDS}", source="user"),
        AssistantMessage(content=[call], thought=f"Hmm. {WORDS}", source="coder"),
        result(WORDS, "c"),
        AssistantMessage(content=f"So: {WORDS}", source="coder"),
    ]
    before = [one.model_copy(deep=True) for one in given]
    for one in given:
        await context.add_message(one)
    system, *others = await context.get_messages()

    assert given == before
    assert system == given[0]
    assert len(context.issued) == 5
    assert all("word500 " not in shown([one]) for one in others)
    user, calls, _, answer = [one for one in others if not autogen_messages.is_memory(one)]
    assert shown([user]).startswith("Look at this: word0") and "MemoryRef" in shown([answer])
    assert isinstance(calls, AssistantMessage) and isinstance(calls.content[0], FunctionCall)
    assert model.PLACEHOLDER.fullmatch(json.loads(calls.content[0].arguments)["stored"])


async def test_pruning_keeps_the_budget_the_placeholders_and_calls_with_results(
    memory: AsyncClient,
) -> None:
    context = autogen.MemoryContext(memory, "ada", budget=2_000)
    await context.add_message(SystemMessage(content="You are a careful engineer."))
    for number in range(40):
        await context.add_message(calling(f"make {number}", f"call-{number}"))
        large = f"{number} {WORDS}" if number == 3 else f"step {number} " * 40
        await context.add_message(result(large, f"call-{number}"))
        read = await context.get_messages()
        spent = autogen_messages.MESSAGES.costs(read)
        assert spent <= 2_000
        calls = [one for one in read if isinstance(one, AssistantMessage)]
        results = [one for one in read if isinstance(one, FunctionExecutionResultMessage)]
        assert len(calls) == len(results) > 0

    assert read[0] == SystemMessage(content="You are a careful engineer.")
    assert context.issued[0] in shown(read) and "make 3\n" not in shown(read)
    assert "step 39 " in shown(read)


async def test_even_one_answer_that_is_too_long_keeps_the_budget(memory: AsyncClient) -> None:
    context = autogen.MemoryContext(memory, budget=2_000)
    calls = [FunctionCall(id=f"{n}", name="f", arguments="{}") for n in range(20)]
    many = [
        FunctionExecutionResult(content="word " * 400, name="f", call_id=f"{n}") for n in range(20)
    ]
    await context.add_message(AssistantMessage(content=calls, source="coder"))
    await context.add_message(FunctionExecutionResultMessage(content=many))
    read = await context.get_messages()

    assert autogen_messages.MESSAGES.costs(read) <= 2_000
    assert isinstance(read[1], FunctionExecutionResultMessage)
    assert len(read[1].content) == 20 and "…(cut to fit" in read[1].content[0].content


async def test_messages_from_the_start_and_of_other_contexts_are_swapped_too(
    memory: AsyncClient,
) -> None:
    said = UserMessage(content=WORDS, source="user")
    first = autogen.MemoryContext(memory, initial_messages=[said])
    second = autogen.MemoryContext(memory)
    await second.load_state({"messages": [said.model_dump()]})
    for one in (first, second):
        assert "word500 " not in shown(await one.get_messages())
        assert len(one.issued) == 1
    await first.clear()

    assert await first.get_messages() == [] and first.issued == ()


async def test_two_who_add_at_once_lose_nothing(context: autogen.MemoryContext) -> None:
    said = [AssistantMessage(content=f"{n} {WORDS}", source="coder") for n in range(8)]
    await asyncio.gather(*map(context.add_message, said))

    assert len(await context.get_messages()) == 8
    assert len(context.issued) == 8


async def test_a_component_is_dumped_without_address_or_key(
    context: autogen.MemoryContext,
) -> None:
    dumped = context.dump_component().model_dump_json()
    again = autogen.MemoryContext.load_component(json.loads(dumped))
    await again.close()

    assert again.config == context.config
    assert "mdk_" not in dumped and "http" not in dumped
    with pytest.raises(ValueError, match="greater than or equal to 2000"):
        autogen.MemoryContext(budget=100)


@pytest.mark.parametrize(
    "odd",
    ["a\0b " * 600, "a\ud800b " * 600, "漢字假名" * 500, "x" * 50_000, "a\r\nb\r\n" * 500],
    ids=["nul", "half a letter", "no blanks", "one line", "line breaks"],
)
async def test_odd_outputs_come_back_and_stop_no_agent(
    context: autogen.MemoryContext, odd: str
) -> None:
    await context.add_message(calling("cat odd"))
    await context.add_message(result(odd))
    await context.add_message(
        UserMessage(content="What does the output of cat odd say?", source="user")
    )
    read = await context.get_messages()
    [placeholder] = context.issued

    assert await context.retrieve(placeholder) == odd
    assert (await context.retrieve_memory(placeholder)).startswith(odd[:3])
    assert autogen_messages.MESSAGES.costs(read) < 4_000


async def test_a_state_of_its_own_is_loaded_as_it_was(context: autogen.MemoryContext) -> None:
    await context.add_message(UserMessage(content="漢字假名" * 500, source="user"))
    state = await context.save_state()
    await context.load_state(state)

    assert await context.save_state() == state


async def test_the_bench_of_a_conversation_stays_within_its_budget(memory: AsyncClient) -> None:
    context = autogen.MemoryContext(memory, "ada", budget=4_000)
    found = await conversation.converse(context, 25, seed=1)
    drawn = conversation_plot.figure(4_000, found.without, found.with_memory)

    assert conversation.report(found)
    assert max(found.with_memory) <= 4_000 < max(found.outputs)
    assert found.without[-1] > 50_000
    assert drawn.startswith("<svg") and drawn.count("<polyline") == 2


async def test_of_a_text_of_one_line_a_question_brings_what_is_around_its_words(
    context: autogen.MemoryContext,
) -> None:
    states = {f"pkg-{n}": "ok" for n in range(3_000)} | {"pkg-777": "failed: ENOSPC"}
    await context.add_message(calling("npm audit --json"))
    await context.add_message(result(json.dumps({"packages": states})))
    question = "Why did pkg-777 fail in the npm audit output of packages?"
    await context.add_message(UserMessage(content=question, source="user"))
    read = shown(await context.get_messages())

    assert "failed: ENOSPC" in read
    assert "pkg-1500" not in read and "pkg-2999" not in read


async def test_a_last_message_that_is_too_long_leaves_the_instruction_its_room(
    memory: AsyncClient,
) -> None:
    context = autogen.MemoryContext(memory, "ada", budget=2_000)
    await context.add_message(UserMessage(content="Tell me what the rules say.", source="user"))
    await context.add_message(SystemMessage(content="You follow the rules. " * 2_000))
    read = await context.get_messages()

    assert autogen_messages.MESSAGES.costs(read) <= 2_000
    assert [one.type for one in read if not autogen_messages.is_memory(one)] == [
        "UserMessage",
        "SystemMessage",
    ]


async def test_the_tools_of_an_agent_answer_what_is_refused(context: autogen.MemoryContext) -> None:
    assert (await context.retrieve_memory("")).startswith("Refused: it is empty")
    assert (await context.search_memory("")).startswith("Refused: query")
