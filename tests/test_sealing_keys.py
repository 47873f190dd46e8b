"""The keys: made once, rotated, wrapped anew; and what a daemon does without the right one."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import httpx
import pytest

import commands
import make
from conftest import asking, dsn, serving
from memoryd import daemon as composition
from memoryd.core import db, errors, record
from memoryd.core.config import Settings
from memoryd.custody import doctor, migrate, rebuild
from memoryd.seal import keys, master, vault
from raw import files, owner
from sealed import HIGH, WORDS, bundle, find, rebuilt, record_all
from wire import ARTIFACTS, EVENTS, assert_problem, found, listed, post, texts

FIRST, SECOND = "11" * 32, "22" * 32


def settings(target: db.Target, home: Path, master_key: str = "") -> Settings:
    return Settings(database_url=dsn(target), home=home, master_key=master_key)


@asynccontextmanager
async def serve(chosen: Settings, say: composition.Say = print) -> AsyncIterator[httpx.AsyncClient]:
    """A daemon of `chosen` settings, and a client of it."""
    async with (
        composition.running(chosen, say) as daemon,
        serving(daemon) as url,
        asking(url) as client,
    ):
        yield client


def using(target: db.Target, chosen: Settings) -> db.Target:
    own = master.vault(chosen.master_key, chosen.home, os.urandom, print)
    return db.Target(target.arguments, embedded=True, vault=own)


async def count(target: db.Target, statement: str) -> int:
    conn: asyncpg.Connection = await asyncpg.connect(**target.arguments)
    found: int = await conn.fetchval(statement)
    await conn.close()
    return found


async def test_the_first_sealed_write_makes_the_key_and_says_so(
    database: db.Target, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve(settings(database, tmp_path / "home")) as client:
        await post(client)
        before = ((tmp_path / "home").exists(), (await client.get("/readyz")).json()["sealing"])
        await post(client, **HIGH)
        after = (await client.get("/readyz")).json()["sealing"]
    made = tmp_path / "home" / master.FILE

    assert (before, after) == ((False, "unused"), "open")
    assert made.stat().st_mode & 0o777 == 0o600
    assert "master_key.made" in caplog.text
    assert made.read_text().strip() not in caplog.text


BROKEN = [("", "missing"), (SECOND, "wrong")]


@pytest.mark.parametrize(("given", "state"), BROKEN)
async def test_without_the_right_key_all_else_is_answered(
    database: db.Target, tmp_path: Path, given: str, state: str
) -> None:
    said: list[str] = []
    async with serve(settings(database, tmp_path, FIRST)) as client:
        made = await record_all(client)
        await post(client, content={"text": "a plain zebra"})
    async with serve(settings(database, tmp_path, given), said.append) as client:
        ready = (await client.get("/readyz")).json()
        refused = await client.post(EVENTS, json=make.body(**HIGH))
        bytes_of = await client.get(f"{ARTIFACTS}/{made['file']['artifact_id']}")
        plain = await post(client, content={"text": "another zebra"})
        shown, task = await listed(client), await found(client, made["task"]["task_id"])
        searched = await find(client, "zebra quokkazq")
        packed = await bundle(client, query_text="quokkazq zebra")
    checks = await doctor.examine(settings(database, tmp_path, given), print)

    assert (ready["status"], ready["sealing"]) == ("ready", state)
    assert "master key" in assert_problem(refused, 503)["detail"]
    assert assert_problem(bytes_of, 503) and "retry-after" not in refused.headers
    assert plain["event_id"] and sorted(searched)[:2] == ["a plain zebra", "another zebra"]
    assert task["title"] == task["details"] == vault.CLOSED
    assert {"text": vault.CLOSED} in [one["content"] for one in shown]
    assert not any(word in str((shown, searched, packed["sections"])) for word in WORDS)
    assert any("master key" in line for line in said)
    assert [one.ok for one in checks if one.name == "sealing"] == [False]
    assert not (tmp_path / master.FILE).exists(), "a second key would be garbage"


@pytest.mark.parametrize("given", ["", SECOND])
async def test_what_was_closed_is_whole_again_with_the_key(
    database: db.Target, tmp_path: Path, given: str
) -> None:
    async with serve(settings(database, tmp_path, FIRST)) as client:
        await record_all(client)
    async with serve(settings(database, tmp_path, given)) as client:
        await post(client, content={"text": "meanwhile a zebra"})
        with pytest.raises(errors.Closed):
            await rebuild.rebuild(using(database, settings(database, tmp_path, given)), print)
    async with serve(settings(database, tmp_path, FIRST)) as client:
        await post(client, **HIGH, content={"text": "a second quokkazq"})
        searched = await find(client, "quokkazq")
        outcome = await rebuilt(using(database, settings(database, tmp_path, FIRST)), "default")

    assert {"the quokkazq sings", "a second quokkazq"} <= set(searched)
    assert outcome.equal


async def test_views_made_anew_without_the_key_are_completed_with_it(
    database: db.Target, tmp_path: Path
) -> None:
    async with serve(settings(database, tmp_path, FIRST)) as client:
        await record_all(client)
        await post(client, content={"text": "a plain zebra"})
    owner = await db.connect(database, None)
    await owner.execute("update view_definition set sha256 = 'older'")
    assert await migrate.migrate(owner) is True
    await owner.close()
    async with serve(settings(database, tmp_path, SECOND)) as client:
        partly = await find(client, "zebra quokkazq")
    async with serve(settings(database, tmp_path, FIRST)) as client:
        whole = await find(client, "zebra quokkazq")

    assert partly == ["a plain zebra"]
    assert {"a plain zebra", "the quokkazq sings"} <= set(whole)


async def test_a_key_that_comes_back_is_taken_up_at_once(
    database: db.Target, tmp_path: Path
) -> None:
    chosen = settings(database, tmp_path)
    async with serve(chosen) as client:
        await post(client, **HIGH, content={"text": "the quokkazq sings"})
        await post(client, **HIGH, kind="decision", content={"decision": "keep it"}, session_id="d")
        (tmp_path / master.FILE).rename(tmp_path / "elsewhere")
    async with serve(chosen) as client:
        closed = (await texts(client, session_id="s1"), await find(client, "quokkazq"))
        ledgers = [await bundle(client)]
        (tmp_path / "elsewhere").rename(tmp_path / master.FILE)
        opened = (await texts(client, session_id="s1"), await find(client, "quokkazq"))
        ledgers.append(await bundle(client))

    assert ["keep it" in str(one) for one in ledgers] == [False, True]
    assert closed == ([vault.CLOSED], [])
    assert opened == (["the quokkazq sings"], ["the quokkazq sings"])


async def test_two_first_writers_make_one_key(database: db.Target, tmp_path: Path) -> None:
    chosen = settings(database, tmp_path / "home")
    async with serve(chosen) as one, serve(chosen) as other:
        both = [one, other] * 8
        made = await asyncio.gather(
            *(
                post(client, **HIGH, content={"text": f"quokkazq {n}"})
                for n, client in enumerate(both)
            )
        )
        shown = [sorted(await texts(client)) for client in (one, other)]

    assert len({answer["event_id"] for answer in made}) == 16
    assert shown[0] == shown[1] == sorted(f"quokkazq {n}" for n in range(16))
    assert await count(database, "select count(*) from memoryd.tenant_keys") == 1


async def test_two_homes_on_one_database_do_not_seal_with_two_keys(
    database: db.Target, tmp_path: Path
) -> None:
    homes = [settings(database, tmp_path / name) for name in ("a", "b")]
    async with serve(homes[0]) as one, serve(homes[1]) as other:
        await post(one, **HIGH)
        refused = await other.post(EVENTS, json=make.body(**HIGH))
        ready = (await other.get("/readyz")).json()["sealing"]

    assert refused.status_code == 503 and ready == "missing"
    assert not (tmp_path / "b" / master.FILE).exists()


async def test_a_key_is_undone_with_the_write_that_needed_it(
    database: db.Target, tmp_path: Path
) -> None:
    """As when the daemon is killed between the two: the transaction has both or neither."""
    target = using(database, settings(database, tmp_path, FIRST))
    pool = await db.open_pool(target, 1)
    async with db.borrow(pool) as conn:
        transaction = conn.transaction()
        await transaction.start()
        await record.append(conn, "t", [make.write("t", sensitivity="high")], make.NOW)
        await transaction.rollback()
    async with db.tenant(pool, "t") as conn:
        undone = await keys.load(conn, "t")
        await record.append(conn, "t", [make.write("t", sensitivity="high")], make.NOW)
    await pool.close()

    assert undone.listed == ()
    assert (await rebuilt(target, "t")).equal


async def test_rotation_keeps_the_old_readable_and_findable(
    database: db.Target, tmp_path: Path
) -> None:
    chosen = settings(database, tmp_path, FIRST)
    target = using(database, chosen)
    async with serve(chosen) as client:
        task = await client.post("/api/v1/tasks", json={"title": "the first quokkazq", **HIGH})
        for name in ("second", "third"):
            conn = await db.connect(target, db.APP)
            async with conn.transaction():
                await keys.rotate(conn, "default", make.NOW)
            await conn.close()
            await post(client, **HIGH, content={"text": f"the {name} quokkazq"}, tags=["fossazq"])
        change = {"task_id": task.json()["task_id"], "status": "doing", **HIGH}
        await client.post("/api/v1/tasks", json=change)
        searched = await find(client, "quokkazq")
        tagged = await listed(client, tag="fossazq")
        title = (await found(client, task.json()["task_id"]))["title"]
    outcome = await rebuilt(target, "default")
    marks = "select count(distinct substr(text, 9, 16)) from memoryd.chunks"

    assert sorted(searched) == [f"the {name} quokkazq" for name in ("first", "second", "third")]
    assert len(tagged) == 2 and title == "the first quokkazq"
    assert outcome.equal and await count(database, marks) == 3


async def test_what_is_older_than_sealing_stays_as_it_was(
    database: db.Target, tmp_path: Path
) -> None:
    """An older memoryd kept `high` in clear; the log is not rewritten."""
    chosen = settings(database, tmp_path, FIRST)
    async with serve(chosen) as client:
        await post(client, content={"text": "an old quokkazq"}, tags=["fossazq"])
        conn: asyncpg.Connection = await asyncpg.connect(**database.arguments)
        await conn.execute("alter table memoryd.events disable trigger append_only")
        for table in ("events", "chunks"):
            await conn.execute(f"update memoryd.{table} set sensitivity = 'high'")
        await conn.close()
    async with serve(chosen) as client:
        before = await find(client, "quokkazq")
        await post(client, **HIGH, content={"text": "a new quokkazq"}, tags=["fossazq"])
        after = await find(client, "quokkazq", filters={"tag": "fossazq"})
        outcome = await rebuilt(using(database, chosen), "default")
        again = await find(client, "quokkazq", filters={"tag": "fossazq"})

    assert before == ["an old quokkazq"] and outcome.equal
    assert sorted(after) == sorted(again) == ["a new quokkazq", "an old quokkazq"]


def kept(home: Path, sought: list[bytes]) -> int:
    return sum(one in raw for _, raw in files(home) for one in sought)


def key_of(home: Path) -> str:
    return (home / master.FILE).read_text().strip()


async def test_commands_rotate_and_change_the_master_key(home: Path, tmp_path: Path) -> None:
    own = home.parent / f"seal-{os.getpid()}"
    with commands.serving(own) as served:
        async with asking(served.url) as client:
            await post(client, **HIGH, content={"text": "the quokkazq sings"})
            old = key_of(own)
            rotated = commands.answer(own, "seal", "rotate")
            async with owner(own) as (_, conn):
                rows = await conn.fetch("select wrapped from memoryd.tenant_keys")
                await conn.execute("checkpoint")
            before = kept(own, [row["wrapped"] for row in rows])
            wrapped = commands.answer(own, "seal", "rewrap")
            after = kept(own, [row["wrapped"] for row in rows])
            await post(client, **HIGH, content={"text": "it sings again"})
            os.kill(served.process.pid, signal.SIGKILL)
    with commands.serving(own) as served:
        async with asking(served.url) as client:
            shown, ready = await texts(client), (await client.get("/readyz")).json()
    nothing = commands.memoryd(own, "seal", "rotate", "--tenant", "nobody")
    log = served.log.read_text()

    assert (rotated["keys"], rotated["since"], wrapped) == (2, 2, {"keys": 2})
    assert before >= 2 and after == 0, "files had them as the old master key wrapped them"
    assert key_of(own) != old and not (own / master.NEXT).exists()
    assert shown == ["it sings again", "the quokkazq sings"] and ready["sealing"] == "open"
    assert nothing.returncode == 1 and re.search("nothing sealed", nothing.stderr)
    assert old not in log and key_of(own) not in log
