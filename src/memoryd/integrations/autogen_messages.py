"""AutoGen's messages as texts with a cost, and the newest of them that fit a budget."""

import functools
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

from memoryd.core import tokens
from memoryd.integrations import opening

FRAME = 8  # tokens around a text: its role, its name, what a provider puts between messages
MEMORY = "memoryd"  # who says what is recalled
IMAGE = 1_000  # tokens, an estimate: providers reckon by size
PLACEHOLDERS = 4  # one part in so many of the budget is for placeholders of what is not shown
CUT = "…(cut to fit; it is too long for this context)"

# A context is counted before every call of a model, and most of it was there before.
count = functools.lru_cache(maxsize=8_192)(tokens.count)


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


def cost(message: LLMMessage) -> int:
    """Tokens, reckoned a little high: every text by itself, with a frame."""
    images = 0
    if isinstance(message, UserMessage) and not isinstance(message.content, str):
        images = sum(isinstance(one, Image) for one in message.content)
    return FRAME + IMAGE * images + sum(count(one) + FRAME for one in texts(message))


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


def units(messages: Sequence[LLMMessage]) -> list[list[LLMMessage]]:
    """What is shown together or not at all: providers refuse a call without its result, and a
    result without its call.
    """
    found: list[list[LLMMessage]] = []
    for message in messages:
        if not isinstance(message, FunctionExecutionResultMessage):
            found.append([message])
        elif found and isinstance(found[-1][0], AssistantMessage):
            found[-1].append(message)
    return found


def pruned(
    messages: Sequence[LLMMessage],
    budget: int,
    recalled: str | None,
    hidden: Callable[[Sequence[LLMMessage]], list[str]],
) -> list[LLMMessage]:
    """The newest that fit, with the instructions of the system and of the user and what was
    recalled for it; in place of the others one message with the placeholders that `hidden` names.
    """
    every = units(messages)
    extra = [_recalled(recalled)] if recalled else []
    room = budget - sum(map(cost, extra))
    at = _instruction(every)
    if _cost(every) <= room:
        return _joined(every, range(len(every)), at, extra, [])
    listed = budget // PLACEHOLDERS
    chosen = _chosen(every, at, room - listed)
    shown = [message for number in chosen for message in every[number]]
    left_out = _fitting(hidden(shown), listed - 4 * FRAME)
    note = [_listed(left_out)] if left_out else []
    return _fitted(_joined(every, sorted(chosen), at, extra, note), budget, [*extra, *note])


def is_memory(message: LLMMessage) -> bool:
    """Recalled for an instruction, and none itself."""
    return isinstance(message, UserMessage) and message.source == MEMORY


def _recalled(text: str) -> LLMMessage:
    return UserMessage(content=text, source=MEMORY)


def _listed(placeholders: Sequence[str]) -> LLMMessage:
    lines = "\n".join(placeholders)
    return UserMessage(content=f"Stored earlier, not shown any more:\n{lines}", source=MEMORY)


def _cost(every: Sequence[Sequence[LLMMessage]]) -> int:
    return sum(cost(message) for unit in every for message in unit)


def _instruction(every: Sequence[Sequence[LLMMessage]]) -> int:
    """Where the last of the user's messages stands; -1 where there is none."""
    users = [
        at
        for at, unit in enumerate(every)
        if isinstance(unit[0], UserMessage) and not is_memory(unit[0])
    ]
    return users[-1] if users else -1


def _chosen(every: Sequence[Sequence[LLMMessage]], at: int, room: int) -> set[int]:
    """The newest unit always; then the instructions; then the newest, without a gap."""
    newest = len(every) - 1
    system = [n for n, unit in enumerate(every) if isinstance(unit[0], SystemMessage)]
    chosen: set[int] = set()
    for number in dict.fromkeys([newest, at, *reversed(system)]):
        if number >= 0 and (number == newest or _cost([every[number]]) <= room):
            chosen.add(number)
            room -= _cost([every[number]])
    for number in range(newest, -1, -1):
        if number in chosen:
            continue
        room -= _cost([every[number]])
        if room < 0:
            break
        chosen.add(number)
    return chosen


def _joined(
    every: Sequence[Sequence[LLMMessage]],
    chosen: Sequence[int],
    at: int,
    extra: Sequence[LLMMessage],
    note: Sequence[LLMMessage],
) -> list[LLMMessage]:
    """In their order: what is not shown before the first that is no system message, what was
    recalled after the instruction that it is for.
    """
    shown: list[LLMMessage] = []
    told = False
    for number in chosen:
        if not told and not isinstance(every[number][0], SystemMessage):
            shown += note
            told = True
        shown += every[number]
        if number == at:
            shown += extra
    return shown if at in chosen else [*shown, *extra]


def _fitting(placeholders: Sequence[str], room: int) -> list[str]:
    """The newest of them, in their order."""
    kept: list[str] = []
    for one in reversed(placeholders):
        room -= count(one) + 1
        if room < 0:
            break
        kept.append(one)
    return kept[::-1]


def _fitted(messages: list[LLMMessage], budget: int, own: Sequence[LLMMessage]) -> list[LLMMessage]:
    """Where even the newest is too long, texts are cut: the budget holds. Our own have a share."""
    whole = {id(one) for one in own}
    longest = max((len(text) for message in messages for text in texts(message)), default=0)
    while sum(map(cost, messages)) > budget and longest > len(CUT):
        longest //= 2
        messages = [one if id(one) in whole else cut(one, longest) for one in messages]
    return messages


def cut(message: LLMMessage, longest: int) -> LLMMessage:
    """A copy whose texts have at most so many characters; a call keeps its arguments, which would
    be no JSON any more.
    """

    def short(text: str) -> str:
        return text if len(text) <= longest else text[:longest].removesuffix(CUT) + CUT

    if isinstance(message, FunctionExecutionResultMessage):
        results = [
            one.model_copy(update={"content": short(one.content)}) for one in message.content
        ]
        return message.model_copy(update={"content": results})
    if isinstance(message.content, str):
        return message.model_copy(update={"content": short(message.content)})
    return message
