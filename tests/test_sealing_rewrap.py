"""Another master key: every tenant's keys are wrapped anew, or none, and the log stays as it is."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

import commands
import make
import wire
from memoryd.core import db, errors, read, record
from memoryd.custody import doctor
from memoryd.seal import keys, master
from memoryd.seal.vault import CLOSED, Vault
from test_sealing_keys import FIRST, SECOND, serve, settings
from wire import EVENTS, post

OLD, NEW = bytes.fromhex(FIRST), bytes.fromhex(SECOND)


def having(target: db.Target, *masters: bytes) -> db.Target:
    own = Vault(lambda: list(masters), None, lambda size: make.entropy().rjust(size, b"x")[:size])
    return db.Target(target.arguments, embedded=True, vault=own)


@contextlib.asynccontextmanager
async def connected(target: db.Target, role: str) -> AsyncIterator[asyncpg.Connection]:
    conn = await db.connect(target, role)
    yield conn
    await conn.close()


async def write(target: db.Target, tenant: str) -> None:
    async with connected(target, db.APP) as conn, conn.transaction():
        await record.append(conn, tenant, [make.write(tenant, sensitivity="high")], make.NOW)


async def texts(target: db.Target, tenant: str) -> list[str]:
    async with connected(target, db.APP) as conn, conn.transaction():
        await db.set_tenant(conn, tenant)
        rows = await conn.fetch(db.query("rebuild.events"), tenant, 0, 10)
    return [read.to_event(row).content["text"] for row in rows]


async def state(target: db.Target) -> str:
    async with connected(target, db.APP) as conn:
        return await keys.state(conn)


async def rewrap(target: db.Target) -> int:
    async with connected(target, db.OWNER) as conn:
        return await keys.rewrap(conn, NEW, lambda: None)


async def test_what_the_old_key_opened_the_new_one_opens(database: db.Target) -> None:
    for tenant in ("a", "b"):
        await write(having(database, OLD), tenant)
    done = await rewrap(having(database, OLD))

    assert done == 2
    for tenant in ("a", "b"):
        assert await texts(having(database, OLD), tenant) == [CLOSED]
        assert await texts(having(database, NEW), tenant) == ["We ship on Friday."]
    assert [await state(having(database, one)) for one in (OLD, NEW)] == ["wrong", "open"]


async def test_a_wrong_key_wraps_nothing_anew(database: db.Target) -> None:
    await write(having(database, OLD), "a")
    with pytest.raises(errors.Closed, match="nothing done"):
        await rewrap(having(database, NEW))

    assert await texts(having(database, OLD), "a") == ["We ship on Friday."]


async def test_what_breaks_off_leaves_the_old_key(database: db.Target, tmp_path: Path) -> None:
    """As when the disk is full, or the process is killed before the commit."""
    await write(having(database, OLD), "a")
    (tmp_path / master.NEXT).write_text("taken")
    async with connected(having(database, OLD), db.OWNER) as conn:
        with pytest.raises(FileExistsError):
            await keys.rewrap(conn, NEW, lambda: master.write_next(tmp_path, NEW))

    assert await texts(having(database, OLD), "a") == ["We ship on Friday."]
    assert await state(having(database, OLD)) == "open"


async def test_a_key_made_meanwhile_is_not_left_behind(database: db.Target) -> None:
    """A first `high` event of another tenant waits, and then needs the new master key."""
    await write(having(database, OLD), "a")
    waiting: list[asyncio.Task[None]] = []

    async with connected(having(database, OLD), db.OWNER) as conn, conn.transaction():
        await keys.rewrap(conn, NEW, lambda: None)
        waiting += [
            asyncio.create_task(write(having(database, OLD), "b")),
            asyncio.create_task(write(having(database, OLD, NEW), "c")),
        ]
        done, _ = await asyncio.wait(waiting, timeout=0.5)
    refused, written = await asyncio.gather(*waiting, return_exceptions=True)

    assert done == set()
    assert isinstance(refused, errors.Closed) and written is None
    assert await texts(having(database, NEW), "c") == ["We ship on Friday."]


async def test_a_key_file_that_others_may_read_is_found(
    database: db.Target, tmp_path: Path
) -> None:
    master.write(tmp_path / master.FILE, OLD)
    before = await doctor.examine(settings(database, tmp_path), print)
    (tmp_path / master.FILE).chmod(0o644)
    after = await doctor.examine(settings(database, tmp_path), print)

    told = [{one.name: one for one in checks}["master key"] for checks in (before, after)]
    assert [one.ok for one in told] == [True, False]
    assert "chmod 600" in told[1].do


@pytest.mark.parametrize("damage", ["", "no key", "ff" * 31])
async def test_a_damaged_key_file_closes_and_is_not_replaced(
    database: db.Target, tmp_path: Path, damage: str
) -> None:
    chosen = settings(database, tmp_path)
    async with serve(chosen) as client:
        await post(client, sensitivity="high")
    (tmp_path / master.FILE).write_text(damage)
    async with serve(chosen) as client:
        shown = await wire.texts(client)
        refused = await client.post(EVENTS, json=make.body(sensitivity="high"))

    assert shown == [CLOSED] and refused.status_code == 503
    assert (tmp_path / master.FILE).read_text() == damage


async def test_a_damaged_key_file_is_not_used_for_the_first_event(
    database: db.Target, tmp_path: Path
) -> None:
    (tmp_path / master.FILE).write_text("no key")
    async with serve(settings(database, tmp_path)) as client:
        refused = await client.post(EVENTS, json=make.body(sensitivity="high"))
        shown = await wire.texts(client)

    assert refused.status_code == 503 and str(tmp_path) in refused.json()["detail"]
    assert shown == []


async def test_a_key_that_goes_while_it_is_held_is_told_apart(
    database: db.Target, tmp_path: Path
) -> None:
    chosen = settings(database, tmp_path)
    async with serve(chosen) as client:
        await post(client, sensitivity="high", content={"text": "the quokkazq sings"})
        (tmp_path / master.FILE).rename(tmp_path / "elsewhere")
        held = (await client.get("/readyz")).json()["sealing"]
        shown = await wire.texts(client)
    async with serve(chosen) as client:
        gone = (await client.get("/readyz")).json()["sealing"]

    assert (held, shown, gone) == ("held", ["the quokkazq sings"], "missing")


def test_commands_refuse_a_key_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("short")
    short = commands.memoryd(tmp_path, "seal", "rewrap", "--new-key", str(tmp_path / "new"))
    unnamed = commands.memoryd(tmp_path, "seal", "rewrap", MEMORYD_MASTER_KEY=FIRST)

    assert short.returncode == unnamed.returncode == 1
    assert "32 bytes" in short.stderr and "--new-key" in unnamed.stderr
