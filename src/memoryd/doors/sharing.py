"""Gives searches and bundles to a second process when several are asked for at once.

One process runs one thread of Python at a time, however many processors there are. The second one
is started by the first rush, not before: who is alone with a daemon does without its memory. Who
asks for more at once than the processes can work on waits here, for whichever has room first.
"""

import asyncio
import logging
import os
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from pydantic_core import from_json
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoryd.core.config import Settings
from memoryd.doors import beside, frames, reading
from memoryd.doors.frames import Frame

log = logging.getLogger("memoryd.sharing")

BUILD = "/api/v1/acb/build"
READS = {BUILD, "/api/v1/search"}  # POST; what takes long and changes no log
RUSH = 4  # of them for each process: then another one is worth its start
PLACES = 2  # in a process for each caller: more take processors and caches from each other
LARGEST = 64 * 1024  # bytes of a request that is shared; a longer one is no usual question
BODY_SECONDS = 1.0  # for its body; who sends it more slowly is no hurry for anyone
PAUSE_SECONDS = 30.0  # between two starts: one that fails at once is not tried all the time


class Shared:
    """`app`, of whose reads each is answered by the process that is likely to be done first."""

    def __init__(self, app: ASGIApp, settings: Settings, log_level: str) -> None:
        self._app, self._settings, self._log_level = app, settings, log_level
        self._most = min(settings.more_processes, os.cpu_count() or 1)
        self._reads = 0  # asked for and not yet answered
        self._own = beside.Load()
        self._others: dict[asyncio.Task[None], beside.Other] = {}
        # Of each caller's reads; one is there as long as somebody stands in it.
        self._lines: weakref.WeakValueDictionary[bytes, asyncio.Semaphore]
        self._lines = weakref.WeakValueDictionary()
        self._tried = -PAUSE_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] not in READS:
            await self._app(scope, receive, send)
            return
        read: list[Message] = []

        async def again() -> Message:
            return read.pop(0) if read else await receive()

        body = None if scope["query_string"] else await _body(receive, read)
        if body is None:  # unusual, or slow: how fast a process is must not follow from it
            await self._app(scope, again, send)
            return
        self._reads += 1
        try:
            if self._reads >= RUSH * (1 + len(self._others)) and self._lacks():
                await self._start()
            answer = await self._answer(scope, body, again, Request(scope, receive).is_disconnected)
        finally:
            self._reads -= 1
        for message in answer:  # with its place given up: it may be read slowly
            await send(message)

    async def _answer(
        self, scope: Scope, body: bytes, again: Receive, gone: Callable[[], Awaitable[bool]]
    ) -> list[Message]:
        if not self._ready() or not _asks(scope["path"], body):
            return await self._choose(scope, body, again)
        async with self._line(scope):
            # Who waited too long may have asked again already.
            return [] if await gone() else await self._choose(scope, body, again)

    def _line(self, scope: Scope) -> asyncio.Semaphore:
        """By key, so that nobody waits for another tenant."""
        caller = dict(scope["headers"]).get(b"authorization", b"")
        places = PLACES * (1 + len(self._ready()))
        return self._lines.setdefault(caller, asyncio.Semaphore(places))

    async def _choose(self, scope: Scope, body: bytes, again: Receive) -> list[Message]:
        """The answer of the one that is likely to be done first."""
        best = min(self._ready(), key=lambda one: one.load.wait, default=None)
        if best is not None and best.load.wait < self._own.wait:
            head = [scope["path"], frames.listed(scope["headers"]), scope["client"]]
            with suppress(beside.Gone):
                return _sent(await best.ask(head, body))
        sent: list[Message] = []

        async def keep(message: Message) -> None:
            sent.append(message)

        with self._own.one_more():
            await self._app(scope, again, keep)
        return sent

    def _ready(self) -> list[beside.Other]:
        return [one for one in self._others.values() if one.ready]

    def _lacks(self) -> bool:
        late = time.monotonic() - self._tried >= PAUSE_SECONDS
        return late and len(self._others) < self._most

    async def _start(self) -> None:
        self._tried = time.monotonic()
        try:
            process, ours = await beside.spawned(self._log_level)
            reader, writer = await asyncio.open_unix_connection(sock=ours, limit=frames.HELD_BYTES)
        except OSError as error:  # no more processes or files, say: then this one does all
            log.warning("process.failed", extra={"error": str(error)})
            return
        writer.write(frames.packed(Frame(reading.READY, reading.greeting(self._settings), b"")))
        log.info("process.started", extra={"pid": process.pid})
        started = beside.Other(process, writer)
        living = asyncio.create_task(started.live(reader, self._own))
        self._others[living] = started
        living.add_done_callback(self._others.pop)

    async def stop(self) -> None:
        for one in self._others.values():
            one.close()
        await asyncio.gather(*self._others)


async def _body(receive: Receive, read: list[Message]) -> bytes | None:
    """The whole of it, whose messages `read` has then; None where it is long, or takes its time."""
    size = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(BODY_SECONDS):
            while size <= LARGEST and (not read or read[-1].get("more_body")):
                read.append(await receive())
                if read[-1]["type"] != "http.request":
                    return None  # its sender is gone
                size += len(read[-1].get("body", b""))
            whole = b"".join(message.get("body", b"") for message in read)
            return whole if size <= LARGEST else None
    return None


def _asks(path: str, body: bytes) -> bool:
    """It is about to search: a bundle without a question is done before its turn would come."""
    try:
        said = from_json(body)
    except ValueError:
        return False
    return isinstance(said, dict) and (path != BUILD or bool(said.get("query_text")))


def _sent(answer: Frame) -> list[Message]:
    status, listed = answer.head
    headers = frames.headers(listed)
    return [
        {"type": "http.response.start", "status": status, "headers": headers},
        {"type": "http.response.body", "body": answer.body},
    ]


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
