"""Microsoft Agent Framework's own agent over a real daemon, with a model that answers as told."""

from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
)

import memoryd
from conftest import MakeKey
from memoryd.client import AsyncClient
from memoryd.integrations.agent_framework import MemoryProvider
from memoryd.integrations.agent_framework_messages import MESSAGES
from memoryd.references import model
from scripted import NPM, recalled, run_shell
from stored import LOG

WHY = "Why did left-pad fail in the npm install log?"


class Scripted(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """Answers a text, or calls a tool; `asked` and `given` have what it was given each time."""

    def __init__(self, *answers: str | tuple[str, dict[str, Any]]) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[str] = []
        self.given: list[list[Message]] = []

    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,  # noqa: ARG002  # of the framework
        options: Mapping[str, Any],  # noqa: ARG002
        **_: Any,
    ) -> Awaitable[ChatResponse[Any]]:
        return self._next(messages)

    async def _next(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        self.given.append(list(messages))
        parts = [part for one in messages for part in one.contents]
        self.asked.append("\n".join(str(part.text or part.result or "") for part in parts))
        one = self.answers.pop(0)
        said: Any = one
        if not isinstance(one, str):
            call_id = f"call-{len(self.asked)}"
            said = Content.from_function_call(call_id, one[0], arguments=one[1])
        return ChatResponse(messages=[Message("assistant", [said])])


@pytest.fixture
async def memory(url: str, tenant: str, make_key: MakeKey) -> AsyncIterator[AsyncClient]:
    async with memoryd.aconnect(url, key=await make_key(tenant)) as client:
        yield client


def agent_of(
    client: Scripted, memory: AsyncClient, user_id: str = "ada", *more: Any, **given: Any
) -> Agent[Any]:
    provider = MemoryProvider(memory, user_id, **given)
    return Agent(client, tools=[run_shell, *more], context_providers=[provider])


async def test_a_log_is_swapped_and_a_question_brings_its_lines(memory: AsyncClient) -> None:
    client = Scripted(NPM, "It failed.", "Its postinstall script.")
    agent = agent_of(client, memory)
    session = agent.create_session(session_id="s1")
    await agent.run("Run npm install, please.", session=session)
    again = AgentSession.from_dict(session.to_dict())
    await agent.run(WHY, session=again)
    [placeholder] = again.state["memoryd"]["issued"]
    key = model.keys_in(placeholder)[0]
    stored = await memory.retrieve(key, user_id="ada")

    assert "- npm install, 2 error lines: npm ERR! code" in placeholder
    assert placeholder in client.asked[1] and "package-77 " not in client.asked[1]
    assert (stored.content, stored.session_id) == (LOG, "s1")
    assert recalled(client.asked[2])[:2] == [f"{key}:", "[lines 421-423 of 500]"]
    assert "left-pad@9.9.9 postinstall failed" in client.asked[2]
    assert "package-" not in client.asked[2]


async def test_the_agent_opens_a_placeholder_and_foreign_keys_are_refused(
    memory: AsyncClient,
) -> None:
    stored = await memory.store(LOG, key="the-log", user_id="ada")
    find = ("retrieve_memory", {"memory_key": stored.placeholder, "find": "left-pad"})
    whole = ("retrieve_memory", {"memory_key": "the-log"})
    search = ("search_memory", {"query": "left-pad"})
    ada = Scripted(find, "Yes.", whole, "Yes.", search, "Yes.")
    agent = agent_of(ada, memory)
    for _ in range(3):
        await agent.run("Go on.")
    bob = Scripted(whole, "No.")
    await agent_of(bob, memory, "bob").run("Go on.")

    assert "left-pad@9.9.9" in ada.asked[1]
    assert "package-1 " in ada.asked[3] and "…(more: ask for lines, or find)" in ada.asked[3]
    assert stored.placeholder in ada.asked[5]
    assert "Refused: there is no reference 'the-log'" in bob.asked[1]


def steps(number: int) -> str:
    """An answer that stays in the context: shorter than the threshold."""
    return f"step {number} went well, as far as can be seen. " * 30


async def test_every_call_of_the_model_keeps_the_budget_the_placeholders_and_calls_with_results(
    memory: AsyncClient,
) -> None:
    calls = [("steps", {"number": number}) for number in range(12)]
    client = Scripted(NPM, *calls, "Done.", "As I said.", "It was left-pad.")
    agent = agent_of(client, memory, "ada", steps, budget=2_000)
    session = agent.create_session(session_id="s1")
    await agent.run("Run npm install, then all steps.", session=session)
    await agent.run("Go on.", session=AgentSession.from_dict(session.to_dict()))
    await agent.run(WHY, session=session)
    [placeholder] = session.state["memoryd"]["issued"]

    assert max(map(MESSAGES.costs, client.given)) <= 2_000
    for given in client.given:
        parts = [part for one in given for part in one.contents]
        called = [part.call_id for part in parts if part.type == "function_call"]
        assert called == [part.call_id for part in parts if part.type == "function_result"]
    assert all(placeholder in asked for asked in client.asked[1:])
    assert "step 11 " in client.asked[13] and "step 1 " not in client.asked[13]
    assert "Run npm install" in client.asked[13]
    assert "left-pad@9.9.9 postinstall failed" in "\n".join(recalled(client.asked[15]))
    assert len(session.state["in_memory"]["messages"]) > 20  # the history itself stays whole


async def test_an_instruction_is_understood_from_the_history(memory: AsyncClient) -> None:
    """Which the framework loads after other providers, where none of them is given one."""
    await memory.record("The database of AgentFusion is at db1.", user_id="ada")
    client = Scripted("Good.", "Connected.", "Connected.", ("steps", {"number": 1}), "Yes.")
    agent = agent_of(client, memory, "ada", steps)
    told = agent.create_session()
    await agent.run("We use the database AgentFusion.", session=told)
    await agent.run("Connect to the database", session=told)
    await agent.run("Connect to the database", session=agent.create_session())
    await agent.run("Connect to the database", session=agent.create_session())

    assert "<memory>" not in client.asked[1]
    assert client.asked[2].startswith("Connect to the database\n<memory>\n")
    assert "AgentFusion is at db1" in client.asked[2]
    assert client.asked[4].startswith("Connect to the database\n<memory>\n")
    assert client.asked[4].count("<memory>") == 1 and "step 1 " in client.asked[4]


async def test_what_was_said_before_may_be_longer_than_a_request(memory: AsyncClient) -> None:
    client = Scripted("Long.", "As I said.")
    agent = agent_of(client, memory)
    session = agent.create_session()
    await agent.run("word " * 300_000, session=session)
    await agent.run("Connect to the DB", session=session)

    assert MESSAGES.costs(client.given[1]) <= 32_000
    assert client.asked[1].endswith("Connect to the DB")


async def test_even_one_message_that_is_too_long_keeps_the_budget(memory: AsyncClient) -> None:
    client = Scripted("Long.")
    await agent_of(client, memory, budget=2_000).run("Look at this: " + "word " * 5_000)

    assert MESSAGES.costs(client.given[0]) <= 2_000
    assert "…(cut to fit" in client.asked[0]
    with pytest.raises(ValueError, match="greater than or equal to 2000"):
        MemoryProvider(memory, budget=100)
