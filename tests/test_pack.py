"""What every bundle keeps, tried on random histories and budgets: pure, so thousands are quick."""

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

import histories
from histories import Sizes, independent
from memoryd import neutral, similar
from memoryd.core import item, items, pack, render
from memoryd.core.item import Item
from memoryd.core.pack import CAPS, TOTAL, Filled

SEED = st.integers(0, 2**32)
SIZES = st.builds(
    Sizes,
    views=st.integers(0, 4),
    tasks=st.integers(0, 4),
    decisions=st.integers(0, 4),
    handoffs=st.integers(0, 2),
    events=st.integers(0, 12),
)
BUDGET = st.integers(200, 3_000) | st.integers(200, 65_000) | st.integers(65_000, 200_000)
SECTIONS = st.just(render.SECTIONS) | st.lists(st.sampled_from(render.SECTIONS), min_size=1)
FENCE = re.compile(r"<\s*/?\s*(?:memory|identity|rules)\b", re.IGNORECASE)
Packed = dict[str, Filled]


def texts(filled: Filled) -> list[str]:
    return [one.text for one in filled.items]


def rendered(packed: Packed) -> str:
    return render.text([(name, texts(packed[name])) for name in render.SECTIONS if name in packed])


def assert_counts(packed: Packed, budget: int) -> None:
    """Exact, within the caps, and the reserve is free."""
    reserve = (TOTAL - sum(CAPS.values())) * budget // TOTAL
    for name, filled in packed.items():
        assert filled.used == independent(render.text([(name, texts(filled))])), name
        assert filled.used <= CAPS[name]
        assert [one.tokens for one in filled.items] == [
            independent(f"{one.text}\n\n") for one in filled.items
        ]
    used = sum(filled.used for filled in packed.values())
    assert used == independent(rendered(packed)) <= budget - reserve


def assert_cited(packed: Packed) -> None:
    for filled in packed.values():
        for one in filled.items:
            assert one.refs and all(one.refs)
            source = one.refs[-1] if one.type == "chunk" else one.refs[0]
            assert (one.cut is None) == (not one.text.endswith(f"whole is in {source}]"))


def assert_fenced(packed: Packed) -> None:
    """Whatever the texts say, a section is opened once and closed once."""
    sections = [name for name in render.SECTIONS if name in packed and packed[name].items]
    marks = [part for name in sections for part in (render.opening(name), render.closing(name))]
    found = [at.start() for at in FENCE.finditer(rendered(packed))]
    assert len(found) == len(marks)
    assert all(rendered(packed).startswith(mark, at) for at, mark in zip(found, marks, strict=True))


def assert_accounted(candidates: Mapping[str, list[Item]], packed: Packed) -> None:
    """Each candidate is shown or listed as left out, there or where all of its event would be."""
    whole = {
        one.position: name
        for name, filled in packed.items()
        for one in filled.items
        if one.cut is None and one.type not in ("chunk", "reference")
    }
    listed = {one.position for filled in packed.values() for _, one in filled.left_out}
    for name, filled in packed.items():
        shown = {(one.position, at) for one in filled.items for at in one.ordinals or (None,)}
        left = {(one.position, at) for _, one in filled.left_out for at in one.ordinals or (None,)}
        for one in candidates[name]:
            place = (one.position, one.ordinals[0] if one.ordinals else None)
            elsewhere = whole.get(one.position, name) != name or one.position in listed
            assert place in shown or place in left or elsewhere, (name, place)
            assert place not in shown or place not in left
    bodies = [one.body for filled in packed.values() for one in filled.items]
    for filled in packed.values():
        repeated = [one.body for reason, one in filled.left_out if reason == "duplicate"]
        assert all(any(body in shown for shown in bodies) for body in repeated)


@settings(max_examples=2_000)
@given(seed=SEED, sizes=SIZES, budget=BUDGET, sections=SECTIONS)
def test_a_bundle_keeps_its_promises(
    seed: int, sizes: Sizes, budget: int, sections: list[str]
) -> None:
    candidates = histories.history(seed, sizes).candidates
    asked = {name: candidates[name] for name in render.SECTIONS if name in sections}
    packed = pack.pack(asked, budget)

    assert list(packed) == list(asked)
    assert_counts(packed, budget)
    assert_cited(packed)
    assert_fenced(packed)
    assert_accounted(asked, packed)


def digest(seed: int, budget: int) -> str:
    """Of a bundle and all that was left out of it."""
    packed = pack.pack(histories.history(seed, Sizes(4, 4, 4, 2, 20)).candidates, budget)
    left = [pack.omissions(filled, {}) for filled in packed.values()]
    return hashlib.sha256(f"{rendered(packed)}{left}{packed}".encode()).hexdigest()


@settings(max_examples=20)
@given(seed=SEED, budget=BUDGET)
def test_the_same_inputs_give_the_same_bytes(seed: int, budget: int) -> None:
    assert digest(seed, budget) == digest(seed, budget)


def test_no_order_depends_on_the_seed_of_hashing() -> None:
    """Two processes that hash strings differently make the same bundles, to the byte."""
    program = "import test_pack; print(*(test_pack.digest(n, 900 * n) for n in range(1, 8)))"
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(pack.__file__).parents[2])])
    said = {
        subprocess.check_output(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
        )
        for seed in ("1", "2")
    }

    assert len(said) == 1


def chunk_of(body: str, at: int) -> Item:
    return item.make(("[x]\n", body), type="chunk", position=at, ordinals=(0,), refs=(f"chk_{at}",))


def same(left: str, right: str) -> bool:
    return bool(similar.repeats([left, right]))


@settings(max_examples=300)
@given(seed=SEED, size=st.integers(0, 30))
def test_only_what_repeats_is_taken_for_a_repetition(seed: int, size: int) -> None:
    draw = Random(seed)
    bodies = [histories.text(draw)[:2_000].strip() for _ in range(size)]
    found = [chunk_of(body, at) for at, body in enumerate(bodies)]
    kept, repeated = pack.distinct(found)
    normal = {" ".join(one.body.casefold().split()) for one in kept}

    assert sorted([*kept, *repeated], key=lambda one: one.position) == found
    assert len(normal) == len(kept)
    for one in repeated:
        assert any(same(other.body, one.body) for other in found if other is not one)


@settings(max_examples=200)
@given(seed=SEED, words=st.integers(60, 200))
def test_a_changed_word_makes_no_new_text(seed: int, words: int) -> None:
    """Wherever the two stand among others."""
    draw = Random(seed)
    # Without digits: another number is another text.
    said = ["".join(draw.choices("abcdefgh", k=draw.randint(4, 7))) for _ in range(words)]
    changed = [*said]
    changed[draw.randrange(words)] = "otherwise"
    others = [histories.text(draw)[:2_000] for _ in range(8)]
    bodies = [" ".join(said), *others[:4], "  ".join(changed).upper(), *others[4:]]
    kept, repeated = pack.distinct([chunk_of(body, at) for at, body in enumerate(bodies)])

    assert kept[0].position == 5  # the newer, in the place of the better
    assert 0 in [one.position for one in repeated]


@settings(max_examples=300)
@given(seed=SEED)
def test_neighbours_join_to_the_events_own_text(seed: int) -> None:
    draw = Random(seed)
    texts = {at: "\n".join(histories.text(draw) for _ in range(5)) for at in (1, 2)}
    rows = [row for at, said in texts.items() for row in histories.chunks(draw, at, said)]
    chosen = draw.sample(rows, draw.randint(1, len(rows)))
    shown = [items.evidence([row], 1 / (at + 1), {}) for at, row in enumerate(chosen)]
    joined = pack._joined(shown)

    chunks = {(row["position"], row["ordinal"]): row["text"] for row in rows}
    places = [(one.position, at) for one in joined for at in one.ordinals]
    assert sorted(places) == sorted((row["position"], row["ordinal"]) for row in chosen)
    assert sum(one.tokens for one in joined) <= sum(one.tokens for one in shown)
    for one in joined:
        assert one.ordinals == tuple(range(one.ordinals[0], one.ordinals[-1] + 1))
        assert one.raw == "".join(chunks[one.position, at] for at in one.ordinals)
        assert one.raw in texts[one.position]
        assert one.body == neutral.neutral(one.raw.strip())
        assert one.refs == (*(f"chk_{one.position}_{at}" for at in one.ordinals), one.refs[-1])


LINES = st.lists(
    st.sampled_from(
        ("one line of it", "", "日本語の行", "=" * 300, "x" * 3_000, "a b " * 400, "\t")
    )
).map("\n".join)


@settings(max_examples=300)
@given(body=LINES, room=st.integers(0, 2_000), kind=st.sampled_from(("turn", "view")))
def test_what_does_not_fit_is_cut_at_a_lines_end_and_says_so(
    body: str, room: int, kind: str
) -> None:
    body = body.strip()
    one = item.make(("[x]\n", body), type=kind, position=1, refs=("evt_1",))
    fitting = item.fit(one, room)

    if one.tokens <= room:
        assert fitting is one
    elif fitting is not None:
        assert one.tokens > item.LONG or kind == "view"
        assert fitting.cut
        assert fitting.tokens == independent(f"{fitting.text}\n\n") <= room
        rest = body[fitting.cut :]
        assert rest and (body[fitting.cut - 1] == "\n" or rest[0].isspace())
        kept = body[: fitting.cut].rstrip()
        assert fitting.text == f"[x]\n{kept}\n[cut here; the whole is in evt_1]"


def test_a_line_is_broken_only_where_no_line_fits() -> None:
    lines = item.make(("[x]\n", "one line of it\n" * 900), type="turn", position=1, refs=("e",))
    words = item.make(("[x]\n", "word " * 3_000), type="turn", position=1, refs=("e",))
    solid = item.make(("[x]\n", "=" * 90_000), type="turn", position=1, refs=("e",))
    fitting = [item.fit(one, 300) for one in (lines, words, solid)]

    assert fitting[0] is not None and fitting[0].text.endswith(
        "\none line of it\n[cut here; the whole is in e]"
    )
    assert fitting[1] is not None and fitting[1].text.endswith(
        "word word\n[cut here; the whole is in e]"
    )
    assert fitting[2] is None


def test_a_long_line_is_cut_to_nearly_all_of_its_room() -> None:
    body = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. " * 400
    one = item.make(("[x]\n", body), type="view", position=1, refs=("view:rules.org",))
    for room in (300, 1_000, 3_000):
        fitting = item.fit(one, room)

        assert fitting is not None and room - 20 <= fitting.tokens <= room


def test_a_turn_longer_than_is_read_says_so() -> None:
    """The window reads the beginning of a long event: it does not pass for the whole."""
    draw = Random(1)
    rows = histories.chunks(draw, 1, f"{'wonderful ' * 4_500}the end")
    rows = [{**row, "kind": "message"} for row in rows]
    long = items.turn(histories.turn(rows))
    end = items.evidence(rows[-1:], 0.9, {})
    packed = pack.pack({"retrieved_evidence": [end], "recent_window": [long]}, 200_000)

    assert len(rows) > items.TURN_CHUNKS
    assert texts(packed["recent_window"])[0].endswith("\n[cut here; the whole is in evt_1]")
    assert "the end" in texts(packed["retrieved_evidence"])[0]
    assert [one.reason for one in pack.omissions(packed["recent_window"], {})] == ["over_budget"]
    assert_counts(packed, 200_000)


def test_a_cut_chunk_does_not_grow_by_joining() -> None:
    """Its neighbour may fit where it did not."""
    rows = histories.chunks(Random(1), 1, "👩‍👩‍👧\n" * 160 + "\n" + "short.\n" * 60)
    long, short = (items.evidence([row], 0.5, {}) for row in rows)
    budget = 8 * long.tokens // 10
    packed = pack.pack({"retrieved_evidence": [long, short]}, budget * 2)
    cut = item.fit(long, budget)
    assert cut is not None and cut.cut

    assert pack._joined([cut, short]) == [cut, short]
    assert_counts(packed, budget * 2)


def test_a_decision_is_not_dropped_for_what_is_dropped_itself() -> None:
    """The evidence that repeats it may give way to a longer text once there is room for that."""
    said = "We ship on Friday and tell nobody before. " * 4
    decision = replace(chunk_of(said, 1), type="decision", ordinals=())
    long, again = chunk_of("word " * 480, 2), chunk_of(said, 3)
    asked = {"decision_ledger": [decision], "retrieved_evidence": [long, again]}
    packed = [pack.pack(asked, budget) for budget in range(200, 2_000, 10)]

    shown = [any(said in one.text for part in one.values() for one in part.items) for one in packed]
    assert shown == sorted(shown)


def test_a_fence_is_looked_for_in_one_pass() -> None:
    assert neutral.neutral(hostile := "<" + " " * 300_000) == hostile
