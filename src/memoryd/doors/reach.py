"""How a command reaches the API: over HTTP at MEMORYD_URL, otherwise in process on MEMORYD_HOME."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from memoryd import daemon
from memoryd.core import errors
from memoryd.core.config import Settings

_SECONDS = 60
_KINDS = {404: errors.NotFound, 409: errors.Conflict, 503: errors.Unavailable}


@asynccontextmanager
async def client(settings: Settings, say: daemon.Say) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"authorization": f"Bearer {settings.key}"} if settings.key else {}
    if settings.url:
        async with _remote(settings.url, headers) as remote:
            yield remote
        return
    from memoryd.doors import app  # noqa: PLC0415  # 0.3 s that a remote call need not pay

    async with daemon.running(settings, say, work=False) as running:
        transport = httpx.ASGITransport(app.build(running))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers=headers, timeout=_SECONDS
        ) as local:
            yield local


def _remote(url: str, headers: dict[str, str]) -> httpx.AsyncClient:
    if not url.startswith(("http://", "https://")):
        raise errors.Invalid(
            f"MEMORYD_URL is {url!r}: it must begin with http:// or https://", field="MEMORYD_URL"
        )
    try:
        return httpx.AsyncClient(base_url=url, headers=headers, timeout=_SECONDS)
    except httpx.InvalidURL as error:
        raise errors.Invalid(f"MEMORYD_URL is {url!r}: {error}", field="MEMORYD_URL") from error


async def call(
    client: httpx.AsyncClient, method: str, path: str, **arguments: Any
) -> dict[str, Any]:
    """The answer's JSON; a refusal becomes the error it was on the other side."""
    body: dict[str, Any] = (await ask(client, method, path, **arguments)).json()
    return body


async def ask(
    client: httpx.AsyncClient, method: str, path: str, **arguments: Any
) -> httpx.Response:
    try:
        answer = await client.request(method, path, **arguments)
    except httpx.TransportError as error:
        raise errors.Unavailable(
            f"no daemon answers at {client.base_url} ({error}); start one with: memoryd serve"
        ) from error
    if answer.is_error:
        body = answer.json() if "json" in answer.headers.get("content-type", "") else {}
        where = f" ({body['field']})" if body.get("field") else ""
        kind = _KINDS.get(answer.status_code, errors.MemorydError)
        raise kind(f"{answer.status_code}: {body.get('detail', answer.text)}{where}")
    return answer
