"""What one bundle has that another has not, and why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memoryd.core.receipt import Bundle, Receipt

Place = tuple[str, str, int]  # section, type, log position


@dataclass(frozen=True)
class Change:
    section: str
    type: str
    refs: list[str]
    text: str
    why: str


@dataclass(frozen=True)
class Difference:
    came_in: list[Change]
    fell_out: list[Change]
    changed: list[Change]  # of what both have: what is cut in one of them
    kept: int


def difference(new: tuple[Receipt, Bundle], old: tuple[Receipt, Bundle]) -> Difference:
    """From `old` to `new`, by what the receipts say."""
    inside, before = _items(*new), _items(*old)
    return Difference(
        came_in=[
            _change(place, shown, _why_missing(place, shown, old, new))
            for place, shown in inside.items()
            if place not in before
        ],
        fell_out=[
            _change(place, shown, _why_missing(place, shown, new, old))
            for place, shown in before.items()
            if place not in inside
        ],
        changed=[
            _change(place, shown, "cut")
            for place, shown in inside.items()
            if place in before and _unnumbered(shown) != _unnumbered(before[place])
        ],
        kept=len(inside.keys() & before.keys()),
    )


def _items(receipt: Receipt, bundle: Bundle) -> dict[Place, Mapping[str, Any]]:
    return dict(_places(receipt, bundle))


def _places(receipt: Receipt, bundle: Bundle) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    for section in bundle["sections"]:
        kept = receipt.record["sections"][section["name"]]["items"]
        for one, shown in zip(kept, section["items"], strict=True):
            yield (section["name"], one[0], one[1]), shown


def _unnumbered(shown: Mapping[str, Any]) -> str:
    """Its text without the head, in which evidence has a number."""
    return str(shown["text"]).partition("\n")[2]


def _change(place: Place, shown: Mapping[str, Any], why: str) -> Change:
    section, kind, _ = place
    return Change(section, kind, list(shown["refs"]), shown["text"], why)


def _omitted(section: str, refs: set[str], bundle: Bundle) -> str | None:
    """Why the bundle says that it left these out; of a long list only the first are named."""
    listed = [one for one in bundle["omissions"] if refs & set(one["candidates"])]
    longer = [
        one
        for one in bundle["omissions"]
        if one.get("section") == section and one["count"] > len(one["candidates"])
    ]
    return next((str(one["reason"]) for one in [*listed, *longer]), None)


def _why_missing(
    place: Place,
    shown: Mapping[str, Any],
    without: tuple[Receipt, Bundle],
    having: tuple[Receipt, Bundle],
) -> str:
    """Why the bundle `without` it has it not, though the one `having` it does."""
    section, kind, position = place
    receipt, bundle = without
    if section not in receipt.record["sections"]:
        return "section_not_asked_for"
    if position > receipt.position:
        return "recorded_later"
    if any(position == other for _, _, other in _items(*without)):
        return "shown_elsewhere"
    if reason := _omitted(section, set(shown["refs"]), bundle):
        return reason
    if kind in ("decision", "task", "view", "handoff") and receipt.position != having[0].position:
        return "replaced_or_closed"
    other_question = receipt.asked.query_text != having[0].asked.query_text
    return "another_question" if other_question else "outranked"
