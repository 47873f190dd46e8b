"""A random request for every route of prompts, tools, chat commands and the care of memories."""

import random
from dataclasses import replace
from typing import Any

from leak_kept import any_memory
from leak_memories import again, chosen
from leak_world import SESSIONS, Asker, Eyes, Request, World
from leak_writes import CASES, case, fresh, full, question, said, target

PROMPT, TOOLS, CARE = "/api/v1/prompt", "/api/v1/tools", "/api/v1/memories"
NOBODYS = "aaaaaaaa"


def own_eyes(asker: Asker, agent: str | None) -> tuple[Eyes, ...]:
    """The asker's, and in private those of the agent that is named."""
    eyes = asker.eyes()
    if agent is None or eyes.channel != "private":
        return (eyes,)
    return (eyes, replace(eyes, user=f"agent:{agent}"))


def prompted(world: World, draw: random.Random, asker: Asker) -> tuple[dict[str, Any], Any]:
    asked = question(world, draw)
    given: dict[str, Any] = {"query": asked["query_text"]} if asked else {}
    given |= {"session_id": draw.choice(SESSIONS)} if draw.random() < 0.7 else {}
    given |= {"facts": draw.choice(("by_category", "by_date"))}
    given |= {"team_id": "red"} if draw.random() < 0.5 else {}
    return {**asker.given, **given}, own_eyes(asker, asker.agent or asker.key.agent or "default")


@case("GET", PROMPT)
def get_prompt(world: World, draw: random.Random, asker: Asker) -> Request:
    given, eyes = prompted(world, draw, asker)
    return Request("GET", PROMPT, params=given, eyes=eyes)


@case("POST", PROMPT)
def post_prompt(world: World, draw: random.Random, asker: Asker) -> Request:
    given, eyes = prompted(world, draw, asker)
    return Request("POST", PROMPT, json=given, eyes=eyes)


@case("GET", TOOLS)
def list_tools(world: World, draw: random.Random, asker: Asker) -> Request:
    return Request("GET", TOOLS, params={"format": "mcp"})


@case("POST", f"{TOOLS}/{{name}}")
def call_tool(world: World, draw: random.Random, asker: Asker) -> Request:
    row = fresh(asker, "called", "private")
    old = chosen(world, draw, asker, "memory_id")
    old_id = old.at["memory_id"] if old else NOBODYS
    text = again(old, draw)
    name, arguments = draw.choice(
        (
            ("add_to_memory", {"content": said(row, draw), "category": "context"}),
            ("update_memory", {"memory_id": old_id, "content": text}),
            ("manage_user_memory", {"operation": "get_memory"}),
            ("retrieve_memory", {"memory_key": target(world, draw, asker, "key")}),
            ("search_memory", {"query": question(world, draw).get("query_text", "cabbages")}),
            ("manage_user_memory", {"operation": "deactivate_fact", "fact_id": old_id}),
        )
    )
    body = {**asker.given, "arguments": arguments}
    asked = Request("POST", f"{TOOLS}/{{name}}", at={"name": name}, json=body, eyes=full(asker))
    if name == "add_to_memory":
        return replace(asked, writes=row)
    reads = ("manage_user_memory", "retrieve_memory", "search_memory")
    return replace(asked, eyes=None) if name in reads else asked


@case("POST", "/api/v1/commands/memory")
def chat(world: World, draw: random.Random, asker: Asker) -> Request:
    row, memory_id = any_memory(world, draw, asker)
    words = question(world, draw).get("query_text", "cabbages")
    text = draw.choice(
        (
            *("/memory", f"/memory search {words}", f"/memory show {memory_id}"),
            *(f"/memory delete {memory_id}", f"/memory undo {memory_id}"),
            *(f"/memory edit {memory_id} {again(row, draw)}", f"/memory undo {memory_id} 1"),
            *(f"/memory list {name}" for name in ("core", "deleted", "whiteboard red")),
        )
    )
    body = {**asker.given, "text": text}
    eyes = own_eyes(asker, asker.agent or asker.key.agent or "default")
    return Request("POST", "/api/v1/commands/memory", json=body, eyes=eyes)


for _name in ("audit", "importance", "proposals"):

    def look(
        world: World, draw: random.Random, asker: Asker, route: str = f"{CARE}/{_name}"
    ) -> Request:
        eyes = own_eyes(asker, asker.agent or asker.key.agent)
        return Request("GET", route, params=asker.given, eyes=eyes)

    CASES["GET", f"{CARE}/{_name}"] = look

for _name in ("apply", "undo"):

    def do(world: World, draw: random.Random, asker: Asker, end: str = _name) -> Request:
        route = f"{CARE}/proposals/{{proposal_id}}/{end}"
        eyes = own_eyes(asker, asker.agent or asker.key.agent)
        at = {"proposal_id": f"prp_{draw.randrange(16**16):016x}"}
        return Request("POST", route, at=at, params=asker.given, eyes=eyes)

    CASES["POST", f"{CARE}/proposals/{{proposal_id}}/{_name}"] = do
