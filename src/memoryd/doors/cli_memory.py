"""`memoryd memory`: see, correct and undo what is remembered of a user."""

import shutil
from typing import Any

import click

from memoryd.core.config import Settings
from memoryd.doors import reach
from memoryd.doors.cli import clipped, json_option, main, printable, run, say, settings, show

CATEGORIES = click.Choice(["person", "preference", "context", "project"])
user_option = click.option("--user", "user_id", help="Whose memory; by default `default`.")


@main.group()
def memory() -> None:
    """See, correct and undo what is remembered of a user.

    ID is the eight letters and digits that `memoryd memory list` shows.
    """


@memory.command("list")
@click.argument("text", required=False)
@click.option("--category", type=CATEGORIES)
@click.option("--subject", help="Only what is about this.")
@click.option("--deleted", "include_deleted", is_flag=True, help="Deleted ones too.")
@click.option("--inactive", "include_inactive", is_flag=True, help="Inactive ones too.")
@click.option("--evicted", "include_evicted", is_flag=True, help="Evicted ones too.")
@click.option("--as-of", help="A log position or a time: what was remembered then.")
@click.option("--limit", default=200, show_default=True, type=click.IntRange(1, 1000))
@user_option
@json_option
def list_facts(text: str | None, as_json: bool, **given: Any) -> None:
    """List what is remembered, or with TEXT what a search finds, best first.

    \b
    Example: memoryd memory list "where does Sarah work?"
    """
    page = _call("GET", "", {**given, "q": text})
    nothing = (
        "nothing is remembered; try: memoryd memory add 'User likes tea' --category preference"
    )
    show(page, as_json, lambda: "\n".join(map(_line, page["memories"])) or nothing)


@memory.command("show")
@click.argument("memory_id", metavar="ID")
@click.option("--as-of", help="A log position or a time: what was remembered then.")
@user_option
@json_option
def show_fact(memory_id: str, as_json: bool, **given: str | None) -> None:
    """Print a memory.

    \b
    Example: memoryd memory show a1b2c3d4
    """
    one = _call("GET", memory_id, given)
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
    made = _call("POST", "", {"user_id": user_id}, given)
    show(made, as_json, lambda: f"remembered as {made['id']}")


@memory.command()
@click.argument("memory_id", metavar="ID")
@click.argument("content")
@user_option
@json_option
def edit(memory_id: str, content: str, as_json: bool, **given: str | None) -> None:
    """Correct a memory; what it said before stays as a version.

    \b
    Example: memoryd memory edit a1b2c3d4 "Sarah leads Design"
    """
    done = _call("PUT", memory_id, given, {"content": content})
    show(done, as_json, lambda: _was(done, "updated"))


@memory.command()
@click.argument("memory_id", metavar="ID")
@user_option
@json_option
def delete(memory_id: str, as_json: bool, **given: str | None) -> None:
    """Forget a memory; `undelete` brings it back.

    \b
    Example: memoryd memory delete a1b2c3d4
    """
    done = _call("DELETE", memory_id, given)
    show(done, as_json, lambda: printable(f"Deleted: '{done['content']}'"))


@memory.command()
@click.argument("memory_id", metavar="ID")
@user_option
@json_option
def undelete(memory_id: str, as_json: bool, **given: str | None) -> None:
    """Bring back a memory that was deleted or evicted.

    \b
    Example: memoryd memory undelete a1b2c3d4
    """
    done = _call("POST", f"{memory_id}/undelete", given)
    show(done, as_json, lambda: printable(f"Brought back: '{done['content']}'"))


@memory.command()
@click.argument("memory_id", metavar="ID")
@click.argument("version", type=click.IntRange(1))
@user_option
@json_option
def restore(memory_id: str, version: int, as_json: bool, **given: str | None) -> None:
    """Take up an earlier version again, as a new one.

    \b
    Example: memoryd memory restore a1b2c3d4 1
    """
    done = _call("POST", f"{memory_id}/restore", given, {"version": version})
    show(done, as_json, lambda: _was(done, "restored"))


@memory.command()
@click.argument("memory_id", metavar="ID")
@user_option
@json_option
def history(memory_id: str, as_json: bool, **given: str | None) -> None:
    """List every version of a memory, oldest first.

    \b
    Example: memoryd memory history a1b2c3d4
    """
    found = _call("GET", f"{memory_id}/versions", given)["versions"]
    show(found, as_json, lambda: "\n".join(map(_version, found)))


@memory.command()
@click.argument("memory_id", metavar="ID")
@click.argument("from_version", type=int, required=False)
@click.argument("to_version", type=int, required=False)
@user_option
@json_option
def diff(
    memory_id: str,
    from_version: int | None,
    to_version: int | None,
    user_id: str | None,
    as_json: bool,
) -> None:
    """Show what changed between two versions, by default in the last edit.

    \b
    Example: memoryd memory diff a1b2c3d4 1 3
    """
    asked = {"from": from_version, "to": to_version, "user_id": user_id}
    text: str = run(_ask(settings(), "GET", f"{memory_id}/diff", asked)).text
    lines = "\n".join(printable(line) for line in text.splitlines())
    show({"diff": text}, as_json, lambda: lines or "nothing changed")


def _call(
    method: str, path: str, params: dict[str, Any], body: dict[str, Any] | None = None
) -> dict[str, Any]:
    found: dict[str, Any] = run(_ask(settings(), method, path, params, body)).json()
    return found


async def _ask(
    chosen: Settings,
    method: str,
    path: str,
    params: dict[str, Any],
    body: dict[str, Any] | None = None,
) -> Any:
    given = {name: value for name, value in params.items() if value not in (None, False)}
    more = {} if body is None else {"json": _said(body)}
    async with reach.client(chosen, say) as client:
        return await reach.ask(client, method, f"/api/memory/{path}", params=given, **more)


def _said(body: dict[str, Any]) -> dict[str, Any]:
    """By the person at the keyboard."""
    actor = {"type": "human", "id": "cli"}
    return {name: value for name, value in body.items() if value is not None} | {"actor": actor}


def _line(one: dict[str, Any]) -> str:
    about = f"[{one['subject']}] " if one["subject"] else ""
    head = f"{one['id']}  {one['category']:<10}  "
    room = max(shutil.get_terminal_size().columns - len(head), 30)
    return head + clipped(printable(" ".join(f"{about}{one['content']}".split())), room)


def _details(one: dict[str, Any]) -> str:
    marks = [name for name in ("deleted", "evicted") if one[name]]
    marks += [] if one["is_active"] else ["inactive"]
    state = f" ({', '.join(marks)})" if marks else ""
    lines = [
        f"{one['id']}  version {one['version']}{state}",
        f"category  {one['category']}",
        f"subject   {one['subject'] or '-'}",
        f"user      {one['user_id']}",
        f"since     {_when(one['created_at'])}",
        f"updated   {_when(one['updated_at'])}",
        one["content"],
    ]
    return "\n".join(printable(line) for line in lines)


def _version(one: dict[str, Any]) -> str:
    head = f"{one['version']:>3}  {_when(one['created_at'])}  {one['made_by']:<8} "
    return printable(f"{head}{one['content']}")


def _was(done: dict[str, Any], what: str) -> str:
    old, new = done["previous_content"], done["content"]
    return printable(f"{what} {done['id']} (version {done['version']}): '{old}' -> '{new}'")


def _when(moment: str) -> str:
    return moment[:16].replace("T", " ")
