"""Write docs/reference.md: every route, setting and command, from the code itself.

`python tools/reference.py` writes it; a test fails when it is stale.
"""

from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from memoryd.core.config import Settings
from memoryd.doors import app
from memoryd.doors.cli import main as commands

TARGET = Path(__file__).parent.parent / "docs" / "reference.md"


HEAD = """# Reference

Made by `python tools/reference.py` from the code; do not edit it by hand.

## Settings

From the environment, at start.

| variable | default | what it sets |
|---|---|---|"""
ROUTES = """## Routes

Refusals are `application/problem+json`; shapes are at `/docs`.

| route | what it does | answers |
|---|---|---|"""


def text() -> str:
    parts = [
        HEAD,
        *(_setting(one) for one in fields(Settings)),
        "\n## Commands\n",
        *_commands(commands, "memoryd"),
        ROUTES,
        *_routes(app.document().openapi()["paths"]),
    ]
    return "\n".join(parts) + "\n"


def _setting(setting: Any) -> str:
    default = "" if setting.name == "home" else setting.default
    shown = f"`{default}`" if default != "" else ""
    return f"| `MEMORYD_{setting.name.upper()}` | {shown} | {setting.metadata['says']} |"


def _commands(command: click.Command, name: str) -> list[str]:
    if isinstance(command, click.Group):
        loaded = command.list_commands(click.Context(command))
        inner = [(part, command.commands[part]) for part in sorted(loaded)]
        own = [_help(command, name)] if command.invoke_without_command else []
        return [*own, *(line for part, one in inner for line in _commands(one, f"{name} {part}"))]
    return [_help(command, name)]


def _help(command: click.Command, name: str) -> str:
    # Named as where it runs, since click keeps the help option of the first context it sees.
    names = commands.context_settings["help_option_names"]
    given: dict[str, Any] = {"terminal_width": 80, "help_option_names": names}
    context = click.Context(command, info_name=name, **given)
    return f"### `{name}`\n\n```text\n{command.get_help(context)}\n```\n"


def _routes(paths: dict[str, Any]) -> list[str]:
    return [
        f"| `{method.upper()} {path}` | {_first(route)} | {' '.join(sorted(route['responses']))} |"
        for path, methods in sorted(paths.items())
        for method, route in methods.items()
    ]


def _first(route: dict[str, Any]) -> str:
    said: str = route.get("description", route["summary"])
    return " ".join(said.partition("\n\n")[0].split()).replace("|", "\\|")


if __name__ == "__main__":
    TARGET.write_text(text())
    print(f"wrote {TARGET}")
