"""MCP over standard input and output: the same server, for a client that starts us.

The handshake needs no daemon, so it is answered first; the daemon is reached by the first question.
"""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack

import httpx
from mcp.server.stdio import stdio_server

from memoryd.core.config import Settings
from memoryd.doors import mcp_server, reach


async def serve(settings: Settings, where: Mapping[str, str], say: reach.Say) -> None:
    """Answer until the client closes our input. What others print meanwhile goes to standard error:
    the SDK keeps the protocol's stream to itself.
    """
    reached: list[httpx.AsyncClient] = []
    reaching = asyncio.Lock()
    async with AsyncExitStack() as stack:

        async def client() -> httpx.AsyncClient:
            async with reaching:
                if not reached:
                    opened = reach.client(settings, say, work=True)
                    reached.append(await stack.enter_async_context(opened))
                return reached[0]

        server = mcp_server.make(mcp_server.Way(client, where, {}))
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
