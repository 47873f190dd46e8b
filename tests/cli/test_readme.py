"""The README's own code, run as it stands."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from commands import SECONDS, Served, environ

README = Path(__file__).parents[2] / "README.md"


def python() -> str:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert isinstance(code, str)
    return code


@pytest.mark.parametrize("runs", [True, False], ids=["with a daemon", "alone"])
def test_the_five_lines_work_as_they_stand(
    cli_home: Path, served: Served, home: Path, daemon: object, runs: bool
) -> None:
    """Once with a daemon to find, and once on a home that nobody serves."""
    done = subprocess.run(
        [sys.executable, "-c", python()],
        env=environ(cli_home if runs else home),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "We ship on Friday." in done.stdout
    assert done.stdout.endswith("Ada prefers short answers.\n")


def test_it_is_five_lines() -> None:
    lines = [line.strip() for line in python().splitlines() if "memory." in line]

    asked = [re.search(r"memory\.(\w+)\(", line) for line in lines]
    assert [found[1] for found in asked if found] == [
        *("record", "search", "bundle", "remember", "recall"),
    ]
