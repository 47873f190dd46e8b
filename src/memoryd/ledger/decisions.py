"""Reading decisions through a reader's eyes, as they stood at a position of the log.

A decision is active from its position on, until the one that superseded it.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from typing import Any, Literal

from memoryd.core import db, errors, ids, read
from memoryd.core.model import Channel, Reader, Scope, Sensitivity
from memoryd.search import retrieve
from memoryd.search.searcher import Searcher

Standing = Literal["active", "superseded"]
RANKED = 200  # the most that a search puts in order


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What was decided, as it stood at some position of the log."""

    decision_id: str
    event_id: str
    position: int
    ts: datetime
    status: Standing
    scope: Scope
    subject: str | None
    decision: str
    rationale: tuple[str, ...]
    constraints: tuple[str, ...]
    alternatives: tuple[str, ...]
    consequences: tuple[str, ...]
    supersedes: str | None
    superseded_by: str | None
    conflicts: tuple[str, ...]  # decisions that hold beside it and seem to speak of the same
    session_id: str
    user_id: str
    agent_id: str
    channel: Channel
    sensitivity: Sensitivity
    refs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Which; what is omitted does not restrict. All of `refs` are cited."""

    status: Standing | None = None
    scope: Scope | None = None
    refs: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True)
class Line:
    """A decision between all that it replaced and all that replaced it, each oldest first."""

    ancestors: tuple[Decision, ...]
    decision: Decision
    descendants: tuple[Decision, ...]


async def page(
    conn: db.Conn,
    reader: Reader,
    filters: Filters,
    *,
    as_of: int,
    cursor: int | None = None,
    limit: int,
) -> list[Decision]:
    """At most `limit` decisions as they stood at `as_of`, newest first, older than `cursor`."""
    asked = (*read.eyes(reader), as_of, *_values(filters), cursor, limit)
    return _decisions(await conn.fetch(db.query("decisions.page"), *asked))


async def named(
    conn: db.Conn, reader: Reader, decision_ids: Sequence[str], *, as_of: int
) -> list[Decision]:
    """Those of the decisions that the reader sees, newest first."""
    asked = (*read.eyes(reader), as_of, decision_ids)
    return _decisions(await conn.fetch(db.query("decisions.named"), *asked))


async def line(conn: db.Conn, reader: Reader, decision_id: str, *, as_of: int) -> Line:
    asked = (*read.eyes(reader), as_of, decision_id)
    found = _decisions(await conn.fetch(db.query("decisions.line"), *asked))
    for place, one in enumerate(found):
        if one.decision_id == decision_id:
            return Line(tuple(found[:place]), one, tuple(found[place + 1 :]))
    raise errors.NotFound(f"there is no decision {decision_id!r} that you may see")


async def ranked(
    pool: db.Pool,
    searcher: Searcher,
    reader: Reader,
    filters: Filters,
    text: str,
    *,
    now: datetime,
    as_of: int,
) -> list[Decision]:
    """The decisions that pass the filters, the best match for `text` first: 200 at most.

    The filters choose before the search does, so that none of its places go to what they remove.
    """
    async with db.tenant(pool, reader.tenant_id) as conn:
        asked = (*read.eyes(reader), as_of, *_values(filters))
        rows = await conn.fetch(db.query("decisions.positions"), *asked)
    if not rows:
        return []
    chosen = retrieve.Filters(kind="decision", positions=tuple(row[0] for row in rows))
    search = retrieve.Search(text=text, now=now, filters=chosen, limit=RANKED)
    answer = await searcher.search(reader, search, as_of)
    order = list(dict.fromkeys(ids.same("dec", row["event_id"]) for row in answer.rows))
    async with db.tenant(pool, reader.tenant_id) as conn:
        found = await named(conn, reader, order, as_of=as_of)
    return sorted(found, key=lambda one: order.index(one.decision_id))


def _values(filters: Filters) -> tuple[Any, ...]:
    since, until = (read.within_calendar(moment) for moment in (filters.since, filters.until))
    return astuple(replace(filters, since=since, until=until))


def _decisions(rows: Sequence[Any]) -> list[Decision]:
    return [_decision(row) for row in rows]


def _decision(row: Any) -> Decision:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
    }
    return Decision(**values)
