"""A second process of a daemon, which answers reads that the first one gives it.

It ends when the first one does, however that ends, since their socket closes then; and when nobody
has asked for a while.
"""

import asyncio
import os
import signal
import socket
import sys

from starlette.types import ASGIApp, Message

from memoryd import daemon
from memoryd.core import config
from memoryd.doors import app, cli, frames, logs, tuning
from memoryd.doors.frames import Frame

IDLE_SECONDS = 600
READY = 0  # the number of the frame that says so; requests count from 1


async def serve(settings: config.Settings, joined: socket.socket) -> None:
    """Answer what comes over `joined`, several at once, until its other end closes."""
    async with daemon.running(settings, cli.say, work=False) as running:
        reader, writer = await asyncio.open_unix_connection(sock=joined, limit=frames.HELD_BYTES)
        gate, under_way = app.build(running), set[asyncio.Task[None]]()
        tuning.collect_seldom()
        writer.write(frames.packed(Frame(READY, None, b"")))
        while (asked := await _next(reader, under_way)) is not None:
            task = asyncio.create_task(_answer(gate, asked, writer))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
        for task in under_way:
            task.cancel()  # nobody is left to hear it
        writer.close()


async def _next(reader: asyncio.StreamReader, under_way: set[asyncio.Task[None]]) -> Frame | None:
    waiting = asyncio.ensure_future(frames.read(reader))
    while not (await asyncio.wait([waiting], timeout=IDLE_SECONDS))[0]:
        if not under_way:
            waiting.cancel()
            return None
    return await waiting


async def _answer(gate: ASGIApp, asked: Frame, writer: asyncio.StreamWriter) -> None:
    path, listed, client = asked.head
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": frames.headers(listed),
        "client": client,
        "server": None,
        "state": {},
    }
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": asked.body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await gate(scope, receive, send)
    start, *parts = sent
    head = [start["status"], frames.listed(start["headers"])]
    body = b"".join(part.get("body", b"") for part in parts)
    writer.write(frames.packed(Frame(asked.number, head, body)))
    await writer.drain()


def main() -> None:
    """`python -m memoryd.doors.reading DESCRIPTOR LOG_LEVEL`, as `sharing` starts it."""
    for number in (signal.SIGINT, signal.SIGTERM):  # meant for the first process, who tells us
        signal.signal(number, signal.SIG_IGN)
    descriptor, log_level = sys.argv[1:]
    logs.start(log_level)
    tuning.share_memory()
    with socket.socket(fileno=int(descriptor)) as joined:
        cli.run(serve(config.from_environment(os.environ), joined))


if __name__ == "__main__":
    main()
