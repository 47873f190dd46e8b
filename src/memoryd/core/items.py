"""Rows → the items of a bundle, made here for building and replaying alike: the same text."""

import functools
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic_core import from_json

from memoryd.core import item, render
from memoryd.core.item import Item
from memoryd.core.model import OUTPUTS

TURN_CHUNKS = 40  # of one event in the window: about what it holds; the rest is said to be cut
KEPT_CHARACTERS = 4_000  # of a row whose item is kept: 64 MB of them at most
LONG_RESULT = 500  # tokens; past it a tool's result stands in the window as a reference (seed 001)

Row = Mapping[str, Any]


def view(row: Row) -> Item:
    refs = (f"view:{row['name']}", row["event_id"])
    return item.make(render.view(row), type="view", position=row["position"], refs=refs)


def task(row: Row) -> Item:
    return _ledger("task", row, render.task(row), "own" if row.get("own") else "")


def decision(row: Row) -> Item:
    ts = row["ts"]
    dated = {**row, "ts": datetime.fromisoformat(ts) if isinstance(ts, str) else ts}
    return _ledger("decision", row, render.decision(dated), row["scope"])


def handoff(row: Row) -> Item:
    return _ledger("handoff", row, render.handoff(row))


def _ledger(kind: str, row: Row, rendered: tuple[str, str], where: str = "") -> Item:
    return item.make(
        rendered,
        type=kind,
        place=where,
        position=row["position"],
        ordinals=tuple(row.get("over", ())),
        refs=tuple(dict.fromkeys((row["event_id"], *row["refs"]))),
        names={f"{kind}_id": row[f"{kind}_id"]},
    )


def turn(rows: Sequence[Row]) -> Item:
    """An event of the conversation, by its chunks in order."""
    first, rows = rows[0], rows[:TURN_CHUNKS]
    total, read = first["whole"], sum(row["token_est"] for row in rows)
    given = {"position": first["position"], "refs": (first["event_id"],)}
    given |= {"artifacts": tuple(first.get("artifacts") or ()), "share": _share(rows)}
    if first["kind"] in OUTPUTS and total > LONG_RESULT:
        return item.make(render.reference(first), type="reference", **given | {"share": 0.0})
    text = "".join(row["text"] for row in rows)
    head, body = render.turn({**first, "text": text})
    known = total if len(rows) == 1 and body == text else None
    one = item.make((head, body), known, type="turn", **given)
    return one if read == total else item.shortened(one, len(one.body))


def evidence(rows: Sequence[Row], score: float | None, parts: Mapping[str, float]) -> Item:
    """Neighbouring chunks of one event."""
    first = rows[0]
    text = "".join([row["text"] for row in rows])
    head, body = render.evidence(first, text)
    return item.make(
        (head, body),
        first["token_est"] if len(rows) == 1 and body == text else None,  # its count is known
        type="chunk",
        position=first["position"],
        ordinals=tuple([row["ordinal"] for row in rows]),
        refs=(*[row["chunk_id"] for row in rows], first["event_id"]),
        score=score,
        parts=parts,
        artifacts=tuple(first.get("artifacts") or ()),
        share=_share(rows),
        place=first.get("session_id", ""),
        raw=text,
    )


def _share(rows: Sequence[Row]) -> float | None:
    """How much of an output these chunks are."""
    whole = rows[0].get("whole") if rows[0]["kind"] in OUTPUTS else None
    return sum(row["token_est"] for row in rows) / whole if whole else None


WHOLE: dict[str, Callable[[Row], Item]] = {
    "view": view,
    "task": task,
    "decision": decision,
    "handoff": handoff,
}


def made(kind: str, row: str) -> Item:
    """The item of a row that comes as JSON; of a turn, of its chunks. Most of a bundle was in the
    one before, so that short ones are kept.
    """
    return _kept(kind, row) if len(row) <= KEPT_CHARACTERS else _made(kind, row)


def _made(kind: str, row: str) -> Item:
    return turn(from_json(row)) if kind == "turn" else WHOLE[kind](from_json(row))


_kept = functools.lru_cache(maxsize=8_192)(_made)
