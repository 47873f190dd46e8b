"""Keys: who may speak for a tenant, in which role, and what else the key pins.

The key is 256 random bits, shown once; the database keeps its SHA-256, which is enough for a value
that cannot be guessed.
"""

import hashlib
from datetime import datetime

from pydantic import TypeAdapter, ValidationError

from memoryd import redact
from memoryd.core import db, errors
from memoryd.core.model import Caller, Channel, Key, Name, Role

PREFIX = "mdk_"
_NAME = TypeAdapter[str | None](Name | None)


async def create(
    conn: db.Conn,
    *,
    tenant_id: str,
    role: Role,
    secret: str,
    now: datetime,
    user_id: str | None = None,
    agent_id: str | None = None,
    channel: Channel | None = None,
) -> tuple[Key, str]:
    """Store a key made of `secret` (random, URL-safe) and return it: the only time it is seen."""
    for field, name in {"tenant_id": tenant_id, "user_id": user_id, "agent_id": agent_id}.items():
        _check_name(field, name)
        redact.refuse(**{field: name})
    text = PREFIX + secret
    hashed = hash_key(text)
    await conn.execute(db.query("record.add_tenant"), tenant_id, now)
    row = await conn.fetchrow(
        db.query("keys.create"),
        *(tenant_id, f"key_{hashed.hex()[:12]}", hashed, role, user_id, agent_id, channel, now),
    )
    assert row is not None
    return Key(**row), text


async def listing(conn: db.Conn, tenant_id: str) -> list[Key]:
    return [Key(**row) for row in await conn.fetch(db.query("keys.list"), tenant_id)]


async def revoke(conn: db.Conn, tenant_id: str, key_id: str, now: datetime) -> Key:
    """The key stops working with the next request; revoking it again changes nothing."""
    row = await conn.fetchrow(db.query("keys.revoke"), tenant_id, key_id, now)
    if row is None:
        raise errors.NotFound(f"there is no key {key_id!r} in tenant {tenant_id!r}")
    return Key(**row)


async def caller(pool: db.Pool, text: str) -> Caller:
    """Who holds this key; an unknown and a revoked one are refused alike."""
    hashed = hash_key(text)
    async with db.borrow(pool) as conn, conn.transaction(readonly=True):
        await conn.execute(db.query("keys.show"), hashed.hex())
        row = await conn.fetchrow(db.query("keys.find"), hashed)
    if row is None:
        raise errors.Unauthorized("this key is unknown or revoked; ask for a new one")
    return Caller(**row)


async def any_active(conn: db.Conn) -> bool:
    """Whether any tenant has a key; asked as the owner, before listening on an open address."""
    return bool(await conn.fetchval(db.query("keys.any_active")))


def _check_name(field: str, name: str | None) -> None:
    """A key must not pin what no event could carry."""
    try:
        _NAME.validate_python(name)
    except ValidationError as error:
        raise errors.Invalid(
            f"{field} is {name!r}: it must be one line of 1 to 255 characters", field=field
        ) from error


def elsewhere(caller: Caller, name: str) -> errors.Forbidden:
    """Why a caller may not name another tenant, user, agent or channel in the field `name`."""
    if caller.key_id is None:
        return errors.Forbidden(
            f"without a key there is the tenant {caller.tenant_id!r} alone; make a key for another "
            "with `memoryd keys create --tenant NAME` and send it",
            field=name,
        )
    return errors.Forbidden(f"this key is pinned to another {name}", field=name)


def hash_key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
