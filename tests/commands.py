"""Real `memoryd` processes on a home of their own."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 180  # before it is taken to hang: a first start makes a cluster, beside other tests
LONG = "y" * 99_999  # more than the excerpt of a tool result
DEAD_URL = "http://127.0.0.1:9"  # nothing listens on the port of `discard`


def environ(home: Path, **given: str) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("MEMORYD_")}
    return {**kept, "MEMORYD_HOME": str(home), **given}


def memoryd(
    home: Path, *arguments: str, stdin: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "memoryd", *arguments],
        env=environ(home, **env),
        input=stdin,
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
