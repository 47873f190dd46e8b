"""Ids: a prefix and a ULID, so that they sort by time.

Time and entropy are arguments; derived ids need neither, so that a replay gives the same ones.
"""

import hashlib
from datetime import datetime
from typing import Any

from pydantic_core import to_json

ENTROPY_BYTES = 10
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new(prefix: str, now: datetime, entropy: bytes) -> str:
    """`evt` + a moment + ten random bytes → `evt_01J…`."""
    assert len(entropy) == ENTROPY_BYTES
    milliseconds = int(now.timestamp() * 1000).to_bytes(6, "big")
    return f"{prefix}_{_ulid(milliseconds + entropy)}"


def same(prefix: str, parent: str) -> str:
    """The id of the one thing an event makes: `evt_01J…` → `dec_01J…`.

    >>> same("dec", "evt_01JABC")
    'dec_01JABC'
    """
    return f"{prefix}_{parent.partition('_')[2]}"


def derive(prefix: str, parent: str, ordinal: int) -> str:
    """The id of the `ordinal`-th thing an event makes: its time, and a hash for the rest.

    >>> derive("chk", "evt_01JC8XQ4M0ABCDEFGHJKMNPQRS", 0)
    'chk_01JC8XQ4M0MQS6ZBP8CFM0QB1Q'
    """
    moment = parent.partition("_")[2][:10]
    digest = hashlib.sha256(f"{parent}/{ordinal}".encode()).digest()
    return f"{prefix}_{moment}{_ulid(bytes(6) + digest[:ENTROPY_BYTES])[10:]}"


def digest(request: dict[str, Any]) -> bytes:
    """What two requests with one idempotency key must have in common."""
    return hashlib.sha256(to_json(in_order(request))).digest()


def in_order(value: Any) -> Any:
    """JSON whose names are sorted: the same, whoever wrote it and whether it was kept meanwhile."""
    if isinstance(value, dict):
        return {name: in_order(value[name]) for name in sorted(value)}
    return [in_order(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _ulid(sixteen_bytes: bytes) -> str:
    number = int.from_bytes(sixteen_bytes, "big")
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
