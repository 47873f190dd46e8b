"""The Python client when answers are lost or late: what is sent again is stored once."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import memoryd
import wire
from conftest import MakeKey
from dropping import dropping, silent
from memoryd.client import AsyncClient
from memoryd.core import errors
from memoryd.daemon import Daemon

Write = Callable[[AsyncClient], Awaitable[Any]]
WRITES: dict[str, Write] = {
    "record": lambda memory: memory.record("We ship on Friday."),
    "record_batch": lambda memory: memory.record_batch([{"text": "One."}, {"text": "Two."}]),
    "upload": lambda memory: memory.upload(b"bytes"),
    "remember": lambda memory: memory.remember("Ada prefers short answers.", subject="Ada"),
    "decide": lambda memory: memory.decide("Use PostgreSQL."),
    "plan": lambda memory: memory.plan("Ship it"),
    "store": lambda memory: memory.store("A long text."),
    "store_bytes": lambda memory: memory.store(b"bytes"),
    "call_tool": lambda memory: memory.call_tool(
        "add_to_memory", {"content": "Alec is the boss", "category": "person", "subject": "Alec"}
    ),
}


@pytest.mark.parametrize("name", WRITES)
async def test_a_write_whose_answer_was_lost_is_stored_once(
    url: str, daemon: Daemon, tenant: str, make_key: MakeKey, name: str
) -> None:
    """The proxy hands the write to the daemon and cuts the line before its answer, twice."""
    key = await make_key(tenant)
    async with dropping(url) as (proxy, address), memoryd.aconnect(address, key=key) as memory:
        proxy.left = 2
        done = await WRITES[name](memory)

        assert proxy.dropped == 2
        assert done
        assert await wire.count(daemon, tenant) == (2 if name == "record_batch" else 1)


async def test_what_cannot_be_retried_safely_is_not(
    url: str, daemon: Daemon, tenant: str, make_key: MakeKey
) -> None:
    body = {"session_id": "s", "actor": {"type": "human", "id": "x"}, "kind": "message"}
    body["content"] = {"text": "Once."}
    key = await make_key(tenant)
    async with dropping(url) as (proxy, address), memoryd.aconnect(address, key=key) as memory:
        proxy.left = 1
        with pytest.raises(errors.Unavailable):
            await memory.request("POST", "/api/v1/events", json=body)
        proxy.left = 1
        read = await memory.request("GET", "/api/v1/events")
        proxy.left = 1
        await memory.request("POST", "/api/v1/events", json={**body, "idempotency_key": "k"})

    assert len(read.json()["events"]) == 1
    assert await wire.count(daemon, tenant) == 2


async def test_without_retries_a_lost_answer_is_told(
    url: str, tenant: str, make_key: MakeKey
) -> None:
    key = await make_key(tenant)
    async with (
        dropping(url) as (proxy, address),
        memoryd.aconnect(address, key=key, retries=0) as memory,
    ):
        proxy.left = 1
        with pytest.raises(errors.Unavailable, match="no daemon answers at"):
            await memory.record("Lost.")


async def test_a_call_takes_no_longer_than_its_timeout(tenant: str) -> None:
    async with silent() as address, memoryd.aconnect(address, timeout=0.3) as memory:
        began = time.monotonic()
        with pytest.raises(errors.TooSlow) as refused:
            await memory.record("Nobody hears this.")

    assert time.monotonic() - began < 15  # half of what it waits for without being told
    assert refused.value.status == 408
