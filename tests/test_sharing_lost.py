"""A second process that dies, is stuck, cannot be started or may not answer."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator

import httpx
import pytest
from starlette.types import Message

import rushes
from memoryd.core import db
from memoryd.doors import beside, reading, sharing
from rushes import ASKED, BUILD, WAIT_SECONDS, Shared, Spied, ended, rush, started


@pytest.fixture
async def shared(
    database: db.Target, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[Shared]:
    async with rushes.daemon_on(database, monkeypatch, caplog) as made:
        yield made


async def test_what_it_did_not_answer_is_answered_by_the_first(shared: Shared) -> None:
    made, client = shared
    other = await started(made, client)
    os.kill(other._process.pid, signal.SIGSTOP)
    asking = asyncio.create_task(rush(client))
    async with asyncio.timeout(WAIT_SECONDS):
        while not other.load.busy:
            await asyncio.sleep(0.01)
    os.kill(other._process.pid, signal.SIGKILL)
    answers = await asking

    assert {one.status_code for one in answers} == {200}
    assert not made._ready()


async def test_one_that_is_stuck_is_ended(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    made, client = shared
    other = await started(made, client)
    monkeypatch.setattr(beside, "ANSWER_SECONDS", 0.5)
    os.kill(other._process.pid, signal.SIGSTOP)
    answers = await rush(client)

    assert {one.status_code for one in answers} == {200}
    assert await other._process.wait() == -signal.SIGKILL


async def test_one_that_ended_is_followed_by_another(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, client = shared
    first = await started(made, client)
    first._process.kill()
    await first._process.wait()
    monkeypatch.setattr(sharing, "PAUSE_SECONDS", 0.0)
    second = await started(made, client)

    assert second._process.pid != first._process.pid
    assert {one.status_code for one in await rush(client)} == {200}


async def test_who_reads_slowly_holds_no_place(shared: Shared) -> None:
    """Else four who never read their answers would be all that their key is ever answered."""
    made, client = shared
    await started(made, client)
    request = httpx.Request("POST", f"{client.base_url}{BUILD}", json=ASKED)
    scope = {
        "type": "http",
        "method": "POST",
        "path": BUILD,
        "raw_path": BUILD.encode(),
        "query_string": b"",
        "headers": [(k.lower(), v) for k, v in request.headers.raw],
        "scheme": "http",
        "http_version": "1.1",
        "root_path": "",
        "client": ("127.0.0.1", 1),
    }
    reading_none, begun = asyncio.Event(), 0

    async def receive() -> Message:
        return {"type": "http.request", "body": request.content, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal begun
        assert message["status"] == 200
        begun += 1
        await reading_none.wait()

    stalled = [asyncio.create_task(made(scope, receive, send)) for _ in range(2 * sharing.PLACES)]
    async with asyncio.timeout(WAIT_SECONDS):
        while begun < len(stalled):
            await asyncio.sleep(0.01)
        answers = await rush(client)
    for one in stalled:
        one.cancel()

    assert {one.status_code for one in answers} == {200}


async def test_where_more_are_allowed_a_longer_rush_starts_them(
    database: db.Target, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sharing, "PAUSE_SECONDS", 1.0)
    async with rushes.daemon_on(database, monkeypatch, caplog, more_processes=2) as (made, client):
        async with asyncio.timeout(WAIT_SECONDS):
            while len(made._ready()) < 2:
                await rush(client)
        answers = await rush(client)

    assert {one.status_code for one in answers} == {200}
    assert caplog.messages.count("process.started") == 2


async def test_where_no_process_can_be_started_the_first_does_all(
    shared: Shared, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made, client = shared
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    answers = await rush(client)

    assert {one.status_code for one in answers} == {200}
    assert not made._others
    assert "process.failed" in caplog.messages


@pytest.mark.parametrize("missing", ["schema", "views", "program"])
async def test_a_program_of_another_version_changes_nothing_and_answers_nothing(
    shared: Shared,
    database: db.Target,
    missing: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As after an upgrade beneath a daemon that runs."""
    made, client = shared
    conn = await db.connect(database, None)
    tell = "select array[(select max(version) from migrations)::text, sha256::text] "
    if missing == "schema":
        await conn.execute("delete from migrations where version > 1")
    elif missing == "views":
        await conn.execute("update view_definition set sha256 = 'older'")
    else:
        monkeypatch.setattr(reading, "__version__", "0.0.1")
    before = await conn.fetchval(tell + "from view_definition")
    answers = await rush(client)
    await ended(made, caplog)
    after = await conn.fetchval(tell + "from view_definition")
    await conn.close()

    assert {one.status_code for one in answers} == {200}
    assert (after, Spied.given) == (before, 0)
