"""What a text is, in one line and without a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.references import describe, model
from memoryd.references.swap import swap


@pytest.mark.parametrize(
    ("text", "metadata", "said"),
    [
        (
            "collected 9 items\nE   ValueError: no\n1 failed",
            {"command": "pytest -q", "exit_code": 1},
            "pytest -q, exit 1, 2 error lines: E ValueError: no",
        ),
        (
            "Traceback (most recent call last):\n  File x\nKeyError: 'a'\n",
            {"command": "python x.py"},
            "python x.py, 2 error lines: KeyError: 'a'",
        ),
        ("done\nprocess exited with code 3\n", {}, "exit 3"),
        ("0 errors, 3 files checked", {"command": "lint"}, "lint, 0 errors, 3 files checked"),
        ('{"a": 1, "b": 2}', {}, "JSON object of 2: a, b"),
        ('[{"id": 1, "name": 2}]', {"path": "a.json"}, "a.json, JSON array of 1 objects: id, name"),
        ("[1, 2, 3]", {}, "JSON array of 3"),
        ("{}", {}, "JSON object, empty"),
        ("{not json", {}, "{not json"),
        ("\n\nintro\n# The heading #\ntext", {"path": "a.md"}, "a.md, The heading"),
        ("<html><title> A page </title>", {"url": "https://x.test"}, "https://x.test, A page"),
        ("diff --git a/x.py b/x.py\n+error\n", {}, "diff of 1 file: x.py"),
        ("---\n***\nfirst words\n", {}, "first words"),
        ("\n \n", {}, "empty text"),
        ("fine", {"status": "Success", "tool": "npm install"}, "npm install, Success"),
    ],
)
def test_a_description_says_what_the_text_is(
    text: str, metadata: dict[str, object], said: str
) -> None:
    assert describe.text(text, metadata) == said


@given(st.text(max_size=200), st.text(max_size=40))
def test_any_text_makes_a_placeholder_that_can_be_read_back(text: str, command: str) -> None:
    said = describe.text(text, {"command": command})
    placeholder = model.placeholder("k", said, 7)

    found = model.PLACEHOLDER.fullmatch(placeholder)
    assert found is not None
    assert (found["key"], found["tokens"]) == ("k", "7")
    assert model.keys_in(f"a {placeholder} b") == ["k"]
    assert len(found["description"]) <= model.BRIEF_LONGEST


@given(st.text(max_size=300))
def test_a_key_made_from_any_text_is_one(text: str) -> None:
    key = model.made_key(text, "evt_01JC8XQ4M0ABCDEFGHJKMNPQRS")

    assert model.PLACEHOLDER.fullmatch(f"[MemoryRef: {key} - x - 1 tokens]")
    assert len(key) <= 80


def test_a_text_is_swapped_past_the_threshold_alone() -> None:
    assert swap("word " * 499, 500) is None
    assert swap("word " * 520, 500) == 521
    assert swap("word " * 520, 1_000) is None
    assert swap("", 1) is None
