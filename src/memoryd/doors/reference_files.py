"""References as files: outputs too large for JSON come and go as a stream of bytes."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from memoryd.core import db
from memoryd.core import read as log
from memoryd.core.model import Actor, ActorType, Channel, Draft, Moment, Name
from memoryd.doors import artifacts, strict
from memoryd.doors.access import DaemonOf, ReaderOf, WriterOf, problems, reader_for
from memoryd.doors.reference_shapes import Kept, ReferenceStored, stored
from memoryd.doors.references import KeyAsked
from memoryd.references import draft, read, write
from memoryd.references.model import DEFAULT_TYPE, Key, Type

router = APIRouter(prefix="/api/v1/references", tags=["references"], route_class=strict.StrictRoute)


@dataclass(frozen=True, kw_only=True)
class Upload:
    """What a reference is, as query parameters; the body is the bytes."""

    description: Annotated[str | None, Query(max_length=2_000)] = None
    type: Type = DEFAULT_TYPE
    metadata: Annotated[
        str,
        Query(max_length=8_000, description="A JSON object: `command`, `exit_status`, `path` …"),
    ] = "{}"
    key: Annotated[Key | None, Query(description="Unique per user; else made.")] = None
    session_id: Name | None = None
    actor_id: Name | None = None
    actor_type: ActorType = "tool"
    tenant_id: Annotated[Name | None, Query(description="Must be the key's own.")] = None
    user_id: Name | None = None
    agent_id: Name | None = None
    channel: Channel | None = None
    sensitivity: Kept = "none"
    ts: Moment | None = None
    idempotency_key: Name | None = None

    def draft(self, media_type: str) -> Draft:
        actor = Actor(type=self.actor_type, id=self.actor_id) if self.actor_id else None
        said = {name: getattr(self, name, None) for name in draft.SAID}
        known = {"metadata": draft.metadata(self.metadata), "media_type": media_type}
        return draft.make(**said | known | {"actor": actor})


@router.post(
    "/upload",
    status_code=201,
    responses=problems(408, 409, 413),
    openapi_extra={"requestBody": {"required": True, "content": artifacts.RAW}},
)
async def upload_reference(
    request: Request, daemon: DaemonOf, caller: WriterOf, given: Annotated[Upload, Depends()]
) -> ReferenceStored:
    """Store the bytes of the body, up to MEMORYD_MAX_ARTIFACT_BYTES, as a reference."""
    reader_for(caller, given.tenant_id, given.channel, given.user_id, given.agent_id)
    media_type = request.headers.get("content-type", draft.BINARY).partition(";")[0].strip()
    made = given.draft(media_type)
    async with artifacts.uploads:
        body = await artifacts.receive(request, daemon.settings.max_artifact_bytes)
        return stored(await write.store(daemon, caller, made, draft.check(body, "body")))


@router.get(
    "/{key}/raw",
    response_class=Response,
    responses={
        200: {"content": artifacts.RAW, "description": "The bytes"},
        206: {"content": artifacts.RAW, "description": "The bytes of the range"},
        **problems(404, 416),
    },
)
async def download_reference(
    key: KeyAsked, request: Request, daemon: DaemonOf, reader: ReaderOf
) -> Response:
    """The bytes as they were stored, whole or a `Range: bytes=first-last` of them."""
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        found = await read.one(conn, reader, key)
        if found.artifact_id is None:  # a short one lies in its event
            text = await read.stored_bytes(conn, reader, found)
            return Response(text, headers=artifacts.SAFE, media_type="text/plain")
        kept = await log.artifact(conn, reader, found.artifact_id)
    return artifacts.serve(request, daemon, reader.tenant_id, kept)
