"""A7, Public Channel Suppression: a public bundle knows nothing of what is not public."""

import httpx
import pytest

from test_bundle import build, record, section

HIDDEN = "the merger with Northwind"


@pytest.fixture
async def history(client: httpx.AsyncClient) -> None:
    for channel in ("private", "team", "agent"):
        said = f"{HIDDEN} ({channel})"
        await record(client, channel=channel, content={"text": said})
        await record(client, channel=channel, kind="decision", content={"decision": said})
        await record(client, channel=channel, kind="task_update", content={"title": said})
    await record(client, channel="public", sensitivity="high", content={"text": HIDDEN})
    await record(client, channel="public", content={"text": "The merger of branches is done."})


async def test_a_public_bundle_shows_public_rows_alone(
    client: httpx.AsyncClient, history: None
) -> None:
    bundle = await build(client, channel="public", query_text="what about the merger?")

    assert "Northwind" not in str(bundle)
    shown = [item for part in bundle["sections"] for item in part["items"]]
    assert ["branches" in item["text"] for item in shown] == [True]
    assert bundle["provenance"]["hidden"] > 0
    assert bundle["provenance"]["filters"]["sensitivity_allowed"] == ["none", "low"]


async def test_the_owner_sees_them_in_private(client: httpx.AsyncClient, history: None) -> None:
    own = await build(client, query_text="what about the merger?")
    other = await build(client, query_text="what about the merger?", user_id="bob")

    assert len(section(own, "decision_ledger")) == 3
    assert ["(private)" in item["text"] for item in section(other, "decision_ledger")] == [
        False,
        False,
    ]
