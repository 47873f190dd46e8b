"""A second process that dies, is stuck, cannot be started or may not answer."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator

import pytest

import rushes
from memoryd.core import db
from memoryd.doors import reading, sharing
from rushes import WAIT_SECONDS, Shared, Spied, ended, rush, started


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
    monkeypatch.setattr(sharing, "ANSWER_SECONDS", 0.5)
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
