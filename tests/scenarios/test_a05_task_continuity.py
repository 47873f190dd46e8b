"""A5, Task Continuity: the state of tasks survives a restart and a rebuild."""

from pathlib import Path
from typing import Any

import httpx

import commands
import conftest
import raw
from test_bundle import build, record, section


async def test_tasks_are_as_they_were_after_a_restart_and_a_rebuild(own_home: Path) -> None:
    with commands.serving(own_home) as served:
        async with conftest.asking(served.url) as client:
            await plan(client)
            before = await state(client)
    with commands.serving(own_home) as served:
        async with conftest.asking(served.url) as client:
            restarted = await state(client)
    await raw.empty_views(own_home)
    (rebuilt,) = commands.answer(own_home, "rebuild")
    with commands.serving(own_home) as served:
        async with conftest.asking(served.url) as client:
            after = await state(client)

    shown, listed = before
    assert [item["text"].split("\n")[1] for item in shown] == ["Write the parser", "Ship it"]
    assert "doing" in shown[0]["text"].split("\n")[0]
    assert {one["title"]: one["status"] for one in listed} == {
        "Ship it": "open",
        "Write the parser": "doing",
        "Draw the logo": "done",
    }
    assert (rebuilt["rows"]["tasks"], rebuilt["differed"]["tasks"]) == (5, 5)
    assert before == restarted == after


async def plan(client: httpx.AsyncClient) -> None:
    made = [
        await record(client, kind="task_update", content={"title": title})
        for title in ("Ship it", "Write the parser", "Draw the logo")
    ]
    ids = [f"tsk_{one['event_id'][4:]}" for one in made]
    for task_id, status in ((ids[1], "doing"), (ids[2], "done")):
        content = {"task_id": task_id, "status": status}
        await record(client, kind="task_update", content=content)


async def state(client: httpx.AsyncClient) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What a bundle shows of the tasks, and what a list of them has."""
    listed = (await client.get("/api/v1/tasks")).json()["tasks"]
    return section(await build(client), "task_state"), listed
