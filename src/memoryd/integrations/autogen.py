"""AutoGen's model context over memoryd (seed 001 §5.2): large content leaves it for a placeholder
and comes back as far as an instruction needs it.

What AutoGen hands over is never changed, only copied: it uses the same messages elsewhere.
"""

import asyncio
import base64
import json
from collections.abc import Mapping
from typing import Any, Self, TypedDict, Unpack

from autogen_core import Component, FunctionCall
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)
from autogen_core.tools import FunctionTool
from pydantic import BaseModel, Field

import memoryd
from memoryd.client import AsyncClient, kept, references
from memoryd.core import errors
from memoryd.core.model import Channel
from memoryd.integrations import autogen_messages, opening, pruning
from memoryd.integrations.autogen_messages import line
from memoryd.references import model, swap

BUDGET = 32_000  # tokens of all messages
LEAST = 2_000  # tokens: less does not hold an answer, its placeholders and what is recalled
RECALLED = 2_000  # tokens of what is expanded or found for an instruction
EDGE = 300  # characters of either end of a long message that stay, since they say what it is about
RETRIEVE = "retrieve_memory"
OPENS = "What a [MemoryRef: …] stands for: by its ID, a part by lines (10-20) or find (a text)."


class Options(TypedDict, total=False):
    """For whom, and how much: tokens of the whole context, of a text that stays in it, and of what
    is recalled for one instruction; whether the daemon's model decides what that is.
    """

    agent_id: str | None
    session_id: str | None
    channel: Channel | None
    budget: int
    threshold: int
    recalled: int
    model: bool
    initial_messages: list[LLMMessage] | None


class MemoryContextConfig(BaseModel):
    """Without an address or a key: those are of the machine (MEMORYD_URL, MEMORYD_KEY)."""

    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    channel: Channel | None = None
    budget: int = Field(default=BUDGET, ge=LEAST)
    threshold: int = Field(default=swap.THRESHOLD, ge=1)
    recalled: int = Field(default=RECALLED, ge=0)
    model: bool = False
    initial_messages: list[LLMMessage] | None = None


class MemoryContextState(BaseModel):
    messages: list[LLMMessage] = Field(default_factory=list)
    issued: list[str] = Field(default_factory=list)
    recalled: str | None = None


def build_model_context(
    user_id: str, *, memory: AsyncClient | None = None, **options: Unpack[Options]
) -> "MemoryContext":
    """For builders of agents: the context of a user's agent, over the daemon that `memory` or the
    environment names.
    """
    return MemoryContext(memory, user_id, **options)


class MemoryContext(ChatCompletionContext, Component[MemoryContextConfig]):
    """A client that it was not given it makes itself, and `close` closes that."""

    component_config_schema = MemoryContextConfig
    component_provider_override = "memoryd.integrations.autogen.MemoryContext"

    def __init__(
        self,
        memory: AsyncClient | None = None,
        user_id: str | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__()
        self.config = MemoryContextConfig(user_id=user_id, **options)
        self._memory = memory or memoryd.aconnect()
        self._own = memory is None
        self._waiting = list(self.config.initial_messages or ())
        self._issued: list[str] = []
        self._recalled: str | None = None
        self._taking = asyncio.Lock()

    @property
    def issued(self) -> tuple[str, ...]:
        """The placeholders of this context; no others are ever expanded in it."""
        return tuple(self._issued)

    async def store(
        self,
        content: str,
        description: str | None = None,
        type: str = model.DEFAULT_TYPE,  # noqa: A002  # its name in the seed
        metadata: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> str:
        """Keep a text out of the context; its key, by which `retrieve` answers it."""
        said = {"description": description, "key": key, "metadata": metadata or {}}
        return (await self._stored(content, type, said)).key

    async def retrieve(self, memory_key: str, **part: Unpack[references.Part]) -> str:
        """What a key or its placeholder stands for, or a part of it."""
        given: dict[str, Any] = {**self._where(), **part}
        found = await self._memory.retrieve(memory_key, **given)
        if found.content is not None:
            return found.content
        try:  # a text with letters that no text may have
            return base64.b64decode(found.bytes or "").decode(errors="surrogatepass")
        except UnicodeDecodeError as error:
            said = f"{memory_key!r} is no text ({found.media_type})"
            raise errors.Invalid(said, field="memory_key") from error

    async def search(self, query: str, limit: int = 10) -> list[kept.ReferenceFound]:
        """What is stored, by what it says, best first."""
        return list(await self._memory.search_references(query, limit=limit, **self._where()))

    async def add_message(self, message: LLMMessage) -> None:
        """Take a copy in: its large texts are stored, and what an instruction needs is recalled."""
        async with self._taking:
            await self._settle()
            await self._take(message)
            if isinstance(message, UserMessage) and not autogen_messages.is_memory(message):
                self._recalled = await self._recall(message)

    async def get_messages(self) -> list[LLMMessage]:
        """What a model is given: within the budget, and no placeholder is lost for it."""
        async with self._taking:
            await self._settle()
            given = (self._messages, self.config.budget, self._recalled, self._issued)
            return pruning.pruned(autogen_messages.MESSAGES, *given)

    async def clear(self) -> None:
        """Forget the conversation; what was stored stays stored."""
        async with self._taking:
            self._messages, self._waiting, self._issued, self._recalled = [], [], [], None

    async def save_state(self) -> Mapping[str, Any]:
        async with self._taking:
            await self._settle()
            state = MemoryContextState(
                messages=self._messages, issued=self._issued, recalled=self._recalled
            )
            return state.model_dump()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """That of any model context of AutoGen: what is large in it is stored now."""
        loaded = MemoryContextState.model_validate(state)
        async with self._taking:
            self._messages, self._waiting = [], []
            self._issued = [one for one in loaded.issued if model.PLACEHOLDER.fullmatch(one)]
            self._recalled = loaded.recalled
            if "issued" in state:  # our own: what is large in it was swapped
                self._messages = loaded.messages
                return
            for message in loaded.messages:
                await self._take(message)

    async def close(self) -> None:
        if self._own:
            await self._memory.close()

    def tools(self) -> list[FunctionTool]:
        """For the agent itself: open a placeholder, look for what was stored."""
        return [
            FunctionTool(self.retrieve_memory, OPENS),
            FunctionTool(self.search_memory, "Placeholders of stored texts, by what they say."),
        ]

    async def retrieve_memory(self, memory_key: str, lines: str = "", find: str = "") -> str:
        """What an agent is answered: the first lines of it, or why it is refused."""
        part = {name: value for name, value in (("lines", lines), ("find", find)) if value}
        try:
            said = await self.retrieve(memory_key, **part)  # type: ignore[arg-type]  # its names
        except errors.MemorydError as error:
            return f"Refused: {error}"
        return opening.shortened(said, self.config.recalled)

    async def search_memory(self, query: str, limit: int = 5) -> str:
        try:
            found = await self.search(query, limit)
        except errors.MemorydError as error:
            return f"Refused: {error}"
        return "\n".join(one.placeholder for one in found) or "Nothing was found."

    async def _settle(self) -> None:
        """Messages that were there from the start: only now may they be stored."""
        while self._waiting:
            await self._take(self._waiting[0])
            del self._waiting[0]

    async def _take(self, message: LLMMessage) -> None:
        self._messages.append(await self._swapped(message))

    async def _swapped(self, message: LLMMessage) -> LLMMessage:
        """A copy without its large texts. What the system says is an instruction, and stays."""
        if autogen_messages.is_memory(message) and self._within(*autogen_messages.texts(message)):
            return message.model_copy()
        if isinstance(message, FunctionExecutionResultMessage):
            results = [await self._result(one) for one in message.content]
            return message.model_copy(update={"content": results})
        if isinstance(message, AssistantMessage):
            thought = message.thought and await self._said(message.thought)
            content: Any = message.content
            if isinstance(content, str):
                content = await self._said(content)
            else:
                content = [await self._call(one) for one in content]
            return message.model_copy(update={"content": content, "thought": thought})
        if isinstance(message, UserMessage):
            whole = isinstance(message.content, str)
            parts = [message.content] if isinstance(message.content, str) else message.content
            told = [await self._said(one) if isinstance(one, str) else one for one in parts]
            return message.model_copy(update={"content": told[0] if whole else told})
        return message.model_copy()

    async def _result(self, one: FunctionExecutionResult) -> FunctionExecutionResult:
        if one.name == RETRIEVE and self._within(one.content):
            return one.model_copy()  # it was stored already, and was asked for
        about = {"tool": one.name, "call_id": one.call_id, "is_error": bool(one.is_error)}
        if named := autogen_messages.command(self._messages, one.call_id):
            about["command"] = named
        placed = await self._placed(one.content, "command_output", about)
        return one.model_copy(update={"content": placed or one.content})

    def _within(self, *texts: str) -> bool:
        """Whether it may be what was recalled, a little more than that with what stands around it;
        to store that again would put a placeholder in place of an answer.
        """
        return all(swap.swap(text, self.config.recalled + 100) is None for text in texts)

    async def _call(self, one: FunctionCall) -> FunctionCall:
        """Arguments stay JSON, which providers check."""
        placed = await self._placed(one.arguments, "tool_call", {"tool": one.name})
        arguments = one.arguments if placed is None else json.dumps({"stored": placed})
        return FunctionCall(id=one.id, name=one.name, arguments=arguments)

    async def _said(self, text: str) -> str:
        placed = await self._placed(text, "message", {})
        return text if placed is None else f"{text[:EDGE]}…\n{placed}\n…{text[-EDGE:]}"

    async def _placed(self, text: str, kind: str, about: Mapping[str, Any]) -> str | None:
        """The placeholder of a text that is stored now; None where it is short."""
        if await asyncio.to_thread(swap.swap, text, self.config.threshold) is None:
            return None
        return (await self._stored(text, kind, {"metadata": about})).placeholder

    async def _stored(self, text: str, kind: str, said: Mapping[str, Any]) -> kept.StoredReference:
        given = {name: value for name, value in said.items() if value is not None}
        content = opening.storable(text)
        stored = await self._memory.store(content, type=kind, **given, **self._where(session=True))
        if stored.placeholder not in self._issued:
            self._issued.append(stored.placeholder)
        return stored

    async def _recall(self, message: UserMessage) -> str | None:
        """What this instruction needs of what is not before the model, within its share."""
        said = autogen_messages.instruction(message)
        room = min(self.config.recalled, self.config.budget // 4)
        before = [line(one) for one in self._messages[-opening.MESSAGES - 1 : -1]]
        where = self._where()
        return await opening.recalled(
            *(self._memory, said, before, self._issued, room, where), model=self.config.model
        )

    def _where(self, *, session: bool = False) -> dict[str, Any]:
        names = ("user_id", "agent_id", "channel", *(("session_id",) if session else ()))
        given = {name: getattr(self.config, name) for name in names}
        return {name: value for name, value in given.items() if value is not None}

    def _to_config(self) -> MemoryContextConfig:
        return self.config

    @classmethod
    def _from_config(cls, config: MemoryContextConfig) -> Self:
        return cls(**{name: getattr(config, name) for name in MemoryContextConfig.model_fields})
