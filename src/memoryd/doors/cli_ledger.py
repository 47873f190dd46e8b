"""`memoryd decisions` and `memoryd tasks`."""

import json
import shlex
import shutil
from collections.abc import Iterable
from typing import Any

import click
from click.core import ParameterSource

from memoryd.core.config import Settings
from memoryd.doors import reach, serving
from memoryd.doors.cli import json_option, main, printable, row, run, say, settings, show

CHANNELS = click.Choice(["private", "public", "team", "agent"])
LIMIT = click.IntRange(1, 200)


@main.command()
@click.argument("text", required=False)
@click.option(
    "--status",
    type=click.Choice(["active", "superseded", "all"]),
    default="active",
    show_default=True,
)
@click.option("--scope", type=click.Choice(["project", "user", "global"]))
@click.option("--ref", multiple=True, help="Only what cites this id; may be given several times.")
@click.option("--since", help="Only from this time on, e.g. 2026-05-01T00:00:00Z.")
@click.option("--until", help="Only before this time.")
@click.option("--as-of", help="A log position or a time: what held then.")
@click.option("--user", "user_id", help="Who asks, and whose private decisions are seen.")
@click.option("--channel", type=CHANNELS)
@click.option("--limit", default=20, show_default=True, type=LIMIT)
@json_option
def decisions(as_json: bool, **given: Any) -> None:
    """Show what was decided: newest first, or with TEXT the best match first.

    \b
    Example: memoryd decisions "which database?" --scope project
    """
    page = run(_ask(settings(), "/api/v1/decisions/query", given))
    nothing = _nothing("decision", "decisions", {"decision": "Keep it in PostgreSQL."}, given)
    show(page, as_json, lambda: _table(page, map(_decision, page["decisions"])) or nothing)


@main.command()
@click.option(
    "--status",
    type=click.Choice(["open", "doing", "done"]),
    multiple=True,
    help="May be given several times.",
)
@click.option("--session", "session_id", help="Only what was created in this session.")
@click.option("--as-of", help="A log position or a time: what was to be done then.")
@click.option("--user", "user_id", help="Who asks, and whose private tasks are seen.")
@click.option("--channel", type=CHANNELS)
@click.option("--limit", default=20, show_default=True, type=LIMIT)
@json_option
def tasks(as_json: bool, **given: Any) -> None:
    """Show what is to be done, last changed first.

    \b
    Example: memoryd tasks --status open --status doing
    """
    page = run(_ask(settings(), "/api/v1/tasks", given))
    nothing = _nothing("task", "tasks", {"title": "Ship it"}, given)
    show(page, as_json, lambda: _table(page, map(_task, page["tasks"])) or nothing)


def _nothing(what: str, route: str, first: dict[str, str], given: dict[str, Any]) -> str:
    """What to say where none is there: how to record one, unless some were filtered out."""
    source = click.get_current_context().get_parameter_source
    asked = {name for name in given if source(name) is ParameterSource.COMMANDLINE}
    if asked - {"user_id", "limit"}:
        return f"no {what} was found that fits; there may be more with fewer options"
    body = json.dumps(first | ({"user_id": given["user_id"]} if given["user_id"] else {}))
    return (
        f"no {what} was found; while `memoryd serve` runs, record one with:\n"
        f"  curl {serving.url(settings())}/api/v1/{route} "
        f"-H 'Content-Type: application/json' -d {shlex.quote(body)}"
    )


async def _ask(chosen: Settings, route: str, given: dict[str, Any]) -> dict[str, Any]:
    asked = {name: value for name, value in given.items() if value not in (None, ())}
    async with reach.client(chosen, say) as client:
        return await reach.call(client, "GET", route, params=asked)


def _table(page: dict[str, Any], rows: Iterable[tuple[str, str, str]]) -> str:
    """A row for each, cut to the width of the terminal; empty where there are none."""
    width = shutil.get_terminal_size().columns
    lines = []
    for lead, marks, text in rows:
        lines += row(lead, printable(marks), printable(text), width)
    if page["next"]:
        lines.append("(there are more: raise --limit)")
    return "\n".join(lines)


def _decision(one: dict[str, Any]) -> tuple[str, str, str]:
    marks = f"{one['status']:<10} {one['scope']:<7} "
    rivals = f" (conflicts with {', '.join(one['conflicts'])})" if one["conflicts"] else ""
    about = f"{one['subject']}: " if one["subject"] else ""
    return f"{one['decision_id']}  {_when(one)}  ", marks, _line(about + one["decision"] + rivals)


def _task(one: dict[str, Any]) -> tuple[str, str, str]:
    details = f" ({one['details']})" if one["details"] else ""
    text = _line(one["title"] + details)
    return f"{one['task_id']}  {_when(one)}  ", f"{one['status']:<5} ", text


def _line(text: str) -> str:
    return " ".join(text.split())


def _when(one: dict[str, Any]) -> str:
    when: str = one["ts"]
    return when[:16].replace("T", " ")
