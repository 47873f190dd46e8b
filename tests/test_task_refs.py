"""A task refers to a bounded number of things, however many events made it what it is."""

import httpx

import make
from memoryd.daemon import Daemon
from wire import BATCH, TASKS, assert_refused, plan, storing_nothing


async def test_a_task_refers_to_no_more_than_an_event_may(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    task = await plan(client, refs=[f"evt_{n}" for n in range(200)])
    same = {"task_id": task["task_id"], "refs": [f"evt_{n}" for n in range(56, 256)]}
    full = await plan(client, **same)
    more = {"task_id": task["task_id"], "refs": ["evt_256"]}
    content = {"task_id": task["task_id"], "status": "doing"}
    event = make.body(kind="task_update", content=content, refs=["evt_256"])
    async with storing_nothing(daemon, tenant):
        refused = await client.post(TASKS, json=more)
        batch = await client.post(BATCH, json={"events": [event]})
    again = await plan(client, **same, status="done")

    assert_refused(refused, 422, "refs", "256")
    assert_refused(batch, 422, "refs", "256")
    assert full["refs"] == again["refs"] == [f"evt_{n}" for n in range(256)]


async def test_events_of_one_batch_fill_a_task_together(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    task = await plan(client)
    events = [
        make.body(
            kind="task_update",
            content={"task_id": task["task_id"], "status": "doing"},
            refs=[f"evt_{half}_{n}" for n in range(129)],
        )
        for half in (1, 2)
    ]
    async with storing_nothing(daemon, tenant):
        refused = await client.post(BATCH, json={"events": events})

    assert_refused(refused, 422, "refs", "256")
