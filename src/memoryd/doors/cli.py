"""The command line: one function a command; each parses, makes one call and prints.

`--json` prints one JSON value on standard output; what a person reads while waiting goes to
standard error.
"""

import asyncio
import importlib
import json
import os
import sys
import unicodedata
from collections.abc import Callable, Coroutine
from dataclasses import asdict, is_dataclass, replace
from typing import Any, NoReturn, TypeVar

import click

from memoryd import __version__
from memoryd.core import config, errors
from memoryd.doors import serving

LEAST = 20  # columns for words: with fewer they stand on a line of their own
INDENT = 10  # columns before what stands on a line of its own

T = TypeVar("T")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")


class Refusing(click.Group):
    """Turns what memoryd refuses into one clear line and exit code 1."""

    def main(self, *given: Any, **more: Any) -> Any:
        _open_missing()
        return super().main(*given, **more)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if any("\udc80" <= letter <= "\udcff" for one in args for letter in one):
            fail("an argument is not text in UTF-8; check the terminal's encoding")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except errors.MemorydError as error:
            fail(error.detail)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        _load(("mcp",) if cmd_name == "mcp" else MODULES)
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        _load(MODULES)
        return super().list_commands(ctx)


def _open_missing() -> None:
    """Open the standard files that the program was started without (`<&-`): else what it opens next
    is taken for them, and libuv aborts.
    """
    for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number is free
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


# Each adds its commands to `main`. All together take half a second to import; `memoryd mcp`, whose
# client waits for a first answer, needs one of them.
MODULES = (
    *("access", "admin", "bundle", "care", "command", "demo", "embed", "erase", "export"),
    *("import", "ledger", "log", "mcp", "memory", "prompt", "references", "seal", "search"),
    *("serve", "undo", "view"),
)


def _load(names: tuple[str, ...]) -> None:
    for name in names:
        importlib.import_module(f"memoryd.doors.cli_{name}")
    if names == MODULES:
        importlib.import_module("memoryd.doors.bench")


@click.group(cls=Refusing, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="memoryd")
def main() -> None:
    """Memory for AI agents: an append-only log on PostgreSQL.

    \b
    memoryd serve                      start the daemon
    memoryd record "we ship on Friday" record a message
    memoryd events                     see what is recorded
    memoryd search "when do we ship?"  find it again
    memoryd view edit rules.project    say what every call must know
    memoryd memory list                see what is remembered of you
    memoryd bundle "when do we ship?"  what a model would be given
    memoryd mcp install claude-code    let an assistant use it
    memoryd demo                       see all of it in a minute, on sample data
    """


def fail(message: str) -> NoReturn:
    click.echo(f"memoryd: {message}", err=True)
    sys.exit(1)


def say(line: str) -> None:
    click.echo(line, err=True)


def settings(**given: Any) -> config.Settings:
    """The environment's settings, with what the command line sets on top."""
    found = config.from_environment(os.environ)
    return replace(found, **{name: value for name, value in given.items() if value is not None})


def own_settings(*, harmful: bool = False) -> config.Settings:
    """Of a command that opens the home itself; where MEMORYD_URL may lead elsewhere that is said,
    and what cannot be undone is refused.
    """
    found = settings()
    said = serving.elsewhere(found)
    if said and harmful:
        do = "unset MEMORYD_URL, or set MEMORYD_HOME to the home of that daemon"
        raise errors.Invalid(f"{said}: {do}", field="MEMORYD_URL")
    if said:
        say(said)
    return found


def run(work: Coroutine[Any, Any, T]) -> T:
    if sys.platform == "win32":
        return asyncio.run(work)
    import uvloop  # noqa: PLC0415  # not made for Windows

    return uvloop.run(work)


def show(value: Any, as_json: bool, readable: Callable[[], str]) -> bool:
    """Print `value` for a program, or what `readable` makes of it for a person; as `put`."""
    if as_json:
        plain = [_plain(one) for one in value] if isinstance(value, list) else _plain(value)
        return put(json.dumps(plain, default=str, ensure_ascii=False))
    text = readable()
    return not text or put(text)


def put(text: str | bytes, *, end: bool = True, color: bool | None = None) -> bool:
    """Print on standard output; False where its reader has seen enough, as `head` has. That is no
    failure, and what is printed later goes nowhere.
    """
    try:
        click.echo(text, nl=end, color=color)
    except BrokenPipeError:
        _discard()
        return False
    except OSError as error:
        _discard()
        fail(f"cannot print the answer: {error.strerror}")
    return True


def _discard() -> None:
    """What stands in its buffer would fail again when the program ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def printable(text: str) -> str:
    """One line that a terminal shows and does not obey."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def clipped(text: str, room: int) -> str:
    """`text` as far as it fits into `room` columns of a terminal, with the cut shown.

    >>> clipped("We ship on Friday.", 10), clipped("船は金曜日に", 10)
    ('We ship o…', '船は金曜…')
    """
    if sum(map(_columns, text)) <= room:
        return text
    kept, used = "", 1  # for the sign of the cut
    for letter in text:
        used += _columns(letter)
        if used > room:
            break
        kept += letter
    return f"{kept}…"


def row(lead: str, marks: str, text: str, width: int) -> list[str]:
    """One line of `width` columns, or two where that leaves too few for the text. The second is
    indented, and has the marks too, without their padding.
    """
    room = width - sum(map(_columns, lead + marks))
    if room >= LEAST:
        return [lead + marks + clipped(text, room)]
    more = " ".join([*marks.split(), text])
    return [
        clipped(lead.rstrip(), max(width, LEAST)),
        " " * INDENT + clipped(more, max(width - INDENT, LEAST)),
    ]


def _columns(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me"):  # drawn over the letter before
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def progress_bar(what: str) -> Callable[[str, int, int], None]:
    """Draws how far a long work is, on standard error; in a file, a line for what is done."""

    def draw(name: str, done: int, total: int) -> None:
        counted = f"{done:,}/{total:,} {what}"
        if sys.stderr.isatty():
            filled = int(30 * done / total) if total else 30
            bar = "#" * filled + "-" * (30 - filled)
            click.echo(f"\r{name:<16} [{bar}] {counted}", nl=False, err=True)
        elif done >= total:
            click.echo(f"{name:<16} {counted}", err=True)

    return draw


def end_progress() -> None:
    """What is printed next begins a line."""
    if sys.stderr.isatty():
        click.echo(err=True)


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
