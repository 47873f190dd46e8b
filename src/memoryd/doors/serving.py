"""Where the daemons of a home answer: a file for each, that it keeps locked while it lives.

The kernel drops the lock however the daemon ends, so a file that nobody locks says nothing.
"""

import itertools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from memoryd.core.config import Settings
from memoryd.embedded import guard

KEEP_ALIVE_SECONDS = 75  # longer than clients keep theirs, or a request meets a closed connection
TRIES, PAUSE = 5, 0.02  # who looks holds the lock for an instant
LONGEST = 300  # bytes of an address


@contextmanager
def announced(settings: Settings, url: str) -> Iterator[None]:
    """Say that a daemon of this home answers at `url`, where no key is needed for that and the
    data is the home's own.
    """
    if not settings.loopback or settings.database_url or os.name != "posix":
        yield
        return
    descriptor = _taken(settings.home)
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, url.encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _taken(home: Path) -> int:
    """A file that no other daemon of the home has, locked."""
    for number in itertools.count(1):
        descriptor = guard.open_lock(str(_file(home, number)))
        if _locked(descriptor):
            return descriptor
        os.close(descriptor)
    raise AssertionError("there is always another number")


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


def elsewhere(settings: Settings) -> str | None:
    """What to say of a command that opens the home itself, where MEMORYD_URL names a daemon that is
    not known to serve that home: its user may mean the daemon.
    """
    # Which database the daemon of an outside one has, nothing here tells; who names one means it.
    known = [_plain(one) for one in every(settings.home)]
    if not settings.url or settings.database_url or _plain(settings.url) in known:
        return None
    return (
        f"this command works on MEMORYD_HOME ({settings.home}), and MEMORYD_URL names "
        f"{settings.url}, which is not known to serve that"
    )


def _plain(url: str) -> str:
    return url.rstrip("/").replace("//localhost:", "//127.0.0.1:")


def url(settings: Settings) -> str:
    """Where the daemon answers, or would if one were started."""
    return located(settings).url or address(settings.host, settings.port)


def address(host: str, port: int) -> str:
    """Where this machine reaches it; `0.0.0.0` is every address, and none to connect to."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # not bound here
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def find(home: Path) -> str | None:
    """The address of a daemon that serves this home, if one does: of several, the first."""
    return next(every(home), None)


def every(home: Path) -> Iterator[str]:
    """The addresses of all daemons that serve this home."""
    for number in itertools.count(1):
        try:
            descriptor = os.open(_file(home, number), os.O_RDWR | os.O_CLOEXEC)
        except (FileNotFoundError, PermissionError):
            return
        try:
            free = os.name != "posix" or guard.try_lock(descriptor, shared=True)
            said = "" if free else os.pread(descriptor, LONGEST, 0).decode()
        finally:
            os.close(descriptor)
        if said:
            yield said


def _file(home: Path, number: int) -> Path:
    """Numbered from 1 without a gap: they stay when their daemons are gone."""
    return home / ("daemon.url" if number == 1 else f"daemon-{number}.url")
