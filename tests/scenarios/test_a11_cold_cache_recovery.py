"""A11, Cold Cache Recovery: after a restart, and after a rebuild from the log, the same bytes."""

from pathlib import Path
from typing import Any

import httpx

import commands
import conftest
import make
from test_bundle import build


def compared(bundle: dict[str, Any]) -> dict[str, Any]:
    """Without what stands outside the promise: the id and the timings."""
    provenance = {**bundle["provenance"], "timings_ms": None}
    return {**bundle, "acb_id": None, "provenance": provenance}


async def fill(client: httpx.AsyncClient) -> None:
    events = [
        make.body(session_id=f"s{number % 7}", content={"text": f"Boat {number} came in late."})
        for number in range(300)
    ]
    await client.post("/api/v1/events/batch", json={"events": events})
    decision = {"decision": "Boats come in early."}
    await client.post("/api/v1/events", json=make.body(kind="decision", content=decision))


async def test_a_bundle_is_the_same_after_restart_and_rebuild(own_home: Path) -> None:
    asked = {"query_text": "which boat came in late?", "now": "2026-05-01T12:00:00Z"}
    with commands.serving(own_home, "--no-background") as served:
        async with conftest.asking(served.url) as client:
            await fill(client)
            first = await build(client, **asked)
            replay = f"/api/v1/acb/{first['acb_id']}"
            bytes_before = (await client.get(replay)).content
    with commands.serving(own_home, "--no-background") as served:
        async with conftest.asking(served.url) as client:
            restarted = await build(client, **asked)
            bytes_restarted = (await client.get(replay)).content
    assert commands.memoryd(own_home, "rebuild").returncode == 0
    with commands.serving(own_home, "--no-background") as served:
        async with conftest.asking(served.url) as client:
            rebuilt = await build(client, **asked)
            bytes_rebuilt = (await client.get(replay)).content

    assert bytes_before == bytes_restarted == bytes_rebuilt
    assert compared(first) == compared(restarted) == compared(rebuilt)
    assert len(first["sections"][5]["items"]) > 50
