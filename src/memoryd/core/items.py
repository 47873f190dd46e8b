"""Rows → the items of a bundle, made here for building and replaying alike: the same text."""

import functools
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic_core import from_json

from memoryd import neutral
from memoryd.core import item, render
from memoryd.core.item import Item

TURN_CHUNKS = 40  # of one event in the window: about what it holds; the rest is said to be cut
PARTS = ("chunk", "reference")  # types that show a part of their event
KEPT_CHARACTERS = 4_000  # of a row whose item is kept: 64 MB of them at most
OUTPUTS = ("tool_result", "artifact")
LONG_RESULT = 500  # tokens; past it a tool's result stands in the window as a reference (seed 001)

Row = Mapping[str, Any]


def view(row: Row) -> Item:
    refs = (f"view:{row['name']}", row["event_id"])
    return item.make(render.view(row), type="view", position=row["position"], refs=refs)


def task(row: Row) -> Item:
    return _ledger("task", row, render.task(row))


def decision(row: Row) -> Item:
    ts = row["ts"]
    dated = {**row, "ts": datetime.fromisoformat(ts) if isinstance(ts, str) else ts}
    return _ledger("decision", row, render.decision(dated))


def handoff(row: Row) -> Item:
    return _ledger("handoff", row, render.handoff(row))


def _ledger(kind: str, row: Row, rendered: tuple[str, str]) -> Item:
    return item.make(
        rendered,
        type=kind,
        position=row["position"],
        refs=tuple(dict.fromkeys((row["event_id"], *row["refs"]))),
        names={f"{kind}_id": row[f"{kind}_id"]},
    )


def turn(rows: Sequence[Row]) -> Item:
    """An event of the conversation, by its chunks in order."""
    first = rows[0]
    read = sum(row["token_est"] for row in rows)
    total = rows[-1]["whole"] or read
    given = {"position": first["position"], "refs": (first["event_id"],)}
    if first["kind"] in OUTPUTS and total > LONG_RESULT:
        return item.make(render.reference({**first, "tokens": total}), type="reference", **given)
    text = "".join(row["text"] for row in rows)
    known = total if len(rows) == 1 and _plain(text) else None
    one = item.make(render.turn({**first, "text": text}), known, type="turn", **given)
    return one if read == total else item.shortened(one, len(one.body))


def evidence(rows: Sequence[Row], score: float | None, parts: Mapping[str, float]) -> Item:
    """Neighbouring chunks of one event."""
    first = rows[0]
    text = "".join([row["text"] for row in rows])
    plain = len(rows) == 1 and _plain(text)
    return item.make(
        render.evidence(first, text),
        first["token_est"] if plain else None,
        type="chunk",
        position=first["position"],
        ordinals=tuple([row["ordinal"] for row in rows]),
        refs=(*[row["chunk_id"] for row in rows], first["event_id"]),
        score=score,
        parts=parts,
        session=first.get("session_id", ""),
        raw=text,
    )


def _plain(text: str) -> bool:
    """It is shown as it is, so that its count is known."""
    return text == text.strip() and neutral.neutral(text) == text


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
