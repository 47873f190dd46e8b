"""A6, Multi-Agent Handoff: a packet within 6,000 tokens that carries nothing private."""

import httpx

import make
from memoryd.core import tokens
from test_bundle import build, record, section
from test_handoffs import hand_over

PRIVATE = "Ada's salary is confidential"


async def test_the_packet_is_small_complete_and_free_of_private_things(
    client: httpx.AsyncClient,
) -> None:
    for kind, content in (
        ("message", {"text": f"{PRIVATE}: the parser bonus"}),
        ("decision", {"decision": f"{PRIVATE}, so the parser decision stays here"}),
        ("task_update", {"title": f"{PRIVATE}: parser task"}),
    ):
        await record(client, kind=kind, content=content)
    task = await record(
        client, kind="task_update", content={"title": "Finish the parser"}, channel="team"
    )
    await record(client, kind="decision", content={"decision": "Parse by hand."}, channel="agent")
    events = [
        make.body(channel="team", content={"text": f"Parser note {number}: " + "tokens in, " * 80})
        for number in range(100)
    ]
    await client.post("/api/v1/events/batch", json={"events": events})

    handoff = await hand_over(client, query_text="parser notes and bonus")
    (item,) = section(await build(client, agent_id="tester"), "handoff_packet")

    assert tokens.count(handoff["packet"]) <= 6_000
    assert item["tokens"] <= 6_000
    for said in ("Please test it.", "Finish the parser", "Parse by hand.", "Parser note"):
        assert said in item["text"]
    assert PRIVATE not in item["text"]
    assert task["event_id"] in item["refs"]
