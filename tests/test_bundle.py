"""Bundles over real HTTP: sections, budget, citations, replay."""

from typing import Any

import httpx

import make
from memoryd.core import render, tokens
from memoryd.core.pack import CAPS


async def record(client: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    answer = await client.post("/api/v1/events", json=make.body(**given))
    assert answer.status_code == 201, answer.text
    recorded: dict[str, Any] = answer.json()
    return recorded


async def build(client: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    answer = await client.post("/api/v1/acb/build", json={"session_id": "s1", **given})
    assert answer.status_code == 200, answer.text
    bundle: dict[str, Any] = answer.json()
    return bundle


def section(bundle: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return next(part["items"] for part in bundle["sections"] if part["name"] == name)


def rendered(bundle: dict[str, Any]) -> str:
    parts = [(part["name"], [one["text"] for one in part["items"]]) for part in bundle["sections"]]
    return render.text(parts)


async def test_a_bundle_has_every_section_and_counts_its_own_text(
    client: httpx.AsyncClient,
) -> None:
    said = await record(client)
    await record(client, kind="decision", content={"decision": "Use PostgreSQL."}, refs=["x"])
    await record(client, kind="task_update", content={"title": "Ship it", "status": "doing"})
    other = await record(client, session_id="s2", content={"text": "The ship leaves on Friday."})

    bundle = await build(client, query_text="When do we ship?")

    assert [part["name"] for part in bundle["sections"]] == list(render.SECTIONS)
    assert section(bundle, "recent_window")[0]["text"] == "[human ada]\nWe ship on Friday."
    assert section(bundle, "recent_window")[0]["refs"] == [said["event_id"]]
    assert section(bundle, "decision_ledger")[0]["refs"][1:] == ["x"]
    assert "Ship it" in section(bundle, "task_state")[0]["text"]
    (found,) = section(bundle, "retrieved_evidence")
    assert found["refs"] == [*other["chunk_ids"], other["event_id"]]
    assert found["text"].startswith("[1, human ada, ")
    assert bundle["token_used_est"] == tokens.count(rendered(bundle))
    assert all(part["token_est"] <= CAPS[part["name"]] for part in bundle["sections"])


async def test_a_bundle_replays_byte_for_byte(client: httpx.AsyncClient) -> None:
    for number in range(30):
        await record(client, content={"text": f"Fact {number}: the ship number {number} sails."})
    asked = {"session_id": "s1", "query_text": "which ship sails?", "format": "messages"}
    built = await client.post("/api/v1/acb/build", json={**asked, "max_tokens": 1500})
    await record(client, content={"text": "The ship sank."})

    again = await client.get(f"/api/v1/acb/{built.json()['acb_id']}")

    assert again.content == built.content


async def test_sections_that_are_not_asked_for_are_not_searched(client: httpx.AsyncClient) -> None:
    for number in range(3):
        await record(client, content={"text": "The ship sails."}, session_id=f"s{number}")
    bundle = await build(client, query_text="which ship sails?", sections=["rules"])

    assert bundle["omissions"] == []
    assert bundle["provenance"]["candidate_pool_size"] == 0
