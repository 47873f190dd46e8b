"""Versions after an erasure: exactly those that a replay of what is left would make.

A version holds what its thing had before, so the versions after an erased one are wrong too: they
go, and the events that stay are projected again, by the functions that did it the first time.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from memoryd.core import db, read, views
from memoryd.seal import keys as tenant_keys

VERSIONED = {
    "decisions": "erase.rewind_decisions",
    "tasks": "erase.rewind_tasks",
    "view_texts": "erase.rewind_view_texts",
    "handoffs": "erase.rewind_handoffs",
    "mentions": "erase.rewind_mentions",
    "memories": "erase.rewind_memories",
    "stored_references": "erase.rewind_references",
}
Rewound = Mapping[str, Mapping[int, Any]]  # table → position → what a bundle could show of it


async def rewind(conn: db.Conn, tenant_id: str, positions: Sequence[int]) -> Rewound:
    """Take back all versions from the first of `positions` on, of the things that they are of."""
    found = {}
    for table, name in VERSIONED.items():
        rows = await conn.fetch(db.query(name), tenant_id, positions)
        found[table] = {row["position"]: row["shown"] for row in rows}
    return found


async def project_again(
    conn: db.Conn, tenant_id: str, rewound: Rewound, without: Collection[int]
) -> list[int]:
    """Project the events that stay, and return the positions of those that came out otherwise."""
    again = sorted({at for rows in rewound.values() for at in rows} - set(without))
    keys = await tenant_keys.usable(conn, tenant_id)
    for row in await conn.fetch(db.query("erase.events"), tenant_id, again):
        await views.project(conn, read.to_event(row), keys)
    changed = []
    for table, old in rewound.items():
        shown = db.query("erase.shown").replace("tasks", table)
        rows = await conn.fetch(shown, tenant_id, sorted(old))
        new = {row["position"]: row["shown"] for row in rows}
        changed += [position for position, was in old.items() if new.get(position) != was]
    return changed


def lost(rewound: Rewound, positions: Collection[int]) -> dict[str, int]:
    """How many versions of each table were of erased events."""
    return {table: len(old.keys() & set(positions)) for table, old in rewound.items()}
