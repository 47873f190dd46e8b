"""Editable texts and summaries, read through a reader's eyes at a position of the log.

A text is kept by its versions, each named by the event that made it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoryd.core import db, errors, read
from memoryd.core.model import SENSITIVITIES, Actor, ActorType, Channel, Event, Reader, Sensitivity
from memoryd.ledger import extract, tasks

LATEST = 2**62  # beyond any position
MAX_TEXT = 100_000  # characters of a text: some 25,000 tokens, more than any bundle gives it
OWN = "rules.user"  # each user's own, and so private; the other texts are everyone's
TASK = 1  # the rank of a task among the passages of a session
MOST_PASSAGES = 1_000  # of a session, for its summary: about a second of work


@dataclass(frozen=True, kw_only=True)
class Version:
    """A version of an editable text, without the text."""

    name: str
    version: str
    position: int
    ts: datetime
    channel: Channel
    actor: Actor
    size: int


@dataclass(frozen=True, kw_only=True)
class Text(Version):
    text: str


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a session came to; `stale` when something that it cites no longer holds."""

    summary_id: str
    event_id: str
    position: int
    ts: datetime
    session_id: str
    text: str
    trust: ActorType  # the lowest of its author and of all that it cites
    cites: tuple[str, ...]
    user_id: str
    agent_id: str
    channel: Channel
    sensitivity: Sensitivity
    stale: bool


def channel_of(name: str, channel: Channel | None) -> Channel:
    """Instructions are for all, unless they are one user's own."""
    found: Channel = channel or ("private" if name == OWN else "public")
    if (found == "private") != (name == OWN):
        raise errors.Invalid(
            f"{OWN} is private, and no other view is: {name} cannot be {found}", field="channel"
        )
    return found


async def views(conn: db.Conn, reader: Reader, *, as_of: int = LATEST) -> list[Version]:
    """Every text that holds, by name."""
    rows = await conn.fetch(db.query("texts.views"), *read.eyes(reader), as_of)
    return [Version(**_values(row)) for row in rows]


async def view(
    conn: db.Conn, reader: Reader, name: str, version: str | None = None, *, as_of: int = LATEST
) -> Text | None:
    """The text that holds, or one version of it; None where there is none that one may see."""
    row = await conn.fetchrow(db.query("texts.view"), *read.eyes(reader), as_of, name, version)
    return None if row is None else Text(**_values(row))


async def history(
    conn: db.Conn, reader: Reader, name: str, *, as_of: int = LATEST, limit: int
) -> list[Version]:
    """The versions until `as_of`, newest first."""
    rows = await conn.fetch(db.query("texts.history"), *read.eyes(reader), as_of, name, limit)
    return [Version(**_values(row)) for row in rows]


async def summaries(
    conn: db.Conn,
    reader: Reader,
    session_id: str | None = None,
    summary_id: str | None = None,
    *,
    as_of: int = LATEST,
    cursor: int = LATEST,
    limit: int = 1,
) -> list[Summary]:
    """At most `limit` summaries before position `cursor`, newest first."""
    asked = (as_of, session_id, summary_id, cursor, limit)
    rows = await conn.fetch(db.query("texts.summaries"), *read.eyes(reader), *asked)
    return [Summary(**{**row, "cites": tuple(row["cites"])}) for row in rows]


async def passages(conn: db.Conn, reader: Reader, session_id: str) -> list[extract.Passage]:
    asked = (*read.eyes(reader), session_id, MOST_PASSAGES)
    rows = await conn.fetch(db.query("texts.passages"), *asked)
    named = [row["position"] for row in rows if row["rank"] == TASK]
    of_tasks = await tasks.events(conn, reader.tenant_id, named)
    return [_passage(row, of_tasks) for row in rows]


def _passage(row: Any, of_tasks: Mapping[int, tuple[str, ...]]) -> extract.Passage:
    """A task's title may come from another event than its status does."""
    values = {**row}
    own = (values.pop("event_id"),)
    cites = of_tasks.get(row["position"], own) if row["rank"] == TASK else own
    return extract.Passage(**values, cites=cites)


async def check_cites(conn: db.Conn, summary: Event, cites: Sequence[str]) -> None:
    """Refuse a cited event that some reader of `summary` may not see: that would tell of it."""
    reader = Reader(tenant_id=summary.tenant_id, channel=summary.channel, user_id=summary.user_id)
    lower = SENSITIVITIES[: SENSITIVITIES.index(summary.sensitivity) + 1]
    rows = await conn.fetch(db.query("texts.seen"), *read.eyes(reader), cites, lower)
    seen = {row["event_id"] for row in rows}
    for place, cited in enumerate(cites):
        if cited not in seen:
            shown = f"a {summary.channel} summary with sensitivity {summary.sensitivity!r}"
            said = f"there is no event {cited!r} that every reader of {shown} may see"
            raise errors.Invalid(said, field=f"cites.{place}")


def _values(row: Any) -> dict[str, Any]:
    actor = Actor(type=row["actor_type"], id=row["actor_id"])
    return {n: v for n, v in row.items() if not n.startswith("actor_")} | {"actor": actor}
