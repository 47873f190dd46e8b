"""Which daemon, and which home, a command works on."""

import time
from pathlib import Path

import pytest

from commands import SECONDS, answer, serving
from memoryd.doors import serving as addresses


@pytest.fixture
def own(cli_home: Path) -> Path:
    """A home that no other test serves."""
    return cli_home.parent / f"own-{time.monotonic_ns()}"


def test_of_two_daemons_on_a_home_the_one_that_is_left_is_found(own: Path) -> None:
    with serving(own) as first, serving(own) as second:
        both = list(addresses.every(own))
        first.process.terminate()
        first.process.wait(SECONDS)
        found = answer(own, "status")

        assert both == [first.url, second.url]
        assert (found["url"], found["status"]) == (second.url, "ready")
    assert addresses.find(own) is None
