"""AutoGen's `Memory` protocol over memoryd: what is added is remembered for the user, and what fits
the last message is put before the model.
"""

from typing import Any, Self

from autogen_core import CancellationToken, Component
from autogen_core.memory import (
    Memory,
    MemoryContent,
    MemoryMimeType,
    MemoryQueryResult,
    UpdateContextResult,
)
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import UserMessage
from pydantic import BaseModel, Field

import memoryd
from memoryd.client import AsyncClient
from memoryd.core import errors
from memoryd.integrations import autogen_messages, opening

LIMIT = 5
ROOM = 1_000  # tokens of what is put before the model
SHORTEST, LONGEST = 5, 500  # characters of a fact
QUERY_LONGEST = 2_000  # characters: what a message is about, it says in the first of them


class UserMemoryConfig(BaseModel):
    user_id: str | None = None
    agent_id: str | None = None
    limit: int = Field(default=LIMIT, ge=1, le=50)
    room: int = Field(default=ROOM, ge=1)


class UserMemory(Memory, Component[UserMemoryConfig]):
    """For `AssistantAgent(memory=[…])`. A client that it was not given it makes, and closes."""

    component_type = "memory"
    component_config_schema = UserMemoryConfig
    component_provider_override = "memoryd.integrations.autogen_memory.UserMemory"

    def __init__(
        self,
        memory: AsyncClient | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        **more: int,
    ) -> None:
        self.config = UserMemoryConfig(user_id=user_id, agent_id=agent_id, **more)
        self._memory = memory or memoryd.aconnect()
        self._own = memory is None

    async def add(
        self,
        content: MemoryContent,
        cancellation_token: CancellationToken | None = None,  # noqa: ARG002  # of the protocol
    ) -> None:
        """A short text is a fact of the user (`category` and `subject` from its metadata), all else
        a reference.
        """
        about = dict(content.metadata or {})
        text = content.content
        if isinstance(text, str) and SHORTEST <= len(text.strip()) <= LONGEST:
            chosen = {name: about[name] for name in ("category", "subject") if name in about}
            await self._memory.remember(text, **chosen, **self._where())
            return
        if not isinstance(text, (str, bytes)):
            raise errors.Invalid("only text and bytes are remembered", field="content")
        await self._memory.store(text, type="memory", metadata=about, **self._where())

    async def query(
        self,
        query: str | MemoryContent,
        cancellation_token: CancellationToken | None = None,  # noqa: ARG002  # of the protocol
        **kwargs: Any,
    ) -> MemoryQueryResult:
        """What is known, best first: facts, what was said, what was stored."""
        asked = query if isinstance(query, str) else query.content
        if not isinstance(asked, str):
            raise errors.Invalid("a query is a text", field="query")
        if not asked.strip():
            return MemoryQueryResult(results=[])
        given: dict[str, Any] = {"limit": self.config.limit, **self._where(), **kwargs}
        found = await self._memory.search(asked[:QUERY_LONGEST], **given)
        results = [
            MemoryContent(
                content=one.text,
                mime_type=MemoryMimeType.TEXT,
                metadata={"score": one.score, "event_id": one.event_id, "ts": one.ts.isoformat()},
            )
            for one in found.results
        ]
        return MemoryQueryResult(results=results)

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """What fits the user's last message, as data: a stored text is no instruction."""
        messages = await model_context.get_messages()
        users = [
            one
            for one in messages
            if isinstance(one, UserMessage) and not autogen_messages.is_memory(one)
        ]
        asked = autogen_messages.instruction(users[-1]) if users else ""
        found = await self.query(asked)
        fits = opening.fitting([str(one.content) for one in found.results], self.config.room)
        if fits:
            said = opening.fence("\n".join(fits))
            await model_context.add_message(
                UserMessage(content=said, source=autogen_messages.MEMORY)
            )
        return UpdateContextResult(memories=MemoryQueryResult(results=found.results[: len(fits)]))

    async def clear(self) -> None:
        """Refused: an agent that is reset must not make a user's memory forget."""
        raise errors.Forbidden("to forget a user is an operator's: `memoryd erase --user …`")

    async def close(self) -> None:
        if self._own:
            await self._memory.close()

    def _where(self) -> dict[str, Any]:
        given = {"user_id": self.config.user_id, "agent_id": self.config.agent_id}
        return {name: value for name, value in given.items() if value is not None}

    def _to_config(self) -> UserMemoryConfig:
        return self.config

    @classmethod
    def _from_config(cls, config: UserMemoryConfig) -> Self:
        return cls(None, config.user_id, config.agent_id, limit=config.limit, room=config.room)
