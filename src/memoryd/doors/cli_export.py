"""`memoryd export`: what is remembered, as files that people read and edit."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from memoryd.core import errors
from memoryd.core.config import Settings
from memoryd.custody import markdown, markdown_folder
from memoryd.custody.markdown_things import (
    KINDS,
    Decision,
    Memory,
    Task,
    Thing,
    View,
    key_of,
    path_of,
)
from memoryd.doors import exports, reach
from memoryd.doors.cli import json_option, main, printable, run, say, settings, show

user_option = click.option("--user", "user_id", help="Who asks, and whose private things are seen.")
agent_option = click.option("--agent", "agent_id", help="Which agent asks.")
channel_option = click.option(
    "--channel", type=click.Choice(["private", "public", "team", "agent"])
)

TITLE = 80  # characters of a thing in the index
HEAD = """# What memoryd remembers

Written by `memoryd export --markdown`. Edit the files, then run `memoryd import` on this folder: it
shows what you changed, asks, and records it as events. What was before stays in the history.

- **A view**: edit the text. If somebody else saved it meanwhile, that is a conflict: move your file
  away, export again, and edit what comes.
- **A decision**: edit the text, `subject`, `scope` or the lists under `## Rationale`,
  `## Constraints`, `## Alternatives` and `## Consequences`. A new decision supersedes the old one.
- **A task**: edit `title`, `status` (`open`, `doing`, `done`) or the text below.
- **A memory**: edit the text; of a place, its notes.
- **Something new**: a new file in the same folder, with a front matter, without an `id` or
  `version`; a task needs a `title`, a view a `name`, and a new memory, which is a fact, a
  `category` (`person`, `preference`, `context`, `project`); it may have a `subject`. All but
  memories may say their `channel` (`private`, `public`, `team`, `agent`), decisions and tasks
  their `sensitivity` (`none`, `low`, `high`).
- Deleting a file deletes nothing. The other fields of a front matter cannot be changed.
"""


@main.command()
@click.option(
    *("--markdown", "folder"),
    required=True,
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the files go.",
)
@click.option("--all", "superseded", is_flag=True, help="Superseded decisions too.")
@user_option
@agent_option
@channel_option
@json_option
def export(folder: Path, superseded: bool, as_json: bool, **given: str | None) -> None:
    """Write views, decisions, tasks and memories as Markdown, to read and to edit.

    A file that you edited is not overwritten, and one that is not ours is not touched;
    `memoryd import DIR` takes your edits back.

    \b
    Example: memoryd export --markdown notes
    """
    eyes = {name: value for name, value in given.items() if value is not None}
    things = sorted(run(_all(settings(), eyes, superseded)), key=path_of)
    root = opened(folder, create=True)
    files = {path_of(one): (key_of(one), markdown.write(one)) for one in things}
    files[markdown_folder.README] = ("index", index(things))
    done = markdown_folder.sync(root, eyes, files)
    for path, why in done.kept.items():
        say(printable(f"left as it is: {path}: {why}"))
    show(
        {"folder": str(root), **vars(done)},
        as_json,
        lambda: (
            f"{folder}: {len(done.written)} written, {len(done.unchanged)} unchanged, "
            f"{len(done.removed)} removed\nedit them, then: memoryd import {folder}"
        ),
    )


def opened(folder: Path, *, create: bool) -> Path:
    """The folder itself may be a link; nothing in it is followed."""
    try:
        if create:
            folder.mkdir(parents=True, exist_ok=True)
        root = folder.resolve(strict=True)
    except OSError as error:
        raise errors.Invalid(f"{folder} cannot be opened: {error.strerror}") from error
    if not root.is_dir():
        raise errors.Invalid(f"{folder} is no folder; name the one that was exported")
    return root


def index(things: Sequence[Thing]) -> str:
    """The README: how to edit, and a link to each file."""
    parts = [HEAD]
    for name, kind in KINDS.items():
        links = [_link(one) for one in things if isinstance(one, kind)]
        parts.append(f"\n## {name.capitalize()}\n\n" + ("".join(links) or "None yet.\n"))
    return "".join(parts)


def _link(thing: Thing) -> str:
    about, mark = _about(thing)
    line = " ".join(printable(about).split())
    short = line if len(line) <= TITLE else line[: TITLE - 1] + "…"
    safe = re.sub(r"([\\`*_\[\]<>&!#|~])", r"\\\1", short)
    return f"- [{safe}]({path_of(thing)}){mark}\n"


def _about(thing: Thing) -> tuple[str, str]:
    if isinstance(thing, View):
        return thing.name or "", ""
    if isinstance(thing, Task):
        return thing.title or "", f" ({thing.status})"
    if isinstance(thing, Memory):
        return thing.content or thing.subject or "", f" ({thing.category or thing.type})"
    return _decided(thing), " (superseded)" if thing.status == "superseded" else ""


def _decided(one: Decision) -> str:
    return f"{one.subject}: {one.decision}" if one.subject else one.decision


async def _all(chosen: Settings, eyes: dict[str, str], superseded: bool) -> list[Any]:
    async with reach.client(chosen, say) as client:
        return await exports.everything(client, eyes, superseded)
