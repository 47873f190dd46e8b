import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from memoryd import embed

ANN = embed.Input("(8 May 2023) Ann: What did you do at the weekend?", "Bob: I painted the lake.")


@pytest.fixture(scope="module")
def encoder() -> embed.Encoder:
    return embed.Encoder()


def bits(code: bytes) -> np.ndarray:
    return np.unpackbits(np.frombuffer(code, np.uint8))


def distance(left: embed.Code, right: embed.Code) -> int:
    return int((bits(left.pooled) != bits(right.pooled)).sum())


def test_a_code_is_one_bit_a_dimension_pooled_and_for_each_own_piece(
    encoder: embed.Encoder,
) -> None:
    code = encoder.encode(ANN)

    assert code.model == "minilm-l6-int8-1"
    assert len(code.pooled) == encoder.dimensions // 8 == 48
    assert len(code.tokens) == 48 * len(code.pieces)


def test_the_same_text_repeats_to_the_byte_whatever_was_encoded_between(
    encoder: embed.Encoder,
) -> None:
    first = encoder.encode(ANN)
    for other in ("Ann: short", "Ann: " + "a long story about boats " * 60, ""):
        encoder.encode(embed.Input("", other))

    assert encoder.encode(ANN) == first


def test_another_encoder_with_more_threads_gives_the_same_code(encoder: embed.Encoder) -> None:
    assert embed.Encoder(threads=2).encode(ANN) == encoder.encode(ANN)


def test_threads_sharing_a_new_encoder_get_the_codes_of_one(encoder: embed.Encoder) -> None:
    inputs = [embed.Input("", f"Bob: story {n} " * (1 + n % 9)) for n in range(40)]

    with ThreadPoolExecutor(4) as threads:
        codes = list(threads.map(embed.Encoder().encode, inputs))

    assert codes == [encoder.encode(text) for text in inputs]


def test_context_changes_the_bits_and_not_which_pieces_are_coded(encoder: embed.Encoder) -> None:
    alone = encoder.encode(embed.Input("", ANN.own))
    after = encoder.encode(ANN)

    assert after.pieces == alone.pieces
    assert after.tokens != alone.tokens


def test_a_long_context_gives_way_to_the_own_text(encoder: embed.Encoder) -> None:
    own = "Bob: " + "rain " * 200

    code = encoder.encode(embed.Input("sun " * 500, own))

    assert code.pieces == encoder.encode(embed.Input("", own)).pieces


def test_an_own_text_beyond_256_pieces_is_cut(encoder: embed.Encoder) -> None:
    code = encoder.encode(embed.Input("sun " * 500, "rain " * 500))

    assert len(code.pieces) == 254
    assert encoder.query("rain " * 500).tokens.shape == (254, 384)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "\0",
        "a\0b",
        "🎉👩‍👩‍👧",
        "記憶は長い",
        "\ud800",
        "x" * 1_000_000,
        "rain " * 200_000,
    ],
)
def test_odd_text_is_coded_without_complaint(encoder: embed.Encoder, text: str) -> None:
    code = encoder.encode(embed.Input(text, text))
    query = encoder.query(text)

    assert len(code.pooled) == 48
    assert query.pieces == code.pieces
    assert np.isfinite(query.pooled).all()
    assert encoder.key(embed.Input(text, text))


def test_a_text_that_names_a_special_token_gets_words(encoder: embed.Encoder) -> None:
    assert embed.SEP not in encoder.query("[SEP] and [CLS]").pieces


def test_a_query_has_unit_vectors_for_its_own_pieces(encoder: embed.Encoder) -> None:
    query = encoder.query("What did Bob paint?")

    assert query.tokens.shape == (len(query.pieces), 384)
    assert np.allclose(np.linalg.norm(query.tokens, axis=1), 1, atol=1e-5)
    assert np.isclose(np.linalg.norm(query.pooled), 1, atol=1e-5)


def test_a_query_names_the_word_of_each_piece(encoder: embed.Encoder) -> None:
    query = encoder.query("Who met Zoë's neighbours?")

    assert query.words == ("who", "met", "zoe", "'", "s", "neighbours", "?")
    assert len(encoder.query("antidisestablishmentarianism " * 90).words) == encoder.limit


def test_similar_sentences_lie_closer_than_dissimilar_ones(encoder: embed.Encoder) -> None:
    cat, kitten, invoice = (
        encoder.encode(embed.Input("", text))
        for text in ("My cat sleeps all day", "The kitten naps a lot", "Pay the invoice by Friday")
    )

    assert distance(cat, kitten) < distance(cat, invoice)
    assert distance(cat, kitten) < distance(kitten, invoice)


def test_a_question_scores_its_answer_above_other_turns(encoder: embed.Encoder) -> None:
    query = encoder.query("What did Bob paint?")
    answer, other = (
        bits(encoder.encode(embed.Input(ANN.context, own)).pooled) * 2.0 - 1
        for own in (ANN.own, "Bob: My train leaves at noon.")
    )

    assert query.pooled @ answer > query.pooled @ other


def test_a_key_tells_model_context_and_own_text_apart(encoder: embed.Encoder) -> None:
    keys = {encoder.key(embed.Input(*pair)) for pair in [("a", "b"), ("ab", ""), ("", "ab")]}

    assert len(keys) == 3
    assert encoder.key(ANN) == embed.Encoder().key(ANN)


def test_the_manifest_has_the_digests_of_the_files() -> None:
    manifest = json.loads((embed.MINILM / "manifest.json").read_text())

    for name, digest in manifest["sha256"].items():
        assert hashlib.sha256((embed.MINILM / name).read_bytes()).hexdigest() == digest


def test_importing_the_module_loads_no_library() -> None:
    program = "import sys, memoryd.embed; print({'onnxruntime', 'numpy'} & {*sys.modules})"

    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert shown.stdout.strip() == b"set()"


def test_the_library_that_runs_the_model_keeps_and_reports_nothing(tmp_path: Path) -> None:
    """Its telemetry would leave the number of the device, and a queue of events, in the home."""
    program = (
        "from memoryd import embed\n"
        "print(len(embed.Encoder().encode(embed.Input('', 'We ship on Friday.')).pooled))\n"
    )
    silent = ("CI", "ORT_RUNNING_UNIT_TESTS", "ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    environ = {name: text for name, text in os.environ.items() if name not in silent}
    shown = subprocess.run(
        [sys.executable, "-c", program],
        env={**environ, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        capture_output=True,
        check=True,
        timeout=120,
    )

    assert shown.stdout.strip() == b"48"
    assert list(tmp_path.rglob("*")) == []
