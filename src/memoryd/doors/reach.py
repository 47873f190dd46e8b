"""How a program reaches the API: over HTTP at MEMORYD_URL, otherwise in process on MEMORYD_HOME."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx

from memoryd import violations
from memoryd.core import errors
from memoryd.core.config import Settings
from memoryd.doors import serving

Say = Callable[[str], None]

SECONDS = 60.0
PAUSES = (0.1, 0.3, 1.0)  # seconds before each retry; a daemon is back from a restart by then
_KINDS = {error.status: error for error in errors.MemorydError.__subclasses__()}
_KINDS[503] = errors.Unavailable  # another error has this status too


@asynccontextmanager
async def client(
    settings: Settings, say: Say, *, work: bool = False, seconds: float = SECONDS
) -> AsyncIterator[httpx.AsyncClient]:
    """A way to the API. In process, `work` lets it index and embed in the background too: worth it
    for what lives longer than a command.
    """
    headers = {"authorization": f"Bearer {settings.key}"} if settings.key else {}
    if settings.url:
        async with _remote(settings.url, headers, seconds) as remote:
            yield remote
        return
    # Together 0.7 s that a remote call need not pay.
    from memoryd import daemon  # noqa: PLC0415
    from memoryd.doors import app  # noqa: PLC0415

    async with (
        daemon.running(settings, say, work=work) as running,
        within(app.build(running), headers, seconds) as local,
    ):
        yield local


def within(app: Any, headers: dict[str, str], seconds: float = SECONDS) -> httpx.AsyncClient:
    """A way to the API of this process, without a network."""
    transport = httpx.ASGITransport(app)
    return httpx.AsyncClient(
        transport=transport, base_url="http://localhost", headers=headers, timeout=seconds
    )


def _remote(url: str, headers: dict[str, str], seconds: float) -> httpx.AsyncClient:
    if not url.startswith(("http://", "https://")):
        raise errors.Invalid(
            f"MEMORYD_URL is {url!r}: it must begin with http:// or https://", field="MEMORYD_URL"
        )
    # Reading the certificates takes longer than an answer of loopback.
    verify = url.startswith("https://")
    try:
        return httpx.AsyncClient(base_url=url, headers=headers, timeout=seconds, verify=verify)
    except httpx.InvalidURL as error:
        raise errors.Invalid(f"MEMORYD_URL is {url!r}: {error}", field="MEMORYD_URL") from error


class Joined:
    """The daemon that a program which lives longer than a command asks, reached when first needed.

    Where it is to be found by its home (`seek`), not by an address, and is gone, it is looked for
    again, and started where none runs.
    """

    def __init__(
        self, settings: Settings, say: Say, *, seek: bool, seconds: float = SECONDS
    ) -> None:
        self._settings, self._say = settings, say
        self._seek = seek and not (settings.url or settings.database_url)
        self._seconds = seconds
        self._open = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._client: httpx.AsyncClient | None = None

    async def reach(self) -> httpx.AsyncClient:
        async with self._opening:
            if self._client is None:
                found = serving.located(self._settings) if self._seek else self._settings
                opened = client(found, self._say, work=True, seconds=self._seconds)
                self._client = await self._open.enter_async_context(opened)
            return self._client

    async def send(self, method: str, path: str, *, again: bool, **sent: Any) -> httpx.Response:
        """As `send`. What may not be sent again fails with the daemon that is lost; the next call
        looks for another.
        """
        way = await self.reach()
        try:
            return await send(way, method, path, again=again, **sent)
        except errors.Unavailable:
            if self._seek and self._client is way:
                self._client = None
            if not (self._seek and again):
                raise
        return await send(await self.reach(), method, path, again=again, **sent)

    async def close(self) -> None:
        """Let go of the connection; a daemon of this process stops."""
        async with self._opening:
            self._client = None
            await self._open.aclose()


async def call(
    client: httpx.AsyncClient, method: str, path: str, **arguments: Any
) -> dict[str, Any]:
    """The answer's JSON; a refusal becomes the error it was on the other side."""
    body: dict[str, Any] = (await ask(client, method, path, **arguments)).json()
    return body


async def ask(
    client: httpx.AsyncClient, method: str, path: str, **arguments: Any
) -> httpx.Response:
    answer = await send(client, method, path, again=False, **arguments)
    if answer.is_error:
        error = refusal(answer)
        for_programs = error.limit in violations.PATTERNS
        limit = f", limit {error.limit}" if error.limit and not for_programs else ""
        where = f" ({error.field}{limit})" if error.field else ""
        error.detail = f"{error.status}: {error.detail}{where}"
        raise error
    return answer


async def send(
    client: httpx.AsyncClient,
    method: str,
    path: str,
    *,
    again: bool,
    pauses: tuple[float, ...] = PAUSES,
    **arguments: Any,
) -> httpx.Response:
    """The answer, whatever it says.

    What may be sent `again` without harm is, after each of the `pauses`, when the answer was lost
    or the daemon was not ready.
    """
    for pause in (*pauses, None):
        last = pause is None or not again
        try:
            answer = await client.request(method, path, **arguments)
        except httpx.TransportError as error:
            if last:
                raise _unanswered(client, error) from error
        else:
            if last or answer.status_code != 503 or "retry-after" not in answer.headers:
                return answer
        await asyncio.sleep(pause or 0)
    raise AssertionError("the last attempt returns or raises")


def _unanswered(client: httpx.AsyncClient, error: httpx.TransportError) -> errors.MemorydError:
    if isinstance(error, httpx.TimeoutException):
        return errors.TooSlow(f"no answer from {client.base_url} in time ({type(error).__name__})")
    named = os.environ.get("MEMORYD_URL", "").rstrip("/") == str(client.base_url).rstrip("/")
    do = "unset MEMORYD_URL, which names it, or start it anew" if named else "start one"
    return errors.Unavailable(
        f"no daemon answers at {client.base_url} ({error}); {do} with: memoryd serve"
    )


def refusal(answer: httpx.Response) -> errors.MemorydError:
    """The error that it was on the other side, with its status, field and limit."""
    body = answer.json() if "json" in answer.headers.get("content-type", "") else {}
    body = body if isinstance(body, dict) else {}
    kind = _KINDS.get(answer.status_code, errors.MemorydError)
    detail = str(body.get("detail") or answer.text or answer.reason_phrase)
    error = kind(detail, field=body.get("field"), limit=body.get("limit"))
    error.status, error.title = answer.status_code, str(body.get("title") or error.title)
    return error
