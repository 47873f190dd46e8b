"""kill -9 of the daemon, the postmaster and the guard."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from memoryd import embedded
from servers import ROOT, Daemon, known, processes, quiet, remember, sql, until


def test_killing_the_only_daemon_stops_the_server_and_the_guard(home: Path) -> None:
    daemon = Daemon(home)
    facts = daemon.joined()
    daemon.kill()

    until(lambda: not processes(str(home)))
    assert "database system is shut down" in (home / "postgres.log").read_text()
    assert not Path(facts["data"], "postmaster.pid").exists()


async def test_killing_one_daemon_of_two_leaves_the_other_working(home: Path) -> None:
    server = embedded.join(home, quiet)
    daemon = Daemon(home)
    daemon.joined()
    daemon.kill()
    await asyncio.sleep(0.2)
    answer = await sql(server.address, "select 1")
    server.close()

    assert answer == 1


async def test_who_joins_while_the_guard_stops_the_server_gets_a_new_one(home: Path) -> None:
    for turn in range(4):
        daemon = Daemon(home)
        daemon.joined()
        daemon.kill()
        await asyncio.sleep(turn / 50)
        server = await asyncio.to_thread(embedded.join, home, quiet)
        await asyncio.sleep(0.1)
        answer = await sql(server.address, "select 1")
        server.close()

        assert answer == 1


async def test_a_killed_postmaster_is_started_again_with_all_that_was_committed(home: Path) -> None:
    server = embedded.join(home, quiet)
    await remember(server.address)
    killed = server.pid()
    assert killed
    os.kill(killed, signal.SIGKILL)
    restarted = [server.ensure(), server.ensure()]
    rows = await sql(server.address, "select count(*) from kept")
    zombie = known(killed)
    server.close()

    assert restarted == [True, False]
    assert rows == 3
    assert not zombie


async def test_many_who_see_the_server_dead_start_it_once(home: Path) -> None:
    servers = [embedded.join(home, quiet) for _ in range(4)]
    killed = servers[0].pid()
    assert killed
    os.kill(killed, signal.SIGKILL)
    until(lambda: servers[0].pid() is None)
    started = await asyncio.gather(*(asyncio.to_thread(server.ensure) for server in servers))
    for server in servers:
        server.close()

    assert sorted(started) == [False, False, False, True]


async def test_killing_daemon_and_postmaster_loses_nothing(home: Path) -> None:
    daemon = Daemon(home)
    facts = daemon.joined()
    await remember(facts)
    os.kill(facts["pid"], signal.SIGKILL)
    daemon.kill()
    server = embedded.join(home, quiet)
    rows = await sql(server.address, "select count(*) from kept")
    server.close()

    assert rows == 3


def test_a_killed_guard_is_replaced_by_the_next_who_joins(home: Path) -> None:
    first = Daemon(home)
    first.joined()
    (guard,) = processes("guard.py", str(home))
    os.kill(guard, signal.SIGKILL)
    second = Daemon(home)
    second.joined()
    replaced = processes("guard.py", str(home))
    first.kill()
    second.kill()

    assert len(replaced) == 1
    assert replaced != [guard]
    until(lambda: not processes(str(home)))


async def test_a_pid_file_whose_number_another_program_got_is_no_obstacle(home: Path) -> None:
    daemon = Daemon(home)
    facts = daemon.joined()
    os.kill(facts["pid"], signal.SIGKILL)
    daemon.kill()
    until(lambda: not processes(str(home)))
    with _stranger_with_the_pid_of(Path(facts["data"]), Path(facts["host"])) as stranger:
        server = embedded.join(home, quiet)
        answer = await sql(server.address, "select 1")
        server.close()
        survived = stranger.poll() is None

    assert answer == 1
    assert survived


@contextlib.contextmanager
def _stranger_with_the_pid_of(data: Path, host: Path) -> Iterator["subprocess.Popen[bytes]"]:
    # PostgreSQL is only stopped by a process of its own user.
    owner = data.stat().st_uid if ROOT else None
    with subprocess.Popen(["sleep", "60"], user=owner) as stranger:
        for file in (data / "postmaster.pid", host / ".s.PGSQL.5432.lock"):
            lines = file.read_text().splitlines()
            file.write_text("\n".join([str(stranger.pid), *lines[1:], ""]))
        yield stranger
        stranger.kill()
