"""The home of a daemon as a thief finds it: its files as bytes, its database as the superuser."""

import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg

from memoryd.core import db
from memoryd.core.config import Settings
from memoryd.daemon import postgres


@contextlib.asynccontextmanager
async def owner(home: Path) -> AsyncIterator[tuple[db.Target, asyncpg.Connection]]:
    async with postgres(Settings(home=home), print) as (target, _):
        conn = await db.connect(target, None)
        yield target, conn
        await conn.close()


async def empty_views(home: Path) -> None:
    """Leave the log and what stands beside it, and nothing that is made from it."""
    views = re.findall(r"^create table (\w+)", db.read_sql("views.sql"), re.MULTILINE)
    async with owner(home) as (_, conn):
        await conn.execute(f"truncate {', '.join(views)}")


def files(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and "/bin/" not in str(path):
            yield path, path.read_bytes()
