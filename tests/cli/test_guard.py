"""`memoryd doctor --isolation` and `memoryd accesses`, as an operator runs them."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import answer, memoryd, serving


@pytest.fixture(scope="module")
def own() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="memoryd-guard-"))
    folder.chmod(0o711)
    yield folder / "home"
    shutil.rmtree(folder)


def test_the_self_test_runs_beside_a_daemon_and_through_it(own: Path) -> None:
    with serving(own) as served:
        done = memoryd(own, "doctor", "--isolation", "--json", MEMORYD_URL=served.url)

    attempts = json.loads(done.stdout)
    assert done.returncode == 0, done.stdout
    assert f"through the daemon at {served.url}" in done.stderr
    assert all(one["ok"] for one in attempts)
    assert attempts[-1]["name"] == "nothing is left behind"


def test_accesses_are_listed(own: Path) -> None:
    memoryd(own, "record", "we ship on Friday")
    memoryd(own, "events")
    found = answer(own, "accesses")["accesses"]
    shown = memoryd(own, "accesses", "--route", "/api/v1/events", "--limit", "1")

    assert [(one["method"], one["route"]) for one in found[-2:]] == [
        ("GET", "/api/v1/events"),
        ("POST", "/api/v1/events"),
    ]
    assert "Friday" not in str(found)
    assert "GET /api/v1/events" in shown.stdout
    assert "more: --cursor acc_" in shown.stdout
