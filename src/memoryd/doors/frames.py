"""Requests and answers between two processes of a daemon, over one socket of their own.

Both ends are ours and of one version, so a frame says no more than its number, what HTTP says of
it, and its body.
"""

import asyncio
import struct
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json, to_json

HELD_BYTES = 4 * 1024 * 1024  # read ahead: more than any bundle has
_SIZES = struct.Struct("<QII")  # number, bytes of the head, bytes of the body
Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Frame:
    number: int  # a request's, and its answer's
    head: Any
    body: bytes


def packed(frame: Frame) -> bytes:
    head = to_json(frame.head)
    return _SIZES.pack(frame.number, len(head), len(frame.body)) + head + frame.body


async def read(reader: asyncio.StreamReader) -> Frame | None:
    """The next one; None when the other process is gone."""
    try:
        number, head, body = _SIZES.unpack(await reader.readexactly(_SIZES.size))
        return Frame(
            number, from_json(await reader.readexactly(head)), await reader.readexactly(body)
        )
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def listed(headers: Headers) -> list[list[str]]:
    """As JSON has them."""
    return [[name.decode("latin-1"), value.decode("latin-1")] for name, value in headers]


def headers(listed: list[list[str]]) -> Headers:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in listed]
