"""Microsoft Agent Framework over memoryd: a context provider that swaps large outputs of tools for
placeholders, recalls what an instruction needs and keeps each call of the model within a budget.

What it issued lies in the session's own state, and is saved and loaded with it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from agent_framework import (
    AgentSession,
    ChatContext,
    ChatMiddleware,
    Content,
    ContextProvider,
    FunctionInvocationContext,
    FunctionMiddleware,
    Message,
    SessionContext,
    SupportsAgentRun,
)

import memoryd
from memoryd.client import AsyncClient
from memoryd.core import errors
from memoryd.integrations import agent_framework_messages as messages
from memoryd.integrations import opening
from memoryd.references import model, swap

BUDGET = 32_000  # tokens of all messages that a model is given
LEAST = 2_000  # tokens: less does not hold an answer, its placeholders and what is recalled
RECALLED = 2_000  # tokens of what is recalled for an instruction
RETRIEVE = "retrieve_memory"


class MemoryProvider(ContextProvider):
    """For `Agent(context_providers=[…])`. A client that it was not given it makes, and closes."""

    def __init__(
        self,
        memory: AsyncClient | None = None,
        user_id: str | None = None,
        *,
        agent_id: str | None = None,
        threshold: int = swap.THRESHOLD,
        recalled: int = RECALLED,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(messages.SOURCE)
        if budget < LEAST:
            raise ValueError(f"budget must be greater than or equal to {LEAST}, not {budget}")
        self.threshold = threshold
        self.recalled = min(recalled, budget // 4)
        self.budget = budget
        self.memory = memory or memoryd.aconnect()
        self._own = memory is None
        given = {"user_id": user_id, "agent_id": agent_id}
        self.where: dict[str, Any] = {name: one for name, one in given.items() if one is not None}

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,  # noqa: ARG002  # of the framework
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Offer to open placeholders; watch what tools answer and what the model is given."""
        issued = [one for one in state.get("issued", []) if model.PLACEHOLDER.fullmatch(one)]
        state["issued"] = issued
        context.extend_tools(self.source_id, [self.retrieve_memory, self.search_memory])
        context.extend_middleware(self.source_id, Swapping(self, issued, session.session_id))
        context.extend_middleware(self.source_id, Giving(self, issued, context.input_messages))

    async def retrieve_memory(self, memory_key: str, lines: str = "", find: str = "") -> str:
        """What a [MemoryRef: …] stands for: by its ID, a part by lines (10-20) or find (a text)."""
        part = {name: value for name, value in (("lines", lines), ("find", find)) if value}
        given: dict[str, Any] = {**self.where, **part}
        try:
            found = await self.memory.retrieve(memory_key, **given)
        except errors.MemorydError as error:
            return f"Refused: {error}"
        return opening.shortened(found.content or "It is no text.", self.recalled)

    async def search_memory(self, query: str, limit: int = 5) -> str:
        """Placeholders of stored texts, by what they say."""
        try:
            found = await self.memory.search_references(query, limit=limit, **self.where)
        except errors.MemorydError as error:
            return f"Refused: {error}"
        return "\n".join(one.placeholder for one in found) or "Nothing was found."

    async def close(self) -> None:
        if self._own:
            await self.memory.close()


class Swapping(FunctionMiddleware):
    """What a tool answers is stored where it is large; the model is given its placeholder."""

    def __init__(self, provider: MemoryProvider, issued: list[str], session_id: str) -> None:
        self._provider = provider
        self._issued = issued
        self._session_id = session_id

    async def process(
        self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]
    ) -> None:
        await call_next()
        if context.function.name == RETRIEVE:
            return  # it was stored already, was asked for, and is bounded
        about = {"tool": context.function.name, **messages.command(context.arguments)}
        if isinstance(context.result, str):
            context.result = await self._short(context.result, about)
        elif isinstance(context.result, list):
            context.result = [
                Content.from_text(await self._short(one.text, about))
                if isinstance(one, Content) and one.type == "text" and one.text
                else one
                for one in context.result
            ]

    async def _short(self, text: str, about: dict[str, Any]) -> str:
        if await asyncio.to_thread(swap.swap, text, self._provider.threshold) is None:
            return text
        stored = await self._provider.memory.store(
            opening.storable(text),
            metadata=about,
            session_id=self._session_id,
            **self._provider.where,
        )
        self._issued.append(stored.placeholder)
        return stored.placeholder


class Giving(ChatMiddleware):
    """What a model is given in a run: with what the instruction needs after it, and within the
    budget. The history is the framework's own, and stays as it is.
    """

    def __init__(
        self, provider: MemoryProvider, issued: list[str], given: Sequence[Message]
    ) -> None:
        self._provider = provider
        self._issued = issued
        self._given = given
        self._recalled: str | None = None
        self._asked = False

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        if not self._asked:  # only here is the history before us, whichever provider has it
            self._asked = True
            self._recalled = await self._recall(context.messages)
        given = (context.messages, self._provider.budget, self._recalled, self._issued)
        context.messages = messages.given(*given)
        await call_next()

    async def _recall(self, every: Sequence[Message]) -> str | None:
        """What the instruction needs of what is not before the model."""
        said = self._given[-1].text if self._given else ""
        before = [messages.line(one) for one in every[: len(every) - len(self._given)]]
        by = self._provider
        return await opening.recalled(by.memory, said, before, self._issued, by.recalled, by.where)
