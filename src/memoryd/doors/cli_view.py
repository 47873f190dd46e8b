"""`memoryd view`: read and edit the texts that instruct every call."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import click

from memoryd.core import errors
from memoryd.core.config import Settings
from memoryd.core.model import Channel
from memoryd.custody import markdown
from memoryd.doors import differences, reach
from memoryd.doors.cli import clipped, fail, json_option, main, printable, run, say, settings, show
from memoryd.ledger import texts

MOST_LINES = 100  # of a difference, before it is saved; `memoryd view diff` shows all of it
WIDEST = 500  # columns of such a line

user_option = click.option("--user", "user_id", help="Whose rules.user.")
channel_option = click.option(
    "--channel", type=click.Choice(["private", "public", "team", "agent"])
)


@main.group()
def view() -> None:
    """Read and edit the texts that instruct every call.

    NAME is identity.<agent>, rules.project, rules.user or rules.org.

    \b
    Example: memoryd view edit rules.project
    """


@view.command("show")
@click.argument("name", required=False)
@click.option("--version", help="An earlier one, from `memoryd view history NAME`.")
@user_option
@channel_option
@json_option
def show_view(name: str | None, as_json: bool, **given: str | None) -> None:
    """Print a view, or list all of them.

    \b
    Example: memoryd view show rules.project
    """
    if name is None:
        found = _call("GET", "", given)["views"]
        nothing = "there are no views yet; try: memoryd view edit rules.project"
        show(found, as_json, lambda: "\n".join(map(_line, found)) or nothing)
        return
    with _told_how_to_begin(name):
        one = _call("GET", _path(name), {**given, "format": "json"})
    show(one, as_json, lambda: _lines(one["text"]))


@view.command()
@click.argument("name")
@user_option
@channel_option
@json_option
def edit(name: str, as_json: bool, **given: str | None) -> None:
    """Open a view in $VISUAL or $EDITOR, show what changed, and save it.

    When somebody else saved it meanwhile, nothing is overwritten and your text is kept in a file.

    \b
    Example: memoryd view edit rules.project
    """
    if channel := given["channel"]:
        texts.channel_of(name, cast("Channel", channel))  # before anything is written
    old = _existing(name, given)
    file = _written(name, _ended(old["text"]))
    new = _edited(file, old["text"])
    if new == old["text"]:
        file.unlink()
        show(old if "version" in old else None, as_json, lambda: f"{name} is as it was")
        return
    if not as_json:
        names = (f"{name} {old.get('version', 'empty')}", f"{name} edited")
        click.echo(_beginning(differences.unified(old["text"], new, *names)))
    saved = _save(name, {**old, "text": new}, given, file)
    show(saved, as_json, lambda: f"saved {name} as {saved['version']}")


def _existing(name: str, given: dict[str, str | None]) -> dict[str, Any]:
    """What holds, or an empty text without a version."""
    try:
        return _call("GET", _path(name), {"user_id": given["user_id"], "format": "json"})
    except errors.NotFound:
        return {"text": ""}


def _written(name: str, text: str) -> Path:
    prefix = re.sub(r"[^\w.-]", "_", name)[:60]
    with tempfile.NamedTemporaryFile(prefix=f"{prefix}-", suffix=".md", delete=False) as file:
        file.write(text.encode())
    return Path(file.name)


def _ended(text: str) -> str:
    """As a file ends, so that what is put behind it is a line of its own."""
    return text if not text or text.endswith("\n") else f"{text}\n"


def _edited(file: Path, old: str) -> str:
    """What is in the file then, without the end that `old` has not. Where nothing can be saved and
    nothing was edited, it goes.
    """
    try:
        click.edit(filename=str(file))
        raw = file.read_bytes()
    except (click.ClickException, OSError) as error:
        if file.exists() and file.read_bytes() == _ended(old).encode():
            file.unlink()
            fail(f"nothing was saved: {error}")
        fail(f"nothing was saved: {error}; the text is in {file}")
    try:
        text = markdown.decode(raw, str(file))
        return text if _ended(old) == old else text.removesuffix("\n")
    except errors.Invalid as error:
        fail(f"nothing was saved: {error}; the text is kept there")


def _save(
    name: str, document: dict[str, Any], given: dict[str, str | None], file: Path
) -> dict[str, Any]:
    """Whatever goes wrong, the text is not lost: it stays in `file`."""
    only_new = {} if "version" in document else {"if-none-match": "*"}
    sent = {part: document[part] for part in ("text", "version") if part in document}
    try:
        saved = _call("PUT", _path(name), given, json=sent, headers=only_new)
    except errors.Conflict:
        fail(
            f"somebody else saved {name} meanwhile. Your text is kept in {file}; see theirs with "
            f"`memoryd view diff {name}`, then edit again"
        )
    except errors.MemorydError as error:
        fail(f"{error.detail}; your text is kept in {file}")
    file.unlink()
    return saved


@view.command()
@click.argument("name")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000))
@user_option
@json_option
def history(name: str, limit: int, as_json: bool, **given: str | None) -> None:
    """List the versions of a view, newest first.

    \b
    Example: memoryd view history rules.project
    """
    with _told_how_to_begin(name):
        found = _call("GET", f"{_path(name)}/history", {**given, "limit": limit})["versions"]
    show(found, as_json, lambda: "\n".join(map(_line, found)))


@view.command()
@click.argument("name")
@click.argument("from_version", required=False)
@click.argument("to_version", required=False)
@user_option
@json_option
def diff(
    name: str,
    from_version: str | None,
    to_version: str | None,
    user_id: str | None,
    as_json: bool,
) -> None:
    """Show what changed between two versions, by default in the last edit.

    \b
    Example: memoryd view diff rules.project
    """
    asked = {"from": from_version, "to": to_version, "user_id": user_id}
    with _told_how_to_begin(name):
        text = run(_ask(settings(), "GET", f"{_path(name)}/diff", asked)).text
    show({"diff": text}, as_json, lambda: _lines(text) or "nothing changed")


@view.command()
@click.argument("name")
@click.argument("version")
@user_option
@json_option
def restore(name: str, version: str, as_json: bool, **given: str | None) -> None:
    """Take up an earlier version again, as a new one.

    \b
    Example: memoryd view restore rules.project evt_01J…
    """
    saved = _call("POST", f"{_path(name)}/restore", given, json={"version": version})
    show(saved, as_json, lambda: f"restored {name} as {saved['version']}")


@contextmanager
def _told_how_to_begin(name: str) -> Iterator[None]:
    """The API says it for programs."""
    try:
        yield
    except errors.NotFound as error:
        error.detail = error.detail.replace("write one with PUT", f"try: memoryd view edit {name}")
        raise


def _path(name: str) -> str:
    return f"/{quote(name, safe='')}"


def _call(method: str, path: str, params: dict[str, Any], **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = run(_ask(settings(), method, path, params, **more)).json()
    return found


async def _ask(
    chosen: Settings, method: str, path: str, params: dict[str, Any], **more: Any
) -> Any:
    given = {name: value for name, value in params.items() if value is not None}
    async with reach.client(chosen, say) as client:
        return await reach.ask(client, method, f"/api/v1/views{path}", params=given, **more)


def _line(version: dict[str, Any]) -> str:
    when = version["ts"][:19].replace("T", " ")
    who = f"{version['actor']['type']}:{version['actor']['id']}"
    named = f"{version['name']:<20} {version['channel']:<8} {version['version']}"
    return printable(f"{named}  {when}  {version['size']:>7,} characters  {who}")


def _beginning(difference: str) -> str:
    """As much as a person looks through before it is saved."""
    lines = _lines(difference).split("\n")
    shown = [clipped(line, WIDEST) for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"(and {len(lines) - MOST_LINES:,} more lines)")
    return "\n".join(shown)


def _lines(text: str) -> str:
    """What a terminal shows and does not obey; `--json` has the exact text."""
    shown = (printable(line.replace("\t", "    ")) for line in text.removesuffix("\n").split("\n"))
    return "\n".join(shown)
