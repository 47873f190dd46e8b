"""Where what a command prints cannot be written, or nobody reads it to the end."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from commands import SECONDS, Served, environ, message

FULL = Path("/dev/full")


def started(home: Path, *arguments: str, **given: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "memoryd", *arguments],
        env=environ(home, **given),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", ["bundle x", "bundle x --text", "bundle x --json", "events"])
def test_a_full_disk_is_one_clear_line(cli_home: Path, served: Served, command: str) -> None:
    said = message("default", "x")
    httpx.post(f"{served.url}/api/v1/events", json=said).raise_for_status()
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "memoryd", *command.split()],
            env=environ(cli_home, MEMORYD_URL=served.url),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    assert done.returncode == 1
    assert done.stderr == f"memoryd: cannot print the answer: {os.strerror(28)}\n"


def test_who_follows_ends_where_nobody_reads_any_more(cli_home: Path, served: Served) -> None:
    for text in ("first", "second"):
        httpx.post(f"{served.url}/api/v1/events", json=message("head", text)).raise_for_status()
    follow = ("events", "--session", "head", "--follow")
    with started(cli_home, *follow, COLUMNS="200") as process:
        assert process.stdout and process.stderr
        first = process.stdout.readline()
        process.stdout.close()
        httpx.post(f"{served.url}/api/v1/events", json=message("head", "third"))
        said = process.stderr.read()
        code = process.wait(SECONDS)

    assert "first" in first
    assert (code, said) == (0, "")


def test_the_demo_ends_where_nobody_reads_any_more(cli_home: Path) -> None:
    with started(cli_home, "demo", "--yes") as process:
        assert process.stdout and process.stderr
        first = [process.stdout.readline() for _ in range(3)]
        process.stdout.close()
        said = process.stderr.read()
        code = process.wait(SECONDS)

    assert "MEMORYD_URL=" in "".join(first)
    assert code == 0
    assert said.splitlines()[1].startswith("recording a sample history") and said.count("\n") == 2
