"""The HTTP API as Python, sync and async, over the network or in process.

There is one implementation: the async client sends, and the sync one runs it on an event loop in a
thread of its own, which an in-process daemon needs anyway.
"""

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypedDict, TypeVar, Unpack

import httpx

from memoryd.client.call import Call, Pages, Where, Who
from memoryd.client.methods import Methods
from memoryd.core import config, errors
from memoryd.core.model import Channel
from memoryd.doors import reach

log = logging.getLogger("memoryd.client")
T = TypeVar("T")

TIMEOUT = 30.0  # seconds for a call, its retries among them
RETRIES = 3


class Options(TypedDict, total=False):
    """`home`: the folder of the daemon, if not MEMORYD_HOME; `in_process`: without a network, even
    where a daemon runs; then for whom it asks, where a call does not say.
    """

    key: str
    home: str | os.PathLike[str]
    in_process: bool
    timeout: float
    retries: int
    session_id: str
    tenant_id: str
    user_id: str
    agent_id: str
    channel: Channel


def connect(url: str | None = None, **options: Unpack[Options]) -> "Client":
    """A client that returns answers.

    Without an address it uses MEMORYD_URL, else the daemon that runs on MEMORYD_HOME, else it
    starts one in this process. Use it in `with`, or `close()` it.
    """
    return Client(aconnect(url, **options))


def aconnect(url: str | None = None, **options: Unpack[Options]) -> "AsyncClient":
    """The same, to be awaited."""
    where: Where = {}
    for name in Where.__annotations__:
        if options.get(name) is not None:
            where[name] = options[name]  # type: ignore[literal-required]  # the names are Where's
    timeout = options.get("timeout", TIMEOUT)
    seek = not options.get("in_process")
    return AsyncClient(
        reach.Joined(_settings(url, options), log.info, seek=seek, seconds=timeout),
        Who(options.get("session_id", "default"), where),
        timeout=timeout,
        retries=options.get("retries", RETRIES),
    )


def _settings(url: str | None, options: Options) -> config.Settings:
    found = config.from_environment(os.environ)
    if "key" in options:
        found = replace(found, key=options["key"])
    if "home" in options:
        found = replace(found, home=Path(options["home"]).expanduser().absolute(), url="")
    if url is not None or options.get("in_process"):
        return replace(found, url=url or "")
    return found


class AsyncClient(Methods):
    def __init__(self, joined: reach.Joined, who: Who, *, timeout: float, retries: int) -> None:
        self.who = who
        self._joined = joined
        self._timeout = timeout
        self._pauses = tuple(min(0.1 * 3**number, 1.0) for number in range(retries))
        self._closed = False

    async def send(self, call: Call[T]) -> T:
        """The answer; what the daemon refuses is an error with its status, field and limit."""
        way = await self._reach()
        sending = self._joined.send(
            call.method, call.path, again=call.again, pauses=self._pauses, **call.sent
        )
        try:
            answer = await asyncio.wait_for(sending, self._timeout)
        except TimeoutError as error:
            raise errors.TooSlow(f"no answer from {way.base_url} in {self._timeout} s") from error
        if not answer.is_success:
            raise reach.refusal(answer)
        return call.read(answer)

    async def every(self, pages: Pages[T]) -> AsyncIterator[T]:
        call = pages.first
        while True:
            found, cursor = await self.send(call)
            for one in found:
                yield one
            if cursor is None:
                return
            call = pages.after(cursor)

    async def close(self) -> None:
        """Let go of the connection; a daemon of this process stops."""
        self._closed = True
        await self._joined.close()

    async def _reach(self) -> httpx.AsyncClient:
        if self._closed:
            raise RuntimeError("this client is closed; connect again")
        return await self._joined.reach()

    async def __aenter__(self) -> Self:
        await self._reach()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


class Client(Methods):
    """May be used by several threads at once."""

    def __init__(self, client: AsyncClient) -> None:
        self.who = client.who
        self._client = client
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="memoryd-client", daemon=True
        )
        self._thread.start()

    def send(self, call: Call[T]) -> T:
        return self._wait(self._client.send(call))

    def every(self, pages: Pages[T]) -> Iterator[T]:
        call = pages.first
        while True:
            found, cursor = self.send(call)
            yield from found
            if cursor is None:
                return
            call = pages.after(cursor)

    def close(self) -> None:
        """Let go of the connection; a daemon of this process stops."""
        if self._loop.is_closed():
            return
        self._wait(self._client.close())
        self._wait(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("this client is closed; connect again")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # where the caller was interrupted
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
