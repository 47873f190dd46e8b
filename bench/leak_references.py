"""A random request for every route of references."""

import json
import random
from dataclasses import replace
from typing import Any

from leak_world import SESSIONS, Asker, Request, Row, World
from leak_writes import CASES, case, fresh, full, origin, question, said, target

REFERENCES = "/api/v1/references"
KEPT = ("none", "none", "low", "high")
PARTS: tuple[dict[str, Any], ...] = (
    *({}, {"lines": "1-2"}, {"bytes": "0-40"}, {"find": "cabbages"}, {"path": "$.text"}),
)


def storing(draw: random.Random, asker: Asker) -> tuple[Row, dict[str, Any]]:
    """Now and then under a key that others have."""
    row = fresh(asker, "reference", "private", sensitivity=draw.choice(KEPT))
    body = {**origin(draw, asker, row), "type": "file", "metadata": {"path": row.mark}}
    for unknown in ("tags", "actor"):
        body.pop(unknown)
    if draw.random() < 0.4:
        body["key"] = draw.choice(("build", "plan"))
    return row, body


@case("POST", REFERENCES)
def store(world: World, draw: random.Random, asker: Asker) -> Request:
    row, body = storing(draw, asker)
    text = said(row, draw)
    body["content"] = draw.choice((text, f"{text}\n" * 90, json.dumps({"text": text})))
    return Request("POST", REFERENCES, json=body, writes=row, eyes=full(asker))


@case("POST", f"{REFERENCES}/swap")
def swap(world: World, draw: random.Random, asker: Asker) -> Request:
    """Long enough to be stored; what it wrote is not told at the top, so it is not kept in mind,
    and has no key that others have: whoever sees it there would be thought to see theirs.
    """
    row, body = storing(draw, asker)
    body.pop("key", None)
    body |= {"text": f"{said(row, draw)}\n" * 20, "threshold": 50}
    return Request("POST", f"{REFERENCES}/swap", json=body, eyes=full(asker))


@case("POST", f"{REFERENCES}/upload")
def upload(world: World, draw: random.Random, asker: Asker) -> Request:
    row, given = storing(draw, asker)
    given["metadata"] = json.dumps(given["metadata"])
    asked = Request("POST", f"{REFERENCES}/upload", params=given, content=said(row, draw).encode())
    return replace(asked, writes=row, eyes=full(asker))


def one(method: str, end: str = "") -> None:
    """By a key or an event's id, whoever's it is."""
    route = f"{REFERENCES}/{{key}}{end}"

    def ask(world: World, draw: random.Random, asker: Asker) -> Request:
        name = draw.choice(("key", "event_id"))
        part = draw.choice(PARTS) if not end else {}
        at = {"key": target(world, draw, asker, name)}
        return Request(method, route, at=at, params={**asker.given, **part})

    CASES[method, route] = ask


one("GET")
one("GET", "/raw")
one("POST", "/deactivate")
one("DELETE", "/deactivate")
one("POST", "/describe")
one("DELETE", "/describe")


@case("GET", REFERENCES)
def listed(world: World, draw: random.Random, asker: Asker) -> Request:
    some: tuple[dict[str, Any], ...] = ({}, {"session_id": draw.choice(SESSIONS)}, {"type": "file"})
    given = {**asker.given, **draw.choice(some), "limit": draw.choice((1, 5, 200))}
    return Request("GET", REFERENCES, params={**given, "own": draw.random() < 0.2})


@case("POST", f"{REFERENCES}/search")
def search(world: World, draw: random.Random, asker: Asker) -> Request:
    asked = question(world, draw).get("query_text", "cabbages")
    body = {**asker.given, "query": asked, "limit": draw.choice((1, 50))}
    return Request("POST", f"{REFERENCES}/search", json=body)


@case("POST", "/api/v1/intent")
def intent(world: World, draw: random.Random, asker: Asker) -> Request:
    """Reads nothing: whatever is in the answer was in the question."""
    body = {"instruction": question(world, draw).get("query_text", "as usual"), "context": ["hi"]}
    return Request("POST", "/api/v1/intent", json=body)
