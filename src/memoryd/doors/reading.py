"""A second process of a daemon, which answers reads that the first one gives it.

It ends when the first one does, however that ends, since their socket closes then; and when nobody
has asked for a while.
"""

import asyncio
import logging
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message

from memoryd import __version__, daemon
from memoryd.core import db, errors, tokens
from memoryd.core.config import Settings
from memoryd.doors import app, cli, frames, logs, refusals, tuning
from memoryd.doors.frames import Frame
from memoryd.redact import rules

log = logging.getLogger("memoryd.reading")

IDLE_SECONDS = 600
READY = 0  # the number of the frame that says so; requests count from 1


async def serve(joined: socket.socket) -> None:
    """Answer what comes over `joined`, several at once, until its other end closes."""
    reader, writer = await asyncio.open_unix_connection(sock=joined, limit=frames.HELD_BYTES)
    first = await frames.read(reader)
    if first is None:
        return
    async with daemon.running(settings(first.head), cli.say, work=False, beside=True) as running:
        gate, under_way = app.build(running), set[asyncio.Task[None]]()
        await asyncio.to_thread(_load, running)
        tuning.collect_seldom()
        writer.write(frames.packed(Frame(READY, None, b"")))
        while (asked := await _next(reader, under_way)) is not None:
            task = asyncio.create_task(_answer(gate, asked, writer))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
        for task in under_way:
            task.cancel()  # nobody is left to hear it
        writer.close()


def greeting(settings: Settings) -> Any:
    """What the first process says of itself; not in the environment, where empty is not given."""
    return {"version": __version__, "settings": vars(settings)}


def settings(said: Any) -> Settings:
    if said["version"] != __version__:
        raise errors.Unavailable(f"this is {__version__}, and {said['version']} runs: restart that")
    return Settings(**{**said["settings"], "home": Path(said["settings"]["home"])})


def _load(running: daemon.Daemon) -> None:
    """What a first bundle would wait for, some two seconds."""
    tokens.load()
    rules.load()
    running.encoders.current.load()


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
    if not sent:  # it failed, and its log says where
        await refusals.refusal(errors.MemorydError("memoryd failed; its log says where"))(
            scope, receive, send
        )
    start, *parts = sent
    head = [start["status"], frames.listed(start["headers"])]
    body = b"".join(part.get("body", b"") for part in parts)
    writer.write(frames.packed(Frame(asked.number, head, body)))
    with suppress(ConnectionError):  # the first process is gone, and this one ends
        await writer.drain()


def main() -> None:
    """`python -m memoryd.doors.reading DESCRIPTOR LOG_LEVEL`, as `sharing` starts it."""
    descriptor, log_level = sys.argv[1:]
    logs.start(log_level)
    tuning.share_memory()
    with socket.socket(fileno=int(descriptor)) as joined:
        try:
            cli.run(serve(joined))
        except (errors.MemorydError, *db.CONNECTION_LOST) as error:
            log.warning("process.refused", extra={"error": str(error)})
            sys.exit(1)


if __name__ == "__main__":
    main()
