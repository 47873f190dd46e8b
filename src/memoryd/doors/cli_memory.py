"""`memoryd memory`: see and change what is remembered; cli_undo.py has the ways back."""

import re
import shutil
from typing import Any

import click

from memoryd.core.config import Settings
from memoryd.doors import reach
from memoryd.doors.cli import clipped, json_option, main, printable, run, say, settings, show

PATH = "/api/v1/memories"
CATEGORIES = click.Choice(["person", "preference", "context", "project"])
TYPES = click.Choice(["fact", "place", "core", "journal", "whiteboard"])


def _memory_id(_: click.Context, __: click.Parameter, given: str) -> str:
    """Also as a prompt cites it; anything else must not become a part of an address."""
    found = re.fullmatch(r"\[?(?:id:)?([A-Za-z0-9]{8})\]?", given)
    if found is None:
        raise click.BadParameter(f"{given!r} is no id: an id has 8 letters and digits")
    return found[1]


id_argument = click.argument("memory_id", metavar="ID", callback=_memory_id)
user_option = click.option("--user", "user_id", help="Whose memory; by default `default`.")
agent_option = click.option("--agent", "agent_id", help="Whose own memories: core and journal.")
NOTHING = "nothing is remembered; try: memoryd memory add 'User likes tea' --category preference"


@main.group()
def memory() -> None:
    """See, correct and undo what is remembered: of a user, by an agent, on a team's whiteboard.

    ID is the eight letters and digits that `memoryd memory list` shows.

    \b
    Example: memoryd memory list
    """


@memory.command("list")
@click.argument("text", required=False)
@click.option("--type", "type", type=TYPES, default="fact", show_default=True)
@click.option("--category", type=CATEGORIES)
@click.option("--subject", help="Only what is about this.")
@click.option("--deleted", "include_deleted", is_flag=True, help="Deleted ones too.")
@click.option("--inactive", "include_inactive", is_flag=True, help="Inactive ones too.")
@click.option("--evicted", "include_evicted", is_flag=True, help="Evicted ones too.")
@click.option("--as-of", help="A log position or a time: what was remembered then.")
@click.option("--limit", default=200, show_default=True, type=click.IntRange(1, 1000))
@click.option("--team", "team_id", help="Whose whiteboard.")
@user_option
@agent_option
@json_option
def list_memories(text: str | None, as_json: bool, **given: Any) -> None:
    """List what is remembered, or with TEXT what a search finds, best first.

    \b
    Example: memoryd memory list "where does Sarah work?"
             memoryd memory list --type journal --agent scout
    """
    page = call("GET", "", {**given, "q": text})
    nothing = NOTHING if given["type"] == "fact" else f"there is no {given['type']} to show"
    if text is not None:
        said = printable(clipped(text, 60))
        nothing = f"nothing found about '{said}'; try other words, or: memoryd memory list"
    show(page, as_json, lambda: "\n".join(map(_line, page["memories"])) or nothing)


@memory.command("show")
@id_argument
@click.option("--as-of", help="A log position or a time: what was remembered then.")
@user_option
@agent_option
@json_option
def show_memory(memory_id: str, as_json: bool, **given: str | None) -> None:
    """Print a memory, of whichever type.

    \b
    Example: memoryd memory show a1b2c3d4
    """
    one = call("GET", f"/{memory_id}", given)
    show(one, as_json, lambda: _details(one))


@memory.command()
@click.argument("content")
@click.option("--category", type=CATEGORIES, default="context", show_default=True)
@click.option("--subject", help="Whom or what it is about.")
@click.option("--force", is_flag=True, help="Although a memory with this subject exists.")
@user_option
@json_option
def add(as_json: bool, user_id: str | None, **given: Any) -> None:
    """Remember a fact.

    \b
    Example: memoryd memory add "Sarah works on Design" --category person --subject Sarah
    """
    path = "/api/memory/"
    made: Any = run(ask(settings(), "POST", path, {"user_id": user_id}, given)).json()
    show(made, as_json, lambda: f"remembered as {made['id']}")


@memory.command()
@id_argument
@click.argument("content")
@user_option
@agent_option
@json_option
def edit(memory_id: str, content: str, as_json: bool, **given: str | None) -> None:
    """Correct a memory, of a place its notes; what it said before stays as a version.

    \b
    Example: memoryd memory edit a1b2c3d4 "Sarah leads Design"
    """
    done = call("PUT", f"/{memory_id}", given, {"content": content})
    show(done, as_json, lambda: was(done, "updated"))


@memory.command()
@id_argument
@user_option
@agent_option
@json_option
def delete(memory_id: str, as_json: bool, **given: str | None) -> None:
    """Forget a memory; `undelete` brings it back.

    \b
    Example: memoryd memory delete a1b2c3d4
    """
    done = call("DELETE", f"/{memory_id}", given)
    show(done, as_json, lambda: printable(f"Deleted: '{words(done)}'"))


def call(
    method: str, path: str, params: dict[str, Any], body: dict[str, Any] | None = None
) -> dict[str, Any]:
    found: dict[str, Any] = run(ask(settings(), method, PATH + path, params, body)).json()
    return found


async def ask(
    chosen: Settings,
    method: str,
    path: str,
    params: dict[str, Any],
    body: dict[str, Any] | None = None,
) -> Any:
    given = {name: value for name, value in params.items() if value not in (None, False)}
    more = {} if body is None else {"json": _said(body)}
    async with reach.client(chosen, say) as client:
        return await reach.ask(client, method, path, params=given, **more)


def words(one: dict[str, Any]) -> str:
    """What it says; a place by its name."""
    if one["type"] != "place":
        return str(one["content"])
    return f"{one['subject']}: {one['content']}" if one["content"] else str(one["subject"])


def was(done: dict[str, Any], what: str) -> str:
    old, new = done["previous_content"], done["content"]
    return printable(f"{what} {done['id']} (version {done['version']}): '{old}' -> '{new}'")


def when(moment: str) -> str:
    return moment[:16].replace("T", " ")


def _said(body: dict[str, Any]) -> dict[str, Any]:
    """By the person at the keyboard."""
    actor = {"type": "human", "id": "cli"}
    return {name: value for name, value in body.items() if value is not None} | {"actor": actor}


def _line(one: dict[str, Any]) -> str:
    about = f"[{one['subject']}] " if one["subject"] and one["type"] == "fact" else ""
    head = f"{one['id']}  {one['category'] or one['type']:<10}  "
    state = f"({_state(one)}) " if _state(one) else ""
    room = max(shutil.get_terminal_size().columns - len(head), 30)
    return head + clipped(printable(" ".join(f"{state}{about}{words(one)}".split())), room)


def _state(one: dict[str, Any]) -> str:
    marks = [name for name in ("deleted", "evicted") if one[name]]
    return ", ".join(marks + ([] if one["is_active"] else ["inactive"]))


def _details(one: dict[str, Any]) -> str:
    state = f" ({_state(one)})" if _state(one) else ""
    facts = {
        "type": one["type"],
        "category": one["category"],
        "subject": one["subject"],
        "place": one["place_id"],
        "user": one["user_id"],
        "agent": one["agent_id"] if one["user_id"] is None else None,
        "team": one["team_id"],
        "since": when(one["created_at"]),
        "updated": when(one["updated_at"]),
    }
    lines = [f"{one['id']}  version {one['version']}{state}"]
    lines += [f"{name:<9} {value}" for name, value in facts.items() if value is not None]
    return "\n".join(printable(line) for line in [*lines, one["content"]])
