"""The second process itself: how it starts, what it must be, how it ends."""

import asyncio
import json
import signal
import socket
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import from_json, to_json

import commands
import conftest
import make
import servers
from memoryd import daemon as composition
from memoryd.core import db
from memoryd.core.config import Settings
from memoryd.daemon import Daemon
from memoryd.doors import app, beside, frames, reading, sharing
from memoryd.doors.frames import Frame
from rushes import ASKED, BUILD, WAIT_SECONDS, ended, rush


async def test_it_is_not_used_where_it_cannot_open_what_the_first_one_can(
    daemon: Daemon,
    template: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    """The master key is taken away after the first one has used it."""
    monkeypatch.setattr(sharing, "RUSH", 1)
    caplog.set_level("INFO", "memoryd.sharing")
    key = tmp_path / "master.key"
    async with conftest.cloned(daemon, template) as target:
        settings = Settings(database_url=conftest.dsn(target), home=tmp_path)
        async with (
            composition.running(settings, print, work=False) as running,
            sharing.shared(app.build(running), settings, "info") as made,
            conftest.serving(running, made) as url,
            conftest.asking(url) as client,
        ):
            assert isinstance(made, sharing.Shared)
            said = make.body(sensitivity="high", content={"text": "The safe is behind the boat."})
            (await client.post("/api/v1/events", json=said)).raise_for_status()
            key.rename(tmp_path / "elsewhere")
            await rush(client)
            await ended(made, caplog)
            answers = await rush(client)

        assert all("The safe is behind the boat." in one.text for one in answers)


def test_settings_arrive_as_they_are(tmp_path: Path) -> None:
    """Also where one is empty, which in the environment would be its default."""
    given = Settings(home=tmp_path / "x", host="", port=0, master_key="ab" * 32, more_processes=3)
    frame = frames.packed(Frame(0, reading.greeting(given), b""))
    head = from_json(frame[16:])

    assert reading.settings(head) == given


async def test_nothing_of_the_working_folder_is_run(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = own_home.parent / "work"
    (folder / "memoryd").mkdir(parents=True)
    (folder / "memoryd" / "__init__.py").write_text("open('was_run', 'w')")
    monkeypatch.chdir(folder)
    process, ours = await beside.spawned("info")
    reader, writer = await asyncio.open_unix_connection(sock=ours)
    writer.write(frames.packed(Frame(0, {"version": "0.0.1"}, b"")))

    assert await reader.read() == b""
    assert await process.wait() == 1
    assert not (folder / "was_run").exists()


async def test_none_is_started_where_none_is_wanted(database: db.Target) -> None:
    settings = conftest.outside(database, more_processes=0)
    async with composition.running(settings, print, work=False) as running:
        gate = app.build(running)
        async with sharing.shared(gate, settings, "info") as made:
            assert made is gate


async def test_a_frame_that_is_cut_off_is_none() -> None:
    whole = frames.packed(Frame(7, [200, [["a", "b"]]], b"\0body"))
    for size in range(len(whole)):
        reader = asyncio.StreamReader()
        reader.feed_data(whole[:size])
        reader.feed_eof()

        assert await frames.read(reader) is None
    reader = asyncio.StreamReader()
    reader.feed_data(whole)
    assert await frames.read(reader) == Frame(7, [200, [["a", "b"]]], b"\0body")


async def test_a_request_that_fails_is_answered_too() -> None:
    """An application that says nothing: who asked must not wait."""

    async def silent(*_: Any) -> None:
        return

    ours, its = socket.socketpair()
    reader, first = await asyncio.open_unix_connection(sock=ours)
    _, writer = await asyncio.open_unix_connection(sock=its)
    await reading._answer(silent, Frame(7, [BUILD, [], None], to_json(ASKED)), writer)
    answer = await frames.read(reader)
    for end in (first, writer):
        end.close()

    assert answer is not None
    assert (answer.number, answer.head[0]) == (7, 500)
    assert from_json(answer.body)["status"] == 500


def second(served: commands.Served) -> int | None:
    """The process that the daemon says it has started."""
    lines = [json.loads(line) for line in served.log.read_text().splitlines()]
    return next((one["pid"] for one in lines if one["event"] == "process.started"), None)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
async def test_it_ends_with_the_daemon_however_that_ends(
    own_home: Path, number: signal.Signals
) -> None:
    """And PostgreSQL with the last of them."""
    with commands.serving(own_home, "--no-background") as served:
        async with conftest.asking(served.url) as client, asyncio.timeout(WAIT_SECONDS):
            while (pid := second(served)) is None:
                await rush(client)
        served.process.send_signal(number)
        served.process.wait(WAIT_SECONDS)
        servers.until(lambda: not servers.known(pid))
        servers.until(lambda: not servers.processes(str(own_home)))

    expected = -number if number == signal.SIGKILL else 0
    assert served.process.returncode == expected, served.log.read_text()
