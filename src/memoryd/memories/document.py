"""A user's memories as one document (seed 004), and what leaves it when it grows too long.

The document is these rows seen as JSON: nothing of it is stored, so writers cannot lose each
other's changes.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field
from pydantic_core import to_json

from memoryd.core import db, errors, read, record, tokens
from memoryd.core.model import Actor, Caller, Reader
from memoryd.daemon import Daemon, entropy, now
from memoryd.memories import read as memories
from memoryd.memories import write
from memoryd.memories.model import Fact, Memory, Mention, Place

log = logging.getLogger("memoryd.memories")

TYPES = ("fact", "place")
LIMIT = 10_000  # tokens
MENTIONS = 50  # of a place that the document shows, the newest: the prompt has their number alone
FEWER = (MENTIONS, 20, 5, 1)  # what it shows in turn where it would be too long
DENSE = 8  # bytes a token: more than ids and moments ever have; what is longer need not be counted
ATTEMPTS = 10  # to evict beside other writers; each of these then does it in turn
NEVER = datetime.fromtimestamp(0, UTC)  # when a document without a change was last updated
SCHEMA = "1.0"
LATEST = 2**62  # beyond any position
_MEMORYD = Actor(type="tool", id="memoryd")

# (message_id, timestamp): a pair, which is a list in JSON.
POIMention = Annotated[list[str], Field(min_length=2, max_length=2)]


@dataclass(frozen=True, kw_only=True)
class MemoryFact:
    id: str
    content: str
    added_at: str
    source_conversation_id: str | None
    source_message_id: str | None
    is_active: bool


@dataclass(frozen=True, kw_only=True)
class PlacerPOI:
    """A place of interest; its mentions are `(message_id, timestamp)` by conversation."""

    place_id: str
    place_name: str
    notes: str | None
    mentioned_in: dict[str, list[POIMention]] = field(default_factory=dict)
    added_at: str


@dataclass(frozen=True, kw_only=True)
class MemoryMetadata:
    last_updated: str
    total_facts: int
    total_active_facts: int
    total_pois: int
    token_count: int
    schema_version: str = SCHEMA


@dataclass(frozen=True, kw_only=True)
class MemoryDocument:
    facts: tuple[MemoryFact, ...]
    placer_user_datapoints: tuple[PlacerPOI, ...]
    metadata: MemoryMetadata


@dataclass(frozen=True)
class Kept:
    """What a document is made of, in the order in which it was added."""

    facts: list[Fact]
    places: list[Place]


async def load(conn: db.Conn, reader: Reader, *, as_of: int = LATEST) -> Kept:
    """All of the reader's own that is neither deleted nor evicted."""
    wanted = memories.Wanted(inactive=True)
    facts, _ = await memories.page(conn, reader, Fact, ("fact",), wanted, as_of=as_of)
    places, _ = await memories.page(conn, reader, Place, ("place",), wanted, as_of=as_of)
    return Kept(sorted(facts, key=_age), await with_mentions(conn, reader, places, as_of=as_of))


async def with_mentions(
    conn: db.Conn, reader: Reader, places: Sequence[Place], *, as_of: int = LATEST
) -> list[Place]:
    asked = (reader.tenant_id, [one.memory_id for one in places], as_of)
    said: dict[str, list[Mention]] = {}
    for row in await conn.fetch(db.query("memories.mentions"), *asked):
        values = dict(row)
        said.setdefault(values.pop("memory_id"), []).append(Mention(**values))
    return [
        Place(**{**vars(one), "mentions": tuple(said.get(one.memory_id, ()))})
        for one in sorted(places, key=_age)
    ]


async def document(conn: db.Conn, reader: Reader, *, as_of: int = LATEST) -> MemoryDocument:
    kept = await load(conn, reader, as_of=as_of)
    asked = (*read.eyes(reader), as_of, reader.user_id)
    last = await conn.fetchval(db.query("memories.last_change"), *asked)
    return await asyncio.to_thread(render, kept, last or NEVER)  # to count takes milliseconds


def render(kept: Kept, last_updated: datetime) -> MemoryDocument:
    most = mentions(kept)
    facts, places = tuple(map(fact, kept.facts)), tuple(poi(one, most) for one in kept.places)
    return MemoryDocument(
        facts=facts,
        placer_user_datapoints=places,
        metadata=MemoryMetadata(
            last_updated=last_updated.isoformat(),
            total_facts=len(facts),
            total_active_facts=sum(one.is_active for one in facts),
            total_pois=len(places),
            token_count=tokens.count(text(kept, most)),
        ),
    )


def mentions(kept: Kept, limit: int = LIMIT) -> int:
    """How many of each place are shown: fewer before a fact has to go for them."""
    return next((most for most in FEWER if _fits(text(kept, most), limit)), FEWER[-1])


def _fits(shown: str, limit: int) -> bool:
    """No token is shorter than a byte, so that most documents need not be counted."""
    size = len(shown.encode())
    return size <= limit or (size <= DENSE * limit and tokens.count(shown) <= limit)


def text(kept: Kept, most: int) -> str:
    """What is counted: the JSON of the document without its metadata, without white space."""
    shown = {
        "facts": [vars(fact(one)) for one in kept.facts],
        "placer_user_datapoints": [vars(poi(one, most)) for one in kept.places],
    }
    return to_json(shown).decode()


def excess(kept: Kept, limit: int = LIMIT) -> list[Fact | Place]:
    """What must go, so that at most `limit` tokens are left: inactive facts, then the oldest.

    Places go when there is no fact left; mentions gave way before.
    """
    most = mentions(kept, limit)
    over = tokens.count(text(kept, most)) - limit
    queue: list[Fact | Place] = [*sorted(kept.facts, key=_worth), *kept.places]
    gone = 0
    while gone < len(queue) and over > 0:
        while gone < len(queue) and over > 0:  # by their own counts, which are near the truth
            over -= tokens.count(to_json(vars(_shown(queue[gone], most))).decode())
            gone += 1
        over = tokens.count(text(_without(kept, queue[:gone]), most)) - limit
    return queue[:gone]


async def fit(daemon: Daemon, owner: Reader, limit: int = LIMIT) -> None:
    """Evict what makes the owner's document too long; who writes meanwhile does so in turn."""
    for _ in range(ATTEMPTS):
        async with db.snapshot(daemon.pool, owner.tenant_id) as conn:
            kept = await load(conn, owner)
            key = (owner.tenant_id, owner.user_id)
            position = await conn.fetchval(db.query("memories.document_position"), *key)
        long = len(text(kept, MENTIONS).encode()) > limit
        gone = await asyncio.to_thread(excess, kept, limit) if long else []
        if not gone:
            return
        try:
            await _evict(daemon, owner.tenant_id, gone, position)
        except (errors.Conflict, errors.NotFound):  # one of them was changed, or deleted, meanwhile
            continue
        ids = [one.memory_id for one in gone]
        log.warning(
            "Evicted %d facts for user %s due to token limit",
            *(len(gone), owner.user_id),
            extra={"memory_ids": ids},
        )
        return


async def _evict(daemon: Daemon, tenant_id: str, gone: Sequence[Memory], position: int) -> None:
    """In one transaction, and by memoryd itself: the key of whoever wrote has no part in it."""
    caller = Caller(tenant_id=tenant_id, role="agent")
    said = {"op": "evict", "document": position}
    moment = now()
    writes = []
    for one in gone:
        origin = write.of(one, write.Origin(agent_id=one.agent_id))
        draft = write.drafted(origin, one.memory_id, said, _MEMORYD)
        writes.append(record.prepare(caller, draft, moment, entropy()))
    await daemon.group.commit(tenant_id, writes)


def _worth(one: Fact) -> tuple[bool, bool]:
    """What was changed or brought back stays longer than what nobody touched since it was added, or
    it could never come back into a full document.
    """
    return (one.is_active, one.position != one.born)


def _age(one: Memory) -> tuple[datetime, int]:
    return (one.created_at, one.born)


def fact(one: Fact) -> MemoryFact:
    return MemoryFact(
        id=one.memory_id,
        content=one.text,
        added_at=one.created_at.isoformat(),
        source_conversation_id=one.source_conversation_id,
        source_message_id=one.source_message_id,
        is_active=one.is_active,
    )


def poi(one: Place, most: int = MENTIONS) -> PlacerPOI:
    mentioned: dict[str, list[list[str]]] = {}
    for said in one.mentions[-most:]:
        each = mentioned.setdefault(said.conversation_id, [])
        each.append([said.message_id, said.ts.isoformat()])
    return PlacerPOI(
        place_id=one.place_id,
        place_name=one.subject or one.place_id,
        notes=one.text or None,
        mentioned_in=mentioned,
        added_at=one.created_at.isoformat(),
    )


def _shown(one: Fact | Place, most: int) -> MemoryFact | PlacerPOI:
    return poi(one, most) if isinstance(one, Place) else fact(one)


def _without(kept: Kept, gone: Sequence[Memory]) -> Kept:
    ids = {one.memory_id for one in gone}
    return Kept(
        [one for one in kept.facts if one.memory_id not in ids],
        [one for one in kept.places if one.memory_id not in ids],
    )
