"""The HTTP API of editable texts: read, write, history, differences, restore."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from pydantic import ConfigDict, Field
from starlette.exceptions import HTTPException

from memoryd import recording, redact
from memoryd.core import db, errors
from memoryd.core.model import Name
from memoryd.custody import audit
from memoryd.doors import access, differences, edits, formats, http
from memoryd.doors.access import CallerOf, DaemonOf, ReaderOf, WriterOf, problems
from memoryd.ledger import texts

ALLOWED = "identity.<agent>, rules.project, rules.user, rules.org"

_NAME = r"^(rules\.(project|user|org)|identity\.[^\x00-\x1f\x7f]{1,255})$"
# An agent's name may have slashes; so these, which follow a name in an address, cannot end one.
_AFTER = {"/history": "GET", "/diff": "GET", "/restore": "POST"}


class ViewRoute(http.JsonRoute):
    """Of an address that ends like another route's, that route's methods are told, and first."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def named(request: Request) -> Response:
            name = request.path_params.get("name", "")
            if after := next((one for one in _AFTER if name.endswith(one)), None):
                await access.authenticate(request)
                raise HTTPException(405, headers={"allow": _AFTER[after]})
            return await handle(request)

        return named


router = APIRouter(prefix="/api/v1/views", tags=["views"], route_class=ViewRoute)

# What somebody wrote must not run as a page of ours.
_INERT = {"content-security-policy": "sandbox", "x-content-type-options": "nosniff"}

_BARE: dict[str, Any] = {"schema": {"type": "string"}}
_SENT = {
    "schema": {
        "type": "object",
        "required": ["text"],
        "properties": {
            "text": {"type": "string", "description": f"{texts.MAX_TEXT:,} characters at most."},
            "version": {"type": "string", "description": "The one that was edited."},
        },
    }
}
_SENT_AS = {**dict.fromkeys(("text/markdown", "text/plain"), _BARE), "application/yaml": _SENT}
_SENT_AS["application/json"] = _SENT


@dataclass(frozen=True)
class Views:
    views: tuple[texts.Version, ...]


@dataclass(frozen=True)
class History:
    versions: tuple[texts.Version, ...]
    next: Annotated[str | None, Field(description="Pass it as `cursor` for the next page.")]


@dataclass(frozen=True)
class Restore:
    __pydantic_config__ = ConfigDict(extra="forbid")

    version: Annotated[Name, Field(description="Whose text to take up again.")]


async def name_of(
    _: CallerOf,
    name: Annotated[
        str, Path(description=f"One of {ALLOWED}.", json_schema_extra={"pattern": _NAME})
    ],
) -> str:
    """Refuse other names; after the caller, so that a stranger learns nothing."""
    if not re.fullmatch(_NAME, name):
        raise errors.Invalid(
            f"there is no view {name[:80]!r}; there are {ALLOWED}", field="name", limit=ALLOWED
        )
    redact.refuse(name=name)
    return name


NameOf = Annotated[str, Depends(name_of)]
EditorOf = Annotated[edits.Editor, Depends()]


@router.get("", responses=problems())
async def list_views(daemon: DaemonOf, reader: ReaderOf) -> Views:
    """The texts that instruct every call of this tenant, as far as the reader may see them."""
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        found = tuple(await texts.views(conn, reader))
    audit.tell(items=len(found))
    return Views(found)


@router.get("/{name:path}/history", responses=problems(404))
async def list_versions(
    name: NameOf,
    daemon: DaemonOf,
    reader: ReaderOf,
    cursor: Annotated[
        str | None,
        Query(pattern=r"^[0-9]{1,18}$", description="A log position: versions before it."),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> History:
    """Every version of a view, newest first."""
    last = texts.LATEST if cursor is None else int(cursor) - 1
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        found = await texts.history(conn, reader, name, as_of=last, limit=limit + 1)
    if not found and cursor is None:
        raise edits.missing(name)
    more = str(found[limit - 1].position) if len(found) > limit else None
    audit.tell(items=min(len(found), limit))
    return History(tuple(found[:limit]), more)


@router.get(
    "/{name:path}/diff",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": _BARE}, "description": "A unified diff"},
        **problems(404),
    },
)
async def compare(
    name: NameOf,
    daemon: DaemonOf,
    reader: ReaderOf,
    old: Annotated[
        Name | None, Query(alias="from", description="By default, the one before `to`.")
    ] = None,
    new: Annotated[Name | None, Query(alias="to", description="By default, what holds.")] = None,
) -> Response:
    """What changed between two versions, as a unified diff; empty when they are equal."""
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        after = await texts.view(conn, reader, name, new)
        last = after.position - 1 if after and not old else texts.LATEST
        before = await texts.view(conn, reader, name, old, as_of=last)
    if after is None or (before is None and old):
        raise edits.missing(name, old if after else new)
    names = [f"{name} {one.version}" if one else "/dev/null" for one in (before, after)]
    compared = (before.text if before else "", after.text, *names)
    text = await asyncio.to_thread(differences.unified, *compared)
    return Response(text, headers=_INERT, media_type="text/plain")


@router.post("/{name:path}/restore", responses=problems(400, 404, 409, 413, 415))
async def restore(
    name: NameOf, asked: Restore, daemon: DaemonOf, caller: WriterOf, editor: EditorOf
) -> edits.Saved:
    """Take up the text of an earlier version again, as a new version."""
    found = await edits.find(daemon, editor.reader(caller), name, asked.version)
    edit = edits.Edit(
        name=name, text=found.text, channel=editor.channel, guard={}, refs=(found.version,)
    )
    return await edits.save(daemon, caller, editor, edit)


@router.get(
    "/{name:path}",
    response_class=Response,
    response_model=texts.Text,
    responses={
        200: {
            "content": {
                **dict.fromkeys(("text/markdown", "application/yaml"), _BARE),
                "application/json": {"schema": {"$ref": "#/components/schemas/Text"}},
            },
            "description": "The text",
        },
        **problems(404),
    },
)
async def read_view(
    name: NameOf,
    request: Request,
    daemon: DaemonOf,
    reader: ReaderOf,
    form: Annotated[
        formats.Format | None,
        Query(alias="format", description="By default, what Accept asks for, or JSON."),
    ] = None,
    version: Annotated[Name | None, Query(description="An earlier one.")] = None,
) -> Response:
    """The text as Markdown, or as a YAML or JSON document that names its version; so does the
    ETag. Edit it, and send it back with PUT.
    """
    found = await edits.find(daemon, reader, name, version)
    wanted = formats.wanted(form, request.headers.get("accept", ""))
    headers = {"etag": f'"{found.version}"', "vary": "accept", **_INERT}
    shown = formats.render(found, wanted)
    return Response(shown, headers=headers, media_type=formats.MEDIA_TYPES[wanted])


@router.put(
    "/{name:path}",
    responses=problems(400, 409, 413, 415),
    openapi_extra={"requestBody": {"required": True, "content": _SENT_AS}},
)
async def write_view(
    name: NameOf,
    request: Request,
    response: Response,
    daemon: DaemonOf,
    caller: WriterOf,
    editor: EditorOf,
    if_match: Annotated[
        str | None, Header(description="The ETag of the version that was edited.")
    ] = None,
    if_none_match: Annotated[
        str | None, Header(description="`*`: only where there is no text yet.")
    ] = None,
) -> edits.Saved:
    """Write the text: bare as Markdown, or `{text, version}` as YAML or JSON, of at most 100,000
    characters.

    With the `version` (or If-Match) that was edited, what somebody else saved meanwhile is not
    lost: 409. An empty one is refused, as are two that differ. Without it, the text is overwritten.
    The same text again stores nothing new. Secrets are redacted: the answer has the text as it is
    kept.
    """
    sent = await _receive(request)
    if sent.name not in (None, name):
        raise errors.Invalid(f"the text is of {sent.name[:80]!r}, not of {name}", field="name")
    guard = _guard(if_none_match, if_match, sent.version)
    channel = editor.channel or sent.channel
    edit = edits.Edit(name=name, text=sent.text, channel=channel, guard=guard)
    saved = await edits.save(daemon, caller, editor, edit)
    response.headers["etag"] = f'"{saved.version}"'
    return saved


async def _receive(request: Request) -> formats.Sent:
    most = f"a view has at most {texts.MAX_TEXT:,} characters"
    body = await http.read_body(request, formats.MAX_BYTES, most)
    kind = request.headers.get("content-type", "")
    if len(body) <= recording.INLINE_BYTES:
        return formats.parse(kind, body)
    return await asyncio.to_thread(formats.parse, kind, body)


def _guard(
    none_match: str | None, if_match: str | None, version: str | None
) -> dict[str, str | None]:
    """A guard that says nothing is refused: it would let through what it was sent to stop."""
    if none_match is not None and none_match.strip() != "*":
        raise errors.Invalid(
            "If-None-Match takes `*` alone, to write only where there is no text yet; to replace a "
            "version, name it in If-Match",
            field="If-None-Match",
            limit="*",
        )
    if none_match is not None:
        return {"replaces": None}
    sent = {"If-Match": if_match, "version": version}
    named = {place: _version(said, place) for place, said in sent.items() if said is not None}
    if named.get("If-Match") == "*":  # any version
        del named["If-Match"]
    if len({*named.values()}) > 1:
        raise errors.Invalid("If-Match and `version` differ: send one of them", field="version")
    return {"replaces": next(iter(named.values()))} if named else {}


def _version(said: str, place: str) -> str:
    """As it is, or as an ETag has it."""
    found = said.strip().removeprefix("W/").strip('" ')
    if not re.fullmatch(r"[^\x00-\x1f\x7f]{1,255}", found):
        raise errors.Invalid(
            f"{place} names no version: send the `version` that you read, or its ETag; or leave "
            "it out, to overwrite what holds",
            field=place,
            limit="1 to 255 characters",
        )
    return found
