"""A random request for every route of memories: facts, documents, agents' own, whiteboards."""

import random
from dataclasses import replace
from typing import Any

from leak_world import AGENTS, USERS, Asker, Eyes, Request, Row, World
from leak_writes import CASES, Case, case, fresh, full, question, said

FACTS, DOCUMENT = "/api/memory/", "/api/v1/users/{user_id}/memory"
OWN, BOARD = "/api/v1/agents/{agent_id}/memories", "/api/v1/teams/{team_id}/memories"
NOBODYS = "aaaaaaaa"


def chosen(world: World, draw: random.Random, asker: Asker, name: str) -> Row | None:
    """Someone's, whoever's it is: most are of the asker's own tenant."""
    every = [row for row in world.rows if name in row.at]
    near = [row for row in every if row.tenant == asker.key.tenant]
    rows = near if near and draw.random() < 0.8 else every
    return draw.choice(rows) if rows else None


def again(row: Row | None, draw: random.Random) -> str:
    """Another text with the same words, so that it is known for what it is."""
    return said(row, draw) if row else "a text of nobody"


@case("POST", FACTS)
def remember(world: World, draw: random.Random, asker: Asker) -> Request:
    row = fresh(asker, "fact", "private")
    body = {"content": said(row, draw), "category": "context", "force": draw.random() < 0.7}
    body |= {"subject": draw.choice("xy")}
    if draw.random() < 0.2:
        body["idempotency_key"] = draw.choice("mn")
    return Request("POST", FACTS, json={**asker.given, **body}, writes=row, eyes=full(asker))


@case("GET", FACTS)
def listed(world: World, draw: random.Random, asker: Asker) -> Request:
    asked = question(world, draw)
    given: dict[str, Any] = {"q": asked["query_text"]} if asked else {}
    every = {f"include_{name}": True for name in ("deleted", "inactive", "evicted")}
    given |= draw.choice(({}, every, {"subject": "x"}, {"as_of": draw.randint(0, 9)}))
    return Request("GET", FACTS, params={**asker.given, **given})


def fact(method: str, end: str = "", name: str = "memory_id") -> Case:
    route = f"{FACTS}{{memory_id}}{end}"

    def ask(world: World, draw: random.Random, asker: Asker) -> Request:
        row = chosen(world, draw, asker, name)
        at = {"memory_id": row.at[name] if row else NOBODYS}
        asked = Request(method, route, at=at, params=asker.given)
        if method == "PUT":
            return replace(asked, json={"content": again(row, draw)})
        return replace(asked, json={"version": 1}) if end == "/restore" else asked

    CASES[method, route] = ask
    return ask


for _method, _end in (
    *(("GET", ""), ("PUT", ""), ("DELETE", ""), ("GET", "/versions"), ("GET", "/diff")),
    *(("POST", "/restore"), ("POST", "/undelete")),
):
    fact(_method, _end)


def someone(draw: random.Random, asker: Asker) -> tuple[str, dict[str, str], tuple[Eyes, ...]]:
    """A user of the address, the rest of the question, and the eyes that go with it."""
    user = asker.user or asker.key.user or draw.choice(USERS)
    given = {name: one for name, one in asker.given.items() if name != "user_id"}
    return user, given, (replace(asker.eyes(), user=user),)


@case("GET", DOCUMENT)
def document(world: World, draw: random.Random, asker: Asker) -> Request:
    user, given, eyes = someone(draw, asker)
    return Request("GET", DOCUMENT, at={"user_id": user}, params=given, eyes=eyes)


@case("POST", f"{DOCUMENT}/facts")
def add_fact(world: World, draw: random.Random, asker: Asker) -> Request:
    user, given, eyes = someone(draw, asker)
    row = replace(fresh(asker, "document", "private"), user=user)
    seen = (replace(eyes[0], channel=asker.key.channel or "private"),)
    asked = Request("POST", f"{DOCUMENT}/facts", at={"user_id": user}, params=given)
    return replace(asked, json={"content": said(row, draw)}, writes=row, eyes=seen)


@case("POST", f"{DOCUMENT}/places")
def add_place(world: World, draw: random.Random, asker: Asker) -> Request:
    user, given, eyes = someone(draw, asker)
    row = replace(fresh(asker, "place", "private"), user=user)
    row = replace(row, at={"place_id": row.mark})
    body = {"place_id": row.mark, "place_name": said(row, draw), "notes": row.word}
    seen = (replace(eyes[0], channel=asker.key.channel or "private"),)
    asked = Request("POST", f"{DOCUMENT}/places", at={"user_id": user}, params=given)
    return replace(asked, json=body, writes=row, eyes=seen)


def in_document(method: str, end: str, name: str) -> None:
    route = f"{DOCUMENT}{end}"

    def ask(world: World, draw: random.Random, asker: Asker) -> Request:
        user, given, eyes = someone(draw, asker)
        row = chosen(world, draw, asker, name)
        at = {"user_id": user, name: row.at[name] if row else NOBODYS}
        body = {"conversation_id": "c1", "message_id": "m1"} if "mentions" in end else None
        return Request(method, route, at=at, params=given, json=body, eyes=eyes)

    CASES[method, route] = ask


in_document("POST", "/facts/{memory_id}/deactivate", "memory_id")
in_document("DELETE", "/facts/{memory_id}/deactivate", "memory_id")
in_document("POST", "/places/{place_id}/mentions", "place_id")
in_document("DELETE", "/places/{place_id}", "place_id")


def some_agent(draw: random.Random, asker: Asker) -> tuple[str, dict[str, str], tuple[Eyes, ...]]:
    """An agent of the address; its own eyes are for private questions alone."""
    agent = asker.agent or asker.key.agent or draw.choice(AGENTS)
    given = {name: one for name, one in asker.given.items() if name != "agent_id"}
    own = asker.eyes().channel == "private"
    return agent, given, (replace(asker.eyes(), user=f"agent:{agent}"),) if own else ()


@case("POST", OWN)
def save(world: World, draw: random.Random, asker: Asker) -> Request:
    agent, given, eyes = some_agent(draw, asker)
    row = replace(fresh(asker, "entry", "private"), user=f"agent:{agent}", channel="private")
    body = {"content": said(row, draw), "memory_type": draw.choice(("core", "journal"))}
    asked = Request("POST", OWN, at={"agent_id": agent}, params=given, json=body)
    return replace(asked, writes=row, eyes=eyes)


def of_agent(method: str, end: str) -> None:
    route = f"{OWN}{end}"

    def ask(world: World, draw: random.Random, asker: Asker) -> Request:
        agent, given, eyes = some_agent(draw, asker)
        row = chosen(world, draw, asker, "entry_id")
        at = {"agent_id": agent, "memory_id": row.at["entry_id"] if row else NOBODYS}
        body = {"content": again(row, draw)} if method == "PUT" else None
        return Request(method, route, at=at, params=given, json=body, eyes=eyes)

    CASES[method, route] = ask


for _method, _end in (
    *(("GET", ""), ("GET", "/context"), ("PUT", "/{memory_id}"), ("DELETE", "/{memory_id}")),
    ("POST", "/{memory_id}/promote"),
):
    of_agent(_method, _end)


@case("POST", BOARD)
def write_note(world: World, draw: random.Random, asker: Asker) -> Request:
    row = replace(fresh(asker, "note", "team"), user="team:red", channel="team")
    asked = Request("POST", BOARD, at={"team_id": "red"}, params=asker.given)
    return replace(asked, json={"content": said(row, draw)}, writes=row, eyes=full(asker))


def on_board(method: str, end: str) -> None:
    route = f"{BOARD}{end}"

    def ask(world: World, draw: random.Random, asker: Asker) -> Request:
        row = chosen(world, draw, asker, "note_id")
        at = {"team_id": "red", "memory_id": row.at["note_id"] if row else NOBODYS}
        body = {"content": again(row, draw)} if method == "PUT" else None
        return Request(method, route, at=at, params=asker.given, json=body)

    CASES[method, route] = ask


for _method, _end in (("GET", ""), ("PUT", "/{memory_id}"), ("DELETE", "/{memory_id}")):
    on_board(_method, _end)


for _route in ("/api/v1/agents", "/api/v1/users"):
    CASES["GET", _route] = lambda world, draw, asker, route=_route: Request(  # type: ignore[misc]  # bound now
        "GET", route, params=asker.given
    )
