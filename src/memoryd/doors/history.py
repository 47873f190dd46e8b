"""What the routes of a memory's history share: as of when, and the difference of two versions."""

from datetime import datetime
from typing import Annotated

from fastapi import Query, Response

from memoryd.core import db
from memoryd.doors import differences
from memoryd.doors.access import problems
from memoryd.doors.ledger import moment
from memoryd.memories import change
from memoryd.memories.model import Version

OldQuery = Annotated[
    int | None,
    Query(alias="from", ge=1, le=2**31 - 1, description="By default, the one before `to`."),
]
NewQuery = Annotated[
    int | None, Query(alias="to", ge=1, le=2**31 - 1, description="By default, the last.")
]
DIFF = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "A diff"},
    **problems(404),
}


async def moment_for(who: change.Hand, as_of: datetime | int | None) -> int:
    async with db.tenant(who.daemon.pool, who.reader.tenant_id) as conn:
        return await moment(conn, who.reader, as_of)


async def difference(
    who: change.Hand, memory_id: str, old: int | None, new: int | None
) -> Response:
    """Of two versions, by default of the last two, as text."""
    had = await change.versions(who, memory_id)
    after = change.named(memory_id, had, new or had[-1].version)
    before = change.named(memory_id, had, old or max(after.version - 1, 1))
    texts = (f"{_words(one)}\n" for one in (before, after))
    names = (f"{memory_id} version {one.version}" for one in (before, after))
    text = differences.unified(*texts, *names)
    return Response(text, media_type="text/plain", headers={"x-content-type-options": "nosniff"})


def _words(one: Version) -> str:
    """Of a place its name too; what became core says so."""
    if one.type == "place":
        return f"{one.subject}\n{one.text}"
    return one.text if one.type in ("fact", "whiteboard") else f"({one.type})\n{one.text}"
