"""One home and one daemon for the tests of the commands."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import Served, serving


@pytest.fixture(scope="session")
def cli_home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="memoryd-cli-"))
    folder.chmod(0o711)
    yield folder / "home"
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def served(cli_home: Path) -> Iterator[Served]:
    """One daemon for all; commands on the same home share its PostgreSQL."""
    with serving(cli_home) as running:
        yield running
