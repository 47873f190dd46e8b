"""What is said twice takes room once, and nothing else is taken for a repetition."""

from typing import Any

import httpx
import pytest

import conftest
import make
from memoryd.core import db, item, pack
from memoryd.core.item import Item
from test_bundle import build, record, section

NEXT = {"session_id": "next"}
LIKES = (
    "{} prefers tea without sugar in the morning, answers messages after ten, wants reviews in "
    "writing, dislikes long meetings, and likes to be told early when a plan changes, we are told."
)
MOVED = (
    "As agreed in the call with the whole team, the invoices of the harbour office are paid to the "
    "account of {} from the first of May on, and the treasurer has to be told of it the day before."
)


def evidence(bundle: dict[str, Any]) -> list[str]:
    return [one["text"] for one in section(bundle, "retrieved_evidence")]


async def test_what_differs_in_a_name_is_told_of_each(client: httpx.AsyncClient) -> None:
    names = ("Anna", "Boris", "Chen", "Dalia", "Emeka")
    for name in names:
        await record(client, content={"text": LIKES.format(name)})
    told = "\n".join(evidence(await build(client, query_text="who wants tea?", **NEXT)))

    assert [name in told for name in names] == [True] * 5


async def test_nobody_else_s_words_replace_those_of_a_person(client: httpx.AsyncClient) -> None:
    """A page that a tool read says nearly the same, later."""
    await record(client, content={"text": MOVED.format("the northern bank")}, session_id="s1")
    page = {"kind": "tool_result", "actor": {"type": "tool", "id": "web"}, "channel": "public"}
    text = MOVED.format("the eastern shop")
    await record(client, content={"tool": "web", "text": text}, session_id="s2", **page)
    told = evidence(await build(client, query_text="who pays the invoices?", **NEXT))

    assert sorted("northern" in text for text in told) == [False, True]


async def test_of_the_same_words_a_person_s_own_are_shown(client: httpx.AsyncClient) -> None:
    text = MOVED.format("the northern bank")
    await record(client, content={"text": text})
    await record(client, content={"text": text}, actor={"type": "agent", "id": "scribe"})
    (told,) = evidence(await build(client, query_text="who pays the invoices?", **NEXT))

    assert told.startswith("[1, human ada, ")


async def test_an_older_text_that_is_imported_later_replaces_nothing(
    client: httpx.AsyncClient,
) -> None:
    text = MOVED.format("the northern bank") + " Ask {}."
    for day, whom in (("2025-10-01", "the porter"), ("2019-01-01", "the warden")):
        await record(client, content={"text": text.format(whom)}, ts=f"{day}T12:00:00Z")
    (told,) = evidence(await build(client, query_text="whose account is it?", **NEXT))

    assert "Ask the porter." in told


def found(at: int, text: str, score: float) -> Item:
    head = "[0, human ada, 1 May 2026]\n"
    parts = {"semantic": score, "recency": at / 100}
    place = {"position": at, "ordinals": (0,), "refs": (f"evt_{at}",)}
    given: dict[str, Any] = {"type": "chunk", "score": score, "parts": parts, **place}
    return item.make((head, text), **given)


def test_what_is_said_again_stands_in_the_place_of_the_best() -> None:
    """The copy stands in a talk about something else, and so was found far below."""
    others = [found(at, f"Something else, number {at}.", 0.6) for at in range(2, 12)]
    said = [found(1, MOVED.format("a bank"), 0.9), *others, found(50, MOVED.format("a bank"), 0.2)]
    shown, repeated = pack.distinct(said)
    first = pack.spread(shown)[0]

    assert (first.position, first.score) == (50, 0.9)
    assert first.parts["semantic"] == 0.9
    assert [one.position for one in repeated] == [1]


@pytest.mark.parametrize("budget", [6_000, 20_000, 32_000, 65_000])
async def test_a_question_takes_nothing_from_the_conversation(
    client: httpx.AsyncClient, budget: int
) -> None:
    """What it finds there need not be found again, and "Yes." elsewhere is another answer."""
    for number in range(60):
        about = "the insurance ends in June" if number == 40 else f"a boat of {number} feet"
        said = f"Turn {number} of our talk is about {about}, " + "and so on, " * 15
        await record(client, content={"text": said})
    await record(client, content={"text": "Yes."})
    await record(client, content={"text": "Yes."}, session_id="s2", user_id="default")
    silent = await build(client, max_tokens=budget)
    asked = await build(client, max_tokens=budget, query_text="when does the insurance end? Yes.")

    window = section(asked, "recent_window")
    assert window == section(silent, "recent_window")
    assert len(window) == 61
    shown = {one["refs"][-1] for one in window}
    again = {one["refs"][-1] for one in section(asked, "retrieved_evidence")}
    assert not shown & again


async def test_what_stands_in_a_cut_turn_is_not_found_again(client: httpx.AsyncClient) -> None:
    lines = [f"Berth {number} is for boats of {number * 7} feet." for number in range(1_500)]
    await record(client, content={"text": "\n".join(lines)})
    bundle = await build(client, query_text="which berth is for boats?", max_tokens=20_000)

    (turn,) = section(bundle, "recent_window")
    assert turn["text"].endswith(f"[cut here; the whole is in {turn['refs'][0]}]")
    told = "\n".join([turn["text"], *evidence(bundle)]).splitlines()
    berths = [line for line in told if line.startswith("Berth")]
    repeated = len(berths) - len(set(berths))
    assert repeated <= 40  # the chunk in which the turn is cut has lines of both
    duplicates = [one for one in bundle["omissions"] if one["reason"] == "duplicate"]
    assert sum(one["count"] for one in duplicates) > 3


async def test_what_a_packet_quotes_is_not_found_again(client: httpx.AsyncClient) -> None:
    text = MOVED.format("the northern bank")
    source = await record(client, content={"text": text}, channel="agent")
    packet = {"agent_id": "coder", "to_agent": "tester", "evidence": [source["event_id"]]}
    made = await client.post("/api/v1/handoffs", json=packet)
    assert made.status_code == 201, made.text
    asked = {"agent_id": "tester", "query_text": "who pays the invoices?", **NEXT}
    bundle = await build(client, **asked)

    assert str(bundle["sections"]).count("northern bank") == 1
    assert evidence(bundle) == []


async def test_a_cut_piece_names_what_can_be_opened(client: httpx.AsyncClient) -> None:
    text = "\n".join("crab " + "🦀🐙🐚🐡🦐🦑🦞" * 6 for _ in range(40))
    made = await record(client, kind="artifact", content={"text": text})
    asked = {"sections": ["retrieved_evidence"], "query_text": "crab", "max_tokens": 900, **NEXT}
    bundle = await build(client, **asked)
    opened = await client.get(f"/api/v1/references/{made['event_id']}")

    assert "[cut here; " in "".join(evidence(bundle))
    assert all(
        text.endswith(f"the whole is in {made['event_id']}]")
        for text in evidence(bundle)
        if "[cut here; " in text
    )
    assert opened.status_code == 200


async def test_an_output_is_said_to_be_shown_in_part_where_it_is(
    client: httpx.AsyncClient,
) -> None:
    """Whether there is an artifact of it or not."""
    short = {"name": "tides.txt", "text": "The tide turns at noon."}
    await record(client, kind="artifact", content=short)
    log = "\n".join(f"{number}: the tide gauge sends {number} cm" for number in range(400))
    long = await record(client, kind="tool_result", content={"tool": "bash", "text": log})
    only = {"sections": ["retrieved_evidence"], **NEXT}
    whole = await build(client, query_text="when does the tide turn?", max_tokens=65_000, **only)
    small = await build(client, query_text="what does the tide gauge send?", max_tokens=900, **only)

    assert len(log) < 65_536
    assert not [one for one in whole["omissions"] if one["reason"] == "truncated_tool_output"]
    (partly,) = [one for one in small["omissions"] if one["reason"] == "truncated_tool_output"]
    assert partly == {
        "reason": "truncated_tool_output",
        "candidates": [long["event_id"]],
        "count": 1,
    }


async def test_rules_that_are_cut_use_the_room_that_there_is(client: httpx.AsyncClient) -> None:
    rules = "\n".join(f"- Rule {number} is about deployments." for number in range(200))
    answer = await client.put("/api/v1/views/rules.project", json={"text": rules})
    assert answer.status_code == 200, answer.text
    for budget in (200, 400, 800):
        bundle = await build(client, max_tokens=budget, sections=["rules"])

        free = budget - pack.reserve(budget) - bundle["token_used_est"]
        assert 0 <= free <= 20  # less than two lines


async def test_the_first_bundle_of_all_is_built_and_replayed(database: db.Target) -> None:
    """Before anything was recorded, or any tenant was there."""
    async with conftest.running(database) as client:
        built = await client.post("/api/v1/acb/build", json={"session_id": "s1"})
        again = await client.get(f"/api/v1/acb/{built.json().get('acb_id')}")
        recorded = await client.post("/api/v1/events", json=make.body())

    assert (built.status_code, recorded.status_code) == (200, 201)
    assert again.content == built.content
