"""Repetitions are found in every script, and by no chance alone."""

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

    assert similar.repeats(["".join(text) for text in (said, other, changed)]) == {2}


@pytest.mark.parametrize(
    ("bodies", "repeated"),
    [
        ([], set()),
        ([""], set()),
        (["", ""], {1}),
        (["…", "!!!", "…", "?"], {2}),
        (["deadbeef" * 9 + "1", "deadbeef" * 9 + "2"], set()),
        (["one two three", "", "one  two\nthree"], {2}),
        (["a", "ab", "a"], {2}),
    ],
    ids=repr,
)
def test_texts_without_words_are_compared_too(bodies: list[str], repeated: set[int]) -> None:
    assert similar.repeats(bodies) == repeated
