"""A5, Task Continuity: the state of tasks survives a restart and a rebuild."""

from pathlib import Path

import httpx

import commands
import conftest
from test_bundle import build, record, section


async def test_tasks_are_as_they_were_after_a_restart_and_a_rebuild(own_home: Path) -> None:
    with commands.serving(own_home) as served:
        async with conftest.asking(served.url) as client:
            await plan(client)
            before = section(await build(client), "task_state")
    with commands.serving(own_home) as served:
        async with conftest.asking(served.url) as client:
            restarted = section(await build(client), "task_state")
    rebuilt = commands.memoryd(own_home, "rebuild")
    with commands.serving(own_home) as served:
        async with conftest.asking(served.url) as client:
            after = section(await build(client), "task_state")

    assert rebuilt.returncode == 0, rebuilt.stderr
    assert [item["text"].split("\n")[1] for item in before] == ["Write the parser", "Ship it"]
    assert "doing" in before[0]["text"].split("\n")[0]
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
