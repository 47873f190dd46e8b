"""Gives searches and bundles to a second process when several are asked for at once.

One process runs one thread of Python at a time, however many processors there are. The second one
is started by the first rush, not before: who is alone with a daemon does without its memory. Who
asks for more at once than the processes can work on waits here, for whichever has room first.
"""

import asyncio
import itertools
import logging
import os
import socket
import sys
import time
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoryd.core.config import Settings
from memoryd.doors import frames, reading
from memoryd.doors.frames import Frame

log = logging.getLogger("memoryd.sharing")

BUILD = "/api/v1/acb/build"
READS = {BUILD, "/api/v1/search"}  # POST; what takes long and changes no log
NEWEST = 1 / 16  # what the newest answer counts for in how fast a process is
RUSH = 4  # of them for each process: then another one is worth its start
PLACES = 2  # in a process for each caller: more take processors and caches from each other
LARGEST = 64 * 1024  # bytes of a request that is given away; a longer one is no usual question
BODY_SECONDS = 1.0  # for its body; who sends it more slowly is no hurry for anyone
ANSWER_SECONDS = 60.0  # as a statement of PostgreSQL may take; one that takes longer is stuck
PAUSE_SECONDS = 30.0  # between two starts: one that fails at once is not tried all the time
STOP_SECONDS = 1.5


class Gone(Exception):
    """The other process ended before it answered."""


class Load:
    """What one process has under way, and how fast it answers: the first one embeds as well, so
    that as many requests take longer there.
    """

    def __init__(self, pace: float = 0.0) -> None:
        self.busy = 0
        self.pace = pace  # seconds that a request takes for each one that is under way with it

    @property
    def wait(self) -> float:
        """Seconds until it would answer; none where nothing is under way."""
        return self.busy * self.pace

    @contextmanager
    def one_more(self) -> Iterator[None]:
        self.busy += 1
        beside, began = self.busy, time.monotonic()
        try:
            yield
        finally:
            self.busy -= 1
            self.pace += ((time.monotonic() - began) / beside - self.pace) * NEWEST


class Other:
    """Another process, and what it has not answered yet."""

    def __init__(
        self, process: asyncio.subprocess.Process, writer: asyncio.StreamWriter, pace: float
    ) -> None:
        self._process, self._writer, self.load = process, writer, Load(pace)
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
            self._process.kill()
            raise Gone from error
        finally:
            del self._waiting[number]

    async def live(self, reader: asyncio.StreamReader) -> None:
        """Hear what it says, until it is gone."""
        try:
            while (frame := await frames.read(reader)) is not None:
                self.ready = True
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
            self._process.kill()
            code = await self._process.wait()
        log.info("process.ended", extra={"pid": self._process.pid, "code": code})


class Shared:
    """`app`, of whose reads each is answered by the process that is likely to be done first."""

    def __init__(self, app: ASGIApp, settings: Settings, log_level: str) -> None:
        self._app, self._settings, self._log_level = app, settings, log_level
        self._most = min(settings.more_processes, os.cpu_count() or 1)
        self._reads = 0  # asked for and not yet answered, by whomever
        self._own = Load()
        self._others: dict[asyncio.Task[None], Other] = {}
        # Of each caller's reads; one is there as long as somebody stands in it.
        self._lines: weakref.WeakValueDictionary[bytes, asyncio.Semaphore]
        self._lines = weakref.WeakValueDictionary()
        self._tried = -PAUSE_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] not in READS:
            await self._app(scope, receive, send)
            return
        self._reads += 1
        try:
            if self._reads >= RUSH * (1 + len(self._others)) and self._lacks():
                await self._start()
            if self._ready() and _short(scope):
                await self._share(scope, receive, send)
            else:
                await self._keep(scope, receive, send)
        finally:
            self._reads -= 1

    async def _share(self, scope: Scope, receive: Receive, send: Send) -> None:
        read: list[Message] = []

        async def again() -> Message:
            return read.pop(0) if read else await receive()

        try:
            body = await _body(receive, read)
        except (Gone, TimeoutError):
            await self._keep(scope, again, send)
            return
        if scope["path"] == BUILD and b"query_text" not in body:  # done before its turn would come
            answer = await self._answered(scope, body, again)
        else:
            async with self._line(scope):
                answer = await self._answered(scope, body, again)
        for message in answer:  # with its place given up: it may be read slowly
            await send(message)

    def _line(self, scope: Scope) -> asyncio.Semaphore:
        """By key, so that nobody waits for another tenant."""
        caller = dict(scope["headers"]).get(b"authorization", b"")
        places = PLACES * (1 + len(self._ready()))
        return self._lines.setdefault(caller, asyncio.Semaphore(places))

    async def _answered(self, scope: Scope, body: bytes, again: Receive) -> list[Message]:
        other = min(self._ready(), key=lambda one: one.load.wait, default=None)
        if other is not None and other.load.wait < self._own.wait:
            head = [scope["path"], frames.listed(scope["headers"]), scope["client"]]
            with suppress(Gone):
                return _sent(await other.ask(head, body))
        sent: list[Message] = []

        async def keep(message: Message) -> None:
            sent.append(message)

        await self._keep(scope, again, keep)
        return sent

    async def _keep(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._own.one_more():
            await self._app(scope, receive, send)

    def _ready(self) -> list[Other]:
        return [one for one in self._others.values() if one.ready]

    def _lacks(self) -> bool:
        late = time.monotonic() - self._tried >= PAUSE_SECONDS
        return late and len(self._others) < self._most

    async def _start(self) -> None:
        self._tried = time.monotonic()
        try:
            process, ours = await _spawned(self._log_level)
        except OSError as error:  # no more processes or files, say: then this one does all
            log.warning("process.failed", extra={"error": str(error)})
            return
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=frames.HELD_BYTES)
        writer.write(frames.packed(Frame(reading.READY, reading.greeting(self._settings), b"")))
        log.info("process.started", extra={"pid": process.pid})
        other = Other(process, writer, self._own.pace)
        living = asyncio.create_task(other.live(reader))
        self._others[living] = other
        living.add_done_callback(self._others.pop)

    async def stop(self) -> None:
        for other in self._others.values():
            other.close()
        await asyncio.gather(*self._others)


async def _spawned(log_level: str) -> tuple[asyncio.subprocess.Process, socket.socket]:
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


async def _body(receive: Receive, read: list[Message]) -> bytes:
    """The whole of it, whose messages `read` then has; `Gone` if its sender is, and `TimeoutError`
    if they take their time: both are for the first process.
    """
    async with asyncio.timeout(BODY_SECONDS):
        while not read or read[-1].get("more_body"):
            read.append(await receive())
            if read[-1]["type"] != "http.request":
                raise Gone
    return b"".join(message.get("body", b"") for message in read)


def _sent(answer: Frame) -> list[Message]:
    status, listed = answer.head
    headers = frames.headers(listed)
    return [
        {"type": "http.response.start", "status": status, "headers": headers},
        {"type": "http.response.body", "body": answer.body},
    ]


def _short(scope: Scope) -> bool:
    """Its body is announced, and small; what has a query in its address is no usual one."""
    announced = dict(scope["headers"]).get(b"content-length", b"").decode("latin-1")
    known = announced.isdecimal() and len(announced) < 9 and int(announced) <= LARGEST
    return known and not scope["query_string"]


@asynccontextmanager
async def shared(app: ASGIApp, settings: Settings, log_level: str) -> AsyncIterator[ASGIApp]:
    """`app`, with other processes that end before this does."""
    if os.name != "posix" or not settings.more_processes:
        yield app
        return
    made = Shared(app, settings, log_level)
    try:
        yield made
    finally:
        await made.stop()
