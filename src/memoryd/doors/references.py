"""The HTTP API of references (seed 001): parse, one call, answer."""

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import ConfigDict, Field

from memoryd.core import db
from memoryd.core.model import Actor, Channel, Draft, Moment, Name, Redacted
from memoryd.custody import audit
from memoryd.doors import http
from memoryd.doors.access import CallerOf, DaemonOf, ReaderOf, WriterOf, problems, reader_for
from memoryd.doors.search import Question
from memoryd.memories.write import Origin
from memoryd.references import draft, parts, read, write
from memoryd.references.model import DEFAULT_TYPE, Key, Reference, Type

router = APIRouter(prefix="/api/v1/references", tags=["references"], route_class=http.JsonRoute)

MOST = 200  # references of a page or a search
_STRICT = ConfigDict(extra="forbid")
KeyAsked = Annotated[Name, Path(description="A key, or the id of an event.")]
Kept = Literal["none", "low", "high"]  # nothing of what is `secret` is stored


@dataclass(frozen=True, kw_only=True)
class Storing:
    """What a reference is, whose, and who may see it."""

    description: Annotated[
        str | None,
        Field(max_length=2_000, description="In a few words; else made from the content."),
    ] = None
    type: Annotated[Type, Field(description="`command_output`, `user_preference`, …")] = (
        DEFAULT_TYPE
    )
    metadata: Annotated[
        dict[str, Any],
        Field(description="`command`, `exit_status`, `path` and others; at most 64 KB."),
    ] = field(default_factory=dict)
    key: Annotated[
        Key | None, Field(description="Unique per user; else made from the description.")
    ] = None
    media_type: Annotated[str | None, Field(max_length=127)] = None
    session_id: Annotated[Name | None, Field(description="The conversation it belongs to.")] = None
    actor: Annotated[Actor | None, Field(description="Who said it; by default a tool.")] = None
    tenant_id: Annotated[Name | None, Field(description="Must be the key's own.")] = None
    user_id: Annotated[Name | None, Field(description="Whose it is.")] = None
    agent_id: Annotated[Name | None, Field(description="Which agent keeps it.")] = None
    channel: Annotated[Channel | None, Field(description="By default `private`.")] = None
    sensitivity: Kept = "none"
    ts: Annotated[Moment | None, Field(description="When, if not now.")] = None
    idempotency_key: Annotated[
        Name | None, Field(description="A retry with the same key stores nothing new.")
    ] = None

    def draft(self, media_type: str | None = None) -> Draft:
        """`media_type` where none was given."""
        given = {name: getattr(self, name) for name in draft.SAID}
        return draft.make(**given | {"media_type": self.media_type or media_type})


@dataclass(frozen=True, kw_only=True)
class ReferenceAsked(Storing):
    __pydantic_config__ = _STRICT

    content: Annotated[str | None, Field(description="The text.")] = None
    bytes: Annotated[
        str | None, Field(description="In base64, what is no text; instead of `content`.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class ReferenceShown:
    key: Annotated[str, Field(description="By which you ask for it.")]
    placeholder: Annotated[str, Field(description="What stands for it in the context.")]
    token_count: Annotated[int, Field(description="Of bytes that are no text: an estimate.")]
    type: str
    description: str
    size: Annotated[int, Field(description="Bytes.")]
    media_type: str
    binary: Annotated[bool, Field(description="It is no text.")]
    metadata: dict[str, Any]
    created_at: datetime
    session_id: str
    agent_id: str
    user_id: str
    channel: Channel
    sensitivity: str
    is_active: bool
    event_id: str
    artifact_id: str | None


@dataclass(frozen=True, kw_only=True)
class ReferenceStored(ReferenceShown):
    existed: Annotated[bool, Field(description="Nothing new was stored: it was there already.")]
    redacted: Redacted = ()


@dataclass(frozen=True, kw_only=True)
class PartAsked:
    """At most one of the first four."""

    lines: Annotated[
        str | None, Query(max_length=40, description="`10-20`, `10-` or `-20`, from 1.")
    ] = None
    bytes: Annotated[
        str | None, Query(max_length=40, description="`0-999`, `500-` or `-500`, from 0.")
    ] = None
    path: Annotated[
        str | None, Query(max_length=500, description="`$.items[0].name`, in JSON.")
    ] = None
    find: Annotated[
        str | None,
        Query(max_length=parts.FIND_LONGEST, description="A text, in letters of either case."),
    ] = None
    context: Annotated[int, Query(ge=0, le=50, description="Lines around what is found.")] = 2
    limit: Annotated[int, Query(ge=1, le=200, description="Places that are shown.")] = 20


@dataclass(frozen=True, kw_only=True)
class PartShown:
    """Which part of what total: lines are counted from 1, bytes from 0, both ends are shown."""

    kind: Literal["whole", "lines", "bytes", "path", "find"]
    first: int | None
    last: int | None
    total: int
    unit: Literal["bytes", "lines", "entries", "matches"]


@dataclass(frozen=True, kw_only=True)
class ReferenceRead(ReferenceShown):
    content: Annotated[str | None, Field(description="The part, where it is text.")]
    bytes: Annotated[str | None, Field(description="The part in base64, where it is none.")]
    part: PartShown


@dataclass(frozen=True, kw_only=True)
class ReferencePage:
    references: tuple[ReferenceShown, ...]
    next: Annotated[str | None, Field(description="Pass it as `cursor` for the next page.")]


@dataclass(frozen=True, kw_only=True)
class ReferenceSearch:
    __pydantic_config__ = _STRICT

    query: Question
    limit: Annotated[int, Field(ge=1, le=MOST, strict=True)] = 10
    type: Type | None = None
    session_id: Name | None = None
    own: Annotated[bool, Field(strict=True, description="The user's own alone.")] = False
    tenant_id: Annotated[Name | None, Field(description="Must be the key's own.")] = None
    channel: Annotated[Channel | None, Field(description="Where the answer will be shown.")] = None
    user_id: Annotated[Name | None, Field(description="Who will see it.")] = None
    agent_id: Annotated[Name | None, Field(description="Which agent asks.")] = None


@dataclass(frozen=True, kw_only=True)
class ReferenceFound(ReferenceShown):
    score: float
    text: Annotated[str, Field(description="The passage that fits best.")]


@dataclass(frozen=True, kw_only=True)
class ReferencesFound:
    results: tuple[ReferenceFound, ...]


@router.post("", status_code=201, responses=problems(400, 409, 413, 415))
async def store_reference(
    asked: ReferenceAsked, daemon: DaemonOf, caller: WriterOf
) -> ReferenceStored:
    """Keep a large text or file out of the context: the answer's `placeholder` stands for it.

    The same key with the same content is the same reference; with another content it is a 409.
    More than 8 MB go to `POST /api/v1/references/upload`.
    """
    reader_for(caller, asked.tenant_id, asked.channel, asked.user_id, asked.agent_id)
    output = draft.output(asked.content, asked.bytes)
    fallback = None if asked.bytes is None else draft.BINARY
    return stored(await write.store(daemon, caller, asked.draft(fallback), output))


@router.get("", responses=problems())
async def list_references(
    daemon: DaemonOf,
    reader: ReaderOf,
    session_id: Name | None = None,
    type: Type | None = None,  # noqa: A002  # its name on the wire
    own: Annotated[bool, Query(description="The user's own alone.")] = False,
    include_inactive: bool = False,
    cursor: Annotated[str | None, Query(pattern=r"^[0-9]{1,18}$")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = 50,
) -> ReferencePage:
    """References that the reader may see, newest first."""
    wanted = read.Wanted(
        user_id=reader.user_id if own else None,
        session_id=session_id,
        type=type,
        inactive=include_inactive,
    )
    at = int(cursor) if cursor is not None else None
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        found = await read.page(conn, reader, wanted, cursor=at, limit=limit + 1)
    audit.tell(items=min(len(found), limit))
    more = str(found[limit - 1].position) if len(found) > limit else None
    return ReferencePage(references=tuple(map(shown, found[:limit])), next=more)


@router.post("/search", responses=problems(400, 413, 415))
async def search_references(
    asked: ReferenceSearch, daemon: DaemonOf, caller: CallerOf
) -> ReferencesFound:
    """Find references by what their content says, best first, each once."""
    reader = reader_for(caller, asked.tenant_id, asked.channel, asked.user_id, asked.agent_id)
    wanted = read.Wanted(
        user_id=reader.user_id if asked.own else None, session_id=asked.session_id, type=asked.type
    )
    found = await read.search(daemon, reader, wanted, asked.query, asked.limit)
    audit.tell(items=len(found))
    results = [
        ReferenceFound(**_fields(one.reference), score=round(one.score, 6), text=one.text)
        for one in found
    ]
    return ReferencesFound(results=tuple(results))


@router.get("/{key}", responses=problems(404, 413, 416))
async def get_reference(
    key: KeyAsked,
    daemon: DaemonOf,
    reader: ReaderOf,
    asked: Annotated[PartAsked, Depends()],
) -> ReferenceRead:
    """What a placeholder stands for: the whole, or one of `lines`, `bytes`, `path` and `find`.

    `part` says which part of what total it is. Any event may be asked for by its id too.
    """
    found, cut = await read.part(daemon, reader, key, parts.Wish(**vars(asked)))
    which = {name: value for name, value in asdict(cut).items() if name not in ("content", "bytes")}
    return ReferenceRead(
        **_fields(found), content=cut.content, bytes=cut.bytes, part=PartShown(**which)
    )


@router.post("/{key}/deactivate", responses=problems(404))
async def deactivate_reference(
    key: KeyAsked, daemon: DaemonOf, caller: WriterOf, reader: ReaderOf
) -> ReferenceShown:
    """Take it out of lists and searches; its key still answers, and `DELETE` takes this back."""
    origin = Origin(agent_id=reader.agent_id)
    return shown(await write.activate(daemon, caller, reader, origin, key, active=False))


@router.delete("/{key}/deactivate", responses=problems(404))
async def activate_reference(
    key: KeyAsked, daemon: DaemonOf, caller: WriterOf, reader: ReaderOf
) -> ReferenceShown:
    """List and find it again."""
    origin = Origin(agent_id=reader.agent_id)
    return shown(await write.activate(daemon, caller, reader, origin, key, active=True))


def stored(done: write.Stored) -> ReferenceStored:
    audit.tell(recorded=int(done.fresh), ref=done.reference.event_id)
    return ReferenceStored(
        **_fields(done.reference), existed=not done.fresh, redacted=done.redacted
    )


def shown(found: Reference) -> ReferenceShown:
    return ReferenceShown(**_fields(found))


def _fields(found: Reference) -> dict[str, Any]:
    kept = {name: value for name, value in vars(found).items() if name != "position"}
    return {**kept, "placeholder": found.placeholder}
