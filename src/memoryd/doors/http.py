"""What every route shares: JSON within limits, Host and Origin, one log line.

Nothing of a request's content is ever logged.
"""

import ipaddress
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoryd import violations
from memoryd.core import errors, ids
from memoryd.core.config import Settings
from memoryd.core.model import MAX_BATCH, MAX_JSON_BYTES, MAX_NAMES
from memoryd.custody import audit
from memoryd.daemon import entropy, now
from memoryd.doors import access, logs, refusals, strict

log = logging.getLogger("memoryd.http")

MORE = "POST /api/v1/references/upload and /api/v1/artifacts take more"

CUT_OFF = 499  # as proxies log it: the client left before it had said all
MAX_FIELDS = 100  # of a request or an event; there are some twenty


class JsonRequest(Request):
    """A request whose body is bounded before it is held, and whose JSON is strict."""

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            self._body = await read_body(self, MAX_JSON_BYTES, MORE)
        return self._body

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = parse_json(await self.body())
        return self._json


class JsonRoute(strict.StrictRoute):
    """Parses the body itself: the framework's own reading hides what was wrong with it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def with_json(request: Request) -> Response:
            request = JsonRequest(request.scope, request.receive)
            if self.takes_body(request):
                await access.authenticate(request)  # a stranger's 8 MB are not parsed
                check_media_type(request)
                check_width(await request.json())
            return await handle(request)

        return with_json


async def read_body(request: Request, limit: int, instead: str) -> bytes:
    """The whole body, or `TooLarge` as soon as more than `limit` bytes are announced or sent."""
    too_large = errors.TooLarge(
        f"the body has more than {limit:,} bytes; {instead}", field="body", limit=f"{limit:,} bytes"
    )
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced[:20]) > limit:
        raise too_large
    read = bytearray()
    async for part in request.stream():
        read += part
        if len(read) > limit:
            raise too_large
    return bytes(read)


def parse_json(body: bytes) -> Any:
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise errors.Malformed(violations.of_json(str(error), body), field="body") from error


def check_width(body: Any) -> None:
    """Refuse what has far more parts than any request, before each of them is reported wrong:
    four million errors would take a minute and gigabytes.
    """
    events = body.get("events") if isinstance(body, dict) else None
    if isinstance(events, list) and len(events) > MAX_BATCH:
        raise errors.Invalid(
            f"{len(events):,} events are too many", field="events", limit=f"{MAX_BATCH:,} events"
        )
    for one in (body, *(events if isinstance(events, list) else ())):
        if isinstance(one, dict) and len(one) > MAX_FIELDS:
            raise errors.Invalid(
                "it has too many fields", field="body", limit=f"{MAX_FIELDS} fields"
            )
        for name in ("tags", "refs", "cites"):
            given = one.get(name) if isinstance(one, dict) else None
            if isinstance(given, list) and len(given) > MAX_NAMES:
                raise errors.Invalid(
                    f"{len(given):,} are too many", field=name, limit=str(MAX_NAMES)
                )


def check_media_type(request: Request) -> None:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != "application/json":
        raise errors.WrongMediaType(
            f"send Content-Type: application/json, not {given or 'nothing'!r}", field="Content-Type"
        )


class Gate:
    """The first to see a request: refuses foreign Hosts and Origins, and logs one line for each.

    A page in the user's browser can post to loopback, and a rebound DNS name can read from it;
    both carry a name that is not ours.
    """

    def __init__(self, app: ASGIApp, settings: Settings, recorder: audit.Recorder) -> None:
        self._app = app
        self._audit = recorder
        self._names = {"localhost", *settings.allowed_hosts.lower().replace(" ", "").split(",")}
        self._names.discard("")
        self._loopback = settings.loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, note = time.perf_counter(), 500, audit.begin()

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._serve(scope, receive, watched)
        except ClientDisconnect:
            status = CUT_OFF
        except Exception as error:  # noqa: BLE001  # the client has its answer; here is the log's
            log.error("request.failed", extra=logs.whereabouts(error))  # noqa: TRY400
        finally:
            spent = round((time.perf_counter() - started) * 1000, 1)
            facts = {
                "method": scope["method"],
                "route": _route(scope),
                "status": status,
                "ms": spent,
            }
            log.info("request", extra=facts)
            self._keep(scope, note, status)

    def _keep(self, scope: Scope, note: audit.Note, status: int) -> None:
        """Who asked for what; a stranger's request is in the log alone."""
        caller, at = scope.get("state", {}).get("caller"), now()
        if caller is not None and scope["path"].startswith("/api/"):
            access_id = ids.new("acc", at, entropy())
            said = scope.get("path_params", {}).items()
            ref = next((str(value) for name, value in said if name.endswith("_id")), None)
            facts = {"method": scope["method"], "route": _route(scope), "status": status}
            kept = audit.access(note, caller, access_id=access_id, at=at, ref=ref, **facts)
            self._audit.add(caller.tenant_id, kept)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        error = self._check(headers)
        answer = self._app if error is None else refusals.refusal(error)
        await answer(scope, receive, send)

    def _check(self, headers: Mapping[str, str]) -> errors.MemorydError | None:
        host = _name(headers.get("host", ""))
        if not self._knows(host):
            return errors.Misdirected(
                "the Host header names another host; if it is yours, add it to "
                "MEMORYD_ALLOWED_HOSTS",
                field="Host",
            )
        origin = _name(headers["origin"].partition("//")[2]) if "origin" in headers else host
        # On an open address any number is a Host of ours, but not any page's Origin.
        known = origin in self._names or (self._loopback and self._knows(origin))
        if not known and origin != host:
            return errors.Forbidden("a page of another origin may not ask this", field="Origin")
        return None

    def _knows(self, name: str) -> bool:
        """An address as a number cannot be rebound by DNS; on loopback it must be loopback's."""
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback if self._loopback else True


def _name(netloc: str) -> str:
    """The host's name, without port and brackets; empty where there is none."""
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""


def _route(scope: Scope) -> str:
    """The route's pattern, not the path: ids and names stay out of the log."""
    route = scope.get("route")
    return route.path if isinstance(route, APIRoute) else "-"
