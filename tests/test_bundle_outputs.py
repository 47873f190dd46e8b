"""A tool's output that is shown in part names the artifact that has the whole."""

from typing import Any

import httpx

from test_bundle import build, record, section


def part(number: int) -> str:
    """A paragraph that is a chunk of its own."""
    return f"The heliotrope {number} blooms. " + f"Line {number} of the garden's log. " * 25


def whole_of(bundle: dict[str, Any]) -> list[tuple[list[str], str]]:
    found = [one for one in bundle["omissions"] if one["reason"] == "truncated_tool_output"]
    return [(one["candidates"], one["artifact_id"]) for one in found]


async def output(client: httpx.AsyncClient, parts: int) -> tuple[str, str]:
    text = "\n\n".join(part(number) for number in range(parts))
    content = {"tool": "grep", "path": "garden.log", "text": text}
    tool = {"type": "tool", "id": "grep"}
    said = await record(client, kind="tool_result", content=content, actor=tool, session_id="s2")
    event = (await client.get(f"/api/v1/events/{said['event_id']}")).json()
    return said["event_id"], event["content"].get("artifact_id")


async def test_neighbours_that_were_joined_name_it_too(client: httpx.AsyncClient) -> None:
    event_id, artifact_id = await output(client, 120)
    bundle = await build(client, query_text="which heliotrope blooms?")
    joined = [one for one in section(bundle, "retrieved_evidence") if len(one["refs"]) > 2]

    assert joined and artifact_id
    assert whole_of(bundle) == [([event_id], artifact_id)]


async def test_in_the_window_it_is_named_beside_its_placeholder(client: httpx.AsyncClient) -> None:
    event_id, artifact_id = await output(client, 120)
    bundle = await build(client, session_id="s2")

    assert "[MemoryRef: " in section(bundle, "recent_window")[0]["text"]
    assert whole_of(bundle) == [([event_id], artifact_id)]


async def test_what_is_kept_whole_in_its_event_has_none(client: httpx.AsyncClient) -> None:
    event_id, artifact_id = await output(client, 2)
    bundle = await build(client, query_text="which heliotrope blooms?")

    assert artifact_id is None
    assert event_id in section(bundle, "retrieved_evidence")[0]["refs"]
    assert whole_of(bundle) == []
