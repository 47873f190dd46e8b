"""The expected ids were recorded from PyPI's `tokenizers` 0.23.3."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd import embed
from memoryd.embed import wordpiece

VOCABULARY = (embed.MINILM / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
WORDS = wordpiece.WordPiece(VOCABULARY)

RECORDED = {
    "accents and case": ("Crème BRÛLÉE", [13675, 21382, 7987, 9307, 2063]),
    "a sigma at the end": ("ΟΔΟΣ", [1169, 29722, 29730, 29733]),
    "a dotted capital": ("İstanbul", [9960]),
    "a sharp s": ("Straße", [2358, 27807]),
    "punctuation": (
        "don't user_id 3.14!",
        [2123, 1005, 1056, 5310, 1035, 8909, 1017, 1012, 2403, 999],
    ),
    "ASCII symbols": (
        "a`b^c~d$e=f",
        [1037, 1036, 1038, 1034, 1039, 1066, 1040, 1002, 1041, 1027, 1042],
    ),
    "code": (
        "getUserById(x)->y[0]",
        [2131, 20330, 3762, 3593, 1006, 1060, 1007, 1011, 1028, 1061, 1031, 1014, 1033],
    ),
    "emoji": ("🎉 party", [100, 2283]),
    "joined emoji": ("a\U0001f469\u200d\U0001f467b", [100]),
    "Han and kana": ("記憶は長い", [100, 100, 1672, 1967, 1647]),
    "Hangul": ("한국", [1469, 30006, 30021, 29991, 30014, 30020]),
    "Devanagari": ("अनुमान", [1311, 29863, 29867, 29876, 29863]),
    "Thai": ("กำ", [100]),
    "control characters": ("a\0b\x0bc\x85d\ufffde", [5925, 3207]),
    "spaces of all kinds": ("a\u00a0b\u2028c\u3000d\te", [1037, 1038, 1039, 1040, 1041]),
    "invisible characters": ("co\u00adoperate\u200b", [17654]),
    "decomposing to punctuation": ("a\u037eb\u2260c", [1037, 1025, 1038, 1027, 1039]),
    "marks on nothing": ("\u0301\u0316 x\u0301\u0316", [1060]),
    "compatibility forms": ("\ufb01 \u2460 \u00bd", [1984, 100, 1092]),
    "letters that are symbols": ("\u212a \u212b \u017f", [1047, 1037, 100]),
    "private use": ("a\ue000b", [11113]),
    "a code point not assigned": ("a\u0378b", [100]),
    "names of special tokens": (
        "[SEP] [unused1]",
        [1031, 19802, 1033, 1031, 15171, 2487, 1033],
    ),
    "a hundred letters": ("a" * 100, [13360, *[11057] * 48, 2050]),
    "a hundred and one": ("a" * 101, [100]),
    "nothing": (" \n\t\0", []),
}


@pytest.mark.parametrize(("text", "expected"), RECORDED.values(), ids=RECORDED.keys())
def test_ids_are_those_of_the_reference(text: str, expected: list[int]) -> None:
    assert [piece.id for piece in WORDS.pieces(text)] == expected


def test_a_piece_knows_its_word() -> None:
    found = WORDS.pieces("Zoë's paintbrushes!")

    assert [(VOCABULARY[piece.id], piece.word) for piece in found] == [
        ("zoe", "zoe"),
        ("'", "'"),
        ("s", "s"),
        ("paint", "paintbrushes"),
        ("##brush", "paintbrushes"),
        ("##es", "paintbrushes"),
        ("!", "!"),
    ]


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_has_pieces_of_the_vocabulary_that_spell_its_words(text: str) -> None:
    for piece in WORDS.pieces(text):
        spelt = VOCABULARY[piece.id].removeprefix("##")

        assert spelt in piece.word or spelt == "[UNK]"


def test_half_a_surrogate_pair_is_dropped() -> None:
    assert WORDS.pieces("pa\ud800int") == WORDS.pieces("paint")


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "a" + "\u0301\u0316" * 500_000,
        "\0" * 1_000_000,
        "\ud800" * 1_000_000,
        "記憶" * 500_000,
        " ".join("a" * 90 + str(n) for n in range(5_000)),
    ],
    ids=["one letter", "marks", "NUL", "surrogates", "Han", "long words"],
)
def test_a_hostile_megabyte_takes_no_more_than_its_length(text: str) -> None:
    start = time.process_time()
    WORDS.pieces(text)

    assert time.process_time() - start < 10  # quadratic would take minutes
