"""The HTTP API of a user's memory document (seed 004): parse, one call, answer."""

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from pydantic import ConfigDict, Field

from memoryd.core import db
from memoryd.core.model import Channel, Name
from memoryd.doors import http
from memoryd.doors.access import CallerOf, DaemonOf, WriterOf, problems
from memoryd.doors.ledger import moment
from memoryd.doors.remembered import (
    Asking,
    AskingOf,
    DocumentText,
    ForceQuery,
    MemoryId,
    Writing,
    hand,
    own_eyes,
)
from memoryd.doors.search import AsOfQuery
from memoryd.memories import change, document, facts, places, read, refuse
from memoryd.memories.document import MemoryDocument, MemoryFact, PlacerPOI
from memoryd.memories.model import NOTES_LONGEST, Category, Fact

router = APIRouter(prefix="/api/v1/users", tags=["memories"], route_class=http.JsonRoute)

PlaceId = Annotated[Name, Path(description="As the client calls it.")]
_STRICT = ConfigDict(extra="forbid")
_CHANGES = problems(400, 404, 409, 413, 415)


async def user_of(
    user_id: Annotated[Name, Path(description="Whose memory it is.")],
    tenant_id: Annotated[Name | None, Query(description="Must be the key's own.")] = None,
    channel: Annotated[Channel | None, Query(description="Who may see it.")] = None,
    agent_id: Annotated[Name | None, Query(description="Which agent asks.")] = None,
) -> Asking:
    return Asking(tenant_id=tenant_id, channel=channel, user_id=user_id, agent_id=agent_id)


UserOf = Annotated[Asking, Depends(user_of)]


@dataclass(frozen=True, kw_only=True)
class FactRequest(Writing):
    __pydantic_config__ = _STRICT

    content: DocumentText
    category: Category = "context"


@dataclass(frozen=True, kw_only=True)
class PlaceRequest(Writing):
    __pydantic_config__ = _STRICT

    place_id: Annotated[Name, Field(description="As the client calls it.")]
    place_name: Annotated[Name, Field(description="As people call it.")]
    notes: Annotated[str | None, Field(max_length=NOTES_LONGEST)] = None
    conversation_id: Annotated[
        Name | None, Field(description="Where it was mentioned; with `message_id`.")
    ] = None
    message_id: Name | None = None

    def mentioned(self) -> "PlaceRequest":
        """With the mention under the names of every other write."""
        conversation = self.conversation_id or self.source_conversation_id
        message = self.message_id or self.source_message_id
        return replace(self, source_conversation_id=conversation, source_message_id=message)


@dataclass(frozen=True, kw_only=True)
class MentionRequest(Writing):
    __pydantic_config__ = _STRICT

    conversation_id: Name
    message_id: Name

    def mentioned(self) -> "MentionRequest":
        return replace(
            self,
            source_conversation_id=self.conversation_id,
            source_message_id=self.message_id,
        )


@dataclass(frozen=True, kw_only=True)
class MemoriesCount:
    fact: int
    place: int


@dataclass(frozen=True, kw_only=True)
class UserListed:
    user_id: str
    memories_count: MemoriesCount


@dataclass(frozen=True, kw_only=True)
class Users:
    users: tuple[UserListed, ...]


@router.get("", responses=problems())
async def list_users(daemon: DaemonOf, caller: CallerOf, asking: AskingOf) -> Users:
    """The users of whom something is remembered, with counts; of a key that is a user's, them."""
    own_eyes(caller, asking)
    async with db.tenant(daemon.pool, caller.tenant_id) as conn:
        types = ("fact", "place")
        found = await read.counts(conn, caller.tenant_id, types, as_of=facts.LATEST)
    seen = {name: one for name, one in found.items() if caller.user_id in (None, name)}
    listed = (
        UserListed(user_id=name, memories_count=MemoriesCount(**one))
        for name, one in sorted(seen.items())
    )
    return Users(users=tuple(listed))


@router.get("/{user_id:name}/memory", responses=problems())
async def get_document(
    user: UserOf, daemon: DaemonOf, caller: CallerOf, as_of: AsOfQuery = None
) -> MemoryDocument:
    """All that is remembered of a user, as one document; facts that no longer hold are inactive.

    `token_count` is of the document's JSON without its metadata and without white space, in tokens
    of o200k.
    """
    reader = user.reader(caller)
    async with db.tenant(daemon.pool, reader.tenant_id) as conn:
        at = await moment(conn, reader, as_of)
        return await document.document(conn, reader, as_of=at)


@router.post(
    "/{user_id:name}/memory/facts", status_code=201, responses=problems(400, 409, 413, 415)
)
async def add_fact(
    user: UserOf, asked: FactRequest, daemon: DaemonOf, caller: WriterOf
) -> MemoryFact:
    """Add a fact of 1 to 500 characters; what holds a password or the like is refused.

    When the document passes 10,000 tokens, facts leave it, inactive ones first and then the oldest;
    they are still found by search.
    """
    refuse.secrets(content=asked.content)
    origin = asked.origin(caller, user)
    fact = await facts.add(daemon, caller, origin, text=asked.content, category=asked.category)
    return document.fact(fact)


@router.post("/{user_id:name}/memory/facts/{memory_id}/deactivate", responses=_CHANGES)
async def deactivate_fact(
    user: UserOf, memory_id: MemoryId, daemon: DaemonOf, caller: WriterOf
) -> MemoryFact:
    """Say that a fact no longer holds: it stays in the document, and leaves the prompt."""
    return await _activate(user, memory_id, daemon, caller, active=False)


@router.delete("/{user_id:name}/memory/facts/{memory_id}/deactivate", responses=_CHANGES)
async def activate_fact(
    user: UserOf,
    memory_id: MemoryId,
    daemon: DaemonOf,
    caller: WriterOf,
    force: ForceQuery = False,
) -> MemoryFact:
    """Take that back: the fact holds again. Where another fact has its subject by now, the 409
    names it; `force` keeps both.
    """
    return await _activate(user, memory_id, daemon, caller, active=True, force=force)


@router.post(
    "/{user_id:name}/memory/places", status_code=201, responses=problems(400, 409, 413, 415)
)
async def add_place(
    user: UserOf, asked: PlaceRequest, daemon: DaemonOf, caller: WriterOf
) -> PlacerPOI:
    """Add a place that the user cares about, or say more of one that is known by its `place_id`.
    With a conversation and a message, that is its first mention.
    """
    refuse.secrets(place_id=asked.place_id, place_name=asked.place_name, notes=asked.notes)
    place = await places.keep(
        *(daemon, caller, asked.mentioned().origin(caller, user)),
        place_id=asked.place_id,
        place_name=asked.place_name,
        notes=asked.notes,
    )
    return document.poi(place)


@router.post(
    "/{user_id:name}/memory/places/{place_id:name}/mentions", status_code=201, responses=_CHANGES
)
async def add_mention(
    user: UserOf, place_id: PlaceId, asked: MentionRequest, daemon: DaemonOf, caller: WriterOf
) -> PlacerPOI:
    """Count a message that mentions the place; the same message counts once."""
    origin = asked.mentioned().origin(caller, user)
    place = await places.mention(daemon, caller, user.reader(caller), origin, place_id)
    return document.poi(place)


@router.delete("/{user_id:name}/memory/places/{place_id:name}", responses=problems(404))
async def forget_place(
    user: UserOf, place_id: PlaceId, daemon: DaemonOf, caller: WriterOf
) -> PlacerPOI:
    """Forget a place; added again, it comes back with its mentions."""
    origin = Writing().origin(caller, user)
    place = await places.forget(daemon, caller, user.reader(caller), origin, place_id)
    return document.poi(place)


async def _activate(
    user: Asking,
    memory_id: str,
    daemon: DaemonOf,
    caller: WriterOf,
    *,
    active: bool,
    force: bool = False,
) -> MemoryFact:
    who = hand(daemon, caller, user, types=("fact",))
    done = (await change.activate(who, memory_id, active=active, force=force)).after
    assert isinstance(done, Fact)
    return document.fact(done)
