"""Homes for scenarios that stop and start a daemon of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.doors import throwaway


@pytest.fixture
def own_home() -> Iterator[Path]:
    with throwaway.room("memoryd-test-") as folder:
        yield folder / "home"
