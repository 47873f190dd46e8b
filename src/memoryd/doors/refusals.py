"""Refusals as RFC 9457 problem details, with the field and the limit."""

import logging
from typing import Any

import asyncpg
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from memoryd import violations
from memoryd.core import db, errors

log = logging.getLogger("memoryd.http")

LONGEST_NAME = 100  # characters of a field's name that a refusal repeats
MOST_ERRORS = 20  # that one answer names


def problem(
    status: int, title: str, detail: str, headers: dict[str, str] | None = None, **more: Any
) -> JSONResponse:
    given = {name: value for name, value in more.items() if value is not None}
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **given}
    return JSONResponse(body, status, headers, media_type="application/problem+json")


def add_handlers(app: FastAPI) -> None:
    @app.exception_handler(errors.MemorydError)
    async def refused(_: Request, error: errors.MemorydError) -> Response:
        return refusal(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        asked = _asked(request.scope.get("route"))
        found = [_violation(one, asked) for one in error.errors()[:MOST_ERRORS]]
        first = found[0]
        return problem(
            422,
            "Invalid value",
            f"{first['field']}: {first['detail']}",
            field=first["field"],
            limit=first.get("limit"),
            errors=found,
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


def _asked(route: Any) -> Any:
    """The type of the body that a route takes, if it takes one."""
    body = getattr(route, "body_field", None)
    return body and body.field_info.annotation


def _violation(error: dict[str, Any], asked: Any) -> dict[str, Any]:
    source, *place = error["loc"]  # body, query, path
    limits = {"max_length", "min_length", "ge", "le", "gt", "lt", "expected", "pattern"}
    limit = "; ".join(str(value) for name, value in error.get("ctx", {}).items() if name in limits)
    field = ".".join(str(part)[:LONGEST_NAME] for part in place) or "body"
    detail = violations.words(error, asked if source == "body" else None, place)
    return {"field": field, "detail": detail} | ({"limit": limit} if limit else {})
