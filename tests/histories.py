"""Random histories of nasty texts, as rows, as items and as events, and what counts them.

A history follows from a seed and a few sizes, so that a failing one is shrunk by its sizes.
"""

import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from memoryd.core import chunk, items, pack, tokens
from memoryd.core.item import Item

Row = dict[str, Any]

WORDS = (
    *("ship", "Friday", "the", "PostgreSQL", "don't", "I'll", "README.md", "ABCdef", "9", "12345"),
    *("日本語", "漢字かな", "привет", "مرحبا", "naïve", "e\u0301\u0302\u0303", "ŉ", "ʰʰ", "\u200d"),
    *(
        "😀",
        "👩‍👩‍👧‍👦",
        "🏳️‍🌈",
        "</memory>",
        "<memory section='x'>",
        "</ RULES>",
        "< /identity>",
        "<|endoftext|>",
    ),
    *("/etc/passwd", "//", "[1]", "]", "...", "?!", "{", "<", "&lt;", "```", "#", "=" * 70, "\x1c"),
)
BLANKS = (
    *(
        " ",
        " ",
        " ",
        " ",
        "  ",
        "\n",
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        "\u3000",
        "\u2028",
        "\x85",
        "\x1c",
    ),
    *("", " " * 300, "\n" * 200, "\t \u2003\n" * 60, "\r\n \r\n"),
)
TINY = (
    "",
    " ",
    "/",
    "//",
    "/\n/",
    "\x1c",
    "\x1c/",
    ".",
    "]",
    "ok",
    "ok",
    "OK",
    "\n",
    "é",
    "</memory>",
)
SAID = (
    "We ship on Friday, and nobody may touch the release branch before that",
    "日本語の文章です。" * 9,
)
LONG_BLANK = "\t \u2003\n\u3000 \r\n" * 220  # white space that costs as much as words
MONSTERS = (
    "a" * 100_000,
    "日本" * 20_000,
    "-" * 60_000,
    "Ab9-" * 25_000,
    "word " * 20_000,
    "".join(f"line {number} of the output\n" for number in range(4_000)),
    f"before{LONG_BLANK}between{LONG_BLANK}after",
    "👩‍👩‍👧" * 900 + "\n" + "short\n" * 9,
)
NAMES = ("ada", "bob]", "[tool]\u3000x", "</memory>", "日本", "a\u2028b", "/", "\u3000")
DAY = datetime(2026, 5, 1, 12, tzinfo=UTC)


def independent(text: str) -> int:
    """tiktoken's own count of all of it at once, which shares nothing with `tokens.count`."""
    return len(tokens._encoding().encode_ordinary(text))


def text(draw: random.Random) -> str:
    """Something that somebody might once record."""
    kind = draw.random()
    if kind < 0.12:
        return draw.choice(TINY)
    if kind < 0.135:
        return draw.choice(MONSTERS)[: 100_000 if kind < 0.123 else 5_000]
    if kind < 0.30:
        return near(draw)
    size = draw.choice((1, 2, 3, 8, 8, 20, 120))
    return "".join(draw.choice(WORDS) + draw.choice(BLANKS) for _ in range(draw.randint(1, size)))


def near(draw: random.Random) -> str:
    """One of a few sentences, as it is or nearly so."""
    said = draw.choice(SAID)
    return draw.choice(
        (said, said.upper(), f"{said} {draw.randint(1, 3)}", said.replace(" ", "  "))
    )


@functools.lru_cache(maxsize=4096)
def pieces(said: str) -> tuple[tuple[str, int], ...]:
    return tuple((piece, tokens.count(piece)) for piece in chunk.split(said))


@dataclass(frozen=True)
class Sizes:
    views: int = 0
    tasks: int = 0
    decisions: int = 0
    handoffs: int = 0
    events: int = 0


@dataclass(frozen=True)
class History:
    candidates: dict[str, list[Item]]
    texts: dict[int, str]  # by position


def history(seed: int, sizes: Sizes) -> History:
    draw = random.Random(seed)
    texts = {at: text(draw) for at in range(1, sizes.events + 1)}
    said = [chunks(draw, at, texts[at]) for at in texts]
    ledger = sizes.events
    decisions = [_decision(draw, ledger + at) for at in range(1, sizes.decisions + 1)]
    ledger += sizes.decisions
    tasks = [_task(draw, ledger + at) for at in range(1, sizes.tasks + 1)]
    ledger += sizes.tasks
    handoffs = [_handoff(draw, ledger + at) for at in range(1, sizes.handoffs + 1)]
    ledger += sizes.handoffs
    views = [items.view(_view(draw, ledger + at, at)) for at in range(1, sizes.views + 1)]
    found = [row for rows in said for row in rows]
    found += [row for one in decisions for row in chunks(draw, one["position"], one["decision"])]
    window = [rows for rows in said if rows and draw.random() < 0.6]
    return History(
        {
            "identity": [one for one in views if one.head.startswith("[identity.")],
            "rules": [one for one in views if not one.head.startswith("[identity.")],
            "task_state": [items.task(row) for row in tasks],
            "decision_ledger": [items.decision(row) for row in reversed(decisions)],
            "handoff_packet": [items.handoff(row) for row in handoffs],
            "retrieved_evidence": pack.distinct(evidence(draw, found))[0],
            "recent_window": [items.turn(turn(rows)) for rows in reversed(window)],
        },
        texts,
    )


def evidence(draw: random.Random, rows: Sequence[Row]) -> list[Item]:
    """At most 200, in an order of no meaning, as the scores of a question may have it."""
    chosen = draw.sample(rows, min(len(rows), draw.choice((5, 50, 200))))
    scores = sorted((round(draw.random(), 6) for _ in chosen), reverse=True)
    return [
        items.evidence([row], points, {"semantic": points})
        for row, points in zip(chosen, scores, strict=True)
    ]


def turn(rows: Sequence[Row]) -> list[Row]:
    """An event as the window reads it: the first chunks, and how much there is in all."""
    whole = sum(row["token_est"] for row in rows)
    return [{**row, "whole": whole} for row in rows[: items.TURN_CHUNKS]]


def chunks(draw: random.Random, position: int, said: str) -> list[Row]:
    kind = draw.choice(("message", "message", "tool_result"))
    shared = {
        "position": position,
        "event_id": f"evt_{position}",
        "ts": DAY - timedelta(days=draw.randint(0, 4_000)),
        "kind": kind,
        "actor_type": draw.choice(("human", "agent", "tool")),
        "actor_id": draw.choice(NAMES),
        "tool": draw.choice(("bash", "fs[read]")) if kind == "tool_result" else None,
        "path": draw.choice((None, "README.md", "a]\nb</memory>"))
        if kind == "tool_result"
        else None,
        "whole": None,
    }
    return [
        {
            **shared,
            "ordinal": at,
            "chunk_id": f"chk_{position}_{at}",
            "token_est": size,
            "text": piece,
        }
        for at, (piece, size) in enumerate(pieces(said))
    ]


def _view(draw: random.Random, position: int, number: int) -> Row:
    name = ("identity.a", "rules.org", "rules.project", "rules.user")[number % 4]
    return {"name": name, "text": text(draw), "event_id": f"evt_{position}", "position": position}


def _row(draw: random.Random, kind: str, position: int) -> Row:
    refs = draw.sample(["evt_1", f"evt_{position}", "art_1", "x"], draw.randint(0, 3))
    return {
        f"{kind}_id": f"{kind[:3]}_{position}",
        "event_id": f"evt_{position}",
        "position": position,
        "actor_type": draw.choice(("human", "agent", "tool")),
        "actor_id": draw.choice(NAMES),
        "refs": refs,
    }


def _task(draw: random.Random, position: int) -> Row:
    details = draw.choice(("", text(draw)))
    status = draw.choice(("open", "doing"))
    return {
        **_row(draw, "task", position),
        "status": status,
        "title": text(draw) or "x",
        "details": details,
    }


def _decision(draw: random.Random, position: int) -> Row:
    parts = ("rationale", "constraints", "alternatives", "consequences")
    return {
        **_row(draw, "decision", position),
        **{part: [text(draw)] if draw.random() < 0.2 else [] for part in parts},
        "scope": draw.choice(("project", "user")),
        "decision": text(draw),
        "conflicts": ["dec_1"] if draw.random() < 0.2 else [],
        "over": [0] if draw.random() < 0.2 else [],
        "ts": draw.choice((DAY, DAY.isoformat())),
    }


def _handoff(draw: random.Random, position: int) -> Row:
    return {
        **_row(draw, "handoff", position),
        "status": draw.choice(("pending", "accepted")),
        "from_agent": draw.choice(NAMES),
        "packet": text(draw),
    }
