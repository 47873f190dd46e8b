"""A7, Public Channel Suppression: a public bundle knows nothing of what is not public."""

import httpx
import pytest

import wire
from memories import FACTS, agents, ask
from test_bundle import build, record, section

HIDDEN = "the merger with Northwind"
QUESTION = "what about the merger?"


@pytest.fixture
async def history(client: httpx.AsyncClient) -> None:
    for channel in ("private", "team", "agent"):
        said = f"{HIDDEN} ({channel})"
        await record(client, channel=channel, content={"text": said})
        await record(client, channel=channel, kind="decision", content={"decision": said})
        await record(client, channel=channel, kind="task_update", content={"title": said})
    await record(client, channel="public", sensitivity="high", content={"text": HIDDEN})
    for channel, given in (("private", {}), ("team", {"channel": "team"})):  # unless said
        content = f"User prefers that {HIDDEN} waits ({channel})"
        fact = {"content": content, "category": "preference", **given}
        await ask(client, "POST", FACTS, 201, json=fact)
    core = {"content": f"I told nobody of {HIDDEN}", "memory_type": "core"}
    await ask(client, "POST", agents("default"), 201, json=core)
    await wire.write_view(client, "rules.user", f"Never speak of {HIDDEN}.")


@pytest.fixture
async def shown(client: httpx.AsyncClient, history: None) -> None:
    await record(client, channel="public", content={"text": "The merger of branches is done."})
    low = {"text": "The merger of the two queues is next."}
    await record(client, channel="public", sensitivity="low", content=low)
    decided = {"decision": "A merger of branches needs a review."}
    await record(client, channel="public", kind="decision", content=decided)


async def test_a_public_bundle_shows_public_rows_alone(
    client: httpx.AsyncClient, shown: None
) -> None:
    """Neither preferences nor private decisions, but what is public, up to the sensitivity low."""
    here = await build(client, channel="public", query_text=QUESTION)
    elsewhere = await build(client, channel="public", query_text=QUESTION, session_id="next")

    assert "Northwind" not in str([here, elsewhere])
    assert ["two queues" in one["text"] for one in section(here, "recent_window")] == [False, True]
    texts = [one["text"].split("\n")[1] for one in section(elsewhere, "retrieved_evidence")]
    assert set(texts) == {
        "The merger of branches is done.",
        "The merger of the two queues is next.",
    }
    for bundle in (here, elsewhere):
        (decision,) = section(bundle, "decision_ledger")
        assert "needs a review" in decision["text"]
        assert [section(bundle, name) for name in ("rules", "task_state")] == [[], []]
        assert bundle["provenance"]["hidden"] > 0
        assert bundle["provenance"]["filters"]["sensitivity_allowed"] == ["none", "low"]


async def test_a_public_prompt_has_no_preferences(client: httpx.AsyncClient, shown: None) -> None:
    public = await ask(client, "GET", "/api/v1/prompt", params={"channel": "public"})
    own = await ask(client, "GET", "/api/v1/prompt")

    assert "Northwind" not in str(public)
    assert f"User prefers that {HIDDEN} waits (private)" in own["text"]


async def test_the_owner_sees_them_in_private(client: httpx.AsyncClient, history: None) -> None:
    own = await build(client, query_text=QUESTION, session_id="next")
    other = await build(client, query_text=QUESTION, session_id="next", user_id="bob")

    assert len(section(own, "decision_ledger")) == 3
    assert ["(private)" in item["text"] for item in section(other, "decision_ledger")] == [
        False,
        False,
    ]
    assert "waits (private)" in str(section(own, "retrieved_evidence"))
    assert "Never speak of" in section(own, "rules")[0]["text"]
    assert "(private)" not in str(other["sections"])
