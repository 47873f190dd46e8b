"""Handoffs over real HTTP: the packet, who sees it, and how it is answered."""

import asyncio
import json
from datetime import datetime
from typing import Any

import httpx
import pytest

import make
from conftest import MakeKey, asking
from memoryd.core import render, tokens
from test_bundle import build, record, section
from wire import JSON, assert_problem


async def hand_over(client: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    asked = {"to_agent": "tester", "agent_id": "coder", "note": "Please test it.", **given}
    answer = await client.post("/api/v1/handoffs", json=asked)
    assert answer.status_code == 201, answer.text
    handoff: dict[str, Any] = answer.json()
    return handoff


async def test_the_receivers_next_bundle_has_the_packet(client: httpx.AsyncClient) -> None:
    await record(client, kind="task_update", content={"title": "Test it"}, channel="team")
    await record(client, kind="decision", content={"decision": "Use pytest."}, channel="team")
    cited = await record(client, content={"text": "It failed on Friday."}, channel="agent")
    handoff = await hand_over(client, evidence=[cited["event_id"]])

    (packet,) = section(await build(client, agent_id="tester"), "handoff_packet")

    assert packet["handoff_id"] == handoff["handoff_id"]
    for said in ("Please test it.", "Test it", "Use pytest.", "It failed on Friday."):
        assert said in packet["text"]
    assert cited["event_id"] in packet["refs"]
    assert section(await build(client, agent_id="coder"), "handoff_packet") == []


async def test_nothing_private_comes_along(client: httpx.AsyncClient) -> None:
    await record(client, kind="task_update", content={"title": "private plan"})
    await record(client, kind="decision", content={"decision": "private decision"})
    await record(client, content={"text": "high rocket"}, channel="team", sensitivity="high")
    handoff = await hand_over(client, query_text="private rocket plan decision")

    assert handoff["packet"] == "Please test it."


async def test_private_evidence_is_refused_by_name(client: httpx.AsyncClient) -> None:
    private = await record(client)
    asked = {"to_agent": "tester", "evidence": [private["event_id"]]}
    answer = await client.post("/api/v1/handoffs", json=asked)

    assert answer.status_code == 422
    assert answer.json()["field"] == "evidence.0"


async def test_what_the_sender_names_has_its_room_before_what_was_not_asked_for(
    client: httpx.AsyncClient,
) -> None:
    for number in range(30):
        content = {"title": f"Task {number}: " + "scrub the deck " * 10}
        await record(client, kind="task_update", content=content, channel="team")
    text = "It failed on Friday: " + "the mast fell on the deck. " * 20
    cited = await record(client, content={"text": text}, channel="agent")
    handoff = await hand_over(client, evidence=[cited["event_id"]], max_tokens=400)

    assert "scrub the deck" in handoff["packet"].partition(text.strip())[2]
    assert tokens.count(handoff["packet"]) <= 400
    assert handoff["left_out"] == []


async def test_evidence_that_was_named_and_found_is_numbered_on(client: httpx.AsyncClient) -> None:
    named = await record(client, content={"text": "It failed on Friday."}, channel="agent")
    await record(client, content={"text": "The zanzibar mast is new."}, channel="agent")
    await record(client, kind="decision", content={"decision": "Sail."}, channel="agent")
    handoff = await hand_over(client, evidence=[named["event_id"]], query_text="zanzibar mast")

    heads = [line.partition(",")[0] for line in handoff["packet"].splitlines() if line[:1] == "["]
    assert [head for head in heads if head[1].isdigit()] == ["[1", "[2"]
    titles = ["Please test it.", "Evidence:", "Active decisions on", "Also found:"]
    places = [handoff["packet"].index(title) for title in titles]
    assert places == sorted(places)


async def test_named_evidence_without_room_is_said(client: httpx.AsyncClient) -> None:
    events = [
        await record(client, content={"text": f"Ship {n} " + "sails " * 130}, channel="agent")
        for n in range(4)
    ]
    cited = [one["event_id"] for one in events]
    handoff = await hand_over(client, evidence=cited, max_tokens=500, idempotency_key="k")
    again = await hand_over(client, evidence=cited, max_tokens=500, idempotency_key="k")

    assert handoff["left_out"] == [one for one in cited if one not in handoff["refs"]]
    assert cited[0] in handoff["refs"] and cited[3] in handoff["left_out"]
    assert again == handoff


async def test_of_long_named_events_the_beginnings_come_first(client: httpx.AsyncClient) -> None:
    """Short pieces at the end of one would fit where its long beginning does not."""
    texts = [
        f"Log {name} begins. " + f"{name} ran well. " * 50 + f"\n\n{name} ended."
        for name in ("alpha", "beta", "gamma")
    ]
    events = [await record(client, content={"text": text}, channel="agent") for text in texts]
    cited = [one["event_id"] for one in events]
    packets = {
        size: await hand_over(client, evidence=cited, max_tokens=size)
        for size in range(200, 1_300, 50)
    }

    for size, packet in packets.items():
        shown = [one for one in cited if one not in packet["left_out"]]
        said = packet["packet"]
        assert tokens.count(said) <= size
        begun = [name for name in ("alpha", "beta", "gamma") if f"Log {name} begins" in said]
        assert cited[: len(shown)] == shown and len(begun) == len(shown)
        assert {*begun} >= {name for name in ("alpha", "beta", "gamma") if f"{name} ended" in said}
    assert len({len(packet["left_out"]) for packet in packets.values()}) == 4


async def test_named_evidence_that_is_in_the_ledger_is_said_once(
    client: httpx.AsyncClient,
) -> None:
    content = {"decision": "Use pytest."}
    decided = await record(client, kind="decision", content=content, channel="team")
    handoff = await hand_over(client, evidence=[decided["event_id"]])

    assert handoff["packet"].count("Use pytest.") == 1 and "Active decisions" in handoff["packet"]
    assert (handoff["refs"], handoff["left_out"]) == ([decided["event_id"]], [])


async def test_a_packet_says_on_which_day_its_tasks_are_open(client: httpx.AsyncClient) -> None:
    await record(client, kind="task_update", content={"title": "Test it"}, channel="team")
    await record(client, kind="decision", content={"decision": "Use pytest."}, channel="team")
    handoff = await hand_over(client)

    today = render.day(datetime.fromisoformat(handoff["ts"]))
    for title in (f"Open tasks on {today}:\n", f"Active decisions on {today}:\n"):
        assert title in handoff["packet"]


async def test_evidence_without_a_text_is_refused_for_that(client: httpx.AsyncClient) -> None:
    task = await record(client, kind="task_update", content={"title": "Sail"}, channel="agent")
    content = {"task_id": f"tsk_{task['event_id'][4:]}", "status": "doing"}
    moved = await record(client, kind="task_update", content=content, channel="agent")
    handed = await hand_over(client)
    for event_id in (moved["event_id"], handed["event_id"]):
        asked = {"to_agent": "tester", "evidence": [task["event_id"], event_id]}
        answer = await client.post("/api/v1/handoffs", json=asked)
        detail = assert_problem(answer, 422, "evidence.1")["detail"]

        assert f"{event_id!r} has no text to quote" in detail


@pytest.mark.parametrize("size", ["300", 300.0, True, 199, 6_001])
async def test_the_size_of_a_packet_is_a_whole_number(
    client: httpx.AsyncClient, size: object
) -> None:
    body = json.dumps({"to_agent": "tester", "max_tokens": size})
    answer = await client.post("/api/v1/handoffs", content=body, headers=JSON)

    assert_problem(answer, 422, "max_tokens")


async def test_a_packet_stays_within_its_tokens(client: httpx.AsyncClient) -> None:
    events = [
        make.body(channel="team", content={"text": f"Ship {number}: " + "sails on the sea " * 60})
        for number in range(60)
    ]
    await client.post("/api/v1/events/batch", json={"events": events})
    handoff = await hand_over(client, query_text="which ship sails?")

    assert 3_000 < tokens.count(handoff["packet"]) <= 6_000
    (packet,) = section(await build(client, agent_id="tester"), "handoff_packet")
    assert handoff["packet"] in packet["text"]
    assert packet["tokens"] <= 6_000


async def test_accepting_binds_it_to_a_session_and_rejecting_ends_it(
    client: httpx.AsyncClient,
) -> None:
    first, second = await hand_over(client), await hand_over(client)
    me = {"agent_id": "tester", "session_id": "s7"}
    accepted = await client.post(f"/api/v1/handoffs/{first['handoff_id']}/accept", json=me)
    rejected = await client.post(
        f"/api/v1/handoffs/{second['handoff_id']}/reject", json={**me, "note": "too busy"}
    )
    again = await client.post(f"/api/v1/handoffs/{first['handoff_id']}/reject", json=me)
    here = section(await build(client, agent_id="tester", session_id="s7"), "handoff_packet")
    elsewhere = section(await build(client, agent_id="tester"), "handoff_packet")

    assert accepted.json()["status"] == "accepted"
    assert (rejected.json()["status"], rejected.json()["answer"]) == ("rejected", "too busy")
    assert again.status_code == 409
    assert [one["handoff_id"] for one in here] == [first["handoff_id"]]
    assert elsewhere == []


async def test_accepting_needs_the_session_and_rejecting_does_not(
    client: httpx.AsyncClient,
) -> None:
    handoff = await hand_over(client)
    path = f"/api/v1/handoffs/{handoff['handoff_id']}"
    nowhere = await client.post(f"{path}/accept", json={"agent_id": "tester"})
    pending = section(await build(client, agent_id="tester"), "handoff_packet")
    rejected = await client.post(f"{path}/reject", json={"agent_id": "tester"})

    assert (nowhere.status_code, nowhere.json()["field"]) == (422, "session_id")
    assert [one["handoff_id"] for one in pending] == [handoff["handoff_id"]]
    assert rejected.json()["status"] == "rejected"


async def test_only_the_receiver_answers_and_only_one_answer_counts(
    client: httpx.AsyncClient,
) -> None:
    handoff = await hand_over(client)
    path = f"/api/v1/handoffs/{handoff['handoff_id']}"
    stranger = await client.post(f"{path}/accept", json={"agent_id": "someone", "session_id": "s"})
    both = await asyncio.gather(
        client.post(f"{path}/accept", json={"agent_id": "tester", "session_id": "s"}),
        client.post(f"{path}/reject", json={"agent_id": "tester"}),
    )
    public = await client.get(path, params={"channel": "public"})

    assert stranger.status_code == 404
    assert sorted(answer.status_code for answer in both) == [200, 409]
    assert public.status_code == 404


async def test_retrying_a_handoff_makes_no_second_one(client: httpx.AsyncClient) -> None:
    first = await hand_over(client, idempotency_key="h1")
    await record(client, kind="task_update", content={"title": "Another"}, channel="team")
    again = await hand_over(client, idempotency_key="h1")
    page = (await client.get("/api/v1/handoffs", params={"to_agent": "tester"})).json()

    assert again == first
    assert [one["handoff_id"] for one in page["handoffs"]] == [first["handoff_id"]]
    assert page["next"] is None


async def test_a_diff_says_what_came_in_and_what_fell_out(client: httpx.AsyncClient) -> None:
    old = await record(client, kind="decision", content={"decision": "Use MySQL."})
    await record(client)
    before = await build(client)
    supersedes = "dec_" + old["event_id"][4:]
    content = {"decision": "Use PostgreSQL.", "supersedes": supersedes}
    await record(client, kind="decision", content=content)
    after = await build(client)
    answer = await client.post(
        f"/api/v1/acb/{after['acb_id']}/diff", json={"against": before["acb_id"]}
    )

    found = answer.json()
    assert [(one["section"], one["why"]) for one in found["came_in"]] == [
        ("decision_ledger", "recorded_later")
    ]
    assert [(one["section"], one["why"]) for one in found["fell_out"]] == [
        ("decision_ledger", "replaced_or_closed")
    ]
    assert found["kept"] == 1


async def test_erasing_an_event_erases_the_packets_that_quote_it(
    client: httpx.AsyncClient, url: str, tenant: str, make_key: MakeKey
) -> None:
    """A task's title may come from another event than its status."""
    content = {"title": "Paint the zanzibar boat"}
    made = await record(
        client, kind="task_update", channel="agent", session_id="gone", content=content
    )
    task_id = f"tsk_{made['event_id'][4:]}"
    for change in ({"status": "doing"}, {"details": "in green"}):
        content = {"task_id": task_id, **change}
        await record(client, kind="task_update", channel="agent", session_id="s2", content=content)
    handed = await hand_over(client, session_id="s3")
    async with asking(url, await make_key(tenant, role="admin")) as admin:
        done = await admin.post("/api/v1/erasures", json={"session_id": "gone", "sweep": False})
    left = await client.get("/api/v1/handoffs")

    assert "zanzibar" in handed["packet"] and made["event_id"] in handed["refs"]
    assert done.status_code == 201
    assert left.json()["handoffs"] == []


async def test_a_packet_names_nothing_that_it_does_not_quote(client: httpx.AsyncClient) -> None:
    """What a decision refers to may be private, down to its id."""
    secret = await record(client, content={"text": "Between us: the boat leaks."})
    content = {"decision": "The boat stays in the harbour."}
    decided = await record(
        client, kind="decision", channel="agent", content=content, refs=[secret["event_id"]]
    )
    handed = await hand_over(client)

    assert "stays in the harbour" in handed["packet"]
    assert handed["refs"] == [decided["event_id"]]
