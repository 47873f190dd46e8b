"""`memoryd prompt`."""

import sys
from typing import Any

import click

from memoryd.core.config import Settings
from memoryd.doors import reach
from memoryd.doors.cli import json_option, main, run, say, settings, show

PATH = "/api/v1/prompt"


@main.command()
@click.option("--session", "session_id", help="The conversation that it is pinned for.")
@click.option("--user", "user_id", help="Whose facts and places.")
@click.option("--agent", "agent_id", help="Whose private memory.")
@click.option("--team", "team_id", help="The agent's team, whose whiteboard is shown.")
@click.option("--channel", type=click.Choice(["private", "public", "team", "agent"]))
@click.option("--system", help="Static instructions to begin with.")
@click.option(
    "--participant",
    "participants",
    multiple=True,
    help="Another in a group conversation; may be given several times.",
)
@click.option("--query", help="What it is about: decides when not all memories have room.")
@click.option(
    "--facts",
    type=click.Choice(["by_category", "by_date"]),
    help="How facts are shown; by_category unless given.",
)
@click.option("--instructions/--no-instructions", default=True, help="On how to use memory.")
@click.option("--references/--no-references", default=True, help="On how to use placeholders.")
@click.option("--format", "format_", type=click.Choice(["text", "anthropic", "openai"]))
@click.option("--now", help="The time that the prompt tells, e.g. 2026-05-01T12:00:00Z.")
@json_option
def prompt(as_json: bool, format_: str | None, **given: Any) -> None:
    """Print the system prompt of a conversation, with what is remembered.

    \b
    Example: memoryd prompt --session talk-1 --user ada
    """
    asked = {name: value for name, value in given.items() if value not in (None, ())}
    asked |= {"format": format_} if format_ else {}
    found = run(_ask(settings(), asked))
    show(found, as_json, lambda: _printable(found["text"]))


async def _ask(chosen: Settings, asked: dict[str, Any]) -> dict[str, Any]:
    async with reach.client(chosen, say) as client:
        return await reach.call(client, "POST", PATH, json=asked)


def _printable(text: str) -> str:
    """A terminal would obey control characters, and the text is anybody's."""
    if not sys.stdout.isatty():
        return text
    return "".join(one if one.isprintable() or one in "\n\t" else " " for one in text)
