"""AutoGen's messages as texts, as pruning takes them."""

import json
from collections.abc import Callable, Sequence

from autogen_core import FunctionCall, Image
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)

from memoryd.integrations import opening
from memoryd.integrations.pruning import Kind, Role

MEMORY = "memoryd"  # who says what is recalled


def texts(message: LLMMessage) -> list[str]:
    """All that a model reads of it."""
    if isinstance(message, FunctionExecutionResultMessage):
        return [part for one in message.content for part in (one.content, one.name, one.call_id)]
    said: list[str] = [message.content] if isinstance(message.content, str) else []
    for one in () if isinstance(message.content, str) else message.content:
        if isinstance(one, FunctionCall):
            said += [one.arguments, one.name, one.id]
        elif isinstance(one, str):
            said.append(one)
    if isinstance(message, AssistantMessage) and message.thought:
        said.append(message.thought)
    if not isinstance(message, SystemMessage):
        said.append(message.source)
    return said


def instruction(message: UserMessage) -> str:
    parts = [message.content] if isinstance(message.content, str) else message.content
    return "\n".join(one for one in parts if isinstance(one, str))


def line(message: LLMMessage) -> str:
    """As intent reads it: who, and what they said."""
    who = {"UserMessage": "user", "AssistantMessage": "agent"}.get(message.type, "tool")
    parts = texts(message)
    return f"{who}: {' '.join(parts if who == 'tool' else parts[:-1])}"


def command(messages: Sequence[LLMMessage], call_id: str) -> str | None:
    """The shell command of a call, where its arguments name one."""
    for message in reversed(messages):
        if not isinstance(message, AssistantMessage) or isinstance(message.content, str):
            continue
        for one in message.content:
            if one.id == call_id:
                return _named(one.arguments)
    return None


def _named(arguments: str) -> str | None:
    try:
        given = json.loads(arguments)
    except ValueError:
        return None  # models write broken JSON at times; the tool's name is known anyway
    named = [given.get(name) for name in ("command", "cmd")] if isinstance(given, dict) else []
    return next(
        (one[: opening.COMMAND_LONGEST] for one in named if isinstance(one, str) and one), None
    )


def is_memory(message: LLMMessage) -> bool:
    """Recalled for an instruction, and none itself."""
    return isinstance(message, UserMessage) and message.source == MEMORY


def _role(message: LLMMessage) -> Role:
    if is_memory(message):
        return "memory"
    roles: dict[str, Role] = {
        "SystemMessage": "system",
        "UserMessage": "user",
        "AssistantMessage": "agent",
    }
    return roles.get(message.type, "result")


def _images(message: LLMMessage) -> int:
    if not isinstance(message, UserMessage) or isinstance(message.content, str):
        return 0
    return sum(isinstance(one, Image) for one in message.content)


def _cut(message: LLMMessage, short: Callable[[str], str]) -> LLMMessage:
    """A call keeps its arguments, which would be no JSON any more."""
    if isinstance(message, FunctionExecutionResultMessage):
        results = [
            one.model_copy(update={"content": short(one.content)}) for one in message.content
        ]
        return message.model_copy(update={"content": results})
    if isinstance(message.content, str):
        return message.model_copy(update={"content": short(message.content)})
    return message


def _say(text: str) -> LLMMessage:
    return UserMessage(content=text, source=MEMORY)


MESSAGES = Kind[LLMMessage](role=_role, texts=texts, images=_images, cut=_cut, say=_say)
