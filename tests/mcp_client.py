"""The official SDK's client, as the tests of the MCP door use it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

MODES = ("legacy", "auto")  # with the handshake of 2025, and without, as of 2026


@asynccontextmanager
async def speaking(
    url: str, key: str | None = None, mode: Any = "legacy", **where: str
) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(headers=headers, params=where, timeout=120, verify=False) as http:
        query = f"?{httpx2.QueryParams(where)}" if where else ""
        transport = streamable_http_client(f"{url}/mcp{query}", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


async def use(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """The structured result of a tool, which its text repeats."""
    done = await client.call_tool(name, arguments)
    assert not done.is_error, said(done)
    assert isinstance(done.structured_content, dict)
    assert json.loads(said(done)) == done.structured_content
    found: dict[str, Any] = done.structured_content
    return found


async def refused(client: Client, name: str, **arguments: Any) -> str:
    done = await client.call_tool(name, arguments)
    assert done.is_error
    assert done.structured_content is None
    return said(done)


def said(done: types.CallToolResult) -> str:
    (text,) = done.content
    assert isinstance(text, types.TextContent)
    return text.text
