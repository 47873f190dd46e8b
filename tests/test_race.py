"""Two callers are normal: what happens when two do it at once, or one goes away."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import asyncpg
import httpx
import pytest

import make
from memoryd.core import db, errors, group, record
from memoryd.core.model import Caller
from memoryd.daemon import Daemon


def clock() -> datetime:
    return datetime.now(UTC)


async def test_the_same_key_from_two_daemons_is_one_event(daemon: Daemon, tenant: str) -> None:
    """Two group commits, as two processes have them, and twenty callers on each."""
    two = [group.GroupCommit(daemon.pool, clock) for _ in range(2)]
    answers = await asyncio.gather(
        *(
            commits.commit(tenant, [make.write(tenant, idempotency_key="once")])
            for _ in range(20)
            for commits in two
        )
    )

    assert len({answer[0].event_id for answer in answers}) == 1
    async with db.tenant(daemon.pool, tenant) as conn:
        assert await conn.fetchval("select count(*) from events") == 1


async def test_the_same_key_for_two_bodies_stores_one_and_refuses_the_rest(
    daemon: Daemon, tenant: str
) -> None:
    commits = group.GroupCommit(daemon.pool, clock)
    answers = await asyncio.gather(
        *(
            commits.commit(
                tenant, [make.write(tenant, idempotency_key="once", content={"text": f"body {n}"})]
            )
            for n in range(10)
        ),
        return_exceptions=True,
    )

    assert sum(isinstance(answer, list) for answer in answers) == 1
    assert sum(isinstance(answer, errors.Conflict) for answer in answers) == 9


async def test_positions_stay_dense_and_follow_commit_order(daemon: Daemon, tenant: str) -> None:
    """A follower that reads beyond its last position misses nothing, whoever writes."""
    two = [group.GroupCommit(daemon.pool, clock) for _ in range(2)]
    seen: list[int] = []
    writing = True

    async def follow() -> None:
        while True:
            going_on = writing
            async with db.tenant(daemon.pool, tenant) as conn:
                rows = await conn.fetch(
                    "select position from events where position > $1 order by position",
                    seen[-1] if seen else 0,
                )
            seen.extend(row[0] for row in rows)
            if not going_on and not rows:
                return

    async def write(commits: group.GroupCommit) -> None:
        for _ in range(25):
            await commits.commit(tenant, [make.write(tenant), make.write(tenant)])

    follower = asyncio.create_task(follow())
    await asyncio.gather(*(write(commits) for commits in two for _ in range(4)))
    writing = False
    await follower

    assert seen == list(range(1, 401))


async def test_one_bad_write_does_not_spoil_its_neighbours(daemon: Daemon, tenant: str) -> None:
    commits = group.GroupCommit(daemon.pool, clock)
    bad = {"decision": "x", "supersedes": "dec_none"}
    answers = await asyncio.gather(
        commits.commit(tenant, [make.write(tenant)]),  # starts at once; the rest make one group
        commits.commit(tenant, [make.write(tenant)]),
        commits.commit(tenant, [make.write(tenant, kind="decision", content=bad)]),
        commits.commit(tenant, [make.write(tenant)]),
        return_exceptions=True,
    )

    assert [isinstance(answer, list) for answer in answers] == [True, True, False, True]
    assert isinstance(answers[2], errors.Invalid)
    async with db.tenant(daemon.pool, tenant) as conn:
        rows = await conn.fetch("select position from events order by 1")
    assert [row[0] for row in rows] == [1, 2, 3]


async def test_a_batch_is_all_or_nothing(daemon: Daemon, tenant: str) -> None:
    commits = group.GroupCommit(daemon.pool, clock)
    bad = {"decision": "x", "supersedes": "dec_none"}

    with pytest.raises(errors.Invalid):
        await commits.commit(
            tenant, [make.write(tenant), make.write(tenant, kind="decision", content=bad)]
        )
    async with db.tenant(daemon.pool, tenant) as conn:
        assert await conn.fetchval("select count(*) from events") == 0
        assert await conn.fetchval("select count(*) from chunks") == 0


async def test_a_caller_that_goes_away_changes_nothing(daemon: Daemon, tenant: str) -> None:
    commits = group.GroupCommit(daemon.pool, clock)
    callers = [asyncio.create_task(commits.commit(tenant, [make.write(tenant)])) for _ in range(5)]
    await asyncio.sleep(0)
    callers[0].cancel()
    callers[3].cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    await commits.finish()

    async with db.tenant(daemon.pool, tenant) as conn:
        assert await conn.fetchval("select count(*) from events") == 5


async def test_a_lost_connection_is_said_and_the_next_write_goes_on(
    daemon: Daemon, tenant: str
) -> None:
    """The server ends every backend of the pool while writes are under way."""
    commits = group.GroupCommit(daemon.pool, clock)
    admin = await asyncpg.connect(**daemon.target.arguments)
    outcomes: list[Any] = []

    async def write(number: int) -> None:
        try:
            answer = await commits.commit(
                tenant, [make.write(tenant, idempotency_key=f"k{number}")]
            )
        except db.CONNECTION_LOST as error:
            outcomes.append(error)
        else:
            outcomes.append(answer[0].event_id)

    for number in range(60):
        if number % 20 == 10:
            await admin.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where pid <> pg_backend_pid() and usename = current_user"
            )
        await write(number)
    await admin.close()
    async with db.tenant(daemon.pool, tenant) as conn:
        stored = {row[0] for row in await conn.fetch("select event_id from events")}

    acknowledged = {outcome for outcome in outcomes if isinstance(outcome, str)}
    assert len(acknowledged) >= 50
    assert acknowledged <= stored


async def test_too_many_waiting_writes_are_refused(daemon: Daemon, tenant: str) -> None:
    commits = group.GroupCommit(daemon.pool, clock)
    write = make.write(tenant)
    batch = [write] * (group.MOST_WAITING + 1)
    running = asyncio.create_task(commits.commit(tenant, [make.write(tenant)]))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(commits.commit(tenant, batch))
    await asyncio.sleep(0)

    with pytest.raises(errors.Unavailable, match="too many"):
        await commits.commit(tenant, [make.write(tenant)])
    await running
    with pytest.raises(asyncpg.UniqueViolationError):  # the same event ten thousand times over
        await waiting


async def test_a_retry_over_http_answers_as_the_first_time(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    body = make.body(idempotency_key="retry-1")
    answers = await asyncio.gather(*(client.post("/api/v1/events", json=body) for _ in range(10)))

    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1


async def test_prepared_writes_are_the_same_from_the_same_inputs() -> None:
    entropy = bytes(range(10))
    caller = Caller(tenant_id="t", role="agent")
    one = record.prepare(caller, make.draft(), make.NOW, entropy)

    assert record.prepare(caller, make.draft(), make.NOW, entropy) == one
