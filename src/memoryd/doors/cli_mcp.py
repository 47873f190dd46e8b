"""`memoryd mcp` and `memoryd mcp install`: little is imported, since a client waits for us."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from memoryd.doors.cli import fail, json_option, main, run, say, settings, show

CLIENTS = ("claude-code", "claude-desktop", "cursor", "vscode")


@main.group(invoke_without_command=True)
@click.option("--user", "user_id", help="Whose memories; by default the key's user.")
@click.option("--agent", "agent_id", help="Which agent asks; its own memories need a name.")
@click.option("--channel", type=click.Choice(["private", "public", "team", "agent"]))
@click.option("--session", "session_id", help="The conversation that calls belong to.")
@click.pass_context
def mcp(context: click.Context, /, **where: str | None) -> None:
    """Serve MCP on standard input and output, for a client that starts this.

    It asks the daemon at MEMORYD_URL, else the one that runs on MEMORYD_HOME, else it starts one.

    \b
    Example: memoryd mcp --agent scout
    """
    said = {name: text for name, text in where.items() if text is not None}
    context.obj = said
    if context.invoked_subcommand is not None:
        return
    from memoryd.doors import logs, mcp_stdio  # noqa: PLC0415  # the SDK, half a second

    logs.start("warning")
    run(mcp_stdio.serve(settings(), said, say))


@mcp.command()
@click.argument("client", type=click.Choice(CLIENTS))
@click.option("--project", is_flag=True, help="For this folder alone, not for you everywhere.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@json_option
@click.pass_context
def install(context: click.Context, client: Any, project: bool, yes: bool, as_json: bool) -> None:
    """Tell an MCP client of memoryd: shows the change of its file, asks, and writes it.

    What is in the file stays. With --json nothing is asked, and without --yes nothing is written.

    \b
    Example: memoryd mcp install claude-code
    """
    from memoryd.doors import mcp_install  # noqa: PLC0415

    options = {"user_id": "--user", "agent_id": "--agent", "channel": "--channel"}
    options["session_id"] = "--session"
    given = [part for name, text in context.obj.items() for part in (options[name], text)]
    folder = Path.cwd() if project else None
    path = mcp_install.path_of(client, Path.home(), folder, sys.platform)
    change = mcp_install.change(client, path, mcp_install.entry_of(given, os.environ))
    if not as_json:
        click.echo(change.diff, nl=False)
    write = change.needed and (yes or (not as_json and _agreed(path)))
    if write:
        mcp_install.write(change)
    facts = {"client": client, "path": str(path), "changed": change.needed, "written": write}
    told = {**facts, "entry": change.entry, "diff": change.diff}
    done = f"wrote {path}; restart {client}" if write else "nothing was written"
    show(told, as_json, lambda: done if change.needed else f"{path} has memoryd already")


def _agreed(path: Path) -> bool:
    if not sys.stdin.isatty():
        fail("there is nobody to ask; write it with --yes")
    return click.confirm(f"Write {path}?", err=True)
