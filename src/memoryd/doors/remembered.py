"""What the routes of memories share: who writes, the shapes of seed 000, texts within limits."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Path, Query
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from starlette.convertors import StringConvertor, register_url_convertor

from memoryd.core import db, errors
from memoryd.core.model import Actor, Caller, Channel, Moment, Name, Reader
from memoryd.daemon import Daemon, now
from memoryd.doors.access import reader_for
from memoryd.doors.ledger import moment
from memoryd.doors.search import AsOfQuery, Question
from memoryd.memories import change, find, model, read
from memoryd.memories.model import Category, Type
from memoryd.memories.read import Wanted
from memoryd.memories.write import Origin

MOST = 1_000  # memories of a page
T = TypeVar("T", bound=model.Memory)


class IdConvertor(StringConvertor):
    """In an address, what can be an id: where an id may stand, no other word is taken for one."""

    regex = f"[A-Za-z0-9]{{{model.ID_LENGTH}}}"


class NameConvertor(StringConvertor):
    """In an address, a name of any characters, slashes too; what no name has, their own check
    refuses.
    """

    regex = r"[\s\S]+"


register_url_convertor("id8", IdConvertor())
register_url_convertor("name", NameConvertor())


def within(least: int, most: int) -> Callable[[str], str]:
    """Not too long, and not too short without the white space around it, which goes."""

    def check(given: str) -> str:
        text = given.strip()
        if model.blank(text):
            raise PydanticCustomError("blank", "can't be blank", {"min_length": least})
        if len(text) < least:
            said = f"too short (min {least} characters)"
            raise PydanticCustomError("too_short", said, {"min_length": least})
        if len(given) > most:
            said = f"too long (max {most:,} characters)"
            raise PydanticCustomError("too_long", said, {"max_length": most})
        return text

    return check


def _limits(least: int, most: int, described: str) -> Any:
    """For the document; `within` checks them, since the schema would let white space pass."""
    schema: dict[str, Any] = {"minLength": least, "maxLength": most}
    return Field(description=described, json_schema_extra=schema)


def _subject(given: str) -> str | None:
    return " ".join(given.split()) or None


_FACT = (model.FACT_SHORTEST, model.FACT_LONGEST)
_DOCUMENT = (1, model.FACT_LONGEST)
_AGENT = (1, model.AGENT_LONGEST)
FactText = Annotated[
    str, AfterValidator(within(*_FACT)), _limits(*_FACT, "The fact, 5 to 500 characters.")
]
DocumentText = Annotated[
    str, AfterValidator(within(*_DOCUMENT)), _limits(*_DOCUMENT, "The fact, 1 to 500 characters.")
]
AgentText = Annotated[
    str, AfterValidator(within(*_AGENT)), _limits(*_AGENT, "1 to 10,000 characters, not blank.")
]
Subject = Annotated[
    str,
    Field(max_length=model.SUBJECT_LONGEST, description="Whom or what it is about."),
    AfterValidator(_subject),
]
MemoryId = Annotated[
    str, Path(pattern=r"^[A-Za-z0-9]{8}$", description="Eight letters and digits.")
]


@dataclass(frozen=True, kw_only=True)
class Asking:
    """Who asks, in the address; what is omitted comes from the key, or is `default`."""

    tenant_id: Annotated[Name | None, Query(description="Must be the key's own.")] = None
    channel: Annotated[Channel | None, Query(description="Who may see it.")] = None
    user_id: Annotated[Name | None, Query(description="Whose memories.")] = None
    agent_id: Annotated[Name | None, Query(description="Which agent asks.")] = None

    def reader(self, caller: Caller) -> Reader:
        return reader_for(caller, self.tenant_id, self.channel, self.user_id, self.agent_id)


@dataclass(frozen=True, kw_only=True)
class Writing:
    """What every write of a memory may say in its body; who writes may stand in the address too."""

    source_conversation_id: Annotated[
        Name | None, Field(description="The conversation that it comes from.")
    ] = None
    source_message_id: Name | None = None
    tenant_id: Annotated[Name | None, Field(description="Must be the key's own.")] = None
    channel: Annotated[Channel | None, Field(description="By default `private`.")] = None
    user_id: Annotated[Name | None, Field(description="Whose it is.")] = None
    agent_id: Annotated[Name | None, Field(description="Which agent writes.")] = None
    actor: Annotated[Actor | None, Field(description="Who; by default the agent.")] = None
    ts: Annotated[Moment | None, Field(description="When, if not now.")] = None
    idempotency_key: Annotated[
        Name | None, Field(description="A retry with the same key stores nothing new.")
    ] = None

    def asking(self, asking: Asking) -> Asking:
        """Who writes, from the body or the address."""
        both = {}
        for one in fields(Asking):
            here, there = getattr(self, one.name), getattr(asking, one.name)
            if here and there and here != there:
                raise errors.Invalid(
                    f"the body says {here!r} and the address {there!r}: say one", field=one.name
                )
            both[one.name] = here or there
        return Asking(**both)

    def origin(self, caller: Caller, asking: Asking) -> Origin:
        """Refuses what the key forbids."""
        asked = self.asking(asking)
        asked.reader(caller)
        return Origin(
            user_id=asked.user_id,
            agent_id=asked.agent_id,
            channel=asked.channel,
            actor=self.actor,
            conversation_id=self.source_conversation_id,
            message_id=self.source_message_id,
            ts=self.ts,
            idempotency_key=self.idempotency_key,
        )


AskingOf = Annotated[Asking, Depends()]
ForceQuery = Annotated[
    bool, Query(description="Although another fact that holds has the same subject.")
]


def hand(
    daemon: Daemon,
    caller: Caller,
    asking: Asking,
    writing: Writing | None = None,
    types: tuple[Type, ...] = change.ANY,
) -> change.Hand:
    """Who reads or changes a memory by its id. With an agent named, or pinned by the key, its own
    memories alone are reached, and not those of other agents.
    """
    said = writing or Writing()
    asked = said.asking(asking)
    return change.Hand(
        daemon=daemon,
        caller=caller,
        reader=asked.reader(caller),
        origin=said.origin(caller, asking),
        agent_id=asked.agent_id or caller.agent_id,
        types=types,
    )


def own_eyes(caller: Caller, asking: Asking) -> None:
    """Refuse a key that may not speak for the agent, or not where private things are said."""
    reader = asking.reader(caller)
    if reader.channel != "private":
        raise errors.Forbidden(
            f"what an agent keeps for itself is private, and not shown in {reader.channel!r}",
            field="channel",
        )


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Which memories, and which page of them."""

    category: Category | None = None
    subject: Annotated[Subject | None, Query(description="In any case and spacing.")] = None
    q: Annotated[Question | None, Query(description="Only what this finds, best first.")] = None
    include_deleted: bool = False
    include_inactive: bool = False
    include_evicted: bool = False
    as_of: AsOfQuery = None
    limit: Annotated[int, Query(ge=1, le=MOST)] = MOST
    cursor: Annotated[
        str | None,
        Query(
            pattern=r"^[0-9]{1,18}\.[0-9]{1,9}$",
            description="`next` of the page before; it goes on with what was known then.",
        ),
    ] = None

    def wanted(self) -> Wanted:
        return Wanted(
            category=self.category,
            subject=self.subject,
            inactive=self.include_inactive,
            deleted=self.include_deleted,
            evicted=self.include_evicted,
        )

    async def begin(self, conn: db.Conn, reader: Reader) -> tuple[int, int]:
        """The position at which to look, and how many facts were shown before."""
        if self.cursor is None:
            return await moment(conn, reader, self.as_of), 0
        at, shown = self.cursor.split(".")
        return int(at), int(shown)


ListingOf = Annotated[Listing, Depends()]


async def listed(
    daemon: Daemon, owner: Reader, kind: type[T], types: tuple[Type, ...], listing: Listing
) -> tuple[list[T], int, str | None]:
    """A page of the owner's memories, how many there are in all, and the cursor of the next."""
    limit, wanted = listing.limit, listing.wanted()
    async with db.tenant(daemon.pool, owner.tenant_id) as conn:
        at, start = await listing.begin(conn, owner)
        if listing.q is None:
            found, total = await read.page(
                conn, owner, kind, types, wanted, as_of=at, offset=start, limit=limit
            )
    if listing.q is not None:
        asked = find.Asked(text=listing.q, now=now(), as_of=at)
        every = await find.search(daemon, owner, kind, types, asked, wanted)
        found, total = every[start : start + limit], len(every)
    more = f"{at}.{start + limit}" if start + limit < total else None
    return found, total, more


@dataclass(frozen=True, kw_only=True)
class MemoryResponse:
    """A fact as it stands."""

    id: Annotated[str, Field(description="Eight letters and digits.")]
    category: Category
    subject: str | None
    content: str
    version: int
    created_at: datetime
    updated_at: Annotated[datetime | None, Field(description="When this version was written.")]


def response(fact: model.Memory) -> MemoryResponse:
    return MemoryResponse(**shown(fact))


def shown(fact: model.Memory) -> dict[str, Any]:
    """A fact under the names of seed 000."""
    return {
        "id": fact.memory_id,
        "category": fact.category,
        "subject": fact.subject,
        "content": fact.text,
        "version": fact.version,
        "created_at": fact.created_at,
        "updated_at": fact.updated_at,
    }
