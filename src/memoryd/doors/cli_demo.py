"""`memoryd demo`: record → search → bundle → replay in a minute, on a throw-away home.

Every command that is shown is run as it stands, and what it printed is shown.
"""

import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click
import httpx

from memoryd.core import errors
from memoryd.daemon import now
from memoryd.doors import demo_history, throwaway
from memoryd.doors.cli import json_option, main, put, say, show

SECONDS = 60  # for one command, on a machine that is busy
VECTOR_SECONDS = 20  # then it goes on by words alone, and says so
PROSE = 90  # columns; longer lines are hard to read
MARKDOWN = {"content-type": "text/markdown"}
SESSION = ("--session", "booking")
OWN = {
    "memoryd serve": "starts it, and prints a curl line to try",
    'memoryd record "We ship on Friday."': "or POST /api/v1/events",
    'memoryd bundle "when do we ship?"': "or POST /api/v1/acb/build",
    "memoryd bundle --help": "budgets, sections, formats, the past",
}
QUESTION = "which database holds the bookings, and why?"


@dataclass(frozen=True)
class Step:
    title: str
    says: str
    command: str
    output: str


@dataclass
class Walk:
    """The steps so far, and how they are shown."""

    url: str
    quiet: bool
    pause: bool
    width: int
    steps: list[Step] = field(default_factory=list)

    def step(self, title: str, says: str, *arguments: str) -> str:
        """Show and run `memoryd` with these arguments; what it prints is returned too."""
        words = ["memoryd", *arguments]
        if self.pause and self.steps:
            _wait_for_enter()
        heading = click.style(f"{len(self.steps) + 1}. {title}", bold=True)
        self.say(f"\n{heading}\n{_wrapped(says, self.width)}\n")
        self.say(click.style(_command(words, self.width), fg="cyan"))
        output = self._run(arguments)
        self.say(textwrap.indent(output.rstrip("\n"), "  "))
        self.steps.append(Step(title, says, shlex.join(words), output))
        return output

    def say(self, text: str) -> None:
        # What a terminal shows in colour, unless it is asked not to.
        color = False if os.environ.get("NO_COLOR") else None
        if not self.quiet and not put(text, color=color):
            raise SystemExit(0)  # nobody watches any more

    def _run(self, arguments: Sequence[str]) -> str:
        done = subprocess.run(  # noqa: S603  # ourselves
            [sys.executable, "-m", "memoryd", *arguments],
            env={
                **throwaway.environment(),
                "MEMORYD_URL": self.url,
                "COLUMNS": str(self.width - 2),
                "PYTHONIOENCODING": "utf-8",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
        )
        if done.returncode:
            raise errors.MemorydError(f"`{shlex.join(arguments)}` failed: {done.stderr.strip()}")
        return done.stdout


@main.command()
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Keep the sample home there; it must be a new or an empty folder.",
)
@click.option("--yes", is_flag=True, help="Do not wait for Enter between the steps.")
@json_option
def demo(keep: Path | None, yes: bool, as_json: bool) -> None:
    """See record, search, bundle and replay at work, on sample data.

    It runs offline, on a home and a daemon of its own: yours is neither read nor changed.

    \b
    Example: memoryd demo --yes
    """
    home = _new(keep)
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    with _ends_by_exit(), throwaway.room("memoryd-demo-") as room:
        say("starting a daemon of its own, on a home of its own")
        with throwaway.daemon(home or room / "home", room / "log") as url:
            _load(url)
            width = shutil.get_terminal_size().columns
            walk = Walk(url, quiet=as_json, pause=terminal and not yes, width=width)
            along = f"To type along, in another terminal: export MEMORYD_URL={url}"
            walk.say(f"\n{_wrapped(along, width)}")
            _walk(walk)
    steps = [asdict(step) for step in walk.steps]
    kept = str(home) if home else None
    show({"steps": steps, "kept": kept}, as_json, lambda: _ending(home, width))


def _new(keep: Path | None) -> Path | None:
    if keep is None:
        return None
    if keep.exists() and any(keep.iterdir()):
        raise errors.Invalid(f"{keep} is not empty; name a folder that is, or a new one")
    return keep.absolute()


@contextmanager
def _ends_by_exit() -> Iterator[None]:
    """So that a signal, or a terminal that is closed, leaves no daemon and no folder."""

    def leave(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), leave) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def _load(url: str) -> None:
    """Record the sample history, and wait until it is found by meaning too."""
    drafts, known = demo_history.events(now()), dict[str, str]()
    say(f"recording a sample history: {len(drafts)} events of four weeks, two agents, two sessions")
    with httpx.Client(base_url=url, timeout=SECONDS) as client:
        for name, text in demo_history.views().items():
            _taken(client.put(f"/api/v1/views/{name}", content=text, headers=MARKDOWN))
        for batch in demo_history.batches(drafts, known):
            answer = _taken(client.post("/api/v1/events/batch", json={"events": batch}))
            for draft, recorded in zip(batch, answer["events"], strict=True):
                known[draft.get("idempotency_key", "")] = recorded["event_id"]
        deadline = time.monotonic() + VECTOR_SECONDS
        while client.get("/readyz").json()["pending_vectors"] and time.monotonic() < deadline:
            time.sleep(0.2)


def _taken(answer: httpx.Response) -> Any:
    if answer.is_error:
        raise errors.MemorydError(f"the sample was refused: {answer.text}")
    return answer.json()


def _walk(walk: Walk) -> None:
    walk.step(
        "Record",
        "What happens is an event in a log that is only ever added to. When this answers, the "
        "event is on disk, behind the sample: a ferry line's booking service in the making.",
        *("record", "Can a group of 12 book in one go?", *SESSION, "--actor", "human:ada"),
    )
    walk.step(
        "Search",
        "By words and by meaning: nobody said 'reserve' or 'forget'.",
        *("search", "how long do we reserve a place for someone who forgets to pay?"),
        *("--limit", "3"),
    )
    built = walk.step(
        "Bundle",
        "What a model should be given for its next answer, within a budget. Each section is sure "
        "of a share, and room that one leaves goes to others. Bookings were first to be stored in "
        "SQLite; that decision was superseded, so it is left out, and the list says so.",
        *("bundle", QUESTION, *SESSION, "--agent", "coder", "--max-tokens", "1500"),
    )
    walk.step(
        "What the model gets",
        "Text. Rules are there to be obeyed; what was recalled stands in a fence and says where it "
        "comes from, so that it is not taken for an instruction. Here two sections alone:",
        *("bundle", QUESTION, "--section", "rules", "--section", "decision_ledger"),
        *("--max-tokens", "300", "--text"),
    )
    _replay(walk, built)


def _replay(walk: Walk, built: str) -> None:
    found = re.search(r"acb_\w+", built)
    assert found is not None
    path = f"{walk.url}/api/v1/acb/{found[0]}"
    before = httpx.get(path, timeout=SECONDS).content
    walk.step(
        "Time goes on",
        "One more event, in the same conversation …",
        *("record", "Bookings of more than 9 people go to Ben by phone.", *SESSION),
    )
    again = walk.step(
        "Replay",
        "… and the bundle is still what it was: its receipt says which rows it was made of, and "
        "the log never changes them. So one can ask, a year later, what the model knew.",
        *("bundle", "--replay", found[0]),
    )
    if (built, before) != (again, httpx.get(path, timeout=SECONDS).content):
        raise errors.MemorydError("the replay differs from the bundle; please report this")
    same = f"(compared: GET /api/v1/acb/… gives the same {len(before):,} bytes as before)"
    walk.say(f"\n{textwrap.indent(_wrapped(same, walk.width - 2), '  ')}\n")


def _wait_for_enter() -> None:
    click.echo("\n  (Enter goes on) ", nl=False)
    # A signal just before a read that waits would be heard only after it.
    while os.name == "posix" and not select.select([sys.stdin], [], [], 0.5)[0]:
        pass
    if not sys.stdin.readline():
        raise click.Abort


def _command(words: Sequence[str], width: int) -> str:
    """As it is typed, on as many lines as it needs; an option stays with its value."""
    parts: list[str] = []
    for word in words:
        if parts and parts[-1].startswith("--") and " " not in parts[-1] and word[:2] != "--":
            parts[-1] += f" {shlex.quote(word)}"
        else:
            parts.append(shlex.quote(word))
    lines = ["  $"]
    for part in parts:
        if len(lines[-1]) + len(part) + 3 > width:
            lines[-1] += " \\"
            lines.append("     ")
        lines[-1] += f" {part}"
    return "\n".join(lines)


def _wrapped(text: str, width: int) -> str:
    """As prose; an address or a path is not broken."""
    lines = textwrap.wrap(text, min(width, PROSE), break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def _ending(home: Path | None, width: int) -> str:
    where = "The sample and its daemon are gone; nothing of yours was touched."
    if home is not None:
        serve = f"MEMORYD_HOME={shlex.quote(str(home))} memoryd serve"
        where = f"The sample stays in {home}; to serve it: {serve}"
    lines = [_wrapped(where, width), "", "Now your own:", ""]
    for command, about in OWN.items():
        if len(line := f"  {command:<35}  {about}") <= width:
            lines.append(line)
        else:
            lines += [f"  {command}", f"      {about}"]
    return "\n".join(lines)
