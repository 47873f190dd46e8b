"""MCP over standard input and output: the same server, for a client that starts us.

The handshake needs no daemon, so it is answered first; the daemon is reached by the first question.
"""

from collections.abc import Mapping

from mcp.server.stdio import stdio_server

from memoryd.core.config import Settings
from memoryd.doors import mcp_server, reach


async def serve(settings: Settings, where: Mapping[str, str], say: reach.Say) -> None:
    """Answer until the client closes our input. What others print meanwhile goes to standard error:
    the SDK keeps the protocol's stream to itself.
    """
    joined = reach.Joined(settings, say, seek=True)
    server = mcp_server.make(mcp_server.Way(joined.send, where, {}))
    try:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await joined.close()
