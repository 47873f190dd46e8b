"""MCP over streamable HTTP, at `/mcp`: each request stands for itself, with its own key.

Without sessions there is nothing to take over, and a daemon that restarts loses none.
"""

import asyncio
import importlib
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any

import httpx
from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoryd.core import errors
from memoryd.core.model import MAX_JSON_BYTES, Channel, Name
from memoryd.doors import http, reach
from memoryd.doors.access import CallerOf, problems, reader_for

router = APIRouter(tags=["mcp"])

_JSON = {"application/json": {"schema": {"type": "object"}}}


@dataclass(frozen=True, kw_only=True)
class Asking:
    """For whom, in the address; what is omitted comes from the key, or is `default`."""

    tenant_id: Annotated[Name | None, Query(description="Must be the key's own.")] = None
    channel: Annotated[Channel | None, Query(description="Where the answers will be shown.")] = None
    user_id: Annotated[Name | None, Query(description="Whose memories.")] = None
    agent_id: Annotated[Name | None, Query(description="Which agent asks.")] = None
    session_id: Annotated[Name | None, Query(description="The conversation.")] = None


class Answer(Response):
    """What the SDK makes of a request whose body was read."""

    def __init__(self, server: Any, body: bytes) -> None:
        super().__init__()
        self._server, self._read = server, body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from mcp.server.streamable_http_manager import (  # noqa: PLC0415  # half a second
            StreamableHTTPSessionManager,
        )

        left = [{"type": "http.request", "body": self._read, "more_body": False}]

        async def again() -> Message:
            return left.pop() if left else await receive()

        manager = StreamableHTTPSessionManager(
            self._server,
            stateless=True,
            json_response=True,
            max_request_body_size=MAX_JSON_BYTES,
        )
        async with manager.run():
            await manager.handle_request(scope, again, send)


def within(gate: ASGIApp) -> httpx.AsyncClient:
    """How the tools reach the API of their own daemon: through its gate, as everybody."""
    return reach.within(gate, {})


@router.post(
    "/mcp",
    response_class=Response,
    openapi_extra={"requestBody": {"required": True, "content": _JSON}},
    responses={
        200: {"content": _JSON, "description": "The answer, as JSON-RPC"},
        202: {"description": "A notification was taken"},
        406: {"content": _JSON, "description": "Accept must allow application/json"},
        404: {"content": _JSON, "description": "No such method, as JSON-RPC"},
        **problems(413, 415),
        400: {
            "content": {**_JSON, **problems(400)[400]["content"]},
            "description": "No message, as a problem or as JSON-RPC",
        },
    },
)
async def serve_mcp(
    request: Request, caller: CallerOf, asking: Annotated[Asking, Depends()]
) -> Response:
    """The Model Context Protocol: one JSON-RPC message, one answer, over streamable HTTP without
    sessions. Tools, resources and prompts ask the API with the key of this request.
    """
    reader_for(caller, asking.tenant_id, asking.channel, asking.user_id, asking.agent_id)
    http.check_media_type(request)
    body = await http.read_body(request, MAX_JSON_BYTES, http.MORE)
    _check_message(http.parse_json(body))
    mcp_server = await asyncio.to_thread(importlib.import_module, "memoryd.doors.mcp_server")
    api: httpx.AsyncClient = request.app.state.within
    where = {name: said for name, said in asdict(asking).items() if said is not None}
    key = {name: request.headers[name] for name in ("authorization",) if name in request.headers}
    way = mcp_server.Way(partial(reach.send, api), where, key)
    return Answer(mcp_server.make(way), body)


def _check_message(given: Any) -> None:
    """What is plainly none is refused here, in fewer words than the SDK's."""
    if not isinstance(given, dict):
        raise errors.Malformed("send one JSON-RPC message, as an object", field="body")
    if given.get("jsonrpc") != "2.0":
        raise errors.Malformed("a message says which protocol it is", field="jsonrpc", limit="2.0")
    if not isinstance(given.get("method"), str):
        raise errors.Malformed("a message names its method", field="method")
