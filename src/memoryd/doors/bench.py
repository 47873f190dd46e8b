"""`memoryd bench locomo` and `memoryd bench beam`: how well search finds known evidence, or how
much of it a bundle holds.

They go in by the front door: conversations are recorded and questions asked over HTTP, on a
throw-away daemon unless a URL says otherwise.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import click
import httpx

from memoryd.core import errors, tokens
from memoryd.core.config import Settings
from memoryd.doors import bench_bundle, bench_data, bench_score, reach, throwaway
from memoryd.doors.bench_data import Conversation, Turn
from memoryd.doors.cli import json_option, main, run, say, settings, show

BATCH = 100  # events a request
RESULTS = 200  # a question: 100 turns of LoCoMo are some 3,800 tokens, and 4,000 are measured
POLL_SECONDS = 2
STALLED_SECONDS = 120  # without one vector more

Command = Callable[..., None]


@main.group()
def bench() -> None:
    """Measure how well search finds known evidence, or how much of it a bundle holds.

    \b
    Example: memoryd bench locomo locomo10.json --bundle 4000
    """


def _options(command: Command) -> Command:
    for option in (
        click.argument("path", type=click.Path(exists=True, path_type=Path)),
        click.option("--url", help="A running daemon (MEMORYD_URL); default: a throw-away one."),
        click.option("--limit-conversations", type=click.IntRange(1), help="Only the first few."),
        click.option("--no-wait", is_flag=True, help="Ask before all vectors are computed."),
        click.option(
            "--bundle",
            type=click.IntRange(1),
            metavar="TOKENS",
            help="Build bundles of so many tokens instead, and see what evidence they hold.",
        ),
        click.option("--intent", default="default", help="Of the bundles: weights by name."),
        json_option,
    ):
        command = option(command)
    return command


@bench.command()
@_options
def locomo(path: Path, **options: Any) -> None:
    """Ask LoCoMo's questions; PATH is its JSON file.

    \b
    Example: memoryd bench locomo locomo10.json --limit-conversations 1
             memoryd bench locomo locomo10.json --bundle 4000
    """
    _bench(bench_data.locomo(path), **options)


@bench.command()
@_options
def beam(path: Path, **options: Any) -> None:
    """Ask BEAM's probing questions; PATH is a folder with chats.

    \b
    Example: memoryd bench beam chats/100K --json
    """
    _bench(bench_data.beam(path), **options)


def _bench(
    conversations: list[Conversation],
    url: str | None,
    limit_conversations: int | None,
    no_wait: bool,
    bundle: int | None,
    intent: str,
    as_json: bool,
) -> None:
    chosen = conversations[:limit_conversations]
    if not any(conversation.questions for conversation in chosen):
        raise errors.Invalid("no question there names a turn that exists: nothing to measure")
    put = ask if bundle is None else bench_bundle.asking(bundle, intent)
    shown = bench_score.report(run(_measure(chosen, settings(url=url), put, wait=not no_wait)))
    show(shown, as_json, lambda: bench_score.table(shown))


async def _measure(
    conversations: Sequence[Conversation], chosen: Settings, put: bench_bundle.Ask, wait: bool
) -> list[bench_score.Measured]:
    async with _daemon(chosen) as at, reach.client(at, say) as client:
        said = {}
        for number, conversation in enumerate(conversations, 1):
            say(f"recording {conversation.name} ({number} of {len(conversations)})")
            said[conversation.name] = await load(client, conversation)
        if wait:
            await _vectors(client)
        found: list[bench_score.Measured] = []
        for conversation in conversations:
            say(f"asking {len(conversation.questions)} questions about {conversation.name}")
            found += await put(client, conversation, said[conversation.name])
        return found


async def load(client: httpx.AsyncClient, conversation: Conversation) -> dict[str, Turn]:
    """Record the turns in order; the answer tells an event's turn."""
    said: dict[str, Turn] = {}
    for start in range(0, len(conversation.turns), BATCH):
        turns = conversation.turns[start : start + BATCH]
        drafts = [_draft(turn, conversation.user_id) for turn in turns]
        answer = await reach.call(client, "POST", "/api/v1/events/batch", json={"events": drafts})
        events = [recorded["event_id"] for recorded in answer["events"]]
        said |= dict(zip(events, turns, strict=True))
    return said


def _draft(turn: Turn, user_id: str) -> dict[str, Any]:
    return {
        "session_id": f"{user_id}-{turn.session}",
        "user_id": user_id,
        "channel": "private",
        "actor": {"type": turn.role, "id": turn.speaker},
        "kind": "message",
        "content": {"text": turn.text},
        "ts": turn.ts.isoformat(),
        "idempotency_key": f"{user_id}-{turn.turn_id}",
    }


async def ask(
    client: httpx.AsyncClient, conversation: Conversation, said: dict[str, Turn]
) -> list[bench_score.Measured]:
    """Ask each question where its conversation alone is seen, one after the other."""
    about = {
        "limit": RESULTS,
        "user_id": conversation.user_id,
        "channel": "private",
        "now": conversation.after.isoformat(),
    }
    found = []
    wordy = 0
    for question in conversation.questions:
        asked = {"query": question.text, **about}
        start = time.perf_counter()
        answer = await reach.call(client, "POST", "/api/v1/search", json=asked)
        took = (time.perf_counter() - start) * 1_000
        lines = [
            _line(said[result["event_id"]], result["text"])
            for result in answer["results"]
            if result["event_id"] in said
        ]
        measures = bench_score.measures(question.gold, lines)
        found.append(bench_score.Measured(question.category, took, measures))
        wordy += bool(answer["pending_vectors"] or answer.get("degraded"))
    if wordy:
        say(f"{wordy} of them were answered without all vectors")
    return found


def _line(turn: Turn, text: str) -> bench_score.Line:
    return bench_score.Line(
        turn_id=turn.turn_id,
        session=turn.session,
        tokens=tokens.count(f"{turn.speaker}: {text}\n"),
        header_tokens=tokens.count(f"({turn.ts.day} {turn.ts:%B %Y})\n"),
    )


async def _vectors(client: httpx.AsyncClient) -> None:
    """Wait until every chunk has its vectors."""
    fewest, since = -1, time.monotonic()
    while pending := (await reach.call(client, "GET", "/readyz")).get("pending_vectors"):
        say(f"{pending:,} vectors to go")
        if fewest < 0 or pending < fewest:
            fewest, since = pending, time.monotonic()
        elif time.monotonic() - since > STALLED_SECONDS:
            raise errors.Unavailable(
                f"{pending:,} vectors are still missing and none came for {STALLED_SECONDS} s; "
                "see the daemon's log, or measure as it is with --no-wait"
            )
        await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def _daemon(chosen: Settings) -> AsyncIterator[Settings]:
    """Where to ask: the daemon that `chosen` names, or one of our own that leaves nothing."""
    if chosen.url:
        yield chosen
        return
    with throwaway.room("memoryd-bench-") as room:
        say(f"starting a daemon in {room}")
        with throwaway.daemon(room / "home", room / "log") as url:
            yield Settings(url=url)
