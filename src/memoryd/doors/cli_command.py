"""`memoryd command`."""

from typing import Any

import click

from memoryd.core.config import Settings
from memoryd.doors import reach
from memoryd.doors.cli import json_option, main, printable, run, say, settings, show


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, required=True)
@click.option("--user", "user_id", help="Who types it, and whose memories.")
@json_option
def command(words: tuple[str, ...], user_id: str | None, as_json: bool) -> None:
    """Run a chat command: see, correct, undo and delete what is remembered.

    \b
    Example: memoryd command /memory list
             memoryd command /memory undo a1b2c3d4
    """
    asked: dict[str, Any] = {"text": " ".join(words)}
    asked |= {"user_id": user_id} if user_id else {}
    found = run(_ask(settings(), asked))
    show(found, as_json, lambda: "\n".join(map(printable, found["reply"].split("\n"))))


async def _ask(chosen: Settings, asked: dict[str, Any]) -> dict[str, Any]:
    async with reach.client(chosen, say) as client:
        return await reach.call(client, "POST", "/api/v1/commands/memory", json=asked)
