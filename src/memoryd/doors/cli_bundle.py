"""`memoryd bundle`."""

import shutil
import sys
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import click
from click.core import ParameterSource

from memoryd.core import errors, render
from memoryd.core.config import Settings
from memoryd.doors import bundle_lines, reach
from memoryd.doors.cli import json_option, main, put, run, say, settings, show

PATH = "/api/v1/acb"
_SENT = {
    "question": "query_text",
    "session": "session_id",
    "agent": "agent_id",
    "user": "user_id",
    "format_": "format",
    "section": "sections",
}


@main.command()
@click.argument("question", required=False)
@click.option("--session", default="default", show_default=True, help="The conversation it is for.")
@click.option("--agent", help="Which agent asks.")
@click.option("--user", help="Who will see it, and whose private events are seen.")
@click.option("--channel", type=click.Choice(["private", "public", "team", "agent"]))
@click.option("--intent", help="default, recall, recent or decide name weights; others are noted.")
@click.option("--max-tokens", type=int, help="The budget: 200 or more; 65000 if omitted.")
@click.option("--as-of", help="A log position or a time: the bundle as it would have been then.")
@click.option(
    "--section",
    multiple=True,
    type=click.Choice(render.SECTIONS),
    metavar="NAME",
    help=f"Only this; may be given several times. One of {', '.join(render.SECTIONS)}.",
)
@click.option("--format", "format_", type=click.Choice(["sections", "messages"]))
@click.option("--provider", type=click.Choice(["anthropic", "openai"]), help="Of the messages.")
@click.option("--replay", metavar="ID", help="Show a bundle that was built before, as it was.")
@click.option("--diff", nargs=2, metavar="NEW OLD", help="What NEW has that OLD has not, and why.")
@click.option("--text", is_flag=True, help="Print the text that a model would get, and no more.")
@click.option("--all", "every", is_flag=True, help="Show every item of a section.")
@json_option
def bundle(as_json: bool, text: bool, every: bool, **given: Any) -> None:
    """Build what a model needs for QUESTION: budgeted, cited, replayable.

    Without a QUESTION nothing is retrieved: rules, tasks, decisions and the conversation alone.

    \b
    Example: memoryd bundle "when do we ship?" --session standup --max-tokens 2000
    """
    _check(click.get_current_context())
    _check_ids(given["replay"], given["diff"])
    width = shutil.get_terminal_size().columns
    if given["diff"]:
        new, old = given["diff"]
        path = f"{PATH}/{quote(new, safe='')}/diff"
        found = run(_built("POST", path, json={"against": old}))
        show(found, as_json, lambda: "\n".join(bundle_lines.difference(new, old, found, width)))
        return
    if given["replay"] is not None:
        answer = run(_built("GET", f"{PATH}/{quote(given['replay'], safe='')}"))
    else:
        answer = run(_call(settings(), "POST", f"{PATH}/build", json=_asked(given)))
    if text:
        _print(_text(answer))
    else:
        past = bool(given["as_of"] or given["replay"])
        shown = bundle_lines.bundle(answer, width, every, past, _talk(given))
        show(answer, as_json, lambda: "\n".join(shown))


def _talk(given: dict[str, Any]) -> str | None:
    """The session, where nothing but what was said there was asked for, as it is now."""
    other = given["replay"] or given["as_of"] or (given["question"] or "").strip()
    return None if other else given["session"]


def _check(context: click.Context) -> None:
    """A bundle that was built cannot be asked for anything else."""
    given = [
        parameter
        for parameter in context.command.params
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    ]
    names = {parameter.name for parameter in given}
    alone = names & {"replay", "diff"}
    others = names - alone - {"as_json", "text", "every"}
    if alone and (others or len(alone) > 1):
        wrong = next(one for one in given if one.name in (others or {"diff"}))
        raise click.UsageError(f"{wrong.opts[0]} does not go with --{min(alone - {wrong.name})}")
    if "text" in names and names & {"as_json", "diff", "every"}:
        raise click.UsageError("--text goes with none of --json, --diff and --all")
    for name in names & {"format_", "provider"} if "as_json" not in names else ():
        raise click.UsageError(f"--{name.strip('_')} says what --json prints; add --json")
    if "provider" in names and context.params["format_"] != "messages":
        raise click.UsageError("--provider is of the messages; add --format messages")


def _check_ids(replay: str | None, diff: Sequence[str] | None) -> None:
    """An empty one would be another address, and an option that follows is taken for one."""
    for name, ids in {"replay": [replay] if replay is not None else (), "diff": diff or ()}.items():
        for one in ids:
            if not one or one.startswith("-"):
                many = "the ids of two bundles, NEW and OLD" if name == "diff" else "a bundle's id"
                raise click.UsageError(f"--{name} takes {many}, as acb_01J…; {one!r} is none")


def _asked(given: dict[str, Any]) -> dict[str, Any]:
    """The request, without what is left to the daemon."""
    as_of = given["as_of"]
    if as_of and as_of.isdecimal():
        given = {**given, "as_of": int(as_of)}
    chosen = {name: value for name, value in given.items() if value not in (None, ())}
    return {_SENT.get(name, name): value for name, value in chosen.items()}


async def _built(method: str, path: str, **sent: Any) -> dict[str, Any]:
    """Of what was built before."""
    try:
        return await _call(settings(), method, path, **sent)
    except errors.NotFound as error:
        error.detail += "; `memoryd bundle` says the id of what it builds in its last line"
        raise


async def _call(chosen: Settings, method: str, path: str, **sent: Any) -> dict[str, Any]:
    async with reach.client(chosen, say) as client:
        return await reach.call(client, method, path, **sent)


def _text(answer: dict[str, Any]) -> str:
    return render.text(
        [(part["name"], [one["text"] for one in part["items"]]) for part in answer["sections"]]
    )


def _print(text: str) -> None:
    """To the byte; but a terminal would obey control characters, and the text is anybody's."""
    if sys.stdout.isatty():
        text = "".join(one if one.isprintable() or one in "\n\t" else " " for one in text)
    put(text.encode(), end=False)
