"""Where the daemon of a home answers: a file that it keeps locked while it lives.

The kernel drops the lock however the daemon ends, so a file that nobody locks says nothing.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from memoryd.core.config import Settings
from memoryd.embedded import guard

TRIES, PAUSE = 5, 0.02  # who looks holds the lock for an instant
LONGEST = 300  # bytes of an address


@contextmanager
def announced(settings: Settings, url: str) -> Iterator[None]:
    """Say that the daemon of this home answers at `url`, where no key is needed for that and the
    data is the home's own. Of two daemons on a home, the first is found.
    """
    if not settings.loopback or settings.database_url or os.name != "posix":
        yield
        return
    descriptor = guard.open_lock(str(_file(settings.home)))
    try:
        if _locked(descriptor):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, url.encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    for _ in range(TRIES):
        if guard.try_lock(descriptor):
            return True
        time.sleep(PAUSE)
    return False


def located(settings: Settings) -> Settings:
    """The same, with the address of the daemon that serves them, where one does."""
    if settings.url or settings.database_url:
        return settings
    return replace(settings, url=find(settings.home) or "")


def url(settings: Settings) -> str:
    """Where the daemon answers, or would if one were started."""
    return located(settings).url or address(settings.host, settings.port)


def address(host: str, port: int) -> str:
    """Where this machine reaches it; `0.0.0.0` is every address, and none to connect to."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # not bound here
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def find(home: Path) -> str | None:
    """The address of the daemon that serves this home, if one does."""
    with suppress(FileNotFoundError, PermissionError):
        descriptor = os.open(_file(home), os.O_RDWR | os.O_CLOEXEC)
        try:
            if os.name != "posix" or guard.try_lock(descriptor, shared=True):
                return None
            return os.pread(descriptor, LONGEST, 0).decode() or None
        finally:
            os.close(descriptor)
    return None


def _file(home: Path) -> Path:
    return home / "daemon.url"
