"""A6, Multi-Agent Handoff: a packet within 6,000 tokens that carries nothing private."""

import httpx
import pytest

import make
from memoryd.core import tokens
from test_bundle import build, record, section
from test_handoffs import hand_over

PRIVATE = "Ada's salary is confidential"


@pytest.mark.parametrize("channel", ["agent", "team"])
async def test_the_packet_is_small_complete_and_free_of_private_things(
    client: httpx.AsyncClient, channel: str
) -> None:
    hidden = []
    for given in ({}, {"channel": "team", "sensitivity": "high"}):
        for kind, content in (
            ("message", {"text": f"{PRIVATE}: the parser bonus"}),
            ("decision", {"decision": f"{PRIVATE}, so the parser decision stays here"}),
            ("task_update", {"title": f"{PRIVATE}: parser task"}),
        ):
            hidden.append((await record(client, kind=kind, content=content, **given))["event_id"])
    task = await record(
        client, kind="task_update", content={"title": "Finish the parser"}, channel="team"
    )
    await record(client, kind="decision", content={"decision": "Parse by hand."}, channel="agent")
    events = [
        make.body(channel="team", content={"text": f"Parser note {number}: " + "tokens in, " * 80})
        for number in range(100)
    ]
    await client.post("/api/v1/events/batch", json={"events": events})

    handoff = await hand_over(client, query_text="parser notes and bonus", channel=channel)
    (item,) = section(await build(client, agent_id="tester"), "handoff_packet")

    assert 4_000 < tokens.count(handoff["packet"]) <= 6_000
    assert item["tokens"] <= 6_000
    for said in ("Please test it.", "Finish the parser", "Parse by hand.", "Parser note"):
        assert said in item["text"]
    assert PRIVATE not in str([handoff, item])
    assert not {*hidden} & {*item["refs"]}
    assert task["event_id"] in item["refs"]
