"""What every route shares: JSON within limits, problem details, Host and Origin, one log line.

Errors are RFC 9457 problem details with the field and the limit; nothing of a request's content is
ever logged.
"""

import ipaddress
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any
from urllib.parse import urlsplit

import asyncpg
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoryd.core import db, errors, ids
from memoryd.core.config import Settings
from memoryd.core.model import MAX_BATCH, MAX_JSON_BYTES, MAX_NAMES
from memoryd.custody import audit
from memoryd.daemon import entropy, now
from memoryd.doors import access, logs, strict

log = logging.getLogger("memoryd.http")

MORE = "POST /api/v1/references/upload and /api/v1/artifacts take more"

CUT_OFF = 499  # as proxies log it: the client left before it had said all
MAX_FIELDS = 100  # of a request or an event; there are some twenty

LONGEST_NAME = 100  # characters of a field's name that a refusal repeats


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
        raise errors.Malformed(
            f"the body is not JSON that can be kept: {error}", field="body"
        ) from error


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


def problem(
    status: int, title: str, detail: str, headers: dict[str, str] | None = None, **more: Any
) -> JSONResponse:
    given = {name: value for name, value in more.items() if value is not None}
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **given}
    return JSONResponse(body, status, headers, media_type="application/problem+json")


def add_problem_handlers(app: FastAPI) -> None:
    @app.exception_handler(errors.MemorydError)
    async def refused(_: Request, error: errors.MemorydError) -> Response:
        return refusal(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        found = [_violation(one) for one in error.errors()]
        first = found[0]
        return problem(
            422,
            "Invalid value",
            f"{first['field']}: {first['detail']}",
            field=first["field"],
            limit=first.get("limit"),
            errors=found[:20],
        )

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        return problem(error.status_code, str(error.detail), str(error.detail), headers)

    @app.exception_handler(Exception)
    async def failed(_: Request, __: Exception) -> Response:
        return refusal(errors.MemorydError("memoryd failed; its log says where"))

    for refused_by in (asyncpg.InsufficientResourcesError, asyncpg.ReadOnlySQLTransactionError):
        app.add_exception_handler(refused_by, _no_writes)
    for lost in db.CONNECTION_LOST:
        app.add_exception_handler(lost, _unavailable)


def refusal(error: errors.MemorydError) -> Response:
    headers = {401: {"www-authenticate": "Bearer"}, 503: {"retry-after": "1"}}.get(error.status)
    if isinstance(error, errors.Closed):
        headers = None  # a retry helps when somebody has brought the key
    return problem(
        error.status, error.title, error.detail, headers, field=error.field, limit=error.limit
    )


async def _no_writes(_: Request, error: Exception) -> Response:
    """A full disk, a read-only server: nothing was stored, and PostgreSQL says why."""
    log.error("database.refuses", extra={"error": type(error).__name__})
    return refusal(errors.Unavailable(f"PostgreSQL takes no writes: {type(error).__name__}"))


async def _unavailable(_: Request, error: Exception) -> Response:
    log.warning("database.lost", extra={"error": type(error).__name__})
    return refusal(
        errors.Unavailable(
            "the connection to PostgreSQL was lost; a write may or may not have been stored: "
            "send it again with the same idempotency_key"
        )
    )


def _violation(error: dict[str, Any]) -> dict[str, Any]:
    where = [str(part)[:LONGEST_NAME] for part in error["loc"][1:]]  # the first: body, query, path
    limits = {"max_length", "min_length", "ge", "le", "gt", "lt", "expected", "pattern"}
    limit = "; ".join(str(value) for name, value in error.get("ctx", {}).items() if name in limits)
    found = {"field": ".".join(where) or "body", "detail": error["msg"]}
    return found | ({"limit": limit} if limit else {})


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
        answer = self._app if error is None else refusal(error)
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
