"""AutoGen's agents with a model that answers as told, and what the tests of contexts share."""

import json
from collections.abc import Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.models import (
    AssistantMessage,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelInfo,
    RequestUsage,
)
from autogen_ext.models.replay import ReplayChatCompletionClient

from memoryd.integrations import autogen, autogen_messages
from stored import LOG

WORDS = " ".join(f"word{number}" for number in range(1_000))  # far more than 500 tokens
MODEL = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=False,
    family="unknown",
    structured_output=False,
)


async def run_shell(command: str) -> str:
    """Run a command."""
    return LOG


def scripted(*answers: str | tuple[str, dict[str, Any]]) -> ReplayChatCompletionClient:
    """A model of AutoGen's that answers as told: a text, or a call of a tool."""
    usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
    replies: list[str | CreateResult] = [
        one
        if isinstance(one, str)
        else CreateResult(
            finish_reason="function_calls",
            content=[FunctionCall(id=f"call-{at}", name=one[0], arguments=json.dumps(one[1]))],
            usage=usage,
            cached=False,
        )
        for at, one in enumerate(answers)
    ]
    return ReplayChatCompletionClient(replies, model_info=MODEL)


def assistant(replay: ReplayChatCompletionClient, context: autogen.MemoryContext) -> AssistantAgent:
    tools: list[Any] = [run_shell, *context.tools()]
    return AssistantAgent(
        "coder", replay, tools=tools, model_context=context, reflect_on_tool_use=True
    )


def read_by_model(replay: ReplayChatCompletionClient, call: int = -1) -> str:
    """All that the model was given in one of its calls."""
    return shown(replay.create_calls[call]["messages"])


def shown(messages: Sequence[LLMMessage]) -> str:
    return "\n".join(text for one in messages for text in autogen_messages.texts(one))


def result(content: str, call_id: str = "call-0") -> FunctionExecutionResultMessage:
    one = FunctionExecutionResult(content=content, name="run_shell", call_id=call_id)
    return FunctionExecutionResultMessage(content=[one])


def calling(command: str, call_id: str = "call-0") -> AssistantMessage:
    arguments = json.dumps({"command": command})
    call = FunctionCall(id=call_id, name="run_shell", arguments=arguments)
    return AssistantMessage(content=[call], source="coder")


NPM = ("run_shell", {"command": "npm install"})


def recalled(read: str) -> list[str]:
    """The lines in the fence of what was recalled."""
    return read.partition("<memory>\n")[2].partition("\n</memory>")[0].split("\n")
