"""A daemon of our own that leaves nothing: for benches and the demo."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from memoryd.core import errors
from memoryd.embedded import guard

# Where it keeps and shows itself is not for the environment to say.
NOT_INHERITED = {
    f"MEMORYD_{name}" for name in ("HOME", "DATABASE_URL", "URL", "KEY", "HOST", "PORT")
}
START_SECONDS = 120
STOP_SECONDS = 30


@contextmanager
def room(prefix: str) -> Iterator[Path]:
    """A folder that PostgreSQL can reach: it does not run as root, even where we do."""
    made = Path(tempfile.mkdtemp(prefix=prefix))
    made.chmod(0o711)
    try:
        yield made
    finally:
        shutil.rmtree(made)


@contextmanager
def daemon(home: Path, log: Path) -> Iterator[str]:
    """Serve `home` in a process of its own, which writes `log`, and say where; the end stops it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with log.open("wb") as written:
        process = subprocess.Popen(  # noqa: S603  # ourselves
            [sys.executable, "-m", "memoryd", "serve", "--port", str(port)],
            env={**environment(), "MEMORYD_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
        )
    try:
        _wait(process, url, log)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        # One that is stopped while it starts dies at once, and leaves PostgreSQL to its guard.
        guard.wait(str(home / "postgres.locks"), STOP_SECONDS)


def environment() -> dict[str, str]:
    """Ours, without what would lead to another home or daemon."""
    return {name: text for name, text in os.environ.items() if name not in NOT_INHERITED}


def _wait(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    with httpx.Client(base_url=url) as client:
        while process.poll() is None and time.monotonic() < deadline:
            try:
                if client.get("/readyz").is_success:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
    raise errors.Unavailable(f"the daemon did not start:\n{log.read_text()[-2_000:]}")
