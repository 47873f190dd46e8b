"""`memoryd references`: see what left the context, and let a model describe it."""

import shutil
from typing import Any
from urllib.parse import quote

import click

from memoryd.doors.cli import clipped, json_option, main, printable, run, settings, show
from memoryd.doors.cli_memory import ask, user_option, when
from memoryd.references import model

PATH = "/api/v1/references"
NOTHING = "nothing is stored; outputs get there by POST /api/v1/references, store_memory or AutoGen"


@main.group()
def references() -> None:
    """See large outputs that left the context, and have a model describe them.

    KEY is a reference's key, or its whole placeholder.

    \b
    Example: memoryd references list
    """


@references.command("list")
@click.option("--session", "session_id", help="Only what this conversation stored.")
@click.option("--type", "type", help="Only this type, as command_output.")
@click.option("--inactive", "include_inactive", is_flag=True, help="Those out of use too.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 200))
@user_option
@json_option
def list_references(as_json: bool, **given: Any) -> None:
    """List what is stored, newest first.

    \b
    Example: memoryd references list --session thread-1
    """
    page = run(ask(settings(), "GET", PATH, given)).json()
    show(page, as_json, lambda: "\n".join(map(_line, page["references"])) or NOTHING)


@references.command("show")
@click.argument("key")
@click.option("--lines", help="Only these lines: 10-20, 10- or -20.")
@click.option("--bytes", "bytes", help="Only these bytes: 0-999.")
@click.option("--path", help="Only this place in JSON: $.items[0].name.")
@click.option("--find", help="Only the lines around this text.")
@user_option
@json_option
def show_reference(key: str, as_json: bool, **given: Any) -> None:
    """Print what a reference holds, or a part of it.

    \b
    Example: memoryd references show build-log --find error
    """
    one = run(ask(settings(), "GET", _path(key), given)).json()
    whole = one["content"] if one["content"] is not None else f"{one['placeholder']} is no text"
    show(one, as_json, lambda: "\n".join(map(printable, whole.removesuffix("\n").split("\n"))))


@references.command()
@click.argument("key")
@click.option("--undo", is_flag=True, help="Take back what the model said.")
@user_option
@json_option
def describe(key: str, undo: bool, as_json: bool, **given: Any) -> None:
    """Ask the model of MEMORYD_CHAT_URL for a better description.

    \b
    Example: memoryd references describe build-log
    """
    method = "DELETE" if undo else "POST"
    one = run(ask(settings(), method, f"{_path(key)}/describe", given)).json()
    told = [printable(one[name]) for name in ("placeholder", "note") if name in one]
    show(one, as_json, lambda: "\n".join(told))


def _path(key: str) -> str:
    return f"{PATH}/{quote(model.key_of(key), safe='') or '-'}"


def _line(one: dict[str, Any]) -> str:
    room = max(shutil.get_terminal_size().columns - 18, 60)
    return f"{when(one['created_at'])}  {clipped(printable(one['placeholder']), room)}"
