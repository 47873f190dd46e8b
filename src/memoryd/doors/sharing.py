"""Gives searches and bundles to a second process when several are asked for at once.

One process runs one thread of Python at a time, however many processors there are. The second one
is started by the first rush, not before: who is alone with a daemon does without its memory.
"""

import asyncio
import itertools
import logging
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoryd.core.config import Settings
from memoryd.doors import frames, reading
from memoryd.doors.frames import Frame

log = logging.getLogger("memoryd.sharing")

READS = {"/api/v1/acb/build", "/api/v1/search"}  # POST; what takes long and changes no log
RUSH = 4  # of them under way: then another process is worth its start
LARGEST = 64 * 1024  # bytes of a request that is given away; a longer one is no usual question
PAUSE_SECONDS = 30.0  # between two starts: one that fails at once is not tried all the time
STOP_SECONDS = 5.0


class Gone(Exception):
    """The other process ended before it answered."""


class Other:
    """Another process, and what it has not answered yet."""

    def __init__(self, process: asyncio.subprocess.Process, writer: asyncio.StreamWriter) -> None:
        self._process, self._writer = process, writer
        self._numbers = itertools.count(reading.READY + 1)
        self._waiting: dict[int, asyncio.Future[Frame]] = {}
        self.ready = False

    @property
    def busy(self) -> int:
        return len(self._waiting)

    async def ask(self, head: Any, body: bytes) -> Frame:
        """Its answer; `Gone` if it will give none."""
        if not self.ready:
            raise Gone
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(frames.packed(Frame(number, head, body)))
            return await self._waiting[number]
        finally:
            del self._waiting[number]

    async def listen(self, reader: asyncio.StreamReader) -> None:
        """Until it is gone."""
        while (frame := await frames.read(reader)) is not None:
            self.ready = True
            if (waiting := self._waiting.get(frame.number)) and not waiting.done():
                waiting.set_result(frame)
        self.ready = False
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(Gone())
        self._writer.close()

    async def stop(self) -> None:
        self._writer.close()  # which tells it
        try:
            await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()


class Shared:
    """`app`, of whose reads others answer as many at a time as it does itself."""

    def __init__(self, app: ASGIApp, settings: Settings, log_level: str) -> None:
        self._app, self._settings, self._log_level = app, settings, log_level
        self._own = 0  # reads under way here
        self._others: dict[asyncio.Task[None], Other] = {}
        self._tried = -PAUSE_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] not in READS:
            await self._app(scope, receive, send)
            return
        if self._own >= RUSH and self._lacks():
            await self._start()
        other = min(self._ready(), key=lambda one: one.busy, default=None)
        if other is not None and other.busy < self._own and _short(scope):
            await self._give(other, scope, receive, send)
        else:
            await self._keep(scope, receive, send)

    async def _keep(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._own += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._own -= 1

    async def _give(self, other: Other, scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        while message.get("more_body"):
            more = await receive()
            message = {**more, "body": message.get("body", b"") + more.get("body", b"")}
        head = [scope["path"], frames.listed(scope["headers"]), scope["client"]]
        try:
            frame = await other.ask(head, message.get("body", b""))
        except Gone:
            waiting = iter([message])

            async def again() -> Message:
                return next(waiting, None) or await receive()

            await self._keep(scope, again, send)
            return
        status, listed = frame.head
        headers = frames.headers(listed)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": frame.body})

    def _ready(self) -> list[Other]:
        return [one for one in self._others.values() if one.ready]

    def _lacks(self) -> bool:
        late = time.monotonic() - self._tried >= PAUSE_SECONDS
        return late and len(self._others) < self._settings.more_processes

    async def _start(self) -> None:
        self._tried = time.monotonic()
        ours, its = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", reading.__name__, str(its.fileno()), self._log_level),
                env=os.environ | _environment(self._settings),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                pass_fds=[its.fileno()],
            )
        except OSError as error:  # too many processes, say: then this one does all
            ours.close()
            log.warning("process.failed", extra={"error": str(error)})
            return
        finally:
            its.close()
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=frames.HELD_BYTES)
        log.info("process.started", extra={"pid": process.pid})
        other = Other(process, writer)
        listening = asyncio.create_task(other.listen(reader))
        self._others[listening] = other
        listening.add_done_callback(self._ended)

    def _ended(self, listening: asyncio.Task[None]) -> None:
        self._others.pop(listening, None)
        log.info("process.ended")

    async def stop(self) -> None:
        others = [*self._others.values()]
        await asyncio.gather(*(one.stop() for one in others))


def _environment(settings: Settings) -> dict[str, str]:
    """The same settings for another process, wherever these come from."""
    return {f"MEMORYD_{name.upper()}": str(value) for name, value in vars(settings).items()}


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
