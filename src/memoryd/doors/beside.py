"""A process beside the first one, as that sees it: what it was given, and how fast it answers."""

import asyncio
import itertools
import logging
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from memoryd.doors import frames, reading
from memoryd.doors.frames import Frame

log = logging.getLogger("memoryd.sharing")

NEWEST = 1 / 16  # what the newest answer counts for in how fast a process is
START_SECONDS = 60.0  # until it is ready; one that takes longer is stuck
ANSWER_SECONDS = 60.0  # as a statement of PostgreSQL may take; one that takes longer is stuck
STOP_SECONDS = 1.5


class Gone(Exception):
    """The other process ended before it answered."""


class Load:
    """What one process has under way, and how fast it answers: the first one embeds as well, so
    that as many requests take longer there.
    """

    def __init__(self) -> None:
        self.pace = 0.0  # seconds that a request takes for each one that is under way with it
        self._begun: dict[object, float] = {}  # of what is under way, the oldest first

    @property
    def busy(self) -> int:
        return len(self._begun)

    @property
    def wait(self) -> float:
        """Seconds until it would answer, and no less than it has taken for its oldest one; none
        where nothing is under way.
        """
        now = time.monotonic()
        return max(self.busy * self.pace, now - next(iter(self._begun.values()), now))

    @contextmanager
    def one_more(self) -> Iterator[None]:
        this, began = object(), time.monotonic()
        self._begun[this] = began
        together = self.busy
        try:
            yield
        finally:
            del self._begun[this]
            self.pace += ((time.monotonic() - began) / together - self.pace) * NEWEST


class Other:
    """Another process, and what it has not answered yet."""

    def __init__(self, process: asyncio.subprocess.Process, writer: asyncio.StreamWriter) -> None:
        self._process, self._writer, self.load = process, writer, Load()
        self._numbers = itertools.count(reading.READY + 1)
        self._waiting: dict[int, asyncio.Future[Frame]] = {}
        self.ready = False

    async def ask(self, head: Any, body: bytes) -> Frame:
        """Its answer; `Gone` if it will give none."""
        if not self.ready:
            raise Gone
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            with self.load.one_more():
                self._writer.write(frames.packed(Frame(number, head, body)))
                return await asyncio.wait_for(self._waiting[number], ANSWER_SECONDS)
        except TimeoutError as error:
            self._kill()
            raise Gone from error
        finally:
            del self._waiting[number]

    async def live(self, reader: asyncio.StreamReader, first: Load) -> None:
        """Hear what it says, until it is gone; it begins as fast as the `first` one is."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(START_SECONDS):
                    self.ready = await frames.read(reader) is not None
            self.load.pace = first.pace
            while self.ready and (frame := await frames.read(reader)) is not None:
                if (waiting := self._waiting.get(frame.number)) and not waiting.done():
                    waiting.set_result(frame)
        finally:
            self.ready = False
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(Gone())
            await self._end()

    def close(self) -> None:
        """Tell it to end."""
        self._writer.close()

    async def _end(self) -> None:
        self.close()
        try:
            code = await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
        except TimeoutError:
            self._kill()
            code = await self._process.wait()
        log.info("process.ended", extra={"pid": self._process.pid, "code": code})

    def _kill(self) -> None:
        with suppress(ProcessLookupError):  # it ended by itself
            self._process.kill()


async def spawned(log_level: str) -> tuple[asyncio.subprocess.Process, socket.socket]:
    """The process, and our end of the socket between it and us.

    Without the working folder in its path, where another `memoryd` may lie; and in a session of
    its own, since Ctrl-C is for us.
    """
    ours, its = socket.socketpair()
    with its:
        try:
            module = ("-P", "-m", reading.__name__)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, *module, str(its.fileno()), log_level),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
    return process, ours
