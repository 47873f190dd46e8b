"""The log is the truth: drop the views, replay, compare."""

import asyncio
from datetime import UTC, datetime

import asyncpg
import pytest

import conftest
import make
from memoryd import daemon as composition
from memoryd.core import db, group, record
from memoryd.core.config import Settings
from memoryd.custody import migrate, rebuild


def silent(*_: object) -> None:
    pass


async def fill(target: db.Target, tenant: str, events: int = 30) -> None:
    pool = await db.open_pool(target, 2)
    writes = [
        make.write(tenant, content={"text": f"event {n} " + "words " * 300}) for n in range(events)
    ]
    decision = make.write(tenant, kind="decision", content={"decision": "one"})
    old = f"dec_{decision.event.event_id[4:]}"
    task = make.write(tenant, kind="task_update", content={"title": "Ship"})
    writes += [
        decision,
        make.write(tenant, kind="decision", content={"decision": "two", "supersedes": old}),
        task,
        make.write(
            tenant,
            kind="task_update",
            content={"task_id": f"tsk_{task.event.event_id[4:]}", "status": "done"},
        ),
        make.write(tenant, kind="tool_result", content={"tool": "sh", "text": "line\n" * 40_000}),
        make.write(tenant, kind="artifact", content={"name": "x"}, output=b"\xff\x00" * 99),
        make.write(tenant, sensitivity="secret", content={"text": "hidden"}),
    ]
    async with db.tenant(pool, tenant) as conn:
        await record.append(conn, tenant, writes, make.NOW)
    await pool.close()


async def test_a_replay_finds_the_views_equal(database: db.Target) -> None:
    await fill(database, "a")
    await fill(database, "b", 3)
    outcomes = await rebuild.rebuild(database, silent)

    assert [outcome.tenant_id for outcome in outcomes] == ["a", "b"]
    assert all(outcome.equal for outcome in outcomes)
    assert outcomes[0].events == 37
    assert outcomes[0].rows["decisions"] == 2
    assert outcomes[0].rows["chunks"] > 200


@pytest.mark.parametrize(
    ("statement", "view"),
    [
        (
            "update chunks set token_est = token_est + 1 where ordinal = 0 and kind = 'decision'",
            "chunks",
        ),
        ("delete from chunks where kind = 'tool_result'", "chunks"),
        ("update decisions set until = null, superseded_by = null", "decisions"),
        ("update tasks set title = 'Something else'", "tasks"),
    ],
)
async def test_a_damaged_view_is_found_and_repaired(
    database: db.Target, statement: str, view: str
) -> None:
    await fill(database, "a")
    conn = await db.connect(database, db.APP)
    async with conn.transaction():
        await db.set_tenant(conn, "a")
        await conn.execute(statement)
    await conn.close()
    (damaged,) = await rebuild.rebuild(database, silent)
    (repaired,) = await rebuild.rebuild(database, silent)

    assert damaged.differed[view] > 0
    assert repaired.equal
    assert repaired.rows == damaged.rows


async def test_views_of_another_definition_are_dropped_and_replayed(database: db.Target) -> None:
    """Even when the process dies between the two."""
    await fill(database, "a")
    (before,) = await rebuild.rebuild(database, silent)
    owner = await db.connect(database, None)
    await owner.execute("update view_definition set sha256 = 'older'")
    assert await migrate.migrate(owner) is True
    assert await owner.fetchval("select count(*) from chunks") == 0
    await owner.close()
    async with composition.running(Settings(database_url=conftest.dsn(database)), print):
        pass
    (after,) = await rebuild.rebuild(database, silent)

    assert after.equal
    assert after.rows == before.rows


async def test_a_rebuild_beside_writers_loses_nothing(database: db.Target) -> None:
    """Writers go on during three replays; every replay finds the views equal."""
    pool = await db.open_pool(database, 4)
    commit = group.GroupCommit(pool, lambda: datetime.now(UTC))
    stop = asyncio.Event()
    written = 0

    async def write() -> None:
        nonlocal written
        while not stop.is_set():
            await commit.commit("a", [make.write("a", content={"text": "words " * 100})])
            written += 1

    await commit.commit("a", [make.write("a")])
    writers = [asyncio.create_task(write()) for _ in range(4)]
    found = [outcome for _ in range(3) for outcome in await rebuild.rebuild(database, silent)]
    stop.set()
    await asyncio.gather(*writers)
    (last,) = await rebuild.rebuild(database, silent)
    await pool.close()

    assert all(outcome.equal for outcome in [*found, last])
    assert last.events == written + 1


async def test_two_rebuilds_at_once_agree(database: db.Target) -> None:
    await fill(database, "a")
    first, second = await asyncio.gather(
        rebuild.rebuild(database, silent), rebuild.rebuild(database, silent)
    )

    assert first == second


async def test_a_rebuild_leaves_the_log_untouched(database: db.Target) -> None:
    await fill(database, "a")
    conn: asyncpg.Connection = await db.connect(database, None)
    before = await conn.fetch("select * from events order by position")
    await rebuild.rebuild(database, silent)
    after = await conn.fetch("select * from events order by position")
    await conn.close()

    assert after == before
