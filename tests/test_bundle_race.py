"""Bundles beside writers, rebuilds, lost connections and other daemons: whole, and replayed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

import make
from conftest import asking, outside, serving
from histories import independent
from memoryd import daemon as composition
from memoryd.core import db
from memoryd.custody import rebuild
from memoryd.daemon import Daemon
from test_bundle import rendered
from wire import BATCH, post

BUILD = "/api/v1/acb/build"
ASKED = {
    "session_id": "s1",
    "query_text": "which boat came in late?",
    "now": "2026-05-01T12:00:00Z",
    "format": "messages",
    "max_tokens": 4_000,
}


def silent(*_: object) -> None:
    pass


@asynccontextmanager
async def serving_from(database: db.Target) -> AsyncIterator[tuple[Daemon, httpx.AsyncClient]]:
    """A daemon of its own; without vectors, which would come at a time of their own."""
    settings = outside(database)
    async with (
        composition.running(settings, silent, work=False) as daemon,
        serving(daemon) as url,
        asking(url) as client,
    ):
        yield daemon, client


async def fill(client: httpx.AsyncClient) -> None:
    """Something for every section that events can fill."""
    events = [
        make.body(session_id=f"s{number % 5}", content={"text": f"Boat {number} came in late."})
        for number in range(60)
    ]
    long = {"tool": "bash", "text": "the boat is late\n" * 9_000}
    events += [
        make.body(kind="decision", content={"decision": "Boats come in early."}),
        make.body(kind="task_update", content={"title": "Count the boats", "status": "doing"}),
        make.body(kind="tool_result", content=long),
        make.body(session_id="s2", content={"text": "A late boat, in full. " * 400}),
    ]
    answer = await client.post(BATCH, json={"events": events})
    assert answer.status_code == 201, answer.text


def compared(bundle: dict[str, Any]) -> dict[str, Any]:
    """Without what stands outside the promise: the id and the timings."""
    return {**bundle, "acb_id": None, "provenance": {**bundle["provenance"], "timings_ms": None}}


async def assert_whole(client: httpx.AsyncClient, built: httpx.Response) -> None:
    """Exact, replayed byte for byte, and the same when it is asked for as of its position."""
    bundle = built.json()
    replayed = await client.get(f"/api/v1/acb/{bundle['acb_id']}")
    later = await client.post(BUILD, json={**ASKED, "as_of": bundle["provenance"]["position"]})

    assert bundle["token_used_est"] == independent(rendered(bundle))
    assert replayed.content == built.content
    assert compared(later.json()) == compared(bundle)


async def test_builds_beside_a_writer_are_each_of_one_moment(database: db.Target) -> None:
    async with serving_from(database) as (_, client):
        await fill(client)
        writing = True

        async def write() -> None:
            number = 0
            while writing:
                number += 1
                await post(client, content={"text": f"Late boat {number} came in."})
                await post(client, kind="decision", content={"decision": f"Boat {number} stays."})
                await post(client, kind="task_update", content={"title": f"Call boat {number}"})

        writer = asyncio.create_task(write())
        built = [
            answer
            for _ in range(8)
            for answer in await asyncio.gather(*(client.post(BUILD, json=ASKED) for _ in range(2)))
        ]
        writing = False
        await writer

        assert [answer.status_code for answer in built] == [200] * 16
        assert len({answer.json()["provenance"]["position"] for answer in built}) > 1
        for answer in built:
            await assert_whole(client, answer)


async def test_a_lost_connection_is_said_and_the_next_bundle_is_whole(
    database: db.Target,
) -> None:
    async with serving_from(database) as (_, client):
        await fill(client)
        owner = await db.connect(database, None)

        async def ask() -> list[httpx.Response]:
            return [await client.post(BUILD, json=ASKED) for _ in range(12)]

        asked = [asyncio.create_task(ask()) for _ in range(3)]
        while not all(one.done() for one in asked):
            await asyncio.sleep(0.1)
            await owner.execute(  # and wait for their end: who dies later breaks a later request
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity "
                "where datname = current_database() and pid <> pg_backend_pid()"
            )
        await asyncio.sleep(0.05)  # for the pool to hear of it
        await owner.close()
        answers = [answer for one in asked for answer in await one]
        after = [await client.post(BUILD, json=ASKED) for _ in range(3)]

        assert 503 in {answer.status_code for answer in answers} <= {200, 503}
        for answer in answers:
            if answer.status_code == 503:
                assert answer.headers["content-type"] == "application/problem+json"
                assert answer.headers["retry-after"] == "1"
        assert [answer.status_code for answer in after] == [200] * 3
        await assert_whole(client, after[-1])


async def test_builds_during_rebuilds_are_whole_and_replayed(database: db.Target) -> None:
    async with serving_from(database) as (_, client):
        await fill(client)
        before = await client.post(BUILD, json=ASKED)
        rebuilding = asyncio.create_task(twice(database))
        built = []
        while not rebuilding.done():
            built.append(await client.post(BUILD, json=ASKED))
            await asyncio.sleep(0)
        await rebuilding

        assert built
        assert {answer.status_code for answer in built} == {200}
        for answer in built:
            assert compared(answer.json()) == compared(before.json())
        for answer in (before, *built[:5]):
            await assert_whole(client, answer)


async def twice(database: db.Target) -> None:
    for _ in range(2):
        outcomes = await rebuild.rebuild(database, silent)
        assert all(outcome.equal for outcome in outcomes)


@pytest.mark.parametrize("lost", ["chunks", "decisions", "tasks"])
async def test_a_bundle_outlives_the_views_it_was_made_of(database: db.Target, lost: str) -> None:
    """A view is lost and made anew from the log: the same bytes, here and in another daemon."""
    async with serving_from(database) as (_, client):
        await fill(client)
        built = await client.post(BUILD, json=ASKED)
        address = f"/api/v1/acb/{built.json()['acb_id']}"
        conn = await db.connect(database, db.APP)
        async with conn.transaction():
            await db.set_tenant(conn, "default")
            await conn.execute(f"delete from {lost}")
        await conn.close()
        (outcome,) = await rebuild.rebuild(database, silent)
        here = await client.get(address)
        async with serving_from(database) as (_, other):
            there = await other.get(address)
            anew = await other.post(BUILD, json=ASKED)

    assert outcome.differed[lost] > 0
    assert here.content == there.content == built.content
    assert compared(anew.json()) == compared(built.json())


async def test_two_daemons_on_one_database_build_the_same(database: db.Target) -> None:
    """Each with what the other recorded an instant ago."""
    async with serving_from(database) as (_, one), serving_from(database) as (_, other):
        await fill(one)
        for number in range(5):
            await post((one, other)[number % 2], content={"text": f"One more late boat, {number}."})
            first, second = (
                await one.post(BUILD, json=ASKED),
                await other.post(BUILD, json=ASKED),
            )
            replayed = await other.get(f"/api/v1/acb/{first.json()['acb_id']}")

            assert compared(first.json()) == compared(second.json())
            assert f"One more late boat, {number}." in rendered(first.json())
            assert replayed.content == first.content


async def test_a_caller_that_goes_away_leaves_the_daemon_whole(database: db.Target) -> None:
    async with serving_from(database) as (daemon, client):
        await fill(client)
        for delay in range(12):
            going = asyncio.create_task(client.post(BUILD, json=ASKED))
            await asyncio.sleep(delay / 200)
            going.cancel()
            await asyncio.gather(going, return_exceptions=True)
        after = await client.post(BUILD, json=ASKED)

        assert after.status_code == 200
        await assert_whole(client, after)
        async with asyncio.timeout(60):
            while daemon.pool.get_idle_size() != daemon.pool.get_size():
                await asyncio.sleep(0.01)
