"""A random message to the MCP door: tools, resources and the prompt, for whatever others have."""

import random
from typing import Any

from leak_world import NOBODYS, Asker, Eyes, Request, World
from leak_writes import VIEWS, bundle, case, question, target, through

MCP = "/mcp"


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return message("tools/call", name=name, arguments=arguments)


def message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def read(uri: str) -> dict[str, Any]:
    return message("resources/read", uri=uri)


@case("POST", MCP)
def speak(world: World, draw: random.Random, asker: Asker) -> Request:
    words = question(world, draw).get("query_text", "cabbages")
    found = bundle(world, draw)
    again = read(f"memory://bundle/{found.acb_id if found else f'acb_{NOBODYS}'}")
    said = draw.choice(
        (
            *(again, again, message("resources/list"), message("tools/list")),
            read(f"memory://views/{draw.choice(VIEWS)}"),
            message("prompts/get", name="recall", arguments={"about": words}),
            call("memory_build_acb", query_text=words),
            call("memory.query_decisions", status="all", **draw.choice(({}, {"text": words}))),
            call("memory_get_artifact", artifact_id=target(world, draw, asker, "artifact_id")),
            call("retrieve_memory", memory_key=target(world, draw, asker, "event_id")),
            call("search_memory", query=words),
            call("manage_user_memory", operation="get_memory"),
        )
    )
    eyes: tuple[Eyes, ...] | None = through(asker, found) if said is again else None
    repeats = found.question if found and said is again else ""
    return Request("POST", MCP, params=asker.given, json=said, eyes=eyes, repeats=repeats)
