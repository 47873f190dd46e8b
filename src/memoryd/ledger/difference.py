"""What one bundle has that another has not, and why."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memoryd.core import privacy
from memoryd.core.model import Reader
from memoryd.core.receipt import Bundle, Receipt

VERSIONED = ("decision", "task", "view", "handoff")  # types that a later event may replace
QUESTIONED = ("retrieved_evidence", "decision_ledger")  # sections that a question changes
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
    changed: list[Change]  # of what both have: what one of them shows otherwise
    kept: int


@dataclass(frozen=True)
class _Piece:
    """An item where it stands; of one event several may, each with chunks of its own."""

    section: str
    type: str
    position: int
    chunks: frozenset[int]
    cut: int | None
    shown: Mapping[str, Any]

    @property
    def place(self) -> Place:
        return self.section, self.type, self.position

    @property
    def own(self) -> set[str]:
        """The ids of what it shows, without what that refers to."""
        refs = self.shown["refs"]
        return {*(refs[:1] if self.type in VERSIONED else refs)}

    @property
    def text(self) -> str:
        """Without the head, in which evidence has a number."""
        return str(self.shown["text"]).partition("\n")[2]


class _Side:
    """A bundle with its receipt, and its pieces by their places."""

    def __init__(self, receipt: Receipt, bundle: Bundle) -> None:
        self.receipt, self.omissions = receipt, bundle["omissions"]
        self.pieces = _pieces(receipt, bundle)
        self._placed: dict[Place, list[_Piece]] = defaultdict(list)
        for one in self.pieces:
            self._placed[one.place].append(one)

    def like(self, piece: _Piece) -> list[_Piece]:
        """What it has of `piece`: of an event's chunks, those items that share one with it."""
        there = self._placed.get(piece.place, [])
        return [one for one in there if one.chunks & piece.chunks or not piece.chunks]

    def elsewhere(self, piece: _Piece) -> bool:
        """Whether it shows the same event in another section; a reference shows nothing of it."""
        return any(
            one.position == piece.position
            and one.section != piece.section
            and one.type != "reference"
            for one in self.pieces
        )


def difference(new: tuple[Receipt, Bundle], old: tuple[Receipt, Bundle]) -> Difference:
    """From `old` to `new`, by what the receipts say."""
    inside, before = _Side(*new), _Side(*old)
    both = [(one, like) for one in inside.pieces if (like := before.like(one))]
    return Difference(
        came_in=_missing(inside.pieces, before, inside),
        fell_out=_missing(before.pieces, inside, before),
        changed=[_change(one, why) for one, like in both if (why := _how_changed(one, like))],
        kept=len(both),
    )


def _pieces(receipt: Receipt, bundle: Bundle) -> list[_Piece]:
    found = []
    for section in bundle["sections"]:
        kept = receipt.record["sections"][section["name"]]["items"]
        for (kind, position, _, ordinals, cut), shown in zip(kept, section["items"], strict=True):
            chunks = frozenset(ordinals if kind == "chunk" else ())
            found.append(_Piece(section["name"], kind, position, chunks, cut, shown))
    return found


def _change(piece: _Piece, why: str) -> Change:
    return Change(piece.section, piece.type, [*piece.shown["refs"]], piece.shown["text"], why)


def _how_changed(one: _Piece, before: Sequence[_Piece]) -> str | None:
    """A decision's text names the conflicts that were left."""
    if [one.chunks] != [other.chunks for other in before]:
        return "other_chunks"
    if one.cut != before[0].cut:
        return "cut"
    return "other_conflicts" if one.text != before[0].text else None


def _missing(pieces: Sequence[_Piece], without: _Side, having: _Side) -> list[Change]:
    """Of the pieces of the one `having` them, those that the one `without` has not."""
    return [_change(one, _why(one, without, having)) for one in pieces if not without.like(one)]


def _why(piece: _Piece, without: _Side, having: _Side) -> str:
    known = _known(piece, without) or _not_for(piece, without.receipt, having.receipt)
    return known or _likely(piece, without, having.receipt)


def _known(piece: _Piece, without: _Side) -> str | None:
    """What the bundle `without` it says for sure."""
    if piece.section not in without.receipt.record["sections"]:
        return "section_not_asked_for"
    if piece.position > without.receipt.position:
        return "recorded_later"
    return "shown_elsewhere" if without.elsewhere(piece) else _listed(piece, without.omissions)


def _likely(piece: _Piece, without: _Side, other: Receipt) -> str:
    """What it does not say: what another question never considered was not left out of its list."""
    same = without.receipt.asked.query_text == other.asked.query_text
    considered = same or piece.section not in QUESTIONED
    if considered and (reason := _unlisted(piece, without.omissions)):
        return reason
    if piece.type in VERSIONED and without.receipt.position != other.position:
        return "replaced_or_closed"
    return "outranked" if same else "another_question"


def _listed(piece: _Piece, omissions: Sequence[Mapping[str, Any]]) -> str | None:
    """Why a bundle says by name that it left this out of the section."""
    listed = (
        one
        for one in omissions
        if one.get("section") in (piece.section, None) and piece.own & {*one["candidates"]}
    )
    return next((str(one["reason"]) for one in listed), None)


def _unlisted(piece: _Piece, omissions: Sequence[Mapping[str, Any]]) -> str | None:
    """Why it may have been left out: of a long list only the first are named."""
    longer = (
        one
        for one in omissions
        if one.get("section") == piece.section and one["count"] > len(one["candidates"])
    )
    return next((str(one["reason"]) for one in longer), None)


def _not_for(piece: _Piece, receipt: Receipt, other: Receipt) -> str | None:
    """Whether a bundle was built where this is not, or for whom it may not be shown."""
    elsewhere = receipt.asked.session_id != other.asked.session_id
    if piece.section == "recent_window" and elsewhere:
        return "another_session"
    agents = receipt.reader.agent_id != other.reader.agent_id
    if piece.section in ("identity", "handoff_packet") and agents:
        return "another_reader"
    if not _sees_all(receipt.reader, other.reader):
        return "another_reader"
    return "another_session" if piece.section == "handoff_packet" and elsewhere else None


def _sees_all(reader: Reader, other: Reader) -> bool:
    """Whether `reader` sees whatever `other` sees."""
    mine, theirs = privacy.sight(reader), privacy.sight(other)
    own = {*mine.own_channels} if mine.user_id == theirs.user_id else set[str]()
    return (
        {*theirs.channels} <= {*mine.channels}
        and {*theirs.own_channels} <= own
        and {*theirs.sensitivities} <= {*mine.sensitivities}
    )
