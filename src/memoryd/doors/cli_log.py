"""`memoryd record` and `memoryd events`."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from typing import Any

import click

from memoryd.core import errors
from memoryd.core.config import Settings
from memoryd.doors import reach
from memoryd.doors.cli import json_option, main, printable, row, run, say, settings, show

POLL_SECONDS = 0.5
PAGE = 200
WIDE = 160  # columns where no terminal says: a line for each event, for what is piped to


@main.command()
@click.argument("text")
@click.option("--session", default="default", show_default=True)
@click.option(
    "--actor", default="human:user", show_default=True, help="TYPE:ID; human, agent, tool."
)
@click.option("--tag", "tags", multiple=True, help="May be given several times.")
@click.option("--channel", type=click.Choice(["private", "public", "team", "agent"]))
@click.option("--user", help="Whose it is.")
@click.option("--sensitivity", type=click.Choice(["none", "low", "high", "secret"]), default="none")
@click.option("--idempotency-key", help="A retry with the same key stores nothing new.")
@json_option
def record(text: str, session: str, actor: str, as_json: bool, **more: Any) -> None:
    """Record a message; `-` reads it from standard input.

    \b
    Example: memoryd record "We ship on Friday." --session standup --tag topic:release
    """
    kind, _, name = actor.partition(":")
    draft = {
        "session_id": session,
        "actor": {"type": kind, "id": name or "user"},
        "kind": "message",
        "content": {"text": sys.stdin.read() if text == "-" else text},
        "channel": more["channel"],
        "user_id": more["user"],
        "sensitivity": more["sensitivity"],
        "tags": more["tags"],
        "idempotency_key": more["idempotency_key"],
    }
    answer = run(_record(settings(), draft))
    chunks = len(answer["chunk_ids"])
    counted = f"{chunks} chunk{'s' * (chunks != 1)}"
    if found := answer.get("redacted"):
        counted += f"; redacted: {', '.join(found)}"
    show(answer, as_json, lambda: f"{answer['event_id']}  ({counted})")


async def _record(chosen: Settings, draft: dict[str, Any]) -> dict[str, Any]:
    async with reach.client(chosen, say) as client:
        return await reach.call(client, "POST", "/api/v1/events", json=draft)


@main.command()
@click.option("--session", "session_id", help="Only this session.")
@click.option("--kind", help="Only this kind, e.g. message.")
@click.option("--actor", help="Only this actor's id.")
@click.option("--tag", help="Only with this tag.")
@click.option("--since", help="Only from this time on, e.g. 2026-05-01T00:00:00Z.")
@click.option("--until", help="Only before this time.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000))
@click.option("--follow", is_flag=True, help="Go on with what is recorded from now on.")
@json_option
def events(limit: int, follow: bool, as_json: bool, **filters: Any) -> None:
    """Show the newest events, oldest of them first.

    With --follow and --json, each event is one line of JSON.

    \b
    Example: memoryd events --session standup --follow
    """
    given = {name: value for name, value in filters.items() if value is not None}
    run(_events(settings(), given, limit, follow, as_json))


async def _events(
    chosen: Settings, filters: dict[str, Any], limit: int, follow: bool, as_json: bool
) -> None:
    async with reach.client(chosen, say) as client:
        asked = {**filters, "limit": limit}
        page = await reach.call(client, "GET", "/api/v1/events", params=asked)
        newest = page["events"][::-1]
        if not follow:
            nothing = 'nothing is recorded here yet; try: memoryd record "hello"'
            show(newest, as_json, lambda: "\n".join(map(_line, newest)) or nothing)
            return
        last = newest[-1]["position"] if newest else 0
        for event in newest:
            if not _shown(event, as_json):
                return
        async for event in _following(client, filters, last):
            if not _shown(event, as_json):
                return


def _shown(event: dict[str, Any], as_json: bool) -> bool:
    return show(event, as_json, lambda: _line(event))


async def _following(
    client: Any, filters: dict[str, Any], position: int
) -> AsyncIterator[dict[str, Any]]:
    """Every later event, once, in commit order: positions are dense, so none is passed over."""
    while True:
        asked = {**filters, "order": "oldest", "cursor": str(position), "limit": PAGE}
        try:
            page = await reach.call(client, "GET", "/api/v1/events", params=asked)
        except errors.Unavailable as error:
            say(f"{error.detail}; waiting")
            page = {"events": [], "next": None}
        for event in page["events"]:
            position = event["position"]
            yield event
        if not page["next"]:
            await asyncio.sleep(POLL_SECONDS)


def _line(event: dict[str, Any]) -> str:
    content = event["content"]
    said = content.get("text") or content.get("excerpt_text") or content.get("decision")
    text = " ".join(str(said or content).split())
    lead = f"{event['position']:>6}  {event['ts'][:19].replace('T', ' ')}  "
    who = f"{event['actor']['type']}:{event['actor']['id']}"
    marks = f"{event['session_id']:<12} {who:<16} {event['kind']:<12} "
    width = shutil.get_terminal_size((WIDE, 0)).columns
    return "\n".join(row(lead, printable(marks), printable(text), width))
