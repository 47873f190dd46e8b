"""The HTTP API of references (seed 001): parse, one call, answer."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from memoryd.core import db
from memoryd.core.model import Name
from memoryd.custody import audit
from memoryd.doors import http
from memoryd.doors.access import CallerOf, DaemonOf, ReaderOf, WriterOf, problems, reader_for
from memoryd.doors.reference_shapes import (
    MOST,
    PartAsked,
    PartShown,
    ReferenceAsked,
    ReferenceDescribed,
    ReferenceFound,
    ReferencePage,
    ReferenceRead,
    ReferenceSearch,
    ReferencesFound,
    ReferenceShown,
    ReferenceStored,
    SwapAsked,
    Swapped,
    fields_of,
    shown,
    stored,
)
from memoryd.memories.write import Origin
from memoryd.references import draft, parts, read, wording, write
from memoryd.references.model import Type

router = APIRouter(prefix="/api/v1/references", tags=["references"], route_class=http.JsonRoute)

KeyAsked = Annotated[Name, Path(description="A key, or the id of an event.")]


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


@router.post("/swap", responses=problems(400, 409, 413, 415))
async def swap_text(asked: SwapAsked, daemon: DaemonOf, caller: WriterOf) -> Swapped:
    """A text for the context: as it is where it is short; stored, with its placeholder for it,
    where it has more tokens than the threshold.
    """
    reader_for(caller, asked.tenant_id, asked.channel, asked.user_id, asked.agent_id)
    text = asked.text.encode()  # what came as JSON has whole letters
    done = await write.swap(daemon, caller, asked.draft(), text, asked.threshold)
    if done is None:
        return Swapped(text=asked.text, swapped=False, reference=None)
    return Swapped(text=done.reference.placeholder, swapped=True, reference=stored(done))


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
        ReferenceFound(**fields_of(one.reference), score=round(one.score, 6), text=one.text)
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
        **fields_of(found), content=cut.content, bytes=cut.bytes, part=PartShown(**which)
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


@router.post("/{key}/describe", responses=problems(404, 409))
async def describe_reference(
    key: KeyAsked, daemon: DaemonOf, caller: WriterOf, reader: ReaderOf
) -> ReferenceDescribed:
    """Ask the model of MEMORYD_CHAT_URL for a better description, once; without one the description
    that needs none stays, and `note` says so. `DELETE` takes this back.
    """
    origin = Origin(agent_id=reader.agent_id)
    done = await wording.describe(daemon, caller, reader, origin, key)
    return ReferenceDescribed(**fields_of(done.reference), note=done.note)


@router.delete("/{key}/describe", responses=problems(404))
async def undescribe_reference(
    key: KeyAsked, daemon: DaemonOf, caller: WriterOf, reader: ReaderOf
) -> ReferenceShown:
    """The description that it was stored with."""
    origin = Origin(agent_id=reader.agent_id)
    return shown(await wording.undescribe(daemon, caller, reader, origin, key))
