"""A11, Cold Cache Recovery: after a restart, and after a rebuild from the log, the same bytes.

How soon they come is measured in `bench/bundle.py`.
"""

import json
from pathlib import Path
from typing import Any

import httpx

import commands
import conftest
import load
import make
import raw
import wire
from test_bundle import build, section

ASKED = {"query_text": "which boat came in late?", "now": "2026-05-01T12:00:00Z"}
SHIPS = ("boat", "ferry", "tug", "yacht", "trawler", "barge", "dredger")
PLACES = ("the fog", "the storm", "a strike", "the ice", "a low tide")


def compared(bundle: dict[str, Any]) -> bytes:
    """Without what stands outside the promise: the id and the timings."""
    provenance = {**bundle["provenance"], "timings_ms": None}
    return json.dumps({**bundle, "acb_id": None, "provenance": provenance}).encode()


async def fill(client: httpx.AsyncClient) -> None:
    said = [
        f"The {ship} from pier {pier} came in late because of {why}."
        for pier in range(4)
        for ship in SHIPS
        for why in PLACES
    ]
    events = [
        make.body(session_id=f"s{number % 7}", content={"text": text})
        for number, text in enumerate(said)
    ]
    events.append(make.body(kind="decision", content={"decision": "Boats come in early."}))
    events.append(make.body(kind="task_update", content={"title": "Paint the boat"}))
    answer = await client.post("/api/v1/events/batch", json={"events": events})
    assert answer.status_code == 201, answer.text
    await client.put("/api/v1/views/rules.project", json={"text": "Boats before ferries."})


async def recovered(home: Path, acb_id: str) -> tuple[bytes, bytes]:
    """A replay, and a bundle anew, of a daemon that finds nothing in memory."""
    load.forget(home)
    with commands.serving(home) as served:
        async with conftest.asking(served.url) as client:
            replayed = (await client.get(f"/api/v1/acb/{acb_id}")).content
            await wire.vectors(client)
            return replayed, compared(await build(client, **ASKED))


async def test_a_bundle_is_the_same_after_restart_and_rebuild(own_home: Path) -> None:
    with commands.serving(own_home) as served:
        async with conftest.asking(served.url) as client:
            await fill(client)
            await wire.vectors(client)
            first = await build(client, **ASKED)
            replay = (await client.get(f"/api/v1/acb/{first['acb_id']}")).content
    restarted = await recovered(own_home, first["acb_id"])
    await raw.empty_views(own_home)
    (outcome,) = commands.answer(own_home, "rebuild")
    rebuilt = await recovered(own_home, first["acb_id"])

    assert len(section(first, "retrieved_evidence")) > 50
    assert {"maxsim", "pooled"} <= set(section(first, "retrieved_evidence")[0]["parts"])
    assert all(section(first, name) for name in ("rules", "task_state", "decision_ledger"))
    assert first["provenance"]["embedding"]["pending_vectors"] == 0
    assert outcome["differed"]["chunks"] == outcome["rows"]["chunks"] == outcome["events"] - 1
    assert json.loads(replay) == first
    assert restarted == rebuilt == (replay, compared(first))
