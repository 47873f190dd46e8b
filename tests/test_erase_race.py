"""Erasure beside readers and writers: nothing shows what was erased, and nothing slips past."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest

import make
from conftest import asking, dsn, serving
from erasing import ENCODER, carried_out, replayed, rows, silent
from memoryd import daemon as composition
from memoryd.core import db, errors
from memoryd.core.config import Settings
from memoryd.custody import erase_act, erasure, rebuild
from memoryd.daemon import Daemon
from wire import BATCH, post

WORD = "zanzibarquux"
BUILD = "/api/v1/acb/build"
SEARCH = "/api/v1/search"


@pytest.fixture
async def pair(database: db.Target) -> AsyncIterator[list[tuple[Daemon, httpx.AsyncClient]]]:
    """Two daemons on one database, each with what it remembers of it."""
    async with AsyncExitStack() as stack:
        found = []
        for _ in range(2):
            settings = Settings(database_url=dsn(database))
            daemon = await stack.enter_async_context(composition.running(settings, silent))
            url = await stack.enter_async_context(serving(daemon))
            found.append((daemon, await stack.enter_async_context(asking(url))))
        yield found


async def fill(client: httpx.AsyncClient, events: int = 120) -> None:
    """Every third event is of the one who is to go, and everyone may see it."""
    drafts = [
        make.body(
            session_id=f"s{at % 4}",
            user_id="ada" if at % 3 == 0 else f"user{at % 5}",
            channel="team",
            content={"text": f"The {WORD if at % 3 == 0 else 'boat'} number {at} came in late."},
        )
        for at in range(events)
    ]
    answer = await client.post(BATCH, json={"events": drafts})
    assert answer.status_code == 201, answer.text


def erasing(database: db.Target, user: str = "ada") -> Any:
    steps = erasure.Steps(verify=True)
    return carried_out(database, "user", user, steps, tenant_id="default")


async def keep_asking(
    client: httpx.AsyncClient, route: str, body: dict[str, Any], stop: asyncio.Event
) -> list[tuple[float, int, str]]:
    """When each answer came, its status and its text."""
    answers = []
    while not stop.is_set():
        answer = await client.post(route, json=body)
        answers.append((time.monotonic(), answer.status_code, answer.text))
    return answers


async def test_reads_under_way_neither_fail_nor_show_what_was_erased(
    database: db.Target, pair: list[tuple[Daemon, httpx.AsyncClient]]
) -> None:
    (_, one), (_, two) = pair
    await fill(one)
    stop = asyncio.Event()
    build = {"session_id": "s0", "channel": "team", "query_text": "what came in late?"}
    search = {"query": f"which {WORD} came in late?", "channel": "team", "limit": 50}
    readers = [
        asyncio.create_task(keep_asking(client, route, body, stop))
        for client in (one, two)
        for route, body in ((BUILD, build), (SEARCH, search))
    ]
    await asyncio.sleep(0.5)
    outcome = await erasing(database)
    done = time.monotonic()
    await asyncio.sleep(0.5)
    stop.set()
    answers = [answer for reader in readers for answer in await reader]

    assert outcome.report.findings == []
    assert {status for _, status, _ in answers} == {200}
    assert any(WORD in text.replace(f"which {WORD}", "") for at, _, text in answers if at < done)
    assert [text for at, _, text in answers if at > done and f"{WORD} number" in text] == []


async def test_bundles_built_beside_an_erasure_replay_or_are_gone(
    database: db.Target, pair: list[tuple[Daemon, httpx.AsyncClient]]
) -> None:
    (_, one), _ = pair
    await fill(one)
    stop = asyncio.Event()
    asked = {"session_id": "s0", "channel": "team", "query_text": "what came in late?"}
    before = await one.post(BUILD, json=asked)
    reader = asyncio.create_task(keep_asking(one, BUILD, asked, stop))
    await erasing(database)
    after = await one.post(BUILD, json=asked)
    stop.set()
    beside = [httpx.Response(200, text=text).json() for _, _, text in await reader]
    built = [before.json(), *beside, after.json()]
    replays = [(await one.get(f"/api/v1/acb/{bundle['acb_id']}"), bundle) for bundle in built]

    assert {answer.status_code for answer, _ in replays} == {200, 410}
    for answer, bundle in replays:
        assert (answer.status_code == 410) == (f"{WORD} number" in str(bundle))
        assert answer.status_code == 410 or answer.json() == bundle


async def test_an_event_recorded_beside_an_erasure_is_erased_or_after_it(
    database: db.Target, pair: list[tuple[Daemon, httpx.AsyncClient]]
) -> None:
    (_, one), (_, two) = pair
    await fill(one)
    stop = asyncio.Event()
    body = make.body(user_id="ada", content={"text": f"again {WORD}"})
    writers = [
        asyncio.create_task(keep_asking(client, "/api/v1/events", body, stop))
        for client in (one, two, one)
    ]
    await asyncio.sleep(0.3)
    outcome = await erasing(database)
    stop.set()
    answers = [answer for writer in writers for answer in await writer]
    told = [httpx.Response(201, text=text).json()["event_id"] for _, _, text in answers]
    (act,) = await rows(
        database, "select position from events where event_id = $1",
        outcome.erasure.erasure_id, tenant_id="default",
    )  # fmt: skip
    kept = await rows(
        database, "select position, event_id, kind, user_id from events", tenant_id="default"
    )

    assert {status for _, status, _ in answers} == {201}
    assert set(told) <= {row["event_id"] for row in kept}
    for row in kept:
        living = row["position"] > act["position"]
        assert row["user_id"] != "ada" or living
        assert row["event_id"] not in told or living == (row["kind"] == "message")
    assert await replayed(database) == {}


async def test_a_summary_under_way_does_not_bring_back_what_it_cites(
    database: db.Target, pair: list[tuple[Daemon, httpx.AsyncClient]]
) -> None:
    (daemon, one), _ = pair
    said = await post(one, user_id="ada", channel="team", content={"text": WORD})
    written = make.write(
        "default", kind="summary", content={"about": "s1", "text": f"It is {WORD}."},
        refs=(said["event_id"],), user_id="bob", channel="team",
    )  # fmt: skip
    await erasing(database)

    with pytest.raises(errors.Conflict, match="was erased"):
        await daemon.group.commit("default", [written])


async def test_an_erasure_killed_before_its_sweep_is_finished_by_the_next(
    database: db.Target, pair: list[tuple[Daemon, httpx.AsyncClient]]
) -> None:
    (_, one), _ = pair
    await fill(one)
    left = await carried_out(
        database, "user", "ada", erasure.Steps(sweep=False), tenant_id="default"
    )
    again = await erasing(database)
    (listed,) = (await one.get("/api/v1/erasures")).json()["erasures"]

    assert again.erasure.erasure_id is None
    assert again.swept.erasures == (left.erasure.erasure_id,)
    assert listed["swept_at"] is not None


async def test_two_erasures_at_once_both_hold(
    database: db.Target, pair: list[tuple[Daemon, httpx.AsyncClient]]
) -> None:
    (_, one), _ = pair
    await fill(one)
    outcomes = await asyncio.gather(
        erasing(database, "ada"), erasing(database, "user1"), erasing(database, "ada")
    )

    assert sorted(one.erasure.events for one in outcomes) == [0, 16, 40]
    assert [one.report.findings for one in outcomes] == [[], [], []]
    assert await replayed(database) == {}


@pytest.mark.parametrize("users", [("ada",), ("ada", "user1")], ids=["once", "each time"])
async def test_a_rebuild_brings_nothing_back_that_is_erased_meanwhile(
    database: db.Target,
    pair: list[tuple[Daemon, httpx.AsyncClient]],
    users: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (_, client), _ = pair
    await fill(client)
    catch_up, rounds, waiting = rebuild._catch_up, itertools.count(1), list(users)

    async def then_erase(*given: Any) -> int:
        done = await catch_up(*given)
        if next(rounds) % rebuild.ROUNDS == 0 and waiting:
            await erasing(database, waiting.pop(0))
        return done

    monkeypatch.setattr(rebuild, "_catch_up", then_erase)
    differed = await replayed(database)
    found = (await client.post(SEARCH, json={"query": f"{WORD} boat", "channel": "team"})).text

    assert (waiting, differed) == ([], {})
    assert WORD not in found and "boat number" in found
    assert (await erasing(database)).report.findings == []


async def test_an_open_snapshot_holds_the_answer_back(database: db.Target) -> None:
    """Whoever began to read before still sees it: the answer waits for them."""
    conn = await db.connect(database, db.APP)
    asked = erase_act.Asked(tenant_id="default", what="user", name="ada", by="me")
    async with conn.transaction(isolation="repeatable_read", readonly=True):
        await conn.fetchval("select count(*) from events")
        running = asyncio.create_task(
            erasure.carry_out(
                *(database, asked, ENCODER, erasure.Steps()), now=make.NOW, entropy=make.entropy
            )
        )
        await asyncio.sleep(0.3)
        waiting = not running.done()
    await running
    await conn.close()

    assert waiting
