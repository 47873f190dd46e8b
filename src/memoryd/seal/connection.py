"""A connection whose rows come opened, so that no query can forget it.

Only a row of a thing can be opened: it must name the thing, by one of the columns of `BOUND`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import asyncpg
from asyncpg.pool import PoolConnectionProxy
from pydantic_core import from_json, to_json

from memoryd.seal.vault import CLOSED, HIDDEN, NAME, OPENING, Vault

# What a sealed text may be part of, first choice first. A task's and a handoff's texts outlive the
# event that wrote them: later versions keep them.
BOUND = ("task_id", "handoff_id", "event_id", "version")


class Document(str):
    """JSON as somebody wrote it (`jsonb`), in which a text may look sealed."""

    __slots__ = ()


class Row(dict[str, Any]):
    """A row that was opened; like those of asyncpg read by name, by place, and in order."""

    def __getitem__(self, at: Any) -> Any:
        return list(self.values())[at] if isinstance(at, int) else super().__getitem__(at)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values())


class Connection(asyncpg.Connection):
    vault: Vault
    keys_query: str  # of the tenant that is set

    async def fetch(self, query: str, *args: Any, **more: Any) -> Any:
        return await self._opened(await super().fetch(query, *args, **more))

    async def fetchrow(self, query: str, *args: Any, **more: Any) -> Any:
        row = await super().fetchrow(query, *args, **more)
        return row if row is None else (await self._opened([row]))[0]

    async def _opened(self, rows: Sequence[Any]) -> Sequence[Any]:
        places = [at for at, row in enumerate(rows) if _any_sealed(row)]
        if not places:
            return rows
        texts = (text for at in places for value in rows[at] for text in _texts(value))
        if self.vault.unknown(texts):
            await self.learn()
        opened = list(rows)
        for at in places:
            opened[at] = Row(_opened_row(self.vault, rows[at]))
        return opened

    async def learn(self) -> None:
        """Take in the keys of the tenant that is set."""
        rows = await super().fetch(self.keys_query)
        if rows:
            self.vault.take(rows[0]["tenant_id"], rows)


def of(vault: Vault, keys_query: str) -> type[Connection]:
    """Connections that open with `vault`."""
    return type("Connection", (Connection,), {"vault": vault, "keys_query": keys_query})


async def prepare(conn: asyncpg.Connection | PoolConnectionProxy) -> None:
    """Read `jsonb` as values; what may be sealed is opened with its row."""
    await conn.set_type_codec(
        "jsonb", schema="pg_catalog", encoder=_dump, decoder=_load, format="text"
    )


async def open_rows(
    conn: asyncpg.Connection | PoolConnectionProxy, texts: Sequence[str]
) -> list[str]:
    """Rows that a query made into JSON: these do not come opened, since what a client wrote could
    look like one.
    """
    sealed = [text for text in texts if OPENING in text]
    own = vault_of(conn)
    if own.unknown(sealed):
        await conn.learn()  # type: ignore[union-attr]  # the pool's stand-in passes it on
    return [_opened_rows(own, text) if OPENING in text else text for text in texts]


def vault_of(conn: asyncpg.Connection | PoolConnectionProxy) -> Vault:
    """The one that opens what comes over `conn`."""
    found: Vault = conn.vault  # type: ignore[union-attr]  # the pool's stand-in passes it on
    return found


def _dump(value: Any) -> str:
    return to_json(value).decode()


def _load(text: str) -> Any:
    return Document(text) if OPENING in text else from_json(text)


def _any_sealed(row: Any) -> bool:
    """Called for every row of every query, so with as few steps as possible."""
    for value in row:
        kind = type(value)
        if kind is str:
            if value.startswith(OPENING):
                return True
        elif kind is list:
            if value and type(value[0]) is str and value[0].startswith(OPENING):
                return True
        elif kind is Document:
            return True
    return False


def _texts(value: Any) -> Sequence[str]:
    if isinstance(value, str):
        return (value,)
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else ()


def _opened_row(vault: Vault, row: Mapping[str, Any]) -> dict[str, Any]:
    bound = next((row[name] for name in BOUND if row.get(name) is not None), "")
    return {name: _opened(vault, value, bound) for name, value in row.items()}


def _opened(vault: Vault, value: Any, bound: str) -> Any:
    if isinstance(value, Document):
        return _opened_document(vault, from_json(value), bound)
    if isinstance(value, str):
        return vault.text(value, bound)
    if isinstance(value, list):  # the hashes of sealed tags stand beside them
        shown = [one for one in value if not (isinstance(one, str) and one.startswith(HIDDEN))]
        return [vault.text(one, bound) if isinstance(one, str) else one for one in shown]
    return value


def _opened_rows(vault: Vault, text: str) -> str:
    found = from_json(text)
    rows = found if isinstance(found, list) else [found]
    opened = [_opened_row(vault, row) for row in rows]
    return _dump(opened if isinstance(found, list) else opened[0])


def _opened_document(vault: Vault, found: Any, bound: str) -> Any:
    """All of it was sealed as one text, or nothing: what is inside was written by a client."""
    sealed = found.get(NAME) if isinstance(found, dict) else None
    if not isinstance(sealed, str):
        return found
    said = vault.text(sealed, bound)
    if said == sealed:
        return found
    return {"text": CLOSED} if said == CLOSED else from_json(said)
