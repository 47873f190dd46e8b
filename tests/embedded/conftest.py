"""Homes for the embedded PostgreSQL, of which nothing remains."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from memoryd.embedded import cluster
from servers import leave_nothing, processes, until


@pytest.fixture(scope="module")
def room() -> Iterator[Path]:
    """A folder for homes that every account can pass through; nothing of it remains."""
    had_outside = cluster.OUTSIDE.exists()
    room = Path(tempfile.mkdtemp(prefix="memoryd-test-", dir="/tmp"))
    room.chmod(0o711)
    yield room.resolve()
    for locks in room.rglob("postgres.locks"):
        leave_nothing(locks.parent)
    shutil.rmtree(room)
    if not had_outside and cluster.OUTSIDE.exists():
        with suppress(OSError):  # tests beside this one may have a home there
            cluster.OUTSIDE.rmdir()


@pytest.fixture
def home(room: Path) -> Iterator[Path]:
    """One home for most tests, which thus also survives all of them; at rest before and after."""
    yield room / "home"
    until(lambda: not processes(str(room / "home")))


@pytest.fixture
def long_home(room: Path) -> Path:
    """A home whose path is too long for a socket, with all that a path may hold."""
    return room / ("so, a \"quoted\" 'home' é " + "x" * 100) / ("y" * 120)
