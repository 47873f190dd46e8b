"""Events → references, in the event's transaction; what they say stays in the event.

A key is unique among what its writer can see of the same user: to refuse it for something hidden
would tell that it is there.
"""

from collections.abc import Mapping
from typing import Any

from memoryd.core import db, errors, privacy
from memoryd.core.model import Event, Reader
from memoryd.references import model
from memoryd.seal.vault import Keys

TABLES = ("stored_references",)


async def project(conn: db.Conn, event: Event, _: Keys) -> None:
    """An artifact without a key is no reference."""
    kept = event.content.get("reference")
    if not isinstance(kept, Mapping) or not isinstance(kept.get("key"), str):
        return
    model.check_key(kept["key"])
    sight = privacy.sight(
        Reader(tenant_id=event.tenant_id, channel=event.channel, user_id=event.user_id)
    )
    eyes = (sight.sensitivities, sight.channels, sight.own_channels)
    asked = (event.tenant_id, *eyes, event.user_id, kept["key"])
    if await conn.fetchval(db.query("references.taken"), *asked):
        raise model.Taken(f"the key {kept['key']!r} is taken", field="key")
    said = (kept["key"], kept.get("type", model.DEFAULT_TYPE), True)
    await conn.execute(db.query("references.put"), *_row(event, event.event_id), *said)


async def change(conn: db.Conn, event: Event) -> None:
    """Set or clear `is_active`, or say with `update` how it is described from now on; by an event
    of the same user and channel.
    """
    reference_id = event.content["memory_id"]
    owner = (event.tenant_id, event.channel, event.user_id)
    found: Any = await conn.fetchrow(db.query("references.current"), *owner, reference_id)
    if found is None:
        if not await conn.fetchval(
            db.query("memories.erased_since"), event.tenant_id, event.position
        ):
            raise errors.NotFound(
                f"there is no reference {reference_id!r} that you may change", field="key"
            )
        return
    await conn.execute(db.query("references.end"), event.tenant_id, reference_id, event.position)
    placed = _row(event, reference_id)
    kept = (found["session_id"], found["user_id"], found["agent_id"], found["channel"])
    op = event.content["op"]
    active = found["is_active"] if op == "update" else op == "activate"
    said = (found["key"], found["type"], active)
    row = (*placed[:5], *kept, found["sensitivity"], *said)
    await conn.execute(db.query("references.put"), *row)


def _row(event: Event, reference_id: str) -> tuple[Any, ...]:
    return (
        *(event.tenant_id, reference_id, event.event_id, event.position, event.ts),
        *(event.session_id, event.user_id, event.agent_id, event.channel, event.sensitivity),
    )
