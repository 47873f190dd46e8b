"""One home and one daemon for the tests of the commands."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import Served, serving
from desk import Desk

USERS = iter(f"export-{number}" for number in range(100))


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


@pytest.fixture
def desk(cli_home: Path, served: Served, tmp_path: Path) -> Desk:
    """A user of its own: the tests of other commands share the daemon."""
    return Desk(cli_home, served.url, tmp_path / "notes", next(USERS))


@pytest.fixture
def filled(desk: Desk) -> Desk:
    desk.put("# Mine\n\n- Tests first.\n")
    old = desk.post("decisions", decision="Indent with tabs.", subject="style")
    desk.post(
        "decisions",
        decision="Indent with spaces.",
        subject="style",
        rationale=["diffs"],
        refs=["evt_1"],
        supersedes=old["decision_id"],
        session_id="talk",
    )
    desk.post("tasks", title="Ship it", details="on Friday")
    desk.export()
    return desk
