"""`memoryd demo`: a newcomer's minute, on a home of its own."""

import json
import os
import pty
import re
import resource
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from commands import DEAD_URL, SECONDS, answer, cold, environ, memoryd
from memoryd.doors import demo_history

TITLES = ["Record", "Search", "Bundle", "What the model gets", "Time goes on", "Replay"]
PROMPT = "(Enter goes on)"


@pytest.fixture(scope="module")
def rooms(cli_home: Path) -> Iterator[Path]:
    """Where the demo makes its own home; not in pytest's folders, which are closed to others."""
    made = cli_home.parent / f"rooms-{time.monotonic_ns()}"
    made.mkdir()
    made.chmod(0o711)
    yield made
    assert list(made.iterdir()) == [], "every run removes what it made"


@contextmanager
def at_a_terminal(
    home: Path, rooms: Path, *arguments: str, **env: str
) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "memoryd", "demo", *arguments],
        env=environ(home, **{"TMPDIR": str(rooms), "COLUMNS": "80", **env}),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        process.terminate()
        process.wait(SECONDS)
        os.close(ours)


def read_until(terminal: int, word: str, seconds: float = SECONDS) -> str:
    """What is printed up to `word`, or within `seconds`."""
    said, deadline = b"", time.monotonic() + seconds
    while word.encode() not in said and (left := deadline - time.monotonic()) > 0:
        if not select.select([terminal], [], [], left)[0]:
            break
        try:
            said += os.read(terminal, 65_536)
        except OSError:  # the other end is closed
            break
    return said.decode(errors="replace").replace("\r\n", "\n")


def computing() -> float:
    """Seconds that the processes started here have computed, with those that they started."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


@pytest.fixture(scope="module")
def kept(cli_home: Path) -> Path:
    return cli_home.parent / f"kept-{time.monotonic_ns()}"


@pytest.fixture(scope="module")
def told(cli_home: Path, rooms: Path, kept: Path) -> Any:
    """One run, in an environment that would lead elsewhere; its home is kept."""
    elsewhere = {"MEMORYD_URL": DEAD_URL, "MEMORYD_KEY": "mdk_x", "MEMORYD_PORT": "1"}
    never = cli_home.parent / "never"
    before = computing()
    done = cold(never, "demo", "--keep", str(kept), "--json", TMPDIR=str(rooms), **elsewhere)
    assert done.returncode == 0, done.stderr

    assert computing() - before < 60, "a newcomer's minute, on a machine that is not busy"
    assert not never.exists(), "the user's own home is not touched"
    return json.loads(done.stdout)


def test_the_steps_are_commands_with_what_they_printed(told: Any) -> None:
    steps = {step["title"]: step for step in told["steps"]}

    assert list(steps) == TITLES
    assert all(set(step) == {"title", "says", "command", "output"} for step in steps.values())
    assert all(step["command"].startswith("memoryd ") for step in steps.values())
    assert re.fullmatch(r"evt_\w{26}  \(1 chunk\)\n", steps["Record"]["output"])
    assert "A seat is held" in steps["Search"]["output"].splitlines()[0]
    assert "Bookings are stored in PostgreSQL" in steps["Bundle"]["output"]
    assert re.search(r"superseded +\d", steps["Bundle"]["output"])
    text = steps["What the model gets"]["output"]
    assert text.startswith("<rules>\n") and '<memory section="decision_ledger">\n' in text
    assert "stored in PostgreSQL" in text and "stored in SQLite" not in text
    assert steps["Replay"]["output"] == steps["Bundle"]["output"]


def test_a_kept_home_is_there_afterwards(told: Any, kept: Path) -> None:
    events = answer(kept, "events", "--limit", "100")
    replay = shlex.split(told["steps"][-1]["command"])[1:]
    again = memoryd(kept, *replay, COLUMNS="78")

    assert Path(told["kept"]) == kept
    sample = len(demo_history.events(datetime.now(UTC))) + len(demo_history.views())
    assert len(events) == sample + 2
    assert again.stdout == told["steps"][-1]["output"]


def test_a_folder_with_something_in_it_is_not_used(cli_home: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    done = memoryd(cli_home, "demo", "--keep", str(tmp_path))

    assert (done.returncode, done.stdout) == (1, "")
    assert "is not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_at_a_narrow_terminal_without_colour_it_waits_for_enter(
    cli_home: Path, rooms: Path
) -> None:
    narrow = {"COLUMNS": "60", "NO_COLOR": "1"}
    with at_a_terminal(cli_home, rooms, **narrow) as (process, terminal):
        said = read_until(terminal, PROMPT)
        early = read_until(terminal, "2. Search", 1)
        for _ in TITLES[1:]:
            os.write(terminal, b"\n")
            said += read_until(terminal, PROMPT)
        code = process.wait(SECONDS)

    assert "2. Search" not in early and "\x1b" not in said
    assert [*re.findall(r"^\d\. (.+)$", said, re.MULTILINE)] == TITLES
    typed = re.findall(r"^  \$ ((?:.*\\\n)*.*)$", said, re.MULTILINE)
    commands = [shlex.split(one.replace("\\\n", "")) for one in typed]
    assert [command[1] for command in commands] == [
        *("record", "search", "bundle", "bundle", "record", "bundle")
    ]
    assert re.search(r"the same\s+[\d,]+\s+bytes\s+as\s+before", said)
    lines = said.splitlines()
    own = lines[next(n for n, line in enumerate(lines) if line.startswith("  (compared")) :]
    assert max(map(len, own)) <= 60
    assert "  memoryd serve" in own and "      starts it, and prints a curl line to try" in own
    assert "nothing of yours was touched" in " ".join("\n".join(own).split())
    assert code == 0


def test_a_signal_in_the_middle_leaves_nothing(cli_home: Path, rooms: Path) -> None:
    with at_a_terminal(cli_home, rooms) as (process, terminal):
        said = read_until(terminal, PROMPT)
        during = list(rooms.iterdir())
        process.send_signal(signal.SIGTERM)
        code = process.wait(SECONDS)
    port = re.search(r"MEMORYD_URL=(http://127.0.0.1:\d+)", said)
    assert port is not None
    after = memoryd(cli_home, "status", MEMORYD_URL=port[1])

    assert len(during) == 1 and list(rooms.iterdir()) == []
    assert code == 128 + signal.SIGTERM
    assert "no daemon answers" in after.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("begun", ["home/postgres.locks/guard", "home/postgres-*/data/*.pid"])
def test_a_signal_while_it_starts_leaves_nothing(
    cli_home: Path, rooms: Path, begun: str, number: signal.Signals
) -> None:
    """To all processes of the terminal, as Ctrl-C sends it."""
    with subprocess.Popen(
        [sys.executable, "-m", "memoryd", "demo"],
        env=environ(cli_home, TMPDIR=str(rooms)),
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + SECONDS
        while not list(rooms.glob(f"*/{begun}")) and time.monotonic() < deadline:
            time.sleep(0.01)
        os.killpg(process.pid, number)
        _, said = process.communicate(timeout=SECONDS)

    assert list(rooms.iterdir()) == []
    assert "Traceback" not in said
    assert "Aborted!" in said if number == signal.SIGINT else process.returncode == 128 + number


def test_the_sample_ends_in_the_week_before_and_keeps_its_weekdays() -> None:
    now = datetime(2031, 3, 5, 12, tzinfo=UTC)
    early = demo_history.events(datetime(2020, 1, 1, tzinfo=UTC))
    events = demo_history.events(now)
    moments = [datetime.fromisoformat(event["ts"]) for event in events]

    assert moments == sorted(moments)
    assert now - timedelta(days=7) < moments[-1] <= now
    assert [datetime.fromisoformat(event["ts"]).weekday() for event in early] == [
        moment.weekday() for moment in moments
    ]


def test_the_sample_has_something_of_everything() -> None:
    events = demo_history.events(datetime.now(UTC))

    assert 35 <= len(events) <= 50
    assert {event["session_id"] for event in events} == {"booking", "launch"}
    assert {event["agent_id"] for event in events} == {"coder", "planner"}
    assert {event["kind"] for event in events} == {
        *("message", "tool_call", "tool_result", "decision", "task_update")
    }
    assert sum("supersedes" in event["content"] for event in events) == 1
    assert set(demo_history.views()) == {"identity.coder", "rules.project", "rules.user"}


def test_a_name_becomes_the_id_that_was_given_to_it() -> None:
    known: dict[str, str] = {}
    sent: list[dict[str, Any]] = []
    for batch in demo_history.batches(demo_history.events(datetime.now(UTC)), known):
        for event in batch:
            sent.append(event)
            known[event.get("idempotency_key", "")] = f"evt_{len(sent)}"

    assert len(sent) == len(demo_history.events(datetime.now(UTC)))
    assert '"@' not in json.dumps(sent)
    (new,) = [event for event in sent if event["content"].get("supersedes")]
    old = sent[int(new["content"]["supersedes"].removeprefix("dec_")) - 1]
    assert old["content"]["decision"] == "Bookings are stored in SQLite."
