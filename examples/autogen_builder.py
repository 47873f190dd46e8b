"""A chat UI that builds one AutoGen agent for each user, with memoryd as its model context.

`on_chat_start` and `on_message` are what a Chainlit app decorates with `@cl.on_chat_start` and
`@cl.on_message`; `session` is its `cl.user_session`. Needs `pip install 'memoryd[autogen]'`.
"""

from collections.abc import Callable, MutableMapping
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_core.model_context import ChatCompletionContext, UnboundedChatCompletionContext
from autogen_core.models import ChatCompletionClient

from memoryd.client import AsyncClient
from memoryd.integrations import autogen


class AgentBuilder:
    """As it was before memoryd: a context that keeps everything, until it is too much."""

    def __init__(self, model_client: ChatCompletionClient, tools: list[Callable[..., Any]]) -> None:
        self.model_client = model_client
        self.tools = tools

    def build_model_context(self) -> ChatCompletionContext:
        return UnboundedChatCompletionContext()

    def build(self) -> AssistantAgent:
        context = self.build_model_context()
        offered: list[Any] = [*self.tools]
        if isinstance(context, autogen.MemoryContext):
            offered += context.tools()
        return AssistantAgent(
            "assistant",
            self.model_client,
            tools=offered,
            model_context=context,
            reflect_on_tool_use=True,
        )


class UIAgentBuilder(AgentBuilder):
    """The one change: the context of the user who is logged in."""

    def __init__(
        self,
        model_client: ChatCompletionClient,
        tools: list[Callable[..., Any]],
        *,
        user_id: str,
        thread_id: str,
        data_layer: AsyncClient,
    ) -> None:
        super().__init__(model_client, tools)
        self.user_id = user_id
        self.thread_id = thread_id
        self.data_layer = data_layer

    def build_model_context(self) -> ChatCompletionContext:
        return autogen.build_model_context(
            self.user_id, memory=self.data_layer, session_id=self.thread_id, budget=32_000
        )


def on_chat_start(session: MutableMapping[str, Any], builder: AgentBuilder) -> None:
    session["agent"] = builder.build()


async def on_message(session: MutableMapping[str, Any], text: str) -> str:
    done = await session["agent"].run(task=text)
    return str(done.messages[-1].content)
