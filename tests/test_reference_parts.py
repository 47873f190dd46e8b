"""Parts of a stored text: whatever is asked for joins to the text, and says where it is from."""

import base64
import functools
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.core import errors
from memoryd.references import json_path, parts
from memoryd.references.parts import Wish

texts = st.text(st.sampled_from("ab é\n\r\u2028€\U0001f600"), min_size=1, max_size=60)


def part(text: str, **wish: object) -> parts.Part:
    return parts.part(text.encode(), Wish(**wish), binary=False)  # type: ignore[arg-type]


def refused(ask: Callable[[], object]) -> str | None:
    """The field that was refused; None where nothing was."""
    try:
        ask()
    except errors.MemorydError as error:
        return error.field
    return None


@settings(max_examples=200)
@given(texts, st.data())
def test_lines_in_any_cuts_join_to_the_text(text: str, data: st.DataObject) -> None:
    total = part(text, lines="1").total
    cuts = sorted({total, *data.draw(st.lists(st.integers(1, total), max_size=5))})
    starts = [1, *(cut + 1 for cut in cuts[:-1])]
    some = [part(text, lines=f"{low}-{high}") for low, high in zip(starts, cuts, strict=True)]

    assert "".join(one.content or "" for one in some) == text
    assert [(one.first, one.last) for one in some] == list(zip(starts, cuts, strict=True))


@settings(max_examples=200)
@given(texts, st.data())
def test_bytes_in_any_cuts_join_to_the_bytes(text: str, data: st.DataObject) -> None:
    size = len(text.encode())
    cuts = sorted({size, *data.draw(st.lists(st.integers(1, size), max_size=5))})
    starts = [0, *cuts[:-1]]
    some = [part(text, bytes=f"{low}-{high - 1}") for low, high in zip(starts, cuts, strict=True)]

    joined = b"".join(
        base64.b64decode(one.bytes) if one.bytes is not None else (one.content or "").encode()
        for one in some
    )
    assert joined == text.encode()


@settings(max_examples=200)
@given(texts, st.integers(1, 80))
def test_the_last_and_the_rest_are_counted_from_the_ends(text: str, number: int) -> None:
    total = part(text, lines="1").total
    last = part(text, lines=f"-{number}")
    number = min(number, total)
    rest = part(text, lines=f"{number}-")

    assert last.content == part(text, lines=f"{max(total - number + 1, 1)}-{total}").content
    assert (rest.first, rest.last) == (number, total)


@settings(max_examples=200)
@given(texts, st.sampled_from(["a", "B", "é", "ab", "€", "\n"]), st.integers(0, 2))
def test_what_is_found_is_in_lines_that_have_it(text: str, find: str, context: int) -> None:
    found = part(text, find=find, context=context)
    lines = text.encode().split(b"\n")
    having = [at for at, line in enumerate(lines, 1) if find.lower() in line.decode().lower()]

    if find != "\n":
        assert found.total == len(having)
        assert (found.first is None) == (not having)
    for block in (found.content or "").split("[lines ")[1:]:
        low, high = map(int, block.split(" of ")[0].split("-"))
        shown = block.partition("]\n")[2]
        assert shown.removesuffix("\n") in part(text, lines=f"{low}-{high}").content  # type: ignore[operator]


@settings(max_examples=300)
@given(st.text(max_size=12))
def test_no_range_breaks_it(given_range: str) -> None:
    for name in ("lines", "bytes"):
        asked = functools.partial(part, "1\n2\n3", **{name: given_range})
        assert refused(asked) in (None, name)


@settings(max_examples=300)
@given(st.text(st.sampled_from("$.[]*'\"a0-1 \\"), max_size=12))
def test_no_path_breaks_it(path: str) -> None:
    stored = b'{"a": [0, {"a": "1"}], "0": null}'

    assert refused(lambda: json_path.look(stored, f"${path}")) in (None, "path")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", {"a b": [1, [2, 3]], "c": {"d": None}}),
        ('$["a b"][0]', 1),
        ("$['a b'][-1][1]", 3),
        ("$.c.d", None),
        ("$.*", [[1, [2, 3]], {"d": None}]),
        ('$["a b"][*]', [1, [2, 3]]),
    ],
)
def test_a_path_finds_its_place(path: str, found: object) -> None:
    assert json_path.look(b'{"a b": [1, [2, 3]], "c": {"d": null}}', path) == found


def test_a_text_of_many_windows_is_searched_across_their_joints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parts, "WINDOW", 7)
    text = "".join(f"line {n} has a needle\n" for n in range(20))

    assert part(text, find="NEEDLE", limit=200).total == 20


def test_an_answer_has_its_limit() -> None:
    long = "x" * (parts.SHOWN_MOST + 1)
    with pytest.raises(errors.TooLarge, match="ask for less"):
        part(long)
    with pytest.raises(errors.TooLarge):
        part(long, lines="1")

    assert part(long, bytes="0-9").content == "x" * 10


def test_of_a_long_line_only_what_is_around_the_places_is_shown() -> None:
    """Minified JSON is one line, and an agent need not read all of it."""
    entries = [f'{{"id":{n},"name":"package-{n}"}}' for n in range(20_000)]
    text = "[" + ",".join(entries) + "]"
    found = part(text, find='package-777"')
    near = part(text, find="package-123")  # and package-1230 to -1239, a few thousand letters on
    none = part(f"{text}\nneedle", find="needle")

    assert (found.first, found.last, found.total) == (1, 1, 1)
    assert found.content is not None and len(found.content) < 700
    head, _, said = found.content.partition("\n")
    assert head == "[lines 1-1 of 1]"
    assert said.startswith("…") and said.endswith("…") and entries[777] in said
    assert said.strip("…") in text
    assert near.content is not None and entries[123] in near.content
    assert all(piece in text for piece in near.content.partition("\n")[2].split("…"))
    assert none.content is not None and none.content.endswith("…\nneedle")
    assert len(none.content) < 700
