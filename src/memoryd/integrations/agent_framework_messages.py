"""The messages of Microsoft Agent Framework as texts, as pruning takes them."""

import copy
import json
from collections.abc import Callable, Sequence

from agent_framework import Content, Message

from memoryd.integrations import opening, pruning
from memoryd.integrations.pruning import Kind, Role

SOURCE = "memoryd"  # of what is recalled, and of what stands for what is left out
_ROLES: dict[str, Role] = {"system": "system", "user": "user", "tool": "result"}


def is_memory(message: Message) -> bool:
    """Recalled for an instruction, and none itself."""
    said = message.additional_properties.get("_attribution")
    return isinstance(said, dict) and said.get("source_id") == SOURCE


def line(message: Message) -> str:
    """As intent reads it: who, and what they said."""
    return f"{message.role}: {' '.join(_texts(message))}"


def given(
    messages: Sequence[Message], budget: int, recalled: str | None, issued: Sequence[str]
) -> list[Message]:
    """What a model is given: as it is with what was recalled, where that fits, else pruned."""
    extra = [_say(recalled)] if recalled else []
    if MESSAGES.costs([*messages, *extra]) > budget:
        return pruning.pruned(MESSAGES, messages, budget, recalled, issued)
    users = [at for at, one in enumerate(messages, 1) if _role(one) == "user"]
    after = users[-1] if users else len(messages)
    return [*messages[:after], *extra, *messages[after:]]


def command(arguments: object) -> dict[str, str]:
    """The shell command of a call, where its arguments name one."""
    given = arguments if isinstance(arguments, dict) else {}
    named = given.get("command") or given.get("cmd")
    return {"command": named[: opening.COMMAND_LONGEST]} if isinstance(named, str) else {}


def _role(message: Message) -> Role:
    if is_memory(message):
        return "memory"
    if message.contents and all(one.type == "text_reasoning" for one in message.contents):
        return "thought"
    return _ROLES.get(message.role, "agent")


def _texts(message: Message) -> list[str]:
    return [text for one in message.contents for text in _said(one)]


def _said(one: Content) -> list[str]:
    if one.type in ("data", "uri", "usage"):
        return []
    if one.type in ("text", "text_reasoning"):
        return [one.text or ""]
    if one.type == "function_call":
        given = one.arguments or ""
        arguments = given if isinstance(given, str) else json.dumps(dict(given), default=str)
        return [one.name or "", one.call_id or "", arguments]
    if one.type == "function_result":
        return [one.call_id or "", str(one.result or "")]
    return [json.dumps(one.to_dict(), default=str)]


def _images(message: Message) -> int:
    items = [item for one in message.contents for item in (one, *(one.items or ()))]
    return sum(one.type in ("data", "uri") for one in items)


def _cut(message: Message, short: Callable[[str], str]) -> Message:
    """A call keeps its arguments, which would be no JSON any more."""
    made = copy.copy(message)
    made.contents = [_short(one, short) for one in message.contents]
    return made


def _short(one: Content, short: Callable[[str], str]) -> Content:
    if one.type == "text" and one.text:
        return Content.from_text(short(one.text))
    if one.type == "function_result" and one.result:
        return Content.from_function_result(one.call_id or "", result=short(str(one.result)))
    return one


def _say(text: str) -> Message:
    attribution = {"_attribution": {"source_id": SOURCE}}
    return Message("user", [text], additional_properties=attribution)


MESSAGES = Kind[Message](role=_role, texts=_texts, images=_images, cut=_cut, say=_say)
