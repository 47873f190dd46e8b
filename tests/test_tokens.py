"""Token counts are tiktoken's own, with no network and for any text."""

import gzip
import hashlib
import os
from importlib import resources
from pathlib import Path

import pytest
import tiktoken
import tiktoken_ext.openai_public  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

import histories
from memoryd.core import chunk, item, tokens

PIECES = st.sampled_from(
    [
        "a",
        "B",
        " ",
        "  ",
        "\n",
        "\r\n",
        ".",
        "/",
        "'s",
        "9",
        "é",
        "日",
        "\t",
        "\u00a0",
        "\u3000",
        "word",
        "\u2028",
        "\x0b",
        "\x1c",
        "\x85",
        "<|endoftext|>",
    ]
)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tiktoken.Encoding:
    """tiktoken's own definition, fed from our file in place of its download."""
    folder: Path = tmp_path_factory.mktemp("tiktoken")
    packed = resources.files("memoryd").joinpath("data/o200k_base/o200k_base.tiktoken.gz")
    address = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
    name = hashlib.sha1(address.encode()).hexdigest()
    (folder / name).write_bytes(gzip.decompress(packed.read_bytes()))
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    try:
        return tiktoken.Encoding(**tiktoken_ext.openai_public.o200k_base())
    finally:
        del os.environ["TIKTOKEN_CACHE_DIR"]


@given(text=st.text(max_size=300) | st.lists(PIECES, max_size=200).map("".join))
def test_counts_are_exact(reference: tiktoken.Encoding, text: str) -> None:
    assert tokens.count(text) == len(reference.encode_ordinary(text))


@given(text=st.lists(PIECES, max_size=60).map("".join))
def test_no_token_spans_a_seam(reference: tiktoken.Encoding, text: str) -> None:
    whole = reference.encode_ordinary(text)

    for seam in tokens._SEAM.finditer(text):
        at = seam.start()
        assert reference.encode_ordinary(text[:at]) + reference.encode_ordinary(text[at:]) == whole


def test_a_long_text_is_counted_exactly_by_pieces(reference: tiktoken.Encoding) -> None:
    text = (
        "The quick brown fox, 12345 of them!\n\n\tjumps over\u3000日本語 and it's lazy dogs.  "
        * 3_000
    )

    assert tokens.count(text) == len(reference.encode_ordinary(text))


@pytest.mark.parametrize("text", [" " * 10**6, "\n" * 10**6, "a" * 10**6, "日本" * 10**5])
def test_hostile_texts_are_counted_too(text: str) -> None:
    assert 0 < tokens.count(text) <= len(text)


@given(st.text(max_size=3_000))
def test_chunks_count_as_they_are(text: str) -> None:
    encode = tokens._encoding().encode_ordinary

    assert all(tokens.count(piece) == len(encode(piece)) for piece in chunk.split(text))


JOINTS = st.lists(
    st.sampled_from((*histories.WORDS, *histories.BLANKS, "a", "/", "\n", " ", "'s", "é")),
    max_size=12,
).map("".join)


@settings(max_examples=800)
@given(left=JOINTS, right=JOINTS)
def test_a_joint_is_counted_exactly(left: str, right: str) -> None:
    known = (left, histories.independent(left), right, histories.independent(right))

    assert tokens.added(*known) == histories.independent(left + right)


@pytest.mark.parametrize("monster", histories.MONSTERS, ids=lambda text: text[:9])
def test_a_long_text_is_counted_as_a_whole(monster: str) -> None:
    """Also one that has no place to cut it, of a length that a section can hold."""
    body = monster[:60_000].strip()
    one = item.make(("[x]\n", body), type="view", position=1, refs=("evt_1",))

    assert tokens.count(body) == histories.independent(body)
    assert one.tokens == histories.independent(f"[x]\n{body}\n\n")
