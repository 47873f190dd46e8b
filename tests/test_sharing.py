"""Searches and bundles that a second process answers: the same as the first one's."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.types import Scope

import make
import rushes
from memoryd.core import db
from memoryd.doors import beside, sharing
from rushes import ASKED, BUILD, SEARCH, WAIT_SECONDS, Shared, Spied, compared, rush, started


@pytest.fixture
async def shared(
    database: db.Target, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[Shared]:
    async with rushes.daemon_on(database, monkeypatch, caplog) as made:
        yield made


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


async def test_who_asks_for_much_waits_for_itself_alone(shared: Shared) -> None:
    made, client = shared
    await started(made, client)
    line = made._line({"headers": []})
    for _ in range(2 * sharing.PLACES):  # of the first process and the second
        await line.acquire()
    waiting = asyncio.create_task(client.post(BUILD, json=ASKED))
    fast = await client.post(BUILD, json={"session_id": "s1"})
    stranger = {"authorization": "Bearer mdk_nobody"}
    elsewhere = await client.post(BUILD, json=ASKED, headers=stranger)
    await asyncio.wait([waiting], timeout=0.5)  # far longer than it takes

    assert (fast.status_code, elsewhere.status_code) == (200, 401)
    assert not waiting.done()
    line.release()
    assert (await waiting).status_code == 200
    del line
    assert not made._lines  # nobody is left in one


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


async def test_it_refuses_what_the_first_one_refuses(shared: Shared) -> None:
    made, client = shared
    alone = [await client.post(BUILD, **given) for given, _, _ in REFUSED]
    await started(made, client)
    before = Spied.given
    with rushes.occupied(made):
        given_away = [await client.post(BUILD, **given) for given, _, _ in REFUSED]

    assert Spied.given == before + len(REFUSED)
    assert [one.content for one in given_away] == [one.content for one in alone]
    for answer, (_, status, field) in zip(given_away, REFUSED, strict=True):
        assert (answer.status_code, answer.json().get("field")) == (status, field)


async def test_long_requests_and_those_with_a_query_stay(shared: Shared) -> None:
    made, client = shared
    await started(made, client)
    before = Spied.given
    with rushes.occupied(made):
        large = await client.post(BUILD, json={**ASKED, "query_text": "boat " * 20_000})
        queried = await client.post(f"{BUILD}?sort=up", json=ASKED)

    assert Spied.given == before
    assert large.json()["field"] == "query_text"
    assert queried.json()["field"] == "sort"


async def test_a_body_that_comes_in_pieces_is_shared_too(shared: Shared) -> None:
    """As streaming clients send it, without saying how long it is."""
    made, client = shared
    await started(made, client)
    before = Spied.given
    body = json.dumps(ASKED).encode()

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(body), 20):
            yield body[at : at + 20]

    with rushes.occupied(made):
        headers = {"content-type": "application/json"}
        whole = await client.post(BUILD, json=ASKED)
        streamed = await client.post(BUILD, content=pieces(), headers=headers)

    assert Spied.given == before + 2
    assert compared(streamed) == compared(whole)


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


async def test_a_body_that_is_cut_off_is_not_acted_on(
    shared: Shared, caplog: pytest.LogCaptureFixture
) -> None:
    made, client = shared
    await started(made, client)
    before, pace = Spied.given, made._own.pace
    for pause in (0, sharing.BODY_SECONDS + 0.2):
        reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
        head = f"POST {BUILD} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: 900\r\n\r\n{json.dumps(ASKED)}".encode())
        await asyncio.sleep(pause)
        assert made._own.busy == 0
        writer.close()
        assert await reader.read() == b""
    foreign, stalled = await asyncio.open_connection(client.base_url.host, client.base_url.port)
    stalled.write(f"POST {BUILD} HTTP/1.1\r\nHost: evil\r\nContent-Length: 9\r\n\r\n".encode())
    async with asyncio.timeout(sharing.BODY_SECONDS + 5):
        refused = await foreign.readline()
    stalled.close()

    assert refused.startswith(b"HTTP/1.1 421")
    assert Spied.given == before
    assert made._own.pace == pace  # how slowly somebody sends says nothing of the process
    assert "request.failed" not in caplog.messages


async def test_who_left_the_line_costs_nothing(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, client = shared
    await started(made, client)
    answered: list[str] = []
    app = made._app

    async def counted(scope: Scope, *rest: Any) -> None:
        answered.append(scope["path"])
        await app(scope, *rest)

    monkeypatch.setattr(made, "_app", counted)
    before, line = Spied.given, made._line({"headers": []})
    for _ in range(2 * sharing.PLACES):
        await line.acquire()
    body = json.dumps(ASKED).encode()
    head = f"POST {BUILD} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for _ in range(5):
        _, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await asyncio.sleep(0.05)
        writer.close()
    waiting = asyncio.create_task(client.post(BUILD, json=ASKED))
    await asyncio.sleep(0.3)
    stood = made._reads
    line.release()

    assert (await waiting).status_code == 200
    assert stood == 6
    assert len(answered) + Spied.given - before == 1


async def test_a_process_is_as_far_behind_as_its_oldest_request() -> None:
    load = beside.Load()
    with load.one_more():
        await asyncio.sleep(0.05)
        waited = load.wait
    assert 0.05 <= waited < 5
    assert load.wait == 0
