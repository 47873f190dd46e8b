"""Searches and bundles that a second process answers: the same as the first one's."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

import conftest
import make
from memoryd import daemon as composition
from memoryd.core import db
from memoryd.doors import app, reading, sharing
from memoryd.doors.frames import Frame

BUILD, SEARCH = "/api/v1/acb/build", "/api/v1/search"
ASKED = {
    "session_id": "s1",
    "query_text": "which boat came in late?",
    "now": "2026-05-01T12:00:00Z",
}
WAIT_SECONDS = 60


class Spied(sharing.Other):
    """Counts what it is given."""

    given = 0

    async def ask(self, head: Any, body: bytes) -> Frame:
        Spied.given += 1
        return await super().ask(head, body)


@pytest.fixture
async def shared(
    database: db.Target, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[tuple[sharing.Shared, httpx.AsyncClient]]:
    """A daemon with something to find, whose first rush is two requests."""
    caplog.set_level("INFO", "memoryd.sharing")
    monkeypatch.setattr(sharing, "RUSH", 1)
    monkeypatch.setattr(sharing, "Other", Spied)
    Spied.given = 0
    settings = conftest.outside(database)
    async with (
        composition.running(settings, print, work=False) as running,
        sharing.shared(app.build(running), settings, "info") as made,
        conftest.serving(running, made) as url,
        conftest.asking(url) as client,
    ):
        events = [make.body(content={"text": f"Boat {at} came in late."}) for at in range(30)]
        (await client.post("/api/v1/events/batch", json={"events": events})).raise_for_status()
        assert isinstance(made, sharing.Shared)
        yield made, client


async def rush(client: httpx.AsyncClient, path: str = BUILD, **given: Any) -> list[httpx.Response]:
    asked = {"json": ASKED, **given}
    return await asyncio.gather(*(client.post(path, **asked) for _ in range(8)))


async def started(made: sharing.Shared, client: httpx.AsyncClient) -> sharing.Other:
    await rush(client)
    async with asyncio.timeout(WAIT_SECONDS):
        while not made._ready():
            await asyncio.sleep(0.02)
    return made._ready()[0]


async def ended(made: sharing.Shared, caplog: pytest.LogCaptureFixture) -> None:
    """One was started, and refused to answer."""
    async with asyncio.timeout(WAIT_SECONDS):
        while made._others:
            await asyncio.sleep(0.02)
    codes = [vars(one)["code"] for one in caplog.records if one.message == "process.ended"]
    assert codes == [1]


def compared(answer: httpx.Response) -> str:
    """Without what stands outside the promise of same bytes: the id and the timings."""
    found = answer.json()
    found["acb_id"] = found["provenance"]["timings_ms"] = None
    return json.dumps(found)


Shared = tuple[sharing.Shared, httpx.AsyncClient]


async def test_the_second_process_gives_the_same_bytes(shared: Shared) -> None:
    made, client = shared
    alone = await client.post(BUILD, json=ASKED)
    await started(made, client)
    before = Spied.given
    answers = await rush(client)
    replayed = [(await client.get(f"/api/v1/acb/{one.json()['acb_id']}")) for one in answers]

    assert before < Spied.given <= before + 7  # the first process does its part
    assert {one.status_code for one in answers} == {200}
    assert {compared(one) for one in answers} == {compared(alone)}
    assert [one.content for one in replayed] == [one.content for one in answers]
    assert len({one.json()["acb_id"] for one in answers}) == 8


async def test_the_slower_process_gets_less(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one embeds too: with as many requests as the other it would be done later."""
    made, client = shared
    await started(made, client)
    app = made._app

    async def slower(*call: Any) -> None:
        await asyncio.sleep(1.0)
        await app(*call)

    monkeypatch.setattr(made, "_app", slower)
    for _ in range(3):
        await rush(client)
    before = Spied.given
    answers = await rush(client)

    assert {one.status_code for one in answers} == {200}
    assert 4 < Spied.given - before < 8  # more than its half; one that is idle is never left out


async def test_what_was_just_recorded_is_found_by_either(shared: Shared) -> None:
    made, client = shared
    await started(made, client)
    for number in range(5):
        said = f"The yacht number{number} arrived."
        await client.post("/api/v1/events", json=make.body(content={"text": said}))
        asked = {"query": f"number{number}", "limit": 1}
        answers = await rush(client, SEARCH, json=asked)

        assert [one.json()["results"][0]["text"] for one in answers] == [said] * 8
    assert Spied.given > 5


REFUSED: list[tuple[dict[str, Any], int, str | None]] = [
    ({"json": {**ASKED, "max_tokens": 1}}, 422, "max_tokens"),
    ({"json": {**ASKED, "sections": ["nothing"]}}, 422, "sections.0"),
    ({"content": b"{", "headers": {"content-type": "application/json"}}, 400, "body"),
    ({"content": b"{}", "headers": {"content-type": "text/plain"}}, 415, "Content-Type"),
    ({"json": ASKED, "headers": {"host": "evil.example"}}, 421, "Host"),
    ({"json": ASKED, "headers": {"origin": "http://evil.example"}}, 403, "Origin"),
    ({"json": ASKED, "headers": {"authorization": "Bearer mdk_nobody"}}, 401, None),
]


async def test_it_refuses_what_the_first_one_refuses(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, client = shared
    alone = [await client.post(BUILD, **given) for given, _, _ in REFUSED]
    await started(made, client)
    before = Spied.given
    monkeypatch.setattr(made._own, "busy", 99)
    given_away = [await client.post(BUILD, **given) for given, _, _ in REFUSED]

    assert Spied.given == before + len(REFUSED)
    assert [one.content for one in given_away] == [one.content for one in alone]
    for answer, (_, status, field) in zip(given_away, REFUSED, strict=True):
        assert (answer.status_code, answer.json().get("field")) == (status, field)


async def test_long_requests_and_those_with_a_query_stay(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, client = shared
    await started(made, client)
    before = Spied.given
    monkeypatch.setattr(made._own, "busy", 99)
    large = await client.post(BUILD, json={**ASKED, "query_text": "boat " * 20_000})
    queried = await client.post(f"{BUILD}?sort=up", json=ASKED)

    assert Spied.given == before
    assert large.json()["field"] == "query_text"
    assert queried.json()["field"] == "sort"


async def test_who_asked_for_what_is_kept_once_whoever_answered(shared: Shared) -> None:
    made, client = shared
    await started(made, client)
    before = Spied.given
    built = {one.json()["acb_id"] for one in await rush(client)}
    seen: list[str] = []
    async with asyncio.timeout(WAIT_SECONDS):
        while not built <= set(seen):
            await asyncio.sleep(0.1)
            page = (await client.get("/api/v1/audit", params={"limit": 200})).json()
            seen = [one["ref"] for one in page["accesses"]]

    assert Spied.given > before
    assert [seen.count(one) for one in built] == [1] * 8


async def test_what_it_did_not_answer_is_answered_by_the_first(shared: Shared) -> None:
    made, client = shared
    other = await started(made, client)
    os.kill(other._process.pid, signal.SIGSTOP)
    asking = asyncio.create_task(rush(client))
    async with asyncio.timeout(WAIT_SECONDS):
        while not other.load.busy:
            await asyncio.sleep(0.01)
    os.kill(other._process.pid, signal.SIGKILL)
    answers = await asking

    assert {one.status_code for one in answers} == {200}
    assert not made._ready()


async def test_one_that_is_stuck_is_ended(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    made, client = shared
    other = await started(made, client)
    monkeypatch.setattr(sharing, "ANSWER_SECONDS", 0.5)
    os.kill(other._process.pid, signal.SIGSTOP)
    answers = await rush(client)

    assert {one.status_code for one in answers} == {200}
    assert await other._process.wait() == -signal.SIGKILL


async def test_a_body_that_is_cut_off_is_not_acted_on(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, client = shared
    await started(made, client)
    monkeypatch.setattr(made._own, "busy", 99)
    before = Spied.given
    for pause in (0, sharing.BODY_SECONDS + 0.2):
        reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
        head = f"POST {BUILD} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: 900\r\n\r\n{json.dumps(ASKED)}".encode())
        await asyncio.sleep(pause)
        writer.close()
        assert await reader.read() == b""
    foreign, stalled = await asyncio.open_connection(client.base_url.host, client.base_url.port)
    stalled.write(f"POST {BUILD} HTTP/1.1\r\nHost: evil\r\nContent-Length: 9\r\n\r\n".encode())
    async with asyncio.timeout(sharing.BODY_SECONDS + 5):
        refused = await foreign.readline()
    stalled.close()

    assert refused.startswith(b"HTTP/1.1 421")
    assert Spied.given == before


async def test_one_that_ended_is_followed_by_another(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, client = shared
    first = await started(made, client)
    first._process.kill()
    await first._process.wait()
    monkeypatch.setattr(sharing, "PAUSE_SECONDS", 0.0)
    second = await started(made, client)

    assert second._process.pid != first._process.pid
    assert {one.status_code for one in await rush(client)} == {200}


async def test_where_no_process_can_be_started_the_first_does_all(
    shared: Shared, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made, client = shared
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    answers = await rush(client)

    assert {one.status_code for one in answers} == {200}
    assert not made._others
    assert "process.failed" in caplog.messages


@pytest.mark.parametrize("missing", ["schema", "views", "program"])
async def test_a_program_of_another_version_changes_nothing_and_answers_nothing(
    shared: Shared,
    database: db.Target,
    missing: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As after an upgrade beneath a daemon that runs."""
    made, client = shared
    conn = await db.connect(database, None)
    tell = "select array[(select max(version) from migrations)::text, sha256::text] "
    if missing == "schema":
        await conn.execute("delete from migrations where version > 1")
    elif missing == "views":
        await conn.execute("update view_definition set sha256 = 'older'")
    else:
        monkeypatch.setattr(reading, "__version__", "0.0.1")
    before = await conn.fetchval(tell + "from view_definition")
    answers = await rush(client)
    await ended(made, caplog)
    after = await conn.fetchval(tell + "from view_definition")
    await conn.close()

    assert {one.status_code for one in answers} == {200}
    assert (after, Spied.given) == (before, 0)
