"""What is wrong with memories is found by rule, and each finding says what to do."""

from datetime import timedelta
from typing import Any

import pytest

import make
from memoryd.memories import alike, findings, proposals
from memoryd.memories.findings import Kept
from memoryd.memories.growth import Access
from test_blocks import fact, kept

TEA = fact("aaaaaaaa", "preference", "The user likes green tea", born=1)
TEAS = fact("bbbbbbbb", "preference", "User likes green teas.", born=2, position=2)
LATER = make.NOW + timedelta(days=100)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("The user likes green tea", "User likes green teas.", True),
        ("Sarah works on the Design team", "Sarah is working on the design team", True),
        ("The user likes green tea", "The user does not like green tea", False),
        ("The user doesn't like tea", "The user does like tea", False),
        ("Due dates on day 5", "Due dates on day 6", False),
        ("Sarah works on Design", "Alec works on Design", False),
        ("お茶が好き", "お茶が好き", True),
        ("…", "…", True),
    ],
)
def test_short_texts_that_say_the_same_are_alike(left: str, right: str, same: bool) -> None:
    assert alike.alike(left, right) is same


def found(*facts: Any, now: Any = make.NOW, **more: Any) -> list[tuple[str, tuple[str, ...], str]]:
    seen = findings.findings(Kept(facts=facts, **more), now)
    return [(one.kind, one.memory_ids, one.fix) for one in seen]


def test_memories_that_say_the_same_are_duplicates() -> None:
    assert found(TEA, TEAS) == [("duplicate", ("aaaaaaaa", "bbbbbbbb"), "memoryd consolidate")]


def test_two_of_one_subject_may_contradict_and_the_older_should_go() -> None:
    old = fact("aaaaaaaa", "person", "Sarah works on Platform", subject="Sarah")
    said = {"subject": "SARAH ", "updated_at": make.NOW + timedelta(days=1), "born": 2}
    new = fact("bbbbbbbb", "person", "Sarah leads Design", **said)

    assert found(new, old) == [
        ("contradiction", ("aaaaaaaa", "bbbbbbbb"), "memoryd memory delete aaaaaaaa")
    ]


def test_what_was_never_given_to_a_model_is_told_after_a_month() -> None:
    assert found(TEA, now=make.NOW + timedelta(days=29)) == []
    ((kind, ids, fix),) = found(TEA, now=make.NOW + timedelta(days=30))
    assert (kind, ids, fix) == ("never_recalled", ("aaaaaaaa",), "memoryd memory delete aaaaaaaa")


def test_what_was_last_read_long_ago_is_stale() -> None:
    read = {"aaaaaaaa": Access(1, make.NOW)}

    assert found(TEA, now=make.NOW + timedelta(days=90), accesses=read) == []
    ((kind, _, _),) = found(TEA, now=make.NOW + timedelta(days=365), accesses=read)
    assert kind == "stale"


def test_what_is_long_is_told_with_its_size() -> None:
    long = fact("aaaaaaaa", "context", "one two three " * 35)
    own = kept("core", "one two three " * 200)
    fact_found, own_found = findings.findings(Kept(facts=[long], own=[own]), make.NOW)

    assert fact_found.fix == 'memoryd memory edit aaaaaaaa "…"'
    assert "105 tokens" in fact_found.detail or "106 tokens" in fact_found.detail
    assert own_found.fix.startswith("memoryd memory edit aaaaaaaa ")


def test_a_merge_keeps_the_oldest_id_with_what_was_said_last() -> None:
    (one,) = proposals.proposals(Kept(facts=[TEA, TEAS]), make.NOW)

    assert (one.kind, one.keeps, one.text) == ("merge", "aaaaaaaa", "User likes green teas.")
    assert [source.memory_id for source in one.sources] == ["aaaaaaaa", "bbbbbbbb"]


def test_what_is_private_is_not_merged_into_what_others_see() -> None:
    public = fact("cccccccc", "preference", "The user likes green tea", channel="team", born=0)

    assert proposals.proposals(Kept(facts=[public, TEA]), make.NOW) == []


def test_a_proposal_is_named_by_what_it_is_made_of() -> None:
    (one,) = proposals.proposals(Kept(facts=[TEA, TEAS]), make.NOW)
    (same,) = proposals.proposals(Kept(facts=[TEAS, TEA]), LATER)
    changed = fact("bbbbbbbb", "preference", "User likes green teas.", born=2, version=2)
    (other,) = proposals.proposals(Kept(facts=[TEA, changed]), make.NOW)

    assert one.id == same.id
    assert one.id != other.id


def test_what_recurs_in_the_journal_is_promoted_unless_core_says_it() -> None:
    said = [
        "Ada asks for short answers",
        "Ada asks for short answers again",
        "Ada asks for short answers!",
    ]
    own = [kept("journal", text, born=at, memory_id=f"{at:08}") for at, text in enumerate(said)]
    core = kept("core", "Ada asks for short answers")

    (one,) = proposals.proposals(Kept(own=own), make.NOW)
    assert (one.kind, len(one.sources)) == ("promote", 3)
    assert proposals.proposals(Kept(own=own[:2]), make.NOW) == []
    assert proposals.proposals(Kept(own=[*own, core]), make.NOW) == []


def test_what_nobody_was_given_for_long_may_be_retired() -> None:
    assert proposals.proposals(Kept(facts=[TEA]), make.NOW + timedelta(days=89)) == []
    (one,) = proposals.proposals(Kept(facts=[TEA]), LATER)
    assert (one.kind, one.keeps, one.text) == ("retire", None, None)
