"""What was found comes from more than one session, so that a question finds all its parts."""

from memoryd.core import item, pack
from memoryd.core.item import Item


def found(body: str, session: str = "s", score: float = 0.5) -> Item:
    return item.make(
        ("[0, human ada, 1 May 2026]\n", body),
        type="chunk",
        position=1,
        refs=("chk_1", "evt_1"),
        score=score,
        place=session,
    )


def bodies(items: list[Item]) -> list[str]:
    return [one.body for one in items]


def test_of_equals_the_one_from_another_session_comes_first() -> None:
    items = [found("a", "s1"), found("b", "s1"), found("c", "s2")]

    assert bodies(pack.spread(items)) == ["a", "c", "b"]


def test_what_is_clearly_better_stays_before_other_sessions() -> None:
    items = [found("a", "s1", 0.9), found("b", "s1", 0.88), found("c", "s2", 0.86)]

    assert bodies(pack.spread(items)) == ["a", "b", "c"]


def test_every_part_of_a_question_is_met_before_a_session_says_all_it_has() -> None:
    """Forty turns about the one part, and one about the other, a little less like the question."""
    items = [found(f"much {at}", "s1", 0.8 - at / 1000) for at in range(40)]
    items.append(found("the other part", "s2", 0.75))

    assert bodies(pack.spread(items)).index("the other part") < 25


def test_within_a_session_and_among_many_of_one_the_order_stays() -> None:
    items = [found(f"turn {at}", score=1 - at / 100) for at in range(60)]
    turned = [found(f"turn {at}", f"s{at}", 1 - at / 100) for at in range(60)]

    assert pack.spread(items) == items
    assert pack.spread(turned) == turned


def test_spreading_keeps_all_and_does_not_depend_on_the_scale_of_the_scores() -> None:
    scores = [0.93, 0.92, 0.92, 0.91, 0.91, 0.9, 0.7, 0.69, 0.68, 0.3]
    items = [found(str(at), f"s{at // 5}", score) for at, score in enumerate(scores)]
    larger = [found(str(at), f"s{at // 5}", 8 * score) for at, score in enumerate(scores)]

    assert sorted(bodies(pack.spread(items))) == sorted(bodies(items))
    assert bodies(pack.spread(items)) == bodies(pack.spread(larger))
    assert [one.score for one in pack.spread(items)] != scores
    assert pack.spread([]) == []
