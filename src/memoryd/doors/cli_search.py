"""`memoryd search`."""

import shutil
import textwrap
from typing import Any

import click

from memoryd.core.config import Settings
from memoryd.doors import reach
from memoryd.doors.cli import json_option, main, printable, row, run, say, settings, show

BAR = 20  # characters of the longest bar
FINAL = ("semantic", "recency", "importance")


@main.command()
@click.argument("query")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 200))
@click.option("--session", help="Only this session.")
@click.option("--agent", help="Only of this agent.")
@click.option("--user", help="Who asks, and whose private chunks are seen.")
@click.option("--channel", type=click.Choice(["private", "public", "team", "agent"]))
@click.option("--kind", help="Only this kind, e.g. decision.")
@click.option("--tag", help="Only with this tag.")
@click.option("--since", help="Only from this time on, e.g. 2026-05-01T00:00:00Z.")
@click.option("--until", help="Only before this time.")
@click.option("--as-of", help="A log position or a time: search what was known then.")
@click.option("--intent", type=click.Choice(["default", "recall", "recent", "decide"]))
@click.option("--explain", is_flag=True, help="Show the parts of each score as bars.")
@json_option
def search(query: str, as_json: bool, explain: bool, **given: Any) -> None:
    """Find what was recorded, by words and by meaning.

    \b
    Example: memoryd search "when do we ship?" --explain
    """
    names = {"session": "session_id", "agent": "agent_id", "kind": "kind", "tag": "tag"}
    names |= {"since": "since", "until": "until"}
    filters = {names[name]: given[name] for name in names if given[name] is not None}
    as_of = given["as_of"]
    asked = {
        "query": query,
        "limit": given["limit"],
        "filters": filters,
        "as_of": int(as_of) if as_of and as_of.isdecimal() else as_of,
        "explain": explain,
        "user_id": given["user"],
        "channel": given["channel"],
        "intent": given["intent"] or "recall",
    }
    answer = run(_search(settings(), asked))
    show(answer, as_json, lambda: _readable(answer))


async def _search(chosen: Settings, asked: dict[str, Any]) -> dict[str, Any]:
    async with reach.client(chosen, say) as client:
        return await reach.call(client, "POST", "/api/v1/search", json=asked)


def _readable(answer: dict[str, Any]) -> str:
    width = shutil.get_terminal_size().columns
    lines = [line for found in answer["results"] for line in _result(found, width)]
    if not lines:
        lines = ["nothing was found; see what there is with: memoryd events"]
    if answer["pending_vectors"]:
        lines.append(f"({answer['pending_vectors']:,} chunks are found by words alone as yet)")
    if answer["degraded"]:
        lines += textwrap.wrap(f"({answer['degraded']})", width)
    return "\n".join(lines)


def _result(found: dict[str, Any], width: int) -> list[str]:
    lead = f"{found['score']:.3f}  {found['ts'][:16].replace('T', ' ')}  "
    text = f"{found['actor_id']}: {' '.join(found['text'].split())}"
    # A terminal obeys control characters, and the text is anybody's.
    lines = row(lead, printable(f"{found['session_id']:<12} "), printable(text), width)
    return [*lines, *(_bar(*part) for part in sorted((found["parts"] or {}).items(), key=_order))]


def _order(part: tuple[str, float]) -> tuple[bool, str]:
    return part[0] not in FINAL, part[0]


def _bar(name: str, value: float) -> str:
    bar = "█" * round(BAR * min(abs(value), 1))
    return f"       {name:<11}{value:>7.3f}  {bar}"
