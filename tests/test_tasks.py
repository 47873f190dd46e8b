"""Tasks over HTTP: created, changed, reopened; who sees them, and as of when."""

import asyncio
from typing import Any

import httpx
import pytest

import conftest
from conftest import MakeKey
from memoryd.core import db
from memoryd.custody import rebuild
from memoryd.daemon import Daemon
from wire import EVENTS, TASKS, assert_problem, count, found, pages, plan, planned, post


async def test_a_task_is_answered_with_every_field(client: httpx.AsyncClient) -> None:
    said = {
        "title": "Ship it",
        "details": "on Friday",
        "status": "doing",
        "refs": ["evt_1"],
        "session_id": "s1",
        "user_id": "ada",
        "agent_id": "planner",
        "channel": "team",
        "sensitivity": "low",
        "ts": "2026-01-02T03:04:05Z",
    }
    answer = await client.post(TASKS, json={**said, "tags": ["release"]})
    made = answer.json()
    event = (await client.get(f"{EVENTS}/{made['event_id']}")).json()

    assert answer.status_code == 201
    assert made == {
        **said,
        "task_id": f"tsk_{made['event_id'][4:]}",
        "event_id": event["event_id"],
        "position": 1,
        "chunk_ids": made["chunk_ids"],
        "created_at": event["recorded_at"],
    }
    assert (event["kind"], event["tags"]) == ("task_update", ["release"])
    assert event["actor"] == {"type": "agent", "id": "planner"}


async def test_a_new_task_is_open(url: str, tenant: str, make_key: MakeKey) -> None:
    async with conftest.asking(url, await make_key(tenant, agent_id="planner")) as client:
        made = await plan(client, title="Ship it")

    names = ("status", "details", "session_id", "user_id", "agent_id", "channel", "sensitivity")
    assert [made[name] for name in names] == [
        *("open", "", "default", "default", "planner", "private", "none")
    ]


async def test_an_update_changes_what_it_names(client: httpx.AsyncClient) -> None:
    made = await plan(client, title="Ship it", details="on Friday", refs=["evt_1"])
    answer = await client.post(
        TASKS, json={"task_id": made["task_id"], "status": "doing", "refs": ["evt_2"]}
    )
    cleared = await plan(client, task_id=made["task_id"], title="Ship", details="")

    changed = answer.json()
    assert answer.status_code == 200
    assert {**made, "status": "doing", "refs": ["evt_1", "evt_2"]} == {
        **changed,
        **{name: made[name] for name in ("event_id", "position", "ts", "chunk_ids", "created_at")},
    }
    assert changed["position"] == 2
    assert (cleared["title"], cleared["details"], cleared["status"]) == ("Ship", "", "doing")


async def test_any_change_of_status_is_allowed_and_reopening_is_recorded(
    client: httpx.AsyncClient,
) -> None:
    task_id = (await plan(client, status="done"))["task_id"]
    wanted = ["open", "doing", "open", "done", "done", "doing", "done", "open"]
    made = [await plan(client, task_id=task_id, status=status) for status in wanted]
    task = await found(client, task_id)

    assert [one["status"] for one in made] == wanted
    assert [one["status"] for one in task["history"]] == ["done", *wanted]
    reopened = [one["position"] for one in task["history"] if one["reopened"]]
    assert reopened == [2, 7, 9]
    assert set(task["history"][0]) == {"event_id", "position", "ts", "status", "reopened"}
    assert [one["event_id"] for one in task["history"][1:]] == [one["event_id"] for one in made]


async def test_an_update_that_changes_nothing_is_taken(client: httpx.AsyncClient) -> None:
    made = await plan(client, status="doing")
    again = await plan(client, task_id=made["task_id"])

    assert (again["status"], again["title"]) == ("doing", made["title"])
    assert await planned(client) == [made["title"]]


async def test_an_event_of_kind_task_update_does_the_same(client: httpx.AsyncClient) -> None:
    recorded = await post(client, kind="task_update", content={"title": "Ship it"})
    task_id = f"tsk_{recorded['event_id'][4:]}"
    await plan(client, task_id=task_id, status="done", title=None)
    await post(client, kind="task_update", content={"task_id": task_id, "status": "open"})

    task = await found(client, task_id)
    assert [one["reopened"] for one in task["history"]] == [False, False, True]
    assert (task["title"], task["status"], task["session_id"]) == ("Ship it", "open", "s1")


async def test_tasks_are_listed_by_status_and_session_last_changed_first(
    client: httpx.AsyncClient,
) -> None:
    first = await plan(client, title="a", session_id="one")
    await plan(client, title="b", session_id="two", status="doing")
    await plan(client, title="c", session_id="two", status="done")
    await plan(client, task_id=first["task_id"], title=None, details="changed")

    assert await planned(client) == ["a", "c", "b"]
    assert await planned(client, status="open") == ["a"]
    assert await planned(client, status=["open", "doing"]) == ["a", "b"]
    assert await planned(client, session_id="two") == ["c", "b"]
    assert await planned(client, session_id="two", status="done") == ["c"]
    assert await planned(client, session_id="three") == []


async def test_as_of_shows_what_was_to_be_done_then(client: httpx.AsyncClient) -> None:
    made = await plan(client, title="Ship")
    done = await plan(client, task_id=made["task_id"], title="Shipped", status="done")
    await plan(client, task_id=made["task_id"], title="Ship again", status="open")

    for moment, expected in ((1, "Ship"), (2, "Shipped"), (done["created_at"], "Shipped")):
        assert await planned(client, as_of=moment) == [expected]
        then = await found(client, made["task_id"], as_of=moment)
        assert then["title"] == expected
    assert await planned(client, as_of=2, status="open") == []
    assert [one["status"] for one in then["history"]] == ["open", "done"]
    early = await client.get(f"{TASKS}/{made['task_id']}", params={"as_of": 0})
    assert_problem(early, 404)


async def test_pages_are_complete_although_tasks_change_meanwhile(
    client: httpx.AsyncClient,
) -> None:
    """A change moves a task to the top: without one moment for all pages it would be missed."""
    made = [await plan(client, title=f"task {number}") for number in range(7)]
    seen = []
    async for page in pages(client, TASKS, limit=3):
        seen += [one["title"] for one in page["tasks"]]
        await plan(client, task_id=made[0]["task_id"], title="changed")

    assert seen == [f"task {number}" for number in range(6, -1, -1)]
    assert page["position"] == 7


SEEN: dict[str, tuple[dict[str, str], set[str]]] = {
    "public": ({"channel": "public", "user_id": "ada"}, {"everyone's"}),
    "team": ({"channel": "team", "user_id": "ada"}, {"everyone's", "the team's"}),
    "ada": ({"user_id": "ada"}, {"everyone's", "the team's", "ada's"}),
    "bob": ({"user_id": "bob"}, {"everyone's", "the team's", "bob's"}),
}


@pytest.mark.parametrize("who", SEEN)
async def test_a_reader_sees_what_its_channel_shows(client: httpx.AsyncClient, who: str) -> None:
    eyes, expected = SEEN[who]
    made = [
        await plan(client, title="ada's", user_id="ada"),
        await plan(client, title="bob's", user_id="bob"),
        await plan(client, title="the team's", channel="team", sensitivity="high"),
        await plan(client, title="everyone's", channel="public"),
    ]
    answers = [await client.get(f"{TASKS}/{one['task_id']}", params=eyes) for one in made]

    assert set(await planned(client, **eyes)) == expected
    assert {one.json()["title"] for one in answers if one.status_code == 200} == expected
    assert {one.status_code for one in answers} == {200, 404}


async def test_a_hidden_task_looks_like_one_that_does_not_exist(client: httpx.AsyncClient) -> None:
    task_id = (await plan(client, user_id="bob"))["task_id"]
    ada: dict[str, Any] = {"user_id": "ada"}
    hidden = await client.get(f"{TASKS}/{task_id}", params=ada)
    missing = await client.get(f"{TASKS}/tsk_none", params=ada)
    changed = await client.post(TASKS, json={**ada, "task_id": task_id, "status": "done"})
    nothing = await client.post(TASKS, json={**ada, "task_id": "tsk_none", "status": "done"})

    assert_problem(hidden, 404)
    assert hidden.text.replace(task_id, "tsk_none") == missing.text
    assert_problem(changed, 422, "task_id")
    assert changed.text.replace(task_id, "tsk_none") == nothing.text
    assert (await found(client, task_id, user_id="bob"))["status"] == "open"


async def test_an_update_from_another_channel_is_told_where_it_looked(
    client: httpx.AsyncClient,
) -> None:
    task_id = (await plan(client, channel="team"))["task_id"]
    answer = await client.post(TASKS, json={"task_id": task_id, "status": "done"})
    told = await client.post(TASKS, json={"task_id": task_id, "status": "done", "channel": "team"})

    problem = assert_problem(answer, 422, "task_id")
    assert "channel 'private'" in problem["detail"]
    assert told.status_code == 200


async def test_a_retry_answers_as_the_first_time_even_after_a_change(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    body = {"title": "Ship it", "idempotency_key": "new"}
    first = await client.post(TASKS, json=body)
    update = {"task_id": first.json()["task_id"], "status": "done", "idempotency_key": "done"}
    done = await client.post(TASKS, json=update)
    await plan(client, task_id=first.json()["task_id"], status="open")
    again = await client.post(TASKS, json=body)
    done_again = await client.post(TASKS, json=update)

    assert (again.status_code, again.json()) == (201, first.json())
    assert (done_again.status_code, done_again.json()) == (200, done.json())
    assert await count(daemon, tenant) == 3


async def test_changes_at_once_are_all_in_the_history(client: httpx.AsyncClient) -> None:
    task_id = (await plan(client))["task_id"]
    wanted = ["doing", "done", "open"] * 4
    bodies = [{"task_id": task_id, "status": status} for status in wanted]
    answers = await asyncio.gather(*(client.post(TASKS, json=body) for body in bodies))

    task = await found(client, task_id)
    assert [answer.status_code for answer in answers] == [200] * 12
    assert sorted(one["status"] for one in task["history"][1:]) == sorted(wanted)
    assert task["status"] == task["history"][-1]["status"]
    assert [one["position"] for one in task["history"]] == list(range(1, 14))


async def test_tasks_survive_a_restart_and_a_rebuild(database: db.Target) -> None:
    async with conftest.running(database) as client:
        task_id = (await plan(client, title="Ship it"))["task_id"]
        for status in ("done", "doing"):
            await plan(client, task_id=task_id, status=status)
        before = await found(client, task_id)
    (outcome,) = await rebuild.rebuild(database, lambda *_: None)
    async with conftest.running(database) as client:
        after = await found(client, task_id)

    assert outcome.equal
    assert after == before
    assert [one["reopened"] for one in after["history"]] == [False, False, True]
