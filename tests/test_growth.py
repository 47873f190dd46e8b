"""Importance decays while unread, and what has no room gives way to what matters more."""

from datetime import timedelta

import make
from memoryd.core import tokens
from memoryd.memories import blocks, growth
from memoryd.memories.growth import Access
from test_blocks import fact

LATER = make.NOW + growth.HALF_LIFE
OLD = fact("aaaaaaaa", "person", "Alec is the boss", born=1)
READ = fact("bbbbbbbb", "person", "Sarah is a colleague", born=2)


def test_importance_halves_in_a_month_and_a_reading_brings_it_back() -> None:
    assert growth.importance(OLD, growth.NEVER, make.NOW) == 1.0
    assert growth.importance(OLD, growth.NEVER, LATER) == 0.5
    assert growth.importance(OLD, Access(1, LATER), LATER) == 1.0
    assert growth.importance(OLD, Access(3, make.NOW), LATER) > 0.7


def test_what_was_read_last_comes_first_and_then_the_younger() -> None:
    young = fact("cccccccc", "person", "Bob is a friend", born=3)
    read = {"bbbbbbbb": Access(1, LATER)}

    assert growth.by_importance([OLD, READ, young], read, LATER + timedelta(days=1)) == [
        "bbbbbbbb",
        "cccccccc",
        "aaaaaaaa",
    ]


def test_what_fits_is_chosen_by_preference_and_kept_in_its_order() -> None:
    room = tokens.count(blocks.fact_line(READ) + "\n")
    both = room + tokens.count(blocks.fact_line(OLD) + "\n")

    chosen = ["bbbbbbbb", "aaaaaaaa"]
    assert growth.fitting([OLD, READ], blocks.fact_line, chosen, room) == [READ]
    assert growth.fitting([OLD, READ], blocks.fact_line, chosen, both) == [OLD, READ]
    assert growth.fitting([OLD, READ], blocks.fact_line, chosen, 0) == []
