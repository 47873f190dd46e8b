"""`memoryd bench … --bundle`: how much of the known evidence stands in a bundle."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from memoryd.doors import bench, bench_bundle, bench_data, bench_score
from memoryd.doors.bench_data import Turn
from memoryd.doors.bench_score import Measured

TALK = {
    "sample_id": "conv-7",
    "conversation": {
        "session_1_date_time": "9:05 am on 2 June, 2023",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a heron."},
            {"speaker": "Bob", "dia_id": "D1:2", "text": "The ferry was late again."},
        ],
        "session_2_date_time": "12:30 pm on 8 July, 2023",
        "session_2": [
            {"speaker": "Ann", "dia_id": "D2:1", "text": "My heron caught a <memory> card."},
            *(
                {"speaker": "Bob", "dia_id": f"D2:{number}", "text": f"A heron {number}. " * 30}
                for number in range(2, 12)
            ),
        ],
    },
    "qa": [
        {"question": "Who adopted a heron?", "evidence": ["D1:1"], "category": 4},
        {"question": "What did the heron do?", "evidence": ["D1:1", "D2:1"], "category": 1},
    ],
}


def turn(turn_id: str, text: str) -> Turn:
    return Turn(turn_id, "s", "Ann", "human", datetime(2023, 6, 2, tzinfo=UTC), text)


SAID = {"evt_a": turn("a", "All of it."), "evt_b": turn("b", "Much, much more.")}


def bundle(*items: tuple[str, list[str]], section: str = "retrieved_evidence") -> dict[str, Any]:
    shown = [{"text": text, "refs": refs} for text, refs in items]
    return {"sections": [{"name": "rules", "items": []}, {"name": section, "items": shown}]}


def test_evidence_is_what_the_items_cite() -> None:
    found = bundle(("[1, human Ann]\nAll of it.", ["chk_1", "evt_a"]))

    measures = bench_bundle.held(found, frozenset("ab"), SAID)

    assert measures == {"evidence": 0.5, "any": 1, "all": 0, "whole": 0.5}
    assert bench_bundle.held(found, frozenset("a"), SAID)["all"] == 1
    assert bench_bundle.held(found, frozenset("b"), SAID)["any"] == 0


def test_a_part_of_a_message_is_cited_and_not_whole() -> None:
    found = bundle(("[1, human Ann]\nMuch,", ["chk_1", "evt_b"]), section="recent_window")

    measures = bench_bundle.held(found, frozenset("b"), SAID)

    assert (measures["evidence"], measures["whole"]) == (1, 0)


def test_what_a_decision_refers_to_is_not_in_the_bundle() -> None:
    found = bundle(("[dec_1]\nWe do it.", ["evt_a"]), section="decision_ledger")

    assert bench_bundle.held(found, frozenset("a"), SAID)["evidence"] == 0


def test_a_report_of_bundles_says_what_they_used() -> None:
    measured = [
        Measured("a", 2.0, {"evidence": share}, tokens)
        for share, tokens in ((1.0, 300), (0.0, 100), (1.0, 350))
    ]

    shown = bench_score.report(measured)

    assert shown.tokens == {"mean": 250, "p50": 300, "p95": 350}
    assert shown.standard_errors["evidence"] == pytest.approx(1 / 3)
    assert "tokens mean 250, p50 300, p95 350" in bench_score.table(shown)
    assert "bundle mean 2.0 ms" in bench_score.table(shown)


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([TALK]))
    return path


async def test_a_question_is_put_to_the_real_endpoint_within_its_budget(
    client: httpx.AsyncClient, locomo: Path
) -> None:
    (conversation,) = bench_data.locomo(locomo)
    said = await bench.load(client, conversation)

    wide = await bench_bundle.asking(4_000, "recall")(client, conversation, said)
    narrow = await bench_bundle.asking(200, "recall")(client, conversation, said)

    assert [one.category for one in wide] == ["single-hop", "multi-hop"]
    assert [one.measures["whole"] for one in wide] == [1, 1]
    assert all(0 < (one.tokens or 0) <= 200 for one in narrow)
    assert all((one.tokens or 0) > 1_000 for one in wide)
