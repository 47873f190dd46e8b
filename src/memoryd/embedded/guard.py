"""The locks around one PostgreSQL cluster, and the guard that stops a server nobody uses any more.

The kernel drops the locks of a process however it ends, so whoever gets the users' lock alone
knows that no user is left. Run as a script this is the guard; it lives as long as the server, so
it imports little.
"""
# pathlib would add more than a megabyte to the guard.
# ruff: noqa: PTH112, PTH118, PTH123, PTH202

import contextlib
import os
import signal
import sys
import time

if sys.platform != "win32":
    import fcntl

FAST_SHUTDOWN = (
    60.0  # seconds; a shutdown writes all dirty pages first, which a slow disk draws out
)
ORPHANS = 60.0  # seconds; a backend notices that its postmaster was killed when its query ends
LOG_LIMIT = 4_000_000  # bytes; a start writes about 1,000
LOG_KEPT = 1_000_000  # bytes of a log over its limit that remain readable, as <log>.1
LOG_LOOK = 60.0  # seconds between two looks at the log's size


def open_lock(path: str) -> int:
    """Open a lock file; no child inherits the descriptor unless it is passed on purpose."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Take the lock if nobody stands against it; a failed upgrade loses what was held."""
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def running(alive: str) -> bool:
    """Whether any process of the cluster lives: the server, its orphans, or an initdb.

    They all inherit the lock `alive`, which tells more than a pid: it cannot be recycled.
    """
    descriptor = open_lock(alive)
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)


def postmaster(data: str) -> int | None:
    """Return the pid of the living postmaster of `data`, or None.

    The pid file alone proves nothing: after a crash its number may belong to another program.
    """
    try:
        with open(os.path.join(data, "postmaster.pid"), "rb") as file:
            pid = int(file.readline())
    except (FileNotFoundError, ValueError):
        return None
    return pid if f"/postgres -D {data} " in _command(pid) + " " else None


def stop(data: str, alive: str) -> bool:
    """Stop the server of `data` and return once its last process is gone.

    False if processes without a postmaster (a long query of a killed server) outlast our patience.
    """
    begun = time.monotonic()
    sent = None
    while running(alive):
        waited = time.monotonic() - begun
        pid = postmaster(data)
        # SIGQUIT ends it without a checkpoint: the next start recovers, and no commit is lost.
        how = signal.SIGINT if waited < FAST_SHUTDOWN else signal.SIGQUIT
        if pid is None and waited > ORPHANS:
            return False
        if pid is not None and sent != (pid, how):
            sent = (pid, how)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)
        time.sleep(0.01)
    return True


def trim(log: str) -> None:
    """Empty a log over its limit, keeping its end as `<log>.1`.

    The server appends, so it goes on at the new end. A full disk must not end the guard.
    """
    with contextlib.suppress(OSError):
        if os.path.getsize(log) <= LOG_LIMIT:
            return
        with open(log, "r+b") as full, open(f"{log}.1", "wb") as kept:
            full.seek(-LOG_KEPT, os.SEEK_END)
            kept.write(full.read())
            full.truncate(0)


def wait(locks: str, seconds: float) -> None:
    """Wait until the guard is done, which it is soon after the last user is gone; then nothing runs
    in the cluster, and nothing writes there.
    """
    if not os.path.isdir(locks):
        return
    deadline = time.monotonic() + seconds
    descriptor = open_lock(os.path.join(locks, "guard"))
    try:
        while not try_lock(descriptor) and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        os.close(descriptor)


def main(locks: str, data: str, log: str, guard: int) -> None:
    """Wait until the last user is gone, then stop the server.

    `guard` is the guard's own lock, inherited, so that there is never a second one.
    """
    trim(log)
    signal.signal(signal.SIGALRM, lambda *_: trim(log))
    signal.setitimer(signal.ITIMER_REAL, LOG_LOOK, LOG_LOOK)
    users = open_lock(os.path.join(locks, "users"))
    fcntl.flock(users, fcntl.LOCK_EX)  # Python resumes the wait after each alarm
    stop(data, os.path.join(locks, "alive"))
    # In this order: who joins after the users' lock is free must find that the guard is gone.
    os.close(guard)
    os.close(users)


def _command(pid: int) -> str:
    """The command line of a process, its parts joined by spaces; empty if it is gone."""
    if sys.platform == "linux":
        # Not /proc/<pid>/cwd: root in a container may not read that of another user's process.
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return os.fsdecode(file.read()).replace("\0", " ")
        except (FileNotFoundError, ProcessLookupError):
            return ""
    import subprocess  # noqa: PLC0415 (where there is no /proc; elsewhere the guard stays small)

    ps = ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)]
    return subprocess.run(ps, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603 (fixed)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
