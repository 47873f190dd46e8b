"""The event that an erasure is: on whose word, why and how much, never what.

It belongs to no user, so that no reader sees it among events; and the triggers of the log let a
transaction rewrite rows only if it has recorded one.
"""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from memoryd import redact
from memoryd.core import db, record
from memoryd.core.model import Actor, Caller, Draft

What = Literal["user", "session", "event", "memory", "tenant"]
BY_FIELD: dict[str, What] = {
    "user_id": "user",
    "session_id": "session",
    "event_id": "event",
    "memory_id": "memory",
    "tenant": "tenant",
}
OURSELVES = "memoryd"  # the actor of what follows from an erasure


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be erased, and on whose word."""

    tenant_id: str
    what: What
    name: str
    by: str
    reason: str = ""

    def only(self, what: What) -> str | None:
        return self.name if self.what == what else None


@dataclass(frozen=True, kw_only=True)
class Erasure:
    """What went. `erasure_id` is None where nothing was found, and in a dry run."""

    erasure_id: str | None
    what: str
    at: datetime
    by: str
    reason: str
    fingerprint: str  # of the name, which is not kept
    events: int
    rows: dict[str, int]  # by table
    spoken: int = 0  # events of others that stay, of which the erased user is the actor
    swept_at: datetime | None = None


async def listing(
    conn: db.Conn, tenant_id: str, *, before: int | None = None, limit: int = 100
) -> list[tuple[int, Erasure]]:
    """Erasures with their positions, newest first."""
    rows = await conn.fetch(db.query("erase.acts"), tenant_id, before, None, limit)
    return [(row["position"], read(row)) for row in rows]


async def find(conn: db.Conn, tenant_id: str, erasure_id: str) -> Erasure | None:
    row = await conn.fetchrow(db.query("erase.acts"), tenant_id, None, erasure_id, 1)
    return read(row) if row else None


def fingerprint(erasure_id: str, name: str) -> str:
    """Proves, to whoever has the name already, that it is the one; others can only guess."""
    return hashlib.sha256(f"{erasure_id}/{name}".encode()).hexdigest()


async def begin(
    conn: db.Conn, tenant_id: str, by: str, *, now: datetime, entropy: bytes, **said: Any
) -> str:
    """Record the erasure that the transaction is to do, and let the log be rewritten in it.

    Returns its id; `describe` says more, once it is known.
    """
    draft = Draft(
        session_id="", actor=Actor(type="human", id=by), kind="erasure", content={"of": "", **said}
    )
    write = record.prepare(Caller(tenant_id=tenant_id, role="admin"), draft, now, entropy)
    act = replace(write.event, user_id="", agent_id="")
    await record.append(conn, tenant_id, [replace(write, event=act)], now)
    await conn.execute(db.query("erase.name_act"), act.event_id)
    return act.event_id


async def describe(conn: db.Conn, tenant_id: str, erasure: Erasure) -> None:
    said = {"what": erasure.what, "events": erasure.events, "rows": erasure.rows}
    named = {"fingerprint": erasure.fingerprint, "reason": redact.text(erasure.reason)}
    content = {"erased": {**said, **named, "spoken": erasure.spoken}}
    await conn.execute(db.query("erase.describe"), tenant_id, erasure.erasure_id, content)


def read(row: Any) -> Erasure:
    known = {"at": row["recorded_at"], "by": row["actor_id"], "swept_at": row["swept_at"]}
    return Erasure(erasure_id=row["event_id"], **known, **row["content"]["erased"])
