"""A daemon whose reads a second process answers too: what its tests share."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any

import httpx
import pytest

import conftest
import make
from memoryd import daemon as composition
from memoryd.core import db
from memoryd.doors import app, beside, sharing
from memoryd.doors.frames import Frame

BUILD, SEARCH = "/api/v1/acb/build", "/api/v1/search"
ASKED = {
    "session_id": "s1",
    "query_text": "which boat came in late?",
    "now": "2026-05-01T12:00:00Z",
}
WAIT_SECONDS = 60
Shared = tuple[sharing.Shared, httpx.AsyncClient]


class Spied(beside.Other):
    """Counts what it is given."""

    given = 0

    async def ask(self, head: Any, body: bytes) -> Frame:
        Spied.given += 1
        return await super().ask(head, body)


@asynccontextmanager
async def daemon_on(
    database: db.Target,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    **given: Any,
) -> AsyncIterator[Shared]:
    """A daemon with something to find, whose first rush is two requests."""
    caplog.set_level("INFO", "memoryd.sharing")
    monkeypatch.setattr(sharing, "RUSH", 1)
    monkeypatch.setattr(beside, "Other", Spied)
    Spied.given = 0
    settings = conftest.outside(database, **given)
    async with (
        composition.running(settings, print, work=False) as running,
        sharing.shared(app.build(running), settings, "info") as made,
        conftest.serving(running, made) as url,
        conftest.asking(url) as client,
    ):
        events = [make.body(content={"text": f"Boat {at} came in late."}) for at in range(30)]
        (await client.post("/api/v1/events/batch", json={"events": events})).raise_for_status()
        assert isinstance(made, sharing.Shared)
        yield made, client


async def rush(client: httpx.AsyncClient, path: str = BUILD, **given: Any) -> list[httpx.Response]:
    asked = {"json": ASKED, **given}
    return await asyncio.gather(*(client.post(path, **asked) for _ in range(8)))


async def started(made: sharing.Shared, client: httpx.AsyncClient) -> beside.Other:
    await rush(client)
    async with asyncio.timeout(WAIT_SECONDS):
        while not made._ready():
            await asyncio.sleep(0.02)
    return made._ready()[0]


@contextmanager
def occupied(made: sharing.Shared) -> Iterator[None]:
    """The first process has much to do."""
    with ExitStack() as held:
        for _ in range(9):
            held.enter_context(made._own.one_more())
        yield


async def ended(made: sharing.Shared, caplog: pytest.LogCaptureFixture) -> None:
    """One was started, and refused to answer."""
    async with asyncio.timeout(WAIT_SECONDS):
        while made._others:
            await asyncio.sleep(0.02)
    codes = [vars(one)["code"] for one in caplog.records if one.message == "process.ended"]
    assert codes == [1]


def compared(answer: httpx.Response) -> str:
    """Without what stands outside the promise of same bytes: the id and the timings."""
    found = answer.json()
    found["acb_id"] = found["provenance"]["timings_ms"] = None
    return json.dumps(found)
