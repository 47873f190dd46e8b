"""The keys of tenants in the database: loaded, made at the first need, rotated, wrapped anew."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Literal

import asyncpg
from cryptography.exceptions import InvalidTag

from memoryd.core import db, errors
from memoryd.core.model import Event
from memoryd.seal import vault
from memoryd.seal.connection import vault_of
from memoryd.seal.vault import Keys, Vault

State = Literal["unused", "open", "held", "missing", "wrong"]

DO = {
    "held": "the master key is gone from where it was; what this daemon has opened stays open "
    "until it ends, and nothing else opens: put the key back before that",
    "missing": "the master key is not here; put the master.key that this database was used with "
    "back into MEMORYD_HOME, or set MEMORYD_MASTER_KEY to it",
    "wrong": "this database was sealed with another master key: set MEMORYD_MASTER_KEY to that "
    "one, or put its master.key into MEMORYD_HOME",
}


async def load(conn: db.Conn, tenant_id: str) -> Keys:
    """Takes `conn` inside a transaction of the tenant."""
    return vault_of(conn).take(tenant_id, await conn.fetch(db.query("seal.keys")))


async def ready(
    conn: db.Conn, tenant_id: str, events: Iterable[Event], since: int, now: datetime
) -> Keys:
    """The keys to seal `events` with from position `since` on, made now if there are none.

    Takes `conn` under the tenant's write lock: of two first writers, one makes the key. It is
    written by the transaction that needs it, so a crash leaves both or neither.
    """
    if not any(event.sensitivity == vault.LEVEL for event in events):
        return Keys(tenant_id)
    keys = await usable(conn, tenant_id)
    return keys if keys.listed else await add(conn, tenant_id, since, now)


async def usable(conn: db.Conn, tenant_id: str) -> Keys:
    """All of them, to seal with; refused where one is closed."""
    keys = await load(conn, tenant_id)
    if keys.closed:
        raise errors.Closed(f"what is `high` cannot be sealed: {DO[await _trouble(conn)]}")
    return keys


async def tags_like(conn: db.Conn, tenant_id: str, tag: str | None) -> list[str] | None:
    """`tag` as it stands in rows: as it is, and hidden where it is sealed."""
    if tag is None:
        return None
    hide = (await load(conn, tenant_id)).hide
    return [tag] if hide is None else [tag, hide(tag)]


async def opened_bytes(conn: db.Conn, tenant_id: str, raw: bytes, bound: str) -> bytes:
    """The bytes of an artifact; sealed ones perhaps with a key that is new to this process."""
    opened = vault_of(conn).bytes_of(raw, bound)
    if opened is None:
        await load(conn, tenant_id)
        opened = vault_of(conn).bytes_of(raw, bound)
    if opened is None:
        raise errors.Closed(f"the bytes of this artifact are sealed: {DO['missing']}")
    return opened


def check_open(shown: dict[str, Any]) -> None:
    """Refuse before the first byte is sent, not in the middle."""
    if shown == {"text": vault.CLOSED}:
        raise errors.Closed(f"the bytes of this artifact are sealed: {DO['missing']}")


async def add(conn: db.Conn, tenant_id: str, since: int, now: datetime) -> Keys:
    """A new key, which seals from `since` on; what the others sealed stays as it is."""
    own = vault_of(conn)
    master = await _master(conn, own)
    assert own.random is not None, "a vault with a master key has a source of random keys"
    key_id, secret = own.random(vault.ID_BYTES).hex(), own.random(vault.KEY_BYTES)
    wrapped = vault.wrap(master, tenant_id, key_id, secret, own.random(vault.NONCE_BYTES))
    row = (tenant_id, key_id, since, wrapped, now)
    await conn.execute(db.query("seal.add_key"), *row)
    return await load(conn, tenant_id)


async def rotate(conn: db.Conn, tenant_id: str, now: datetime) -> Keys:
    """Seal with a new key from the next event on; a tenant without one has nothing to rotate."""
    await conn.execute(db.query("record.lock"), tenant_id)
    head = await conn.fetchval(db.query("record.head"), tenant_id) or 0
    if not (await usable(conn, tenant_id)).listed:
        raise errors.NotFound(f"tenant {tenant_id!r} has nothing sealed, so no key to rotate")
    return await add(conn, tenant_id, head + 1, now)


async def state(conn: db.Conn) -> State:
    """Whether what is sealed in this database can be opened here."""
    stored = await conn.fetchval(db.query("seal.check"))
    if stored is None:
        return "unused"
    masters = vault_of(conn).masters()
    if not masters:
        return "held" if vault_of(conn).holds else "missing"
    return "wrong" if vault.matching(masters, stored) is None else "open"


async def rewrap(conn: asyncpg.Connection, new: bytes, keep: Callable[[], None]) -> int:
    """Wrap every key with the master key `new`, in one transaction; returns how many they were.

    `conn` is the owner's. `keep` is called before the commit: from then on `new` may be needed.
    """
    own = vault_of(conn)
    assert own.random is not None, "a vault with a master key has a source of random keys"
    done = 0
    async with conn.transaction():
        await conn.execute(db.query("seal.exclude"))
        for (tenant_id,) in await conn.fetch(db.query("rebuild.tenants")):
            await db.set_tenant(conn, tenant_id)
            for row in await conn.fetch(db.query("seal.keys")):
                secret = _secret(own.masters(), tenant_id, row["key_id"], row["wrapped"])
                fresh = own.random(vault.NONCE_BYTES)
                wrapped = vault.wrap(new, tenant_id, row["key_id"], secret, fresh)
                await conn.execute(db.query("seal.rewrap"), tenant_id, row["key_id"], wrapped)
                done += 1
        await conn.execute(db.query("seal.change_check"), vault.check(new))
        keep()
    return done


def _secret(masters: Sequence[bytes], tenant_id: str, key_id: str, wrapped: bytes) -> bytes:
    for master in masters:
        try:
            return vault.unwrap(master, tenant_id, key_id, wrapped)
        except InvalidTag:  # another one's: the next may be it
            continue
    raise errors.Closed(
        f"the present master key does not open a key of {tenant_id!r}; nothing done"
    )


async def _master(conn: db.Conn, own: Vault) -> bytes:
    """The master key of this database: the one it was used with, or the first one."""
    await conn.execute(db.query("seal.share"))
    stored = await conn.fetchval(db.query("seal.check"))
    if stored is None:
        given = own.masters() or ([own.make()] if own.make is not None else [])
        if not given:
            raise errors.Closed(f"what is `high` cannot be sealed: {DO['missing']}")
        await conn.execute(db.query("seal.add_check"), vault.check(given[0]))
        stored = await conn.fetchval(db.query("seal.check"))
    found = vault.matching(own.masters(), stored)
    if found is None:
        raise errors.Closed(f"what is `high` cannot be sealed: {DO[await _trouble(conn)]}")
    return found


async def _trouble(conn: db.Conn) -> State:
    """Why something is closed; keys that match none are those of another master key."""
    found = await state(conn)
    return found if found in DO else "wrong"
