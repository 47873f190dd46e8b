"""What one bundle has that another has not, and why: by chunks, questions, readers and sessions."""

from dataclasses import asdict
from typing import Any

import httpx

import make
from memoryd.core.model import Reader
from memoryd.core.receipt import Asked, Bundle, Receipt
from memoryd.doors import bundle_lines
from memoryd.ledger.difference import Difference, difference
from test_bundle import build, record

Side = tuple[Receipt, Bundle]
ADA = Reader(tenant_id="t", user_id="ada")


def side(
    *pieces: tuple[int, list[int], int | None],
    question: str = "boats?",
    reader: Reader = ADA,
    omitted: int = 0,
    section: str = "retrieved_evidence",
    kind: str = "chunk",
    session_id: str = "s1",
) -> Side:
    """A bundle of pieces (position, chunks, where cut), and how many it left out unnamed."""
    items = [[kind, position, 9, chunks, cut] for position, chunks, cut in pieces]
    shown = [
        {
            "text": f"[{number}, human ada]\nevent {position} {chunks} {cut}",
            "refs": [*(f"chk_{position}_{at}" for at in chunks), f"evt_{position}"],
        }
        for number, (position, chunks, cut) in enumerate(pieces, 1)
    ]
    over = {"reason": "over_budget", "section": section, "candidates": [], "count": omitted}
    asked = Asked(session_id=session_id, now=make.NOW, query_text=question)
    record = {"sections": {section: {"items": items}}}
    receipt = Receipt(acb_id="acb_1", reader=reader, asked=asked, position=9, record=record)
    omissions = [over] if omitted else []
    return receipt, {"sections": [{"name": section, "items": shown}], "omissions": omissions}


def told(found: Difference) -> dict[str, list[tuple[list[str], str]]]:
    names = ("came_in", "fell_out", "changed")
    return {name: [(one.refs[:-1], one.why) for one in getattr(found, name)] for name in names}


def test_chunks_of_one_event_are_told_apart() -> None:
    new, old = side((1, [0], None), (1, [4], None)), side((1, [0], None), (1, [7], None))
    found = difference(new, old)

    assert told(found) == {
        "came_in": [(["chk_1_4"], "outranked")],
        "fell_out": [(["chk_1_7"], "outranked")],
        "changed": [],
    }
    assert found.kept == 1


def test_an_item_that_grew_by_a_chunk_is_changed() -> None:
    grown, small = side((1, [0, 1], None)), side((1, [0], None))

    for new, old, refs in ((grown, small, ["chk_1_0", "chk_1_1"]), (small, grown, ["chk_1_0"])):
        changed = [(refs, "other_chunks")]
        assert told(difference(new, old)) == {"came_in": [], "fell_out": [], "changed": changed}


def test_items_that_were_joined_are_one_that_changed() -> None:
    found = difference(side((1, [0, 1, 2], None)), side((1, [0], None), (1, [2], None)))

    joined = ["chk_1_0", "chk_1_1", "chk_1_2"]
    assert told(found) == {"came_in": [], "fell_out": [], "changed": [(joined, "other_chunks")]}
    assert found.kept == 1


def test_what_is_cut_elsewhere_is_changed() -> None:
    found = difference(side((1, [0], 40)), side((2, [0], None), (1, [0], None)))

    assert told(found)["changed"] == [(["chk_1_0"], "cut")]


def test_what_another_question_never_considered_is_not_over_budget() -> None:
    new = side((2, [0], None), question="cats?", omitted=30)
    same = side((2, [0], None), omitted=30)
    old = side((1, [0], None))

    assert told(difference(new, old))["fell_out"] == [(["chk_1_0"], "another_question")]
    assert told(difference(same, old))["fell_out"] == [(["chk_1_0"], "over_budget")]


def test_what_a_reader_may_not_see_is_said_to_be_for_another() -> None:
    readers = {
        "bob": Reader(tenant_id="t", user_id="bob"),
        "public": Reader(tenant_id="t", user_id="ada", channel="public"),
    }
    old = side((1, [0], None))

    for reader in readers.values():
        gone = difference(side(reader=reader), old).fell_out
        assert [one.why for one in gone] == ["another_reader"]
    back = difference(old, side(reader=readers["public"])).fell_out
    wider = difference(side(), side((1, [0], None), reader=readers["public"])).fell_out
    assert (back, [one.why for one in wider]) == ([], ["outranked"])


async def test_bundles_of_two_sessions_and_two_agents_say_so(client: httpx.AsyncClient) -> None:
    await record(client, content={"text": "We ship on Friday."})
    handed = {"to_agent": "tester", "agent_id": "coder", "note": "Test it."}
    await client.post("/api/v1/handoffs", json=handed)
    old = await build(client, agent_id="tester")
    there = await build(client, agent_id="tester", session_id="s2")
    other = await build(client, agent_id="scribe")

    assert await fell_out(client, there, old) == [("recent_window", "another_session")]
    assert await fell_out(client, other, old) == [("handoff_packet", "another_reader")]


async def fell_out(client: httpx.AsyncClient, *both: dict[str, Any]) -> list[tuple[str, str]]:
    new, old = (one["acb_id"] for one in both)
    answer = await client.post(f"/api/v1/acb/{new}/diff", json={"against": old})
    return [(one["section"], one["why"]) for one in answer.json()["fell_out"]]


def test_a_terminal_shows_what_changed_too() -> None:
    found = asdict(difference(side((1, [0, 1], None)), side((1, [0], None))))
    lines = bundle_lines.difference("acb_new", "acb_old", found, 80)

    assert "~ retrieved_evidence  other_chunks          evt_1" in lines
