"""What the routes of decisions and of tasks share: how they write, and how they page.

A write here is an event like any other: `kind=decision` and `kind=task_update` do the same.
"""

from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Depends, Query
from pydantic import Field

from memoryd import recording
from memoryd.core import db, errors, read
from memoryd.core.model import Actor, Caller, Draft, Name, Origin, Reader, Recorded
from memoryd.daemon import Daemon
from memoryd.doors.access import reader_for
from memoryd.doors.search import AsOfQuery
from memoryd.search.searcher import position_at

MOST = 200  # rows of a page; also the most that a search puts in order

_DRAFTED = {one.name for one in fields(Draft)}


@dataclass(frozen=True, kw_only=True)
class Asked(Origin):
    """What a decision and a task have in common with every event."""

    session_id: Annotated[Name, Field(description="The conversation it belongs to.")] = "default"
    actor: Annotated[Actor | None, Field(description="Who; by default the agent.")] = None
    # Of a `secret` nothing is kept, so it cannot stand in a ledger.
    sensitivity: Literal["none", "low", "high"] = "none"


@dataclass(frozen=True)
class Written:
    """What was recorded, and through whose eyes it is read back."""

    recorded: Recorded
    owner: Reader  # sees what is its own, and so the row just written
    writer: Reader  # sees what the channel shows in which it was said

    async def position(self, conn: db.Conn) -> int:
        """Of the event. A retry has that of the first time, and so answers the same."""
        return (await read.event(conn, self.owner, self.recorded.event_id)).position


@dataclass(frozen=True)
class Paging:
    as_of: datetime | int | None
    limit: int
    cursor: str | None

    async def begin(self, conn: db.Conn, reader: Reader) -> tuple[int, int | None]:
        """The position at which to look, and the one to go on from: all pages show one moment."""
        if self.cursor is None:
            return await moment(conn, reader, self.as_of), None
        at, after = map(int, self.cursor.split("."))
        if at > (head := await moment(conn, reader, None)):
            raise errors.Invalid(
                f"the cursor is of position {at}, and the log ends at {head}; begin without one",
                field="cursor",
                limit=f"at most {head}",
            )
        return at, after

    def more(self, found: list[Any], position: int) -> str | None:
        """The cursor of the next page, where one row more than the limit was found."""
        if len(found) <= self.limit:
            return None
        return f"{position}.{found[self.limit - 1].position}"


async def moment(conn: db.Conn, reader: Reader, as_of: datetime | int | None) -> int:
    """The position that `as_of` means, which is the head of the log at most, and by default."""
    head: int = await conn.fetchval(db.query("record.head"), reader.tenant_id) or 0
    at = await position_at(conn, reader.tenant_id, as_of)
    return head if at is None else min(at, head)


async def paging_of(
    as_of: AsOfQuery = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = 50,
    cursor: Annotated[
        str | None,
        Query(
            pattern=r"^[0-9]{1,18}\.[0-9]{1,18}$",
            description="`next` of the page before; it goes on with what was known then.",
        ),
    ] = None,
) -> Paging:
    return Paging(as_of, limit, cursor)


PagingOf = Annotated[Paging, Depends(paging_of)]


async def write(daemon: Daemon, caller: Caller, kind: str, asked: Asked) -> Written:
    """Record `asked` as an event; a refusal names the field as the client sent it."""
    # What nobody may read back is not written either.
    reader_for(caller, asked.tenant_id, asked.channel, asked.user_id, asked.agent_id)
    try:
        (prepared,) = await recording.prepare(caller, [_draft(caller, kind, asked)])
        (recorded,) = await recording.commit(daemon, caller, [prepared])
    except errors.MemorydError as error:
        error.field = _as_sent(error.field)
        raise
    event = prepared.event
    owner = Reader(tenant_id=event.tenant_id, user_id=event.user_id, agent_id=event.agent_id)
    return Written(recorded, owner, replace(owner, channel=event.channel))


def _draft(caller: Caller, kind: str, asked: Asked) -> Draft:
    """The event that says so: what no event has as a field is its content."""
    said = {one.name: getattr(asked, one.name) for one in fields(asked)}
    content = {name: said[name] for name in said if name not in _DRAFTED}
    given = {name: value for name, value in content.items() if value not in (None, [])}
    own = {name: said[name] for name in said if name in _DRAFTED}
    own["actor"] = asked.actor or Actor(
        type="agent", id=asked.agent_id or caller.agent_id or "default"
    )
    return Draft(**own, kind=kind, content=given)


def _as_sent(place: str | None) -> str | None:
    """`content.supersedes` was sent as `supersedes`, and the whole content as the body."""
    return "body" if place == "content" else place and place.removeprefix("content.")
