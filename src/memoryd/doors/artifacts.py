"""Bytes in and out: uploads too large for JSON, and downloads by range."""

import asyncio
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from memoryd import recording
from memoryd.core import db, errors, ids, read
from memoryd.core.model import (
    Actor,
    ActorType,
    Artifact,
    Channel,
    Draft,
    Moment,
    Name,
    Redacted,
    Sensitivity,
)
from memoryd.daemon import Daemon
from memoryd.doors import http, refusals, strict
from memoryd.doors.access import DaemonOf, ReaderOf, WriterOf, problems

router = APIRouter(prefix="/api/v1", tags=["artifacts"], route_class=strict.StrictRoute)

_RANGE = re.compile(r"bytes=(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))")
UPLOAD_SECONDS = 120
uploads = asyncio.Semaphore(2)  # each is held in memory, whole
RAW = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}

# What an agent stored must not run as a page of ours.
SAFE = {
    "content-disposition": "attachment",
    "content-security-policy": "sandbox",
    "x-content-type-options": "nosniff",
}


@dataclass(frozen=True)
class Upload:
    """The event of an upload, as query parameters; the body is the bytes."""

    session_id: Name
    actor_id: Name = "user"
    actor_type: ActorType = "human"
    tool: Annotated[
        Name | None, Query(description="Whose output it is; makes it a tool_result.")
    ] = None
    path: Name | None = None
    name: Annotated[Name | None, Query(description="The file's name.")] = None
    tenant_id: Annotated[Name | None, Query(description="Must be the key's own.")] = None
    user_id: Name | None = None
    agent_id: Name | None = None
    channel: Channel | None = None
    sensitivity: Sensitivity = "none"
    tag: Annotated[list[Name], Query(max_length=256)] = ()  # type: ignore[assignment]
    ts: Moment | None = None
    idempotency_key: Name | None = None

    def draft(self, media_type: str) -> Draft:
        named = {"tool": self.tool, "path": self.path, "name": self.name, "media_type": media_type}
        return Draft(
            session_id=self.session_id,
            actor=Actor(type=self.actor_type, id=self.actor_id),
            kind="tool_result" if self.tool else "artifact",
            content={name: value for name, value in named.items() if value is not None},
            tenant_id=self.tenant_id,
            user_id=self.user_id,
            agent_id=self.agent_id,
            channel=self.channel,
            sensitivity=self.sensitivity,
            tags=tuple(self.tag),
            ts=self.ts,
            idempotency_key=self.idempotency_key,
        )


@dataclass(frozen=True)
class Uploaded:
    artifact_id: str | None
    event_id: str
    chunk_ids: tuple[str, ...]
    created_at: datetime
    redacted: Redacted = ()


@router.post(
    "/artifacts",
    status_code=201,
    responses=problems(408, 409, 413),
    openapi_extra={"requestBody": {"required": True, "content": RAW}},
)
async def upload(
    request: Request, daemon: DaemonOf, caller: WriterOf, given: Annotated[Upload, Depends()]
) -> Uploaded:
    """Store an output of any size up to MEMORYD_MAX_ARTIFACT_BYTES; text in it can be searched.

    With `tool` it is recorded as that tool's result: a short one then lies in the event alone, and
    `artifact_id` is null.
    """
    media_type = request.headers.get("content-type", "application/octet-stream").partition(";")[0]
    draft = given.draft(media_type.strip())
    async with uploads:
        limit = daemon.settings.max_artifact_bytes
        body = await receive(request, limit)
        (write,) = await recording.prepare(caller, [draft], body)
        (answer,) = await recording.commit(daemon, caller, [write])
    made = ids.same("art", answer.event_id) if write.artifact else None
    return Uploaded(made, **vars(answer))


async def receive(request: Request, limit: int) -> bytes:
    """The body, within the time that lets the next upload have its turn."""
    try:
        async with asyncio.timeout(UPLOAD_SECONDS):
            return await http.read_body(request, limit, "MEMORYD_MAX_ARTIFACT_BYTES sets the limit")
    except TimeoutError as error:
        raise errors.TooSlow(
            "the upload took too long", field="body", limit=f"{UPLOAD_SECONDS} seconds"
        ) from error


@router.head("/artifacts/{artifact_id}", include_in_schema=False)
@router.get(
    "/artifacts/{artifact_id}",
    response_class=Response,
    responses={
        200: {"content": RAW, "description": "The bytes"},
        206: {"content": RAW, "description": "The bytes of the range"},
        **problems(404, 416),
    },
)
async def download(
    artifact_id: Annotated[Name, Path()], request: Request, daemon: DaemonOf, reader: ReaderOf
) -> Response:
    """The raw bytes, whole or a `Range: bytes=first-last` of them."""
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        found = await read.artifact(conn, reader, artifact_id)
    return serve(request, daemon, reader.tenant_id, found)


def serve(request: Request, daemon: Daemon, tenant_id: str, found: Artifact) -> Response:
    """The bytes of an artifact, as far as the request asks for them."""
    headers = {
        "accept-ranges": "bytes",
        "content-length": str(found.size),
        "etag": f'"{found.digest.hex()}"',
        **SAFE,
    }
    if request.method == "HEAD":
        return Response(None, 200, headers, media_type=found.media_type)
    same = request.headers.get("if-range", headers["etag"]) == headers["etag"]
    span = _span(request.headers.get("range", "") if same else "", found.size)
    start, stop = span or (0, found.size)
    if start >= stop and span:
        return _beyond(found.size)
    if span:
        headers["content-length"] = str(stop - start)
        headers["content-range"] = f"bytes {start}-{stop - 1}/{found.size}"
    body = read.stream(daemon.pool, tenant_id, found, start, stop)
    return StreamingResponse(body, 206 if span else 200, headers, media_type=found.media_type)


def _span(header: str, size: int) -> tuple[int, int] | None:
    """Where the asked range starts and stops; None for the whole, and for a form that is not ours.

    >>> _span("bytes=2-5", 10), _span("bytes=-3", 10), _span("bytes=7-", 10), _span("lines=1", 10)
    ((2, 6), (7, 10), (7, 10), None)
    """
    match = _RANGE.fullmatch(header)
    if match is None:
        return None
    first, last, suffix = match.groups()
    if suffix:
        return max(size - int(suffix), 0), size
    if last and int(last) < int(first):
        return None
    return int(first), min(int(last) + 1, size) if last else size


def _beyond(size: int) -> Response:
    limit = f"{size:,} bytes"
    error = errors.RangeNotSatisfiable(f"the artifact has {limit}", field="Range", limit=limit)
    answer = refusals.refusal(error)
    answer.headers["content-range"] = f"bytes */{size}"
    return answer
