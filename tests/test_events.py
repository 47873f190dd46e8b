"""The log over HTTP: recording, batches, one event, retries."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

import conftest
import make
from conftest import MakeKey
from memoryd.daemon import Daemon, now
from wire import BATCH, EVENTS, assert_problem, count, listed, post

EVENT_FIELDS = {
    *("event_id", "position", "ts", "recorded_at", "tenant_id", "session_id", "user_id"),
    *("agent_id", "channel", "actor", "kind", "sensitivity", "tags", "content", "refs"),
}


async def test_recording_answers_the_three_fields_of_the_wire(client: httpx.AsyncClient) -> None:
    answer = await client.post(EVENTS, json=make.body())

    assert answer.status_code == 201
    assert answer.headers["content-type"] == "application/json"
    recorded = answer.json()
    assert set(recorded) == {"event_id", "chunk_ids", "created_at"}
    assert recorded["event_id"].startswith("evt_") and len(recorded["event_id"]) == 30
    assert [chunk_id[:4] for chunk_id in recorded["chunk_ids"]] == ["chk_"]
    assert recorded["created_at"].endswith("Z")


async def test_the_example_of_the_seed_is_taken_as_it_stands(
    url: str, tenant: str, make_key: MakeKey
) -> None:
    body = {
        "tenant_id": tenant,
        "session_id": "s1",
        "channel": "private",
        "actor": {"type": "human", "id": "user"},
        "kind": "message",
        "sensitivity": "none",
        "tags": ["topic:onboarding", "repo:legacy"],
        "content": {"text": "what this project for?"},
        "refs": [],
    }
    async with conftest.asking(url, await make_key(tenant)) as client:
        recorded = (await client.post(EVENTS, json=body)).json()
        event = (await client.get(f"{EVENTS}/{recorded['event_id']}")).json()

    assert {name: event[name] for name in body} == body


async def test_an_event_is_read_back_with_every_field(
    client: httpx.AsyncClient, tenant: str
) -> None:
    sent = make.body(
        channel="team",
        user_id="ada",
        agent_id="planner",
        sensitivity="low",
        tags=["b", "a", "b"],
        refs=["evt_1"],
        content={"text": "Größe ✓", "extra": {"deep": [1, 2.5, None, True, "x"]}},
        ts="2024-02-29T12:00:00.123456+02:00",
    )
    recorded = (await client.post(EVENTS, json=sent)).json()
    answer = await client.get(f"{EVENTS}/{recorded['event_id']}")

    event = answer.json()
    assert answer.status_code == 200
    assert set(event) == EVENT_FIELDS
    assert event == {
        **{name: value for name, value in sent.items() if name != "ts"},
        "event_id": recorded["event_id"],
        "position": 1,
        "ts": "2024-02-29T10:00:00.123456Z",
        "recorded_at": recorded["created_at"],
        "tenant_id": tenant,
        "tags": ["b", "a"],
    }


async def test_what_a_call_omits_is_the_default(client: httpx.AsyncClient) -> None:
    recorded = await post(client)
    event = (await client.get(f"{EVENTS}/{recorded['event_id']}")).json()

    names = ("user_id", "agent_id", "channel", "sensitivity", "tags", "refs")
    assert [event[name] for name in names] == ["default", "default", "private", "none", [], []]
    assert event["ts"] <= event["recorded_at"]


async def test_a_tool_result_is_stored_normalised(client: httpx.AsyncClient) -> None:
    content = {"tool": "fs.read_file", "path": "README.md", "text": "a\nb\nc\n"}
    recorded = await post(client, kind="tool_result", content=content)
    event = (await client.get(f"{EVENTS}/{recorded['event_id']}")).json()

    assert event["content"] == {
        "tool": "fs.read_file",
        "path": "README.md",
        "excerpt_text": "a\nb\nc\n",
        "line_range": [1, 3],
        "truncated": False,
    }


async def test_history_may_be_imported(client: httpx.AsyncClient) -> None:
    old = "1999-12-31T23:59:59Z"
    recorded = await post(client, ts=old)
    ahead = (now() + timedelta(hours=23)).isoformat()
    await post(client, ts=ahead, session_id="tomorrow")

    event = (await client.get(f"{EVENTS}/{recorded['event_id']}")).json()
    assert event["ts"] == old
    assert event["recorded_at"] > "2026"


async def test_an_unknown_event_is_not_found(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"{EVENTS}/evt_nothing")

    problem = assert_problem(answer, 404)
    assert "evt_nothing" in problem["detail"]


async def test_a_batch_keeps_its_order(client: httpx.AsyncClient) -> None:
    drafts = [make.body(content={"text": f"event {number}"}) for number in range(25)]
    answer = await client.post(BATCH, json={"events": drafts})

    assert answer.status_code == 201
    assert set(answer.json()) == {"events"}
    recorded = answer.json()["events"]
    assert {frozenset(one) for one in recorded} == {
        frozenset({"event_id", "chunk_ids", "created_at"})
    }
    found = await listed(client, order="oldest")
    assert [one["event_id"] for one in found] == [one["event_id"] for one in recorded]
    assert [one["content"]["text"] for one in found] == [f"event {n}" for n in range(25)]
    assert [one["position"] for one in found] == list(range(1, 26))


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"kind": "gossip"}, 422, "events.3.kind"),
        ({"content": {"text": "  "}}, 422, "events.3.content.text"),
        ({"content": {"text": "a\0b"}}, 422, "events.3.content.text"),
        ({"content": {"text": "x" * 1_100_000}}, 413, "events.3.content.text"),
        ({"ts": "9000-01-01T00:00:00Z"}, 422, "events.3.ts"),
        ({"tenant_id": "another"}, 403, "events.3.tenant_id"),
    ],
)
async def test_one_bad_event_stores_nothing_of_its_batch(
    client: httpx.AsyncClient,
    daemon: Daemon,
    tenant: str,
    change: dict[str, Any],
    status: int,
    field: str,
) -> None:
    drafts = [make.body() for _ in range(5)]
    drafts[3] |= change
    answer = await client.post(BATCH, json={"events": drafts})

    assert_problem(answer, status, field)
    assert await count(daemon, tenant) == 0


async def test_a_batch_of_one_names_its_place_too(client: httpx.AsyncClient) -> None:
    answer = await client.post(BATCH, json={"events": [make.body(content={"text": " "})]})

    assert_problem(answer, 422, "events.0.content.text")


async def test_a_view_that_refuses_stores_nothing_of_its_batch(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    unknown = make.body(kind="task_update", content={"task_id": "tsk_none", "status": "done"})
    answer = await client.post(BATCH, json={"events": [make.body(), unknown]})

    assert answer.status_code == 422
    assert await count(daemon, tenant) == 0


async def test_a_batch_takes_a_thousand_and_no_more(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    draft = make.body(content={"text": "hi"})
    refused = await client.post(BATCH, json={"events": [draft] * 1_001})
    stored = await count(daemon, tenant)
    taken = await client.post(BATCH, json={"events": [draft] * 1_000})

    assert assert_problem(refused, 422, "events")["limit"] == "1,000 events"
    assert stored == 0
    assert taken.status_code == 201
    assert await count(daemon, tenant) == 1_000


async def test_an_empty_batch_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post(BATCH, json={"events": []})

    assert assert_problem(answer, 422, "events")["limit"] == "1"


async def test_a_retry_answers_as_the_first_time(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    body = make.body(idempotency_key="msg-1", content={"text": "word " * 500})
    first = await client.post(EVENTS, json=body)
    again = await client.post(EVENTS, json=body)

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert len(again.json()["chunk_ids"]) > 1
    assert await count(daemon, tenant) == 1


async def test_the_same_key_with_another_body_is_a_conflict(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    await post(client, idempotency_key="msg-1")
    answer = await client.post(
        EVENTS, json=make.body(idempotency_key="msg-1", content={"text": "Something else."})
    )

    problem = assert_problem(answer, 409, "idempotency_key")
    assert "msg-1" in problem["detail"]
    assert await count(daemon, tenant) == 1


async def test_a_batch_may_be_retried_whole(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    drafts = [make.body(idempotency_key=f"k{number}") for number in range(3)]
    first = await client.post(BATCH, json={"events": drafts})
    again = await client.post(BATCH, json={"events": [*drafts, make.body()]})

    assert again.json()["events"][:3] == first.json()["events"]
    assert await count(daemon, tenant) == 4


async def test_a_conflict_stores_nothing_of_its_batch(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    await post(client, idempotency_key="k")
    clash = make.body(idempotency_key="k", content={"text": "other"})
    answer = await client.post(BATCH, json={"events": [make.body(), clash]})

    assert answer.status_code == 409
    assert await count(daemon, tenant) == 1


async def test_a_key_of_one_tenant_says_nothing_of_another(
    client: httpx.AsyncClient, url: str, make_key: MakeKey, tenant: str
) -> None:
    await post(client, idempotency_key="shared")
    async with conftest.asking(url, await make_key(f"{tenant}-other")) as other:
        answer = await other.post(
            EVENTS, json=make.body(idempotency_key="shared", content={"text": "mine"})
        )

    assert answer.status_code == 201


async def test_routes_that_do_not_exist_answer_a_problem(client: httpx.AsyncClient) -> None:
    unknown = await client.get("/api/v1/nothing")
    wrong = await client.delete(EVENTS)

    assert_problem(unknown, 404)
    assert_problem(wrong, 405)
    assert wrong.headers["allow"]
