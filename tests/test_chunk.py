"""Chunks join to exactly the text, and are cut where a reader would cut."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core import chunk

TEXT = st.text() | st.lists(
    st.sampled_from(
        [
            "word ",
            "longerword",
            "\n",
            "\n\n",
            "```py\n",
            "```\n",
            "# Head\n",
            ". ",
            "。",
            "  ",
            "\r\n",
            "é",
        ]
    ),
    max_size=200,
).map("".join)


@given(TEXT, st.integers(4, 80))
def test_pieces_join_to_exactly_the_text(text: str, target: int) -> None:
    pieces = chunk.split(text, target)

    assert "".join(pieces) == text
    assert all(pieces)


@given(TEXT, st.integers(4, 80))
def test_no_piece_is_much_longer_than_the_target(text: str, target: int) -> None:
    assert all(len(piece) <= 2 * target for piece in chunk.split(text, target))


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=20), min_size=1, max_size=60))
def test_a_word_is_never_cut(words: list[str]) -> None:
    pieces = chunk.split(" ".join(words), 25)

    assert [word for piece in pieces for word in piece.split()] == words


def test_paragraphs_stay_whole() -> None:
    first, second = "One two three.\n\n", "Four five six."

    assert chunk.split(first + second, 20) == [first, second]


def test_a_heading_begins_a_piece() -> None:
    pieces = chunk.split("intro words here\n# Title\nbody of it\n# Next\nmore\n", 26)

    assert pieces == ["intro words here\n", "# Title\nbody of it\n", "# Next\nmore\n"]


def test_a_code_block_stays_with_its_fences() -> None:
    code = "```py\nx = 1\ny = 2\n```\n"
    pieces = chunk.split(f"Some words before it.\n{code}And words after it.", 30)

    assert code in pieces


def test_log_lines_are_not_cut() -> None:
    lines = [f"2026-05-01 12:00:{second:02} INFO step {second} done\n" for second in range(60)]
    pieces = chunk.split("".join(lines), 200)

    assert all(piece.endswith("\n") for piece in pieces)


def test_sentences_of_chinese_are_cut_at_their_stops() -> None:
    pieces = chunk.split("我们星期五发布。" * 10, 20)

    assert all(piece.endswith("。") for piece in pieces)


@pytest.mark.parametrize(
    "text", [" " * 10**6, "a" * 10**6, "\n" * 10**6, "# a\n" * 250_000, "```\n" * 250_000]
)
def test_hostile_texts_take_linear_time(text: str) -> None:
    began = time.process_time()
    pieces = chunk.split(text)

    assert "".join(pieces) == text
    assert time.process_time() - began < 3
