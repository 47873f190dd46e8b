"""More than a bundle reads: what has room is shown, and what was not even counted is said."""

from collections.abc import Sequence
from typing import Any

import httpx
import pytest

import make
from memoryd.core import context
from memoryd.core.pack import CAPS
from memoryd.doors import bundle_lines
from test_bundle import build, record, section
from wire import decide

WINDOW = {"sections": ["recent_window"]}
LEDGER = {"sections": ["decision_ledger"]}
BOT = {"type": "agent", "id": "bot"}


async def record_all(client: httpx.AsyncClient, bodies: Sequence[dict[str, Any]]) -> list[str]:
    ids: list[str] = []
    for start in range(0, len(bodies), 500):
        events = {"events": bodies[start : start + 500]}
        answer = await client.post("/api/v1/events/batch", json=events)
        assert answer.status_code == 201, answer.text
        ids += [one["event_id"] for one in answer.json()["events"]]
    return ids


def said(count: int, text: str = "Turn {} is over.") -> list[dict[str, Any]]:
    return [make.body(content={"text": text.replace("{}", str(number))}) for number in range(count)]


def decisions(texts: Sequence[str]) -> list[dict[str, Any]]:
    return [make.body(kind="decision", content={"decision": text}) for text in texts]


def left_out(bundle: dict[str, Any], reason: str = "over_budget") -> tuple[int, bool]:
    """How many, and whether there are more."""
    (found,) = [one for one in bundle["omissions"] if one["reason"] == reason]
    return found["count"], found.get("more", False)


def used(bundle: dict[str, Any]) -> int:
    return sum(int(part["token_est"]) for part in bundle["sections"])


async def test_long_outputs_take_no_room_from_the_conversation(client: httpx.AsyncClient) -> None:
    """Each stands there in a line: what was asked before them is there too."""
    instructions = [f"Instruction {number}: keep the API." for number in range(20)]
    await record_all(client, [make.body(content={"text": text}) for text in instructions])
    output = "\n".join(f"{number}: test_{number} passed in {number} ms" for number in range(1_500))
    outputs = []
    for number in range(8):
        content = {"tool": "bash", "text": output}
        outputs.append((await record(client, kind="tool_result", content=content))["event_id"])
        await record(client, actor=BOT, content={"text": f"Run {number} is green."})
    bundle = await build(client, **WINDOW)
    again = await client.get(f"/api/v1/acb/{bundle['acb_id']}")

    shown = [one["text"] for one in section(bundle, "recent_window")]
    assert [text.partition("\n")[2] for text in shown[:20]] == instructions
    assert sum("[MemoryRef: " in text for text in shown) == 8
    assert len(shown) == 36
    (partly,) = bundle["omissions"]
    assert partly == {"reason": "truncated_tool_output", "candidates": outputs, "count": 8}
    assert again.json() == bundle


async def test_an_output_of_few_tokens_is_shown_whole_however_many_its_chunks(
    client: httpx.AsyncClient,
) -> None:
    text = "\n".join("=" * 900 for _ in range(30))
    made = await record(client, kind="tool_result", content={"tool": "bash", "text": text})
    bundle = await build(client, **WINDOW)
    again = await client.get(f"/api/v1/acb/{bundle['acb_id']}")

    assert len(made["chunk_ids"]) == 30
    assert [one["text"] for one in section(bundle, "recent_window")] == [
        f"[human ada, derived from tool]\n{text}"
    ]
    assert again.json() == bundle


async def test_a_conversation_of_short_turns_fills_the_window(client: httpx.AsyncClient) -> None:
    await record_all(client, said(1_200))
    bundle = await build(client, **WINDOW)

    shown = section(bundle, "recent_window")
    assert CAPS["recent_window"] - 20 < used(bundle) <= CAPS["recent_window"]
    assert len(shown) > 600
    assert left_out(bundle) == (1_200 - len(shown), False)


@pytest.mark.parametrize("budget", [600, 4_000, 65_000])
async def test_a_conversation_is_shown_without_holes(
    client: httpx.AsyncClient, budget: int
) -> None:
    """Where a turn has no room, the shorter ones before it are not shown either."""
    long = "harbour " * 440
    ids = await record_all(client, said(3) + said(24, f"{{}} {long}") + said(3))
    bundle = await build(client, max_tokens=budget, query_text="which harbour?")

    shown = [one["refs"][0] for one in section(bundle, "recent_window")]
    assert 3 <= len(shown) < 24
    assert shown == ids[-len(shown) :]


async def test_what_lies_further_back_is_not_counted_and_that_is_said(
    client: httpx.AsyncClient,
) -> None:
    long = "This turn is number {} and has some more to say about boats. " * 12
    ids = await record_all(client, said(300, long))
    bundle = await build(client, **WINDOW)
    count, more = left_out(bundle)

    shown = section(bundle, "recent_window")
    assert shown[-1]["refs"] == [ids[-1]]
    assert more
    assert 20 < count < 300 - len(shown)


async def test_the_end_of_what_is_looked_at_is_not_taken_for_the_end_of_the_conversation(
    client: httpx.AsyncClient,
) -> None:
    """With as many turns as are read at a time there are no more; with one more there are."""
    long = "word " * 200
    at_once = 2 * context.TURN_TOKENS // 200
    await record_all(client, said(at_once, f"{{}} {long}"))
    assert not left_out(await build(client, **WINDOW))[1]
    await record(client, content={"text": "one more"})

    assert left_out(await build(client, **WINDOW))[1]


async def test_repetitions_take_no_place_from_what_is_said_once(client: httpx.AsyncClient) -> None:
    distinct = [f"Harbour rule number {number}." for number in range(5)]
    await record_all(client, decisions([*distinct, *["The same again."] * 300]))
    await record_all(
        client,
        [make.body(kind="task_update", content={"title": "Mend the net"}) for _ in range(400)],
    )
    await record(client, kind="task_update", content={"title": "Paint the boat"}, session_id="s2")
    bundle = await build(client, sections=["decision_ledger", "task_state"])

    told = [one["text"].split("\n")[1] for one in section(bundle, "decision_ledger")]
    assert told == ["The same again.", *reversed(distinct)]
    tasks = [one["text"].split("\n")[1] for one in section(bundle, "task_state")]
    assert tasks == ["Mend the net", "Paint the boat"]


async def test_a_ledger_that_was_not_read_to_its_end_says_so(client: httpx.AsyncClient) -> None:
    _, ledger, _ = context.MOST
    await record_all(client, decisions([f"Rule {number}." for number in range(ledger)]))
    all_read = await build(client, **LEDGER)
    await decide(client, decision="One rule more.")
    not_all = await build(client, **LEDGER)

    shown = len(section(all_read, "decision_ledger"))
    assert left_out(all_read) == (ledger - shown, False)
    assert left_out(not_all) == (ledger - len(section(not_all, "decision_ledger")), True)


@pytest.mark.parametrize("count", [40, 200])
async def test_a_past_bundle_reads_what_the_present_one_read(
    client: httpx.AsyncClient, count: int
) -> None:
    """However much was superseded and done since."""
    events = await record_all(client, decisions([f"Rule {number}." for number in range(count)]))
    todo = [
        make.body(
            kind="task_update", session_id=f"s{number % 3}", content={"title": f"Do {number}"}
        )
        for number in range(2 * count)
    ]
    tasks = [f"tsk_{made[4:]}" for made in await record_all(client, todo)]
    asked = {"sections": ["task_state", "decision_ledger"], "now": "2026-05-01T12:00:00Z"}
    before = await build(client, **asked)
    for event_id in events[-9:]:
        await decide(client, decision="Another rule.", supersedes=f"dec_{event_id[4:]}")
    done = [
        make.body(kind="task_update", content={"task_id": task_id, "status": status})
        for task_id, status in zip(tasks[-12:], ["done", "doing"] * 6, strict=True)
    ]
    await record_all(client, done)
    then = await build(client, **asked, as_of=before["provenance"]["position"])

    for name in ("sections", "omissions"):
        assert then[name] == before[name]
    assert then["provenance"]["hidden"] == before["provenance"]["hidden"] == 0


@pytest.mark.parametrize("blank", ["", "  \n", "\u3000\n\t"])
async def test_a_text_that_was_emptied_takes_no_room(client: httpx.AsyncClient, blank: str) -> None:
    for text in ("Ask before deleting.", blank):
        answer = await client.put("/api/v1/views/rules.project", json={"text": text})
        assert answer.status_code == 200, answer.text

    assert (await build(client))["token_used_est"] == 0


async def test_found_decisions_stand_in_the_ledger_in_the_order_of_the_evidence(
    client: httpx.AsyncClient,
) -> None:
    """Which is spread over sessions."""
    for number in range(12):
        text = f"The harbour gate closes at {number}. " + "Nobody minds. " * number
        decision = {"decision": text}
        await record(client, kind="decision", session_id=f"s{number // 6}", content=decision)
    asked = {"query_text": "when does the harbour gate close?", "intent": "recall"}
    evidence = section(
        await build(client, **asked, sections=["retrieved_evidence"]), "retrieved_evidence"
    )
    ledger = section(await build(client, **asked, **LEDGER), "decision_ledger")

    assert len(evidence) == 12
    assert [one["refs"][0] for one in ledger] == [one["refs"][-1] for one in evidence]


def test_at_a_terminal_a_count_that_is_not_all_has_a_plus() -> None:
    left = {"reason": "over_budget", "section": "recent_window", "candidates": ["evt_1"]}
    lines = [
        list(bundle_lines._omissions([{**left, "count": 5, **more}], 80))[-1]
        for more in ({}, {"more": True})
    ]

    assert lines == [
        "  over_budget     5 recent_window      evt_1",
        "  over_budget     5+recent_window      evt_1",
    ]
