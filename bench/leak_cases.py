"""A random request for every route: those of `leak_writes`, and here those that read."""

import random
from dataclasses import replace
from typing import Any

import leak_kept  # noqa: F401  # adds its cases
import leak_mcp  # noqa: F401  # adds its cases
import leak_memories  # noqa: F401  # adds its cases
import leak_prompt  # noqa: F401  # adds its cases
import leak_references  # noqa: F401  # adds its cases
from leak_world import NOBODYS, SESSIONS, USERS, Asker, Request, World
from leak_writes import CASES, VIEWS, Case, bundle, case, question, target, through

SECTIONS = (
    *("identity", "rules", "task_state", "decision_ledger", "handoff_packet"),
    *("retrieved_evidence", "recent_window"),
)


def moment(draw: random.Random) -> dict[str, Any]:
    return {"as_of": draw.randint(0, 5)} if draw.random() < 0.15 else {}


def one(route: str, name: str, **more: Any) -> Case:
    """A thing by its id."""

    def read(world: World, draw: random.Random, asker: Asker) -> Request:
        at = {name: target(world, draw, asker, name)}
        return Request("GET", route, at=at, params={**asker.given, **more})

    return read


for _route, _name in (
    ("/api/v1/events/{event_id}", "event_id"),
    ("/api/v1/decisions/{decision_id}", "decision_id"),
    ("/api/v1/tasks/{task_id}", "task_id"),
    ("/api/v1/summaries/{summary_id}", "summary_id"),
    ("/api/v1/handoffs/{handoff_id}", "handoff_id"),
):
    CASES["GET", _route] = one(_route, _name)


def page(route: str, *filters: dict[str, Any]) -> Case:
    def read(world: World, draw: random.Random, asker: Asker) -> Request:
        given = {**asker.given, **draw.choice(({}, *filters))}
        return Request("GET", route, params={**given, "limit": draw.choice((1, 5, 200))})

    return read


CASES["GET", "/api/v1/audit"] = page("/api/v1/audit")
CASES["GET", "/api/v1/erasures"] = page("/api/v1/erasures")
_SESSION = ({"session_id": "s1"}, {"session_id": "s2"})
CASES["GET", "/api/v1/events"] = page(
    *("/api/v1/events", *_SESSION, {"kind": "decision"}, {"order": "oldest", "cursor": "2"})
)
CASES["GET", "/api/v1/tasks"] = page("/api/v1/tasks", *_SESSION, {"as_of": 3})
CASES["GET", "/api/v1/summaries"] = page("/api/v1/summaries", *_SESSION)
CASES["GET", "/api/v1/handoffs"] = page("/api/v1/handoffs", {"to_agent": "coder"})


@case("GET", "/api/v1/decisions/query")
def decisions(world: World, draw: random.Random, asker: Asker) -> Request:
    asked = question(world, draw)
    text = {"text": asked["query_text"]} if asked else {}
    given = {**asker.given, **text, "status": draw.choice(("all", "active", "superseded"))}
    return Request("GET", "/api/v1/decisions/query", params=given)


@case("GET", "/api/v1/views")
def views(world: World, draw: random.Random, asker: Asker) -> Request:
    return Request("GET", "/api/v1/views", params=asker.given)


def view(route: str, *names: str) -> Case:
    def read(world: World, draw: random.Random, asker: Asker) -> Request:
        given: dict[str, Any] = dict(asker.given)
        for name in names:
            if draw.random() < 0.4:
                given[name] = target(world, draw, asker, "version")
        return Request("GET", route, at={"name": draw.choice(VIEWS)}, params=given)

    return read


CASES["GET", "/api/v1/views/{name}"] = view("/api/v1/views/{name}", "version")
CASES["GET", "/api/v1/views/{name}/history"] = view("/api/v1/views/{name}/history")
CASES["GET", "/api/v1/views/{name}/diff"] = view("/api/v1/views/{name}/diff", "from", "to")


def download(method: str) -> Case:
    def read(world: World, draw: random.Random, asker: Asker) -> Request:
        at = {"artifact_id": target(world, draw, asker, "artifact_id")}
        first = draw.randint(0, 80)
        some = {"range": f"bytes={first}-{first + draw.randint(0, 200)}"}
        headers = some if draw.random() < 0.5 else {}
        route = "/api/v1/artifacts/{artifact_id}"
        return Request(method, route, at=at, params=asker.given, headers=headers)

    return read


CASES["GET", "/api/v1/artifacts/{artifact_id}"] = download("GET")
CASES["HEAD", "/api/v1/artifacts/{artifact_id}"] = download("HEAD")


@case("POST", "/api/v1/search")
def search(world: World, draw: random.Random, asker: Asker) -> Request:
    asked = question(world, draw).get("query_text", "cabbages")
    body = {**asker.given, **moment(draw), "query": asked, "limit": draw.choice((5, 200))}
    if draw.random() < 0.3:
        body["filters"] = {"user_id": draw.choice(USERS)}
    return Request("POST", "/api/v1/search", json={**body, "explain": draw.random() < 0.5})


@case("POST", "/api/v1/summaries/extract")
def extract(world: World, draw: random.Random, asker: Asker) -> Request:
    body = {**asker.given, "session_id": draw.choice(SESSIONS), "max_tokens": 2_000}
    return Request("POST", "/api/v1/summaries/extract", json=body)


@case("POST", "/api/v1/acb/build")
def build(world: World, draw: random.Random, asker: Asker) -> Request:
    body = {**asker.given, **question(world, draw), **moment(draw)}
    body |= {"session_id": draw.choice(SESSIONS), "max_tokens": draw.choice((300, 5_000, 60_000))}
    body |= {"format": draw.choice(("sections", "messages"))}
    if draw.random() < 0.3:
        body["sections"] = draw.sample(SECTIONS, 3)
    return Request("POST", "/api/v1/acb/build", json=body)


@case("GET", "/api/v1/acb/{acb_id}")
def replay(world: World, draw: random.Random, asker: Asker) -> Request:
    found = bundle(world, draw)
    at = {"acb_id": found.acb_id if found else f"acb_{NOBODYS}"}
    asked = Request("GET", "/api/v1/acb/{acb_id}", at=at, params=asker.given)
    return replace(asked, eyes=through(asker, found), repeats=found.question if found else "")


@case("POST", "/api/v1/acb/{acb_id}/diff")
def diff(world: World, draw: random.Random, asker: Asker) -> Request:
    new, old = bundle(world, draw), bundle(world, draw)
    at = {"acb_id": new.acb_id if new else f"acb_{NOBODYS}"}
    against = {"against": old.acb_id if old else f"acb_{NOBODYS}"}
    asked = Request("POST", "/api/v1/acb/{acb_id}/diff", at=at, params=asker.given, json=against)
    seen = (*through(asker, new), *through(asker, old))
    both = through(asker, new) and through(asker, old)
    repeats = "".join(one.question for one in (new, old) if one)
    return replace(asked, eyes=seen if both else (), repeats=repeats)


@case("POST", "/api/v1/erasures")
def erase(world: World, draw: random.Random, asker: Asker) -> Request:
    """Refused: none of the keys is an admin's."""
    body = {"event_id": target(world, draw, asker, "event_id"), "dry_run": True}
    return Request("POST", "/api/v1/erasures", json=body)


def static(route: str) -> Case:
    return lambda world, draw, asker: Request("GET", route)


for _open in ("/healthz", "/readyz", "/openapi.json", "/", "/docs"):
    CASES["GET", _open] = static(_open)

# Things that are read by an id of theirs.
BY_ID = {
    name: f"/api/v1/{kind}/{{{name}}}"
    for kind, name in (
        *(("events", "event_id"), ("decisions", "decision_id"), ("tasks", "task_id")),
        *(("summaries", "summary_id"), ("handoffs", "handoff_id"), ("artifacts", "artifact_id")),
        ("references", "key"),
    )
}
READS = [key for key, made in CASES.items() if key[0] in ("GET", "HEAD")]
READS += [
    ("POST", "/api/v1/search"),
    ("POST", "/api/v1/references/search"),
    ("POST", "/api/v1/intent"),
    ("POST", "/api/v1/summaries/extract"),
    ("POST", "/api/v1/acb/build"),
    ("POST", "/api/v1/acb/{acb_id}/diff"),
    ("POST", "/mcp"),
]
WRITES = [key for key in CASES if key not in READS]
