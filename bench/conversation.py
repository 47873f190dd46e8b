"""A conversation of 200 steps with tool outputs of 1 to 50,000 tokens, in two contexts at once:
AutoGen's own that keeps everything, and memoryd's. What a model would be given is counted before
every step; at the end every stored output is read back and compared.

`python bench/conversation.py`: on a daemon and a home of its own. `--plot docs/figures` draws it.
"""

import argparse
import asyncio
import json
import math
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from autogen_core import FunctionCall
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)

import conversation_plot
import load
import memoryd
from memoryd.core import tokens
from memoryd.doors import throwaway
from memoryd.integrations import autogen, autogen_messages

LARGEST = 50_000  # tokens of an output
ASKS = 10  # steps between two questions of the user


@dataclass
class Measured:
    budget: int
    outputs: list[int] = field(default_factory=list)  # tokens, a step
    without: list[int] = field(default_factory=list)
    with_memory: list[int] = field(default_factory=list)
    added: list[float] = field(default_factory=list)  # ms for the messages of a step
    read: list[float] = field(default_factory=list)  # ms for what a model is given


def output(draw: random.Random, step: int) -> str:
    """Lines of a log; as many tokens short as long, between 1 and the largest."""
    drawn = int(math.exp(draw.uniform(0, math.log(LARGEST))))
    wanted = {0: 1, ASKS: LARGEST}.get(step, drawn)
    lines: list[str] = []
    size = 0
    while size < wanted:
        lines.append(f"step {step}: {load.text(draw, 60)}")
        size += tokens.count(lines[-1]) + 1
    text = "\n".join(lines)
    # Cut to the wanted number: a line has more tokens than the shortest outputs.
    return text[: max(1, int(len(text) * wanted / max(size, 1)))]


def step_messages(step: int, text: str) -> list[LLMMessage]:
    call = FunctionCall(
        id=f"call-{step}", name="run_shell", arguments=json.dumps({"command": f"make step-{step}"})
    )
    done = FunctionExecutionResult(content=text, name="run_shell", call_id=call.id)
    asked: list[LLMMessage] = []
    if step % ASKS == 0:
        said = f"What does the output of make step-{max(step - 3, 0)} say?"
        asked = [UserMessage(content=said, source="user")]
    return [
        *asked,
        AssistantMessage(content=[call], source="coder"),
        FunctionExecutionResultMessage(content=[done]),
    ]


async def converse(context: autogen.MemoryContext, steps: int, seed: int) -> Measured:
    draw = random.Random(seed)
    plain = UnboundedChatCompletionContext()
    measured = Measured(context.config.budget)
    texts, whole = [], 0
    for step in range(steps):
        texts.append(output(draw, step))
        messages = step_messages(step, texts[-1])
        for message in messages:
            await plain.add_message(message)
        whole += autogen_messages.MESSAGES.costs(messages)
        began = time.perf_counter()
        for message in messages:
            await context.add_message(message)
        took = time.perf_counter()
        given = await context.get_messages()
        measured.read.append((time.perf_counter() - took) * 1_000)
        measured.added.append((took - began) * 1_000)
        measured.outputs.append(tokens.count(texts[-1]))
        measured.without.append(whole)
        measured.with_memory.append(autogen_messages.MESSAGES.costs(given))
    await compare(context, plain, texts)
    return measured


async def compare(
    context: autogen.MemoryContext, plain: UnboundedChatCompletionContext, texts: list[str]
) -> None:
    """Everything that left the context comes back, and is what the other context has kept."""
    stored = [await context.retrieve(placeholder) for placeholder in context.issued]
    kept = [
        one.content[0].content
        for one in await plain.get_messages()
        if isinstance(one, FunctionExecutionResultMessage)
    ]
    assert kept == texts
    long = [text for text in texts if tokens.count(text) > context.config.threshold]
    assert sorted(stored) == sorted(long), "what came back is not what was stored"
    print(f"{len(stored)} outputs stored, all read back byte-identical")


def report(found: Measured) -> bool:
    over = [at for at, spent in enumerate(found.with_memory) if spent > found.budget]
    print(
        f"steps {len(found.outputs)}, outputs {min(found.outputs):,}-{max(found.outputs):,} tokens"
    )
    print(f"{'':<28}{'without':>12}{'memoryd':>12}")
    print(f"{'context at the end, tokens':<28}{found.without[-1]:>12,}{found.with_memory[-1]:>12,}")
    most = (max(found.without), max(found.with_memory))
    print(f"{'most, tokens':<28}{most[0]:>12,}{most[1]:>12,}")
    exceeded = sum(spent > found.budget for spent in found.without)
    print(f"{f'steps over {found.budget:,}':<28}{exceeded:>12}{len(over):>12}")
    for name, spent in (("add a step, ms", found.added), ("read the context, ms", found.read)):
        half, most_of = load.percentile(spent, 0.5), load.percentile(spent, 0.95)
        print(f"{name:<28}p50 {half:.1f}, p95 {most_of:.1f}, most {max(spent):.1f}")
    return not over


async def run(url: str, given: argparse.Namespace) -> Measured:
    async with memoryd.aconnect(url, timeout=120) as memory:
        context = autogen.build_model_context("ada", memory=memory, budget=given.budget)
        return await converse(context, given.steps, given.seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--budget", type=int, default=autogen.BUDGET)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--plot", type=Path, help="a folder for the figure")
    given = parser.parse_args()
    with throwaway.room("memoryd-conversation-") as room:
        home, log = room / "home", room / "log"
        with throwaway.daemon(home, log) as url:
            found = asyncio.run(run(url, given))
    held = report(found)
    if given.plot:
        given.plot.mkdir(parents=True, exist_ok=True)
        drawn = conversation_plot.figure(found.budget, found.without, found.with_memory)
        (given.plot / "conversation.svg").write_text(drawn)
    sys.exit(None if held else "the context went over its budget")


if __name__ == "__main__":
    main()
