import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from memoryd.core import errors
from memoryd.doors import bench, bench_data, bench_score
from memoryd.doors.bench_score import Line, Measured
from memoryd.doors.cli import main

LOCOMO = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_10_date_time": "9:05 am on 2 June, 2023",
        "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "The ferry was late."}],
        "session_2_date_time": "12:30 pm on 8 May, 2023",
        "session_2": [
            {"speaker": "Ann", "dia_id": "D2:1", "text": "I adopted a heron."},
            {"speaker": "Bob", "dia_id": "D2:2", "text": "Look!", "blip_caption": "a red kite"},
        ],
        "session_3_date_time": "1:00 pm on 9 May, 2023",
        "session_3": [],
    },
    "qa": [
        {
            "question": "Who adopted a heron?",
            "answer": "a heron",
            "evidence": ["D2:1"],
            "category": 4,
        },
        {"question": "Both?", "evidence": ["D2:1; D2:2", "D10:1"], "category": 1},
        {"question": "Malformed?", "evidence": ["D:11:26", "D", "D99:1"], "category": 2},
        {"question": "Partly?", "evidence": ["D:11:26", "(D10:1)", "D99:1"], "category": 5},
        {"question": "None?", "evidence": [], "category": 3},
        {"question": "Absent?", "category": 3},
    ],
}
CHAT = [
    {
        "batch_number": 1,
        "time_anchor": None,
        "turns": [
            [
                {"role": "user", "id": 0, "content": "Plan it. ->-> 1,1", "index": "1,1"},
                {"role": "assistant", "id": 1, "content": "Here -> a plan."},
            ],
            [{"role": "user", "id": 2, "time_anchor": "March-15-2024", "content": "Thanks."}],
        ],
    },
    {"batch_number": 2, "turns": [[{"role": "user", "id": 3, "content": "More?"}]]},
]
PROBING = {
    "event_ordering": [
        {"question": "Nested?", "source_chat_ids": {"first": [0], "then": [[3], [99]]}},
        {"question": "Unknown?", "source_chat_ids": [99]},
    ],
    "abstention": [{"question": "Without?"}],
}


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([LOCOMO]))
    return path


@pytest.fixture
def beam(tmp_path: Path) -> Path:
    for number in (10, 9):
        chat = tmp_path / "beam" / str(number)
        (chat / "probing_questions").mkdir(parents=True)
        (chat / "chat.json").write_text(json.dumps(CHAT))
        (chat / "probing_questions/probing_questions.json").write_text(json.dumps(PROBING))
    return tmp_path / "beam"


def test_a_locomo_turn_has_its_speaker_session_time_and_caption(locomo: Path) -> None:
    (conversation,) = bench_data.locomo(locomo)

    assert conversation.name == "locomo-conv-1"
    assert [(turn.turn_id, turn.speaker, turn.role, turn.text) for turn in conversation.turns] == [
        ("D2:1", "Ann", "human", "I adopted a heron."),
        ("D2:2", "Bob", "human", "Look! a red kite"),
        ("D10:1", "Ann", "human", "The ferry was late."),
    ]
    assert [turn.session for turn in conversation.turns] == ["session-2", "session-2", "session-10"]
    assert conversation.turns[0].ts == datetime(2023, 5, 8, 12, 30, tzinfo=UTC)
    assert conversation.turns[0].ts < conversation.turns[1].ts < conversation.after
    assert conversation.after.date().isoformat() == "2023-06-02"


def test_malformed_evidence_is_read_where_it_can_be_and_skipped_otherwise(locomo: Path) -> None:
    (conversation,) = bench_data.locomo(locomo)

    assert [(asked.text, asked.category, set(asked.gold)) for asked in conversation.questions] == [
        ("Who adopted a heron?", "single-hop", {"D2:1"}),
        ("Both?", "multi-hop", {"D2:1", "D2:2", "D10:1"}),
        ("Partly?", "adversarial", {"D10:1"}),
    ]


def test_a_beam_message_has_its_role_group_and_the_date_last_named(beam: Path) -> None:
    nine, ten = bench_data.beam(beam)

    assert (nine.name, ten.name) == ("beam-9", "beam-10")
    assert [(turn.turn_id, turn.speaker, turn.role, turn.text) for turn in nine.turns] == [
        ("0", "user", "human", "Plan it."),
        ("1", "assistant", "agent", "Here -> a plan."),
        ("2", "user", "human", "Thanks."),
        ("3", "user", "human", "More?"),
    ]
    assert [turn.session for turn in nine.turns] == [
        *("session-0-0", "session-0-0", "session-0-1", "session-1-0")
    ]
    assert {turn.ts.date().isoformat() for turn in nine.turns} == {"2024-03-15"}
    assert [turn.ts for turn in nine.turns] == sorted({turn.ts for turn in nine.turns})


def test_a_later_date_moves_the_messages_after_it(beam: Path) -> None:
    later: list[Any] = [*CHAT, {"turns": [[{"role": "user", "id": 4, "content": "x"}]]}]
    later[1] = later[1] | {"time_anchor": "April-02-2024"}
    (beam / "9" / "chat.json").write_text(json.dumps(later))

    nine, _ = bench_data.beam(beam)

    days = [turn.ts.date().isoformat() for turn in nine.turns]
    assert days == [*["2024-03-15"] * 3, *["2024-04-02"] * 2]


def test_beam_gold_is_gathered_from_any_nesting(beam: Path) -> None:
    nine, _ = bench_data.beam(beam)

    assert [(asked.text, asked.category, set(asked.gold)) for asked in nine.questions] == [
        ("Nested?", "event ordering", {"0", "3"})
    ]


def test_conversations_that_differ_in_a_word_are_different_users(locomo: Path) -> None:
    (first,) = bench_data.locomo(locomo)
    locomo.write_text(locomo.read_text().replace("heron", "swan"))
    (second,) = bench_data.locomo(locomo)

    assert first.name == second.name
    assert first.user_id != second.user_id


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"qa": []}]', '[{"conversation": {}}]'])
def test_what_is_not_locomo_is_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "other.json").write_text(text)

    shown = CliRunner().invoke(main, ["bench", "locomo", str(tmp_path / "other.json")])

    assert shown.exit_code == 1
    assert "memoryd: " in shown.output


def test_what_is_not_beam_is_refused_by_name(tmp_path: Path, beam: Path) -> None:
    (tmp_path / "empty").mkdir()
    (beam / "9" / "chat.json").write_text('[{"turns": [[{"role": "user"}]]}]')

    with pytest.raises(errors.Invalid, match="no chat"):
        bench_data.beam(tmp_path / "empty")
    with pytest.raises(errors.Invalid, match="BEAM's format"):
        bench_data.beam(beam)


def lines(*turns: str, tokens: int = 100) -> list[Line]:
    return [Line(turn, session="s", tokens=tokens, header_tokens=0) for turn in turns]


def test_shares_count_gold_among_the_first_turns() -> None:
    found = bench_score.measures(frozenset("af"), lines(*"abcdefghijkl"))

    assert found["share@5"] == 0.5
    assert found["share@10"] == 1
    assert found["any@10"] == 1
    assert bench_score.measures(frozenset("l"), lines(*"abcdefghijkl"))["any@10"] == 0


def test_ndcg_is_one_only_if_gold_leads() -> None:
    gold = frozenset("ab")

    assert bench_score.measures(gold, lines(*"bac"))["NDCG@10"] == 1
    assert bench_score.measures(gold, lines(*"cab"))["NDCG@10"] == pytest.approx(
        (1 / 1.58496 + 1 / 2) / (1 + 1 / 1.58496), abs=1e-4
    )
    assert bench_score.measures(gold, [])["NDCG@10"] == 0


def test_more_than_ten_gold_turns_can_still_reach_one() -> None:
    found = bench_score.measures(frozenset("abcdefghijkl"), lines(*"abcdefghijkl"))

    assert found["NDCG@10"] == 1
    assert found["share@10"] == pytest.approx(10 / 12)


def test_several_chunks_of_a_message_take_one_rank_and_all_their_tokens() -> None:
    found = bench_score.measures(frozenset("b"), lines(*"aaaaaaaaaaab"))

    assert found["share@5"] == 1
    assert found["within 1,000"] == 0
    assert found["within 2,000"] == 1


def test_a_session_pays_for_its_header_once() -> None:
    one = [Line(turn, "s", tokens=450, header_tokens=50) for turn in "abc"]
    two = [Line(turn, turn, tokens=450, header_tokens=51) for turn in "abc"]

    assert bench_score.measures(frozenset("b"), one)["within 1,000"] == 1
    assert bench_score.measures(frozenset("b"), two)["within 1,000"] == 0


def test_a_report_has_means_by_category_and_percentiles() -> None:
    def measured(category: str, share: float, took: float) -> Measured:
        return Measured(category, took, {"share@10": share})

    shown = bench_score.report(
        [measured("b", 1, 4.0), measured("a", 0, 2.0), measured("b", 0.5, 3.0)]
    )

    assert shown.questions == 3
    assert shown.means == {"share@10": 0.5}
    assert shown.categories == {
        "a": {"questions": 1, "share@10": 0},
        "b": {"questions": 2, "share@10": 0.75},
    }
    assert (shown.p50_ms, shown.p95_ms) == (3.0, 4.0)
    assert "p50 3.0 ms" in bench_score.table(shown)
    assert bench_score.table(shown).splitlines()[3].split() == ["all", "3", "0.500"]


async def test_loading_twice_records_once_in_order_under_the_conversations_user(
    client: httpx.AsyncClient, locomo: Path
) -> None:
    (conversation,) = bench_data.locomo(locomo)

    first = await bench.load(client, conversation)
    again = await bench.load(client, conversation)

    assert list(first.values()) == list(conversation.turns)
    assert again == first
    asked = {"user_id": conversation.user_id, "channel": "private", "order": "oldest"}
    page = (await client.get("/api/v1/events", params=asked)).json()
    assert [event["content"]["text"] for event in page["events"]] == [
        turn.text for turn in conversation.turns
    ]
    assert page["events"][1]["actor"] == {"type": "human", "id": "Bob"}
    assert page["events"][1]["ts"].startswith("2023-05-08T12:30:05")


async def test_a_question_is_asked_in_its_own_conversation_alone(
    client: httpx.AsyncClient, locomo: Path
) -> None:
    (conversation,) = bench_data.locomo(locomo)
    locomo.write_text(locomo.read_text().replace("ferry", "heron"))
    (other,) = bench_data.locomo(locomo)
    await bench.load(client, other)
    said = await bench.load(client, conversation)

    found = await bench.ask(client, conversation, said)

    assert [one.category for one in found] == ["single-hop", "multi-hop", "adversarial"]
    assert found[0].measures["share@5"] == 1
    assert found[0].milliseconds > 0
    asked = {"query": "heron", "user_id": conversation.user_id, "channel": "private"}
    answer = (await client.post("/api/v1/search", json=asked)).json()
    assert {result["event_id"] for result in answer["results"]} <= said.keys()


def options(name: str) -> dict[str, Any]:
    command = bench.bench.commands[name]
    return {parameter.name or "": parameter for parameter in command.params}


@pytest.mark.parametrize("name", ["locomo", "beam"])
def test_both_commands_take_the_same_options(name: str) -> None:
    assert options(name).keys() == {"path", "url", "limit_conversations", "no_wait", "as_json"} | {
        *("bundle", "intent")
    }
