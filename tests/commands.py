"""Real `memoryd` processes on a home of their own."""

import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoryd.doors import cli

WARM = multiprocessing.get_context("forkserver")
WARM.set_forkserver_preload(
    ["memoryd.doors.app", *(f"memoryd.doors.cli_{name}" for name in cli.MODULES)]
)
SECONDS = 180  # before it is taken to hang: a first start makes a cluster, beside other tests
LONG = "y" * 99_999  # more than the excerpt of a tool result
DEAD_URL = "http://127.0.0.1:9"  # nothing listens on the port of `discard`


def environ(home: Path, **given: str) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("MEMORYD_")}
    return {**kept, "MEMORYD_HOME": str(home), **given}


def memoryd(
    home: Path, *arguments: str, stdin: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    """A process of its own, forked from one that has imported the program: that takes longer than
    most commands. `cold` shows what a shell would start.
    """
    with tempfile.TemporaryDirectory(prefix="memoryd-command-") as made:
        room = Path(made)
        (room / "stdin").write_text(stdin)
        process = WARM.Process(target=_run, args=(room, arguments, environ(home, **env)))
        process.start()
        process.join(SECONDS)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(["memoryd", *arguments], SECONDS)
        said = [(room / name).read_text() for name in ("stdout", "stderr")]
        return subprocess.CompletedProcess(["memoryd", *arguments], process.exitcode, *said)


def _run(room: Path, arguments: tuple[str, ...], env: dict[str, str]) -> None:
    """In the forked process: what the interpreter does when it is started so."""
    os.environ.clear()
    os.environ.update(env)
    tempfile.tempdir = None  # named by the environment
    sys.argv = ["memoryd", *arguments]
    for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        opened = os.open(room / name, os.O_RDONLY if mode == "r" else os.O_WRONLY | os.O_CREAT)
        os.dup2(opened, number)
        os.close(opened)
        setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    cli.main()


def cold(home: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "memoryd", *arguments],
        env=environ(home, **env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def answer(home: Path, *arguments: str, **env: str) -> Any:
    """The one JSON value that `--json` prints."""
    done = memoryd(home, *arguments, "--json", **env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@dataclass(frozen=True)
class Served:
    process: subprocess.Popen[str]
    url: str
    said: str
    log: Path
    seconds: float


@contextmanager
def serving(home: Path, *arguments: str) -> Iterator[Served]:
    """`memoryd serve`, from its last line of greeting until it is stopped."""
    log = home.parent / f"serve-{time.monotonic_ns()}.log"
    started = time.monotonic()
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "memoryd", "serve", "--port", "0", *arguments],
            env=environ(home),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdout is not None
    said = ""
    try:
        for line in process.stdout:
            said += line
            if line.startswith("Stop it"):
                break
        found = re.search(r"(http://\S+)/docs", said)
        assert found, log.read_text()
        yield Served(process, found[1], said, log, time.monotonic() - started)
    finally:
        process.terminate()
        process.wait(SECONDS)


def message(session: str, text: str) -> dict[str, Any]:
    actor = {"type": "human", "id": "ada"}
    return {"session_id": session, "actor": actor, "kind": "message", "content": {"text": text}}
