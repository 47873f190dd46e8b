"""The embedded server's own files, read as bytes: whether words are in them that no table has.

Values over 2 KB may lie compressed in a table's file, where no word can be seen; those are read
through the tables, which were written anew without what was erased.
"""

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from memoryd.core import db

MOST = 64  # words looked for in files: each takes a pass over all of them
PART = 8 * 1024 * 1024  # bytes read at once
TEMPLATE = "base/1"  # the database that others are copied from; nobody writes there
OURS = Path(__file__).parent.parent  # the package
LONGEST = 64  # bytes of a word, so that none is lost between two parts


class Report(Protocol):
    files: int
    file_bytes: int

    def found(self, count: int, what: str) -> None: ...


async def search(conn: db.Conn, report: Report, words: Sequence[bytes]) -> None:
    """Of the tables, the write-ahead log, temporary files, and the logs beside them."""
    await conn.execute(db.query("sweep.checkpoint"))  # or pages that are only in memory hide it
    row = await conn.fetchrow(db.query("sweep.data_directory"))
    assert row is not None
    programs = Path(await conn.fetchval(db.query("sweep.programs")))
    await asyncio.to_thread(_search, report, Path(row[0]), row[1], programs, words)


def _search(
    report: Report, data: Path, database: str, programs: Path, given: Sequence[bytes]
) -> None:
    usual = _usual(data, programs)
    words = [word for word in given if word not in usual][:MOST]
    for path in (*_ours(data, database), *_logs(data)):
        try:
            size, met = _read(path, words)
        except FileNotFoundError:  # the server removes files as it goes
            continue
        report.files += 1
        report.file_bytes += size
        report.found(met, f"erased words in {path}")


def _usual(data: Path, programs: Path) -> bytes:
    """What an empty database has, and the making of our tables: catalogues hold these words. And
    what servers say of themselves: PostgreSQL's messages, settings and paths, and our own messages.
    """
    made = [db.read_sql(name).encode() for name in ("log.sql", "views.sql")]
    files = [*(data / TEMPLATE).iterdir(), programs / "postgres"]
    files += [*data.glob("*.conf"), *data.glob("postmaster.*"), *OURS.rglob("*.py")]
    read = (path.read_bytes() for path in files if path.is_file())
    return b"\0".join([*made, bytes(data), *read])


def _ours(data: Path, database: str) -> Iterator[Path]:
    """All files of the cluster but the tables of other databases."""
    for folder, folders, names in os.walk(data):
        if Path(folder) == data / "base":
            folders[:] = [name for name in folders if not name.isdecimal() or name == database]
        yield from (Path(folder) / name for name in names)


def _logs(data: Path) -> Iterable[Path]:
    """Beside the cluster and in the home that holds it."""
    return [*data.parent.glob("*.log"), *data.parent.parent.glob("*.log")]


def _read(path: Path, words: list[bytes]) -> tuple[int, int]:
    """How many bytes a file has, and how many of the words."""
    size, met, kept = 0, set[bytes](), b""
    with path.open("rb") as file:
        while part := file.read(PART):
            size += len(part)
            whole = kept + part
            met.update(word for word in words if word in whole)
            kept = whole[-LONGEST:]
    return size, len(met)
