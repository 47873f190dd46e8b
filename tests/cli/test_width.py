"""What is listed fits a narrow terminal, and loses no mark there."""

import unicodedata
from pathlib import Path

import httpx
import pytest

from commands import Served, answer, memoryd, message

LONG = "We keep the bookings in PostgreSQL, since SQLite refused four of a hundred. " * 3
COMMANDS = ["search bookings --explain", "events --session narrow-session", "decisions", "tasks"]


@pytest.fixture(scope="module")
def kept(cli_home: Path, served: Served) -> dict[str, str]:
    """A tenant of its own: others list what is in theirs."""
    asked = ("keys", "create", "--tenant", "narrow", "--role", "agent")
    key: str = answer(cli_home, *asked)["key"]
    own = {"session_id": "narrow-session"}
    bearer = {"authorization": f"Bearer {key}"}
    for route, body in (
        ("events", {**message("x", LONG), **own}),
        ("events", {**message("x", "船は金曜日に出ます。" * 9), **own}),
        ("decisions", {"decision": LONG, "subject": "bookings", **own}),
        ("tasks", {"title": "Move the bookings", "details": LONG, **own}),
    ):
        sent = httpx.post(f"{served.url}/api/v1/{route}", json=body, headers=bearer)
        sent.raise_for_status()
    return {"MEMORYD_URL": served.url, "MEMORYD_KEY": key}


def lines(home: Path, kept: dict[str, str], command: str, columns: str) -> list[str]:
    done = memoryd(home, *command.split(), **kept, COLUMNS=columns)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def columns_of(line: str) -> int:
    return sum(1 + (unicodedata.east_asian_width(one) in "WF") for one in line)


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_longer_than_the_terminal_is_wide(
    cli_home: Path, kept: dict[str, str], command: str, columns: int
) -> None:
    shown = lines(cli_home, kept, command, str(columns))

    assert any("We keep" in line or "Move the" in line for line in shown)
    assert max(map(columns_of, shown)) <= columns


def test_the_second_line_has_the_marks_and_the_words(cli_home: Path, kept: dict[str, str]) -> None:
    head, said = lines(cli_home, kept, "decisions", "60")
    task, doing = lines(cli_home, kept, "tasks", "60")

    assert head.startswith("dec_") and task.startswith("tsk_")
    assert said.startswith("          active project bookings: We keep the")
    assert said.endswith("…") and len(said) == 60
    assert doing.startswith("          open Move the bookings (We keep")


def test_what_is_piped_has_a_line_for_each_event(cli_home: Path, kept: dict[str, str]) -> None:
    shown = lines(cli_home, kept, "events --session narrow-session --kind message", "")

    assert len(shown) == 2
    assert all("human:ada" in line for line in shown)
