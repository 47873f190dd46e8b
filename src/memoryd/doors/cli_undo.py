"""`memoryd memory`, the ways back: versions, differences, restoring, bringing back."""

from typing import Any

import click

from memoryd.doors.cli import json_option, printable, run, settings, show
from memoryd.doors.cli_memory import (
    PATH,
    agent_option,
    ask,
    call,
    memory,
    user_option,
    was,
    when,
    words,
)

force_option = click.option(
    "--force", is_flag=True, help="Although another memory has its subject by now."
)


@memory.command()
@click.argument("memory_id", metavar="ID")
@user_option
@agent_option
@force_option
@json_option
def undelete(memory_id: str, as_json: bool, **given: Any) -> None:
    """Bring back a memory that was deleted or evicted.

    \b
    Example: memoryd memory undelete a1b2c3d4
    """
    done = call("POST", f"/{memory_id}/undelete", given)
    show(done, as_json, lambda: printable(f"Brought back: '{words(done)}'"))


@memory.command()
@click.argument("memory_id", metavar="ID")
@user_option
@json_option
def deactivate(memory_id: str, as_json: bool, **given: Any) -> None:
    """Say that a fact no longer holds; `activate` takes it back.

    \b
    Example: memoryd memory deactivate a1b2c3d4
    """
    done = call("POST", f"/{memory_id}/deactivate", given)
    show(done, as_json, lambda: printable(f"No longer holds: '{words(done)}'"))


@memory.command()
@click.argument("memory_id", metavar="ID")
@user_option
@force_option
@json_option
def activate(memory_id: str, as_json: bool, **given: Any) -> None:
    """Say that a fact which was deactivated holds again.

    \b
    Example: memoryd memory activate a1b2c3d4
    """
    done = call("POST", f"/{memory_id}/activate", given)
    show(done, as_json, lambda: printable(f"Holds again: '{words(done)}'"))


@memory.command()
@click.argument("memory_id", metavar="ID")
@click.argument("version", type=click.IntRange(1))
@user_option
@agent_option
@force_option
@json_option
def restore(memory_id: str, version: int, force: bool, as_json: bool, **given: Any) -> None:
    """Take up an earlier version again, as a new one; what was deleted comes back with it.

    \b
    Example: memoryd memory restore a1b2c3d4 1
    """
    done = call("POST", f"/{memory_id}/restore", given, {"version": version, "force": force})
    show(done, as_json, lambda: was(done, "restored"))


@memory.command()
@click.argument("memory_id", metavar="ID")
@user_option
@agent_option
@json_option
def history(memory_id: str, as_json: bool, **given: Any) -> None:
    """List every version of a memory, oldest first.

    \b
    Example: memoryd memory history a1b2c3d4
    """
    found = call("GET", f"/{memory_id}/versions", given)["versions"]
    show(found, as_json, lambda: "\n".join(map(_version, found)))


@memory.command()
@click.argument("memory_id", metavar="ID")
@click.argument("from_version", type=int, required=False)
@click.argument("to_version", type=int, required=False)
@user_option
@agent_option
@json_option
def diff(
    memory_id: str, from_version: int | None, to_version: int | None, as_json: bool, **given: Any
) -> None:
    """Show what changed between two versions, by default in the last edit.

    \b
    Example: memoryd memory diff a1b2c3d4 1 3
    """
    asked = {"from": from_version, "to": to_version, **given}
    text: str = run(ask(settings(), "GET", f"{PATH}/{memory_id}/diff", asked)).text
    lines = "\n".join(printable(line) for line in text.splitlines())
    show({"diff": text}, as_json, lambda: lines or "nothing changed")


def _version(one: dict[str, Any]) -> str:
    head = f"{one['version']:>3}  {when(one['created_at'])}  {one['made_by']:<8} "
    return printable(f"{head}{words(one)}")
