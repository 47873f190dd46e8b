"""A random request for every route that takes any memory by its id, whatever its type."""

import random
from dataclasses import replace
from typing import Any

from leak_memories import NOBODYS, again, chosen
from leak_world import AGENTS, Asker, Eyes, Request, Row, World
from leak_writes import CASES, case, question

KEPT = "/api/v1/memories"
IDS = ("memory_id", "entry_id", "note_id")  # of a fact, what an agent keeps, a whiteboard's note


def speaking(asker: Asker) -> tuple[Eyes, ...]:
    """The asker's eyes, and in private those of the agent that is named, or of any."""
    eyes, agent = asker.eyes(), asker.agent or asker.key.agent
    if eyes.channel != "private":
        return (eyes,)
    every = (agent,) if agent else ("default", *AGENTS)
    return (eyes, *(replace(eyes, user=f"agent:{one}") for one in every))


def any_memory(world: World, draw: random.Random, asker: Asker) -> tuple[Row | None, str]:
    """Someone's memory, of whichever type."""
    name = draw.choice(IDS)
    row = chosen(world, draw, asker, name)
    return row, row.at[name] if row else NOBODYS


@case("GET", KEPT)
def list_kept(world: World, draw: random.Random, asker: Asker) -> Request:
    kind = draw.choice(("fact", "place", "core", "journal", "whiteboard"))
    given: dict[str, Any] = {"type": kind, "team_id": "red", **asker.given}
    if asked := question(world, draw):
        given["q"] = asked["query_text"]
    given |= {f"include_{name}": True for name in ("deleted", "inactive", "evicted")}
    return Request("GET", KEPT, params=given, eyes=speaking(asker))


def by_id(method: str, end: str = "") -> None:
    route = f"{KEPT}/{{memory_id}}{end}"

    def ask(world: World, draw: random.Random, asker: Asker) -> Request:
        row, memory_id = any_memory(world, draw, asker)
        asked = Request(method, route, at={"memory_id": memory_id}, params=asker.given)
        if method == "PUT":
            asked = replace(asked, json={"content": again(row, draw)})
        if end == "/restore":
            asked = replace(asked, json={"version": 1})
        return replace(asked, eyes=speaking(asker))

    CASES[method, route] = ask


for _method, _end in (
    *(("GET", ""), ("PUT", ""), ("DELETE", ""), ("GET", "/versions"), ("GET", "/diff")),
    *(("POST", "/restore"), ("POST", "/undelete"), ("POST", "/deactivate"), ("POST", "/activate")),
):
    by_id(_method, _end)
