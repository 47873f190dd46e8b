"""A proxy that loses answers: the request arrives and is done, and the client never hears of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class Dropping:
    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self.left = 0  # answers to lose from now on
        self.dropped = 0

    async def __call__(
        self, incoming: asyncio.StreamReader, outgoing: asyncio.StreamWriter
    ) -> None:
        host, port = self._target.hostname, self._target.port
        answers, requests = await asyncio.open_connection(host, port)
        sending = asyncio.create_task(self._forward(incoming, requests))
        try:
            while part := await answers.read(65_536):
                if self.left:
                    self.left -= 1
                    self.dropped += 1
                    break
                outgoing.write(part)
                await outgoing.drain()
        finally:
            sending.cancel()
            requests.close()
            outgoing.close()

    async def _forward(self, incoming: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        while part := await incoming.read(65_536):
            to.write(part)
            await to.drain()


@asynccontextmanager
async def dropping(url: str) -> AsyncIterator[tuple[Dropping, str]]:
    """The proxy, and the address at which it stands before `url`."""
    proxy = Dropping(url)
    server = await asyncio.start_server(proxy, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield proxy, f"http://127.0.0.1:{port}"


@asynccontextmanager
async def silent() -> AsyncIterator[str]:
    """Takes connections and never answers."""

    async def wait(incoming: asyncio.StreamReader, outgoing: asyncio.StreamWriter) -> None:
        await incoming.read()
        outgoing.close()

    server = await asyncio.start_server(wait, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
