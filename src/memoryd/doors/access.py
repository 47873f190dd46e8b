"""Who asks, and through whose eyes: what every route of the API depends on."""

from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from memoryd.core import errors
from memoryd.core.model import Caller, Channel, Name, Reader
from memoryd.custody import audit, keys
from memoryd.daemon import Daemon
from memoryd.memories import model

bearer = HTTPBearer(auto_error=False, description="A key from `memoryd keys create`.")


# Async although they wait for nothing: the framework sends plain functions to a thread.
async def daemon_of(request: Request) -> Daemon:
    found: Daemon = request.app.state.daemon
    return found


async def caller_of(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Caller:
    """Who asks; looked up once a request."""
    if not hasattr(request.state, "caller"):
        request.state.caller = await _authenticate(request, credentials)
    caller: Caller = request.state.caller
    return caller


async def authenticate(request: Request) -> None:
    """Refuse a stranger; for what must happen before the body is read."""
    await caller_of(request, await bearer(request))


async def _authenticate(
    request: Request, credentials: HTTPAuthorizationCredentials | None
) -> Caller:
    """On loopback no key is needed for the default tenant."""
    daemon = await daemon_of(request)
    if credentials is not None:
        return await keys.caller(daemon.pool, credentials.credentials)
    if "authorization" in request.headers:
        raise errors.Unauthorized("send the key as: Authorization: Bearer mdk_…")
    if not daemon.settings.loopback:
        raise errors.Unauthorized("this address needs a key: Authorization: Bearer mdk_…")
    return Caller(tenant_id="default", role="admin")


async def writer_of(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    if caller.role == "reader":
        raise errors.Forbidden("a key with the role `reader` does not write; use an `agent` key")
    return caller


async def admin_of(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    if caller.role != "admin":
        raise errors.Forbidden("this takes a key with the role `admin`")
    return caller


async def reader_of(
    caller: Annotated[Caller, Depends(caller_of)],
    tenant_id: Annotated[Name | None, Query(description="Must be the key's own.")] = None,
    channel: Annotated[Channel | None, Query(description="Where the answer will be shown.")] = None,
    user_id: Annotated[Name | None, Query(description="Who will see it.")] = None,
    agent_id: Annotated[Name | None, Query(description="Which agent asks.")] = None,
) -> Reader:
    """Through whose eyes a read looks, from the query."""
    return reader_for(caller, tenant_id, channel, user_id, agent_id)


def reader_for(
    caller: Caller,
    tenant_id: str | None,
    channel: Channel | None,
    user_id: str | None,
    agent_id: str | None,
) -> Reader:
    """What is omitted comes from the key, or is `default`; what the key pins cannot be changed."""
    asked = {"tenant_id": tenant_id, "channel": channel, "user_id": user_id, "agent_id": agent_id}
    for name, given in asked.items():
        pinned = getattr(caller, name)
        if pinned is not None and given not in (None, pinned):
            raise keys.elsewhere(caller, name)
        asked[name] = given or pinned
    known: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    if known.get("user_id", "").startswith(model.agent_owner("")):
        raise errors.Forbidden(
            "users whose names begin with `agent:` are the agents themselves; ask at "
            "/api/v1/agents/{agent_id}/memories",
            field="user_id",
        )
    reader = Reader(**known)
    audit.tell(reader=reader)
    return reader


DaemonOf = Annotated[Daemon, Depends(daemon_of)]
WriterOf = Annotated[Caller, Depends(writer_of)]
ReaderOf = Annotated[Reader, Depends(reader_of)]
AdminOf = Annotated[Caller, Depends(admin_of)]
CallerOf = Annotated[Caller, Depends(caller_of)]


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals of a route, as the API document shows them."""
    shape = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    titles = {error.status: error.title for error in errors.MemorydError.__subclasses__()}
    return {
        status: {"description": titles.get(status, "Refused"), "content": shape}
        for status in (401, 403, 421, 422, 503, *statuses)
    }
