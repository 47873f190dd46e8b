"""Reading memories through a reader's eyes, as they stood at a position of the log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from memoryd.core import db, read
from memoryd.core.model import Reader
from memoryd.memories import model
from memoryd.memories.model import AgentMemory, Fact, Memory, Place

T = TypeVar("T", bound=Memory)
KINDS: Mapping[str, type[Memory]] = {
    "fact": Fact,
    "place": Place,
    **dict.fromkeys(("core", "journal", "whiteboard"), AgentMemory),
}
MOST = 10_000  # more memories than a document of 10,000 tokens can hold


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which memories of a user; what is omitted does not restrict."""

    category: str | None = None
    subject: str | None = None
    inactive: bool = False
    deleted: bool = False
    evicted: bool = False


async def page(
    conn: db.Conn,
    reader: Reader,
    kind: type[T],
    types: Sequence[str],
    wanted: Wanted,
    *,
    as_of: int,
    offset: int = 0,
    limit: int = MOST,
) -> tuple[list[T], int]:
    """The reader's own memories by category and creation, and how many there are in all."""
    rows = await conn.fetch(
        db.query("memories.page"),
        *(*read.eyes(reader), as_of, reader.user_id, types),
        *(wanted.category, model.folded(wanted.subject)),
        *(wanted.inactive, wanted.deleted, wanted.evicted, offset, limit),
    )
    return [made(kind, row) for row in rows], rows[0]["total"] if rows else 0


async def found(
    conn: db.Conn,
    reader: Reader,
    kind: type[T],
    types: Sequence[str],
    wanted: Wanted,
    *,
    as_of: int,
    positions: Sequence[int],
) -> list[T]:
    """The memories whose text was found at these positions of the log, without repetitions."""
    rows = await conn.fetch(
        db.query("memories.found"),
        *(*read.eyes(reader), as_of, positions, types),
        *(wanted.category, model.folded(wanted.subject), wanted.inactive, wanted.deleted),
    )
    return list({row["memory_id"]: made(kind, row) for row in rows}.values())


async def one(
    conn: db.Conn,
    reader: Reader,
    kind: type[T],
    types: Sequence[str],
    memory_id: str,
    *,
    as_of: int,
) -> T:
    """A memory, deleted or not."""
    return made(kind, await _row(conn, reader, types, memory_id, as_of))


async def whichever(
    conn: db.Conn, reader: Reader, types: Sequence[str], memory_id: str, *, as_of: int
) -> Memory:
    """A memory of any of these types, as what it is."""
    row = await _row(conn, reader, types, memory_id, as_of)
    return made(KINDS[row["type"]], row)


async def _row(
    conn: db.Conn, reader: Reader, types: Sequence[str], memory_id: str, as_of: int
) -> Any:
    asked = (*read.eyes(reader), as_of, memory_id, types)
    row = await conn.fetchrow(db.query("memories.one"), *asked)
    if row is None:
        raise model.missing(memory_id)
    return row


async def versions(
    conn: db.Conn, reader: Reader, memory_id: str, *, as_of: int
) -> list[model.Version]:
    """Every text that it has had, oldest first."""
    asked = (*read.eyes(reader), as_of, memory_id)
    return [model.Version(**row) for row in await conn.fetch(db.query("memories.versions"), *asked)]


async def counts(
    conn: db.Conn, tenant_id: str, types: Sequence[str], owner: str | None = None, *, as_of: int
) -> dict[str, dict[str, int]]:
    """How many memories of each type an owner has, of one owner or of all that have any."""
    found: dict[str, dict[str, int]] = {}
    for row in await conn.fetch(db.query("memories.counts"), tenant_id, types, owner, as_of):
        found.setdefault(row["user_id"], dict.fromkeys(types, 0))[row["type"]] = row["number"]
    return found


def made(kind: type[T], row: Any) -> T:
    return kind(**{one.name: row[one.name] for one in fields(kind) if one.name in row})
