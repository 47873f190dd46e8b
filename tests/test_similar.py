"""Repetitions are found in every script, and by no chance alone."""

import time
from random import Random

import pytest

from memoryd import similar


def words(draw: Random, letters: str, count: int, blank: str) -> list[str]:
    return ["".join(draw.choices(letters, k=draw.randint(3, 8))) + blank for _ in range(count)]


HAN = "".join(map(chr, range(0x4E00, 0x4F00)))
CYRILLIC = "абвгдежзиклмнопрстуфхцчшщыэюя"


@pytest.mark.parametrize(
    ("letters", "blank"), [("abcdefghij", " "), (CYRILLIC, " "), (HAN, "。"), ("abcdefghij", ",")]
)
def test_a_text_with_another_word_repeats(letters: str, blank: str) -> None:
    draw = Random(7)
    said, other = words(draw, letters, 80, blank), words(draw, letters, 80, blank)
    changed = [*said[:40], said[3], *said[41:]]

    assert similar.repeats(["".join(text) for text in (said, other, changed)]) == {2: 0}


@pytest.mark.parametrize(
    ("bodies", "repeated"),
    [
        ([], {}),
        ([""], {}),
        (["", ""], {1: 0}),
        (["…", "!!!", "…", "?"], {2: 0}),
        (["deadbeef" * 9 + "1", "deadbeef" * 9 + "2"], {}),
        (["one two three", "", "one  two\nthree"], {2: 0}),
        (["a", "ab", "a"], {2: 0}),
    ],
    ids=repr,
)
def test_texts_without_words_are_compared_too(bodies: list[str], repeated: dict[int, int]) -> None:
    assert similar.repeats(bodies) == repeated


SAID = "the gateway {} and the queue is drained before the workers stop, as agreed " * 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("waits 5 seconds", "waits 6 seconds"), ("is at -5 degrees", "is at 5 degrees")),
        *(("moves from 3 to 4", "moves from 4 to 3"), ("does retry", "doesn't retry")),
        *(("is ready", "is not ready"), ("needs x < 5", "needs x > 5")),
        ("tests a == b", "tests a != b"),
    ],
)
def test_what_turns_a_meaning_around_is_no_repetition(one: str, other: str) -> None:
    assert similar.repeats([SAID.format(one, "", ""), SAID.format(other, "", "")]) == {}
    assert similar.repeats([SAID.format(one, "", ""), SAID.format(one, "", "")]) == {1: 0}


LIKES = "{} prefers tea without sugar in the morning, answers messages after ten, dislikes long "
LIKES += "meetings, and likes to be told early when a plan changes, as the notes of {} say"


def test_another_name_is_no_repetition() -> None:
    """Nearly all words of two people's preferences are the same, and who they are is not."""
    said = [LIKES.format(name, "the team") for name in ("Anna", "Boris", "Chen")]
    noted = [LIKES.format("she", name) for name in ("the team", "userService", "the team")]

    assert similar.repeats(said) == {}
    assert similar.repeats(noted) == {2: 0}
    assert similar.repeats([said[0], said[0].upper(), said[0].lower()]) == {1: 0, 2: 0}


def test_what_is_asked_for_is_no_repetition() -> None:
    about = "the {} service belongs to the team that built it, which is called first when it fails "
    said = [about.format(what) + "and stays with them " * 9 for what in ("shipping", "billing")]

    assert similar.repeats(said) == {1: 0}
    assert similar.repeats(said, asked=["who", "ship"]) == {}
    assert similar.repeats(said, asked=["who", "belong"]) == {1: 0}


def test_many_alike_texts_are_compared_in_little_time() -> None:
    """Reports that differ by their numbers took 4 s, in which the daemon answered nobody."""
    draw = Random(3)
    report = " ".join(words(draw, "abcdefghij", 220, ""))
    numbered = [f"Run {at}: {report} {at * 7919} rows" for at in range(200)]
    near = [f"{report} {' '.join(words(draw, 'abcdefghij', 30, ''))}" for _ in range(200)]
    began = time.process_time()
    found = similar.repeats(numbered), similar.repeats(near)
    spent = time.process_time() - began

    assert found == ({}, {})
    assert len(similar._pairs(near)) > 10_000  # near enough to be compared, too far to be the same
    assert spent < 1


def test_no_text_is_compared_with_many(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = Random(5)
    report = " ".join(words(draw, "abcdefghij", 220, ""))
    near = [f"{report} {' '.join(words(draw, 'abcdefghij', 30, ''))}" for _ in range(2)]
    monkeypatch.setattr(similar, "MOST", 1)

    assert similar.repeats([near[0], near[1], near[1]]) == {}  # the first was compared, and differs
    monkeypatch.setattr(similar, "MOST", 2)
    assert similar.repeats([near[0], near[1], near[1]]) == {2: 1}
