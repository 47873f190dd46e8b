"""Microsoft Agent Framework's own agent over a real daemon, with a model that answers as told."""

from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
)

import memoryd
from conftest import MakeKey
from memoryd.client import AsyncClient
from memoryd.integrations.agent_framework import MemoryProvider
from memoryd.references import model
from scripted import NPM, recalled, run_shell
from stored import LOG

WHY = "Why did left-pad fail in the npm install log?"


class Scripted(FunctionInvocationLayer[Any], BaseChatClient[Any]):
    """Answers a text, or calls a tool; `asked` has what it was given each time."""

    def __init__(self, *answers: str | tuple[str, dict[str, Any]]) -> None:
        super().__init__()
        self.answers = list(answers)
        self.asked: list[str] = []

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


def agent_of(client: Scripted, memory: AsyncClient, user_id: str = "ada") -> Agent[Any]:
    provider = MemoryProvider(memory, user_id)
    return Agent(client, tools=[run_shell], context_providers=[provider])


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
    ada = Scripted(find, "Yes.", whole, "Yes.")
    agent = agent_of(ada, memory)
    await agent.run("Go on.")
    await agent.run("Go on.")
    bob = Scripted(whole, "No.")
    await agent_of(bob, memory, "bob").run("Go on.")

    assert "left-pad@9.9.9" in ada.asked[1]
    assert "package-1 " in ada.asked[3] and "…(more: ask for lines, or find)" in ada.asked[3]
    assert "Refused: there is no reference 'the-log'" in bob.asked[1]
