"""A random request for every route that writes, with what there is once it is taken."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from leak_world import (
    AGENTS,
    NOBODYS,
    SENSITIVITIES,
    SESSIONS,
    Asker,
    Bundle,
    Eyes,
    Request,
    Row,
    World,
    word,
)

Case = Callable[[World, random.Random, Asker], Request]

VIEWS = ("rules.project", "rules.org", "rules.user", "identity.coder", "identity.tester")
CASES: dict[tuple[str, str], Case] = {}


def case(method: str, route: str) -> Callable[[Case], Case]:
    def add(made: Case) -> Case:
        CASES[method, route] = made
        return made

    return add


def target(world: World, draw: random.Random, asker: Asker, name: str) -> str:
    """Someone's, whoever's it is: most are of the asker's own tenant, and not of the asker."""
    wanted = "event_id" if name == "version" else name
    every = [row for row in world.rows if wanted in row.at]
    near = [row for row in every if row.tenant == asker.key.tenant]
    chosen = near if near and draw.random() < 0.8 else every
    if name == "version":
        chosen = [row for row in chosen if row.kind == "view"]
    return draw.choice(chosen).at[wanted] if chosen else f"evt_{NOBODYS}"


def question(world: World, draw: random.Random) -> dict[str, Any]:
    """Often for exactly what somebody else wrote."""
    words = [row.word for row in draw.sample(world.rows, min(2, len(world.rows)))]
    text = " ".join([*words, draw.choice(("cabbages on friday", "parser", "why"))])
    return {"query_text": text} if draw.random() < 0.7 else {}


def fresh(asker: Asker, kind: str, channel: str, **given: Any) -> Row:
    eyes = asker.eyes()
    said = asker.channel or asker.key.channel or channel
    sensitivity = given.pop("sensitivity", "none")
    names = (kind, eyes.tenant, eyes.user, said, sensitivity)
    return Row(*names, word=word(), mark=word(), default=channel, at=given)


def said(row: Row, draw: random.Random) -> str:
    """A text that looks like the others', with the words by which it is known."""
    filler = draw.choice(("we ship the cabbages on friday", "deploy the parser with care", "why?"))
    return f"{filler} {row.word} and {row.mark}."


def sensitivity(draw: random.Random, most: int = 4) -> str:
    return draw.choice((*["none"] * 4, *SENSITIVITIES[:most]))


def origin(draw: random.Random, asker: Asker, row: Row) -> dict[str, Any]:
    # A retry is told the id of its event; of what is `secret`, the model lets nobody see one.
    often = 0.0 if row.sensitivity == "secret" else 0.1
    keyed = {"idempotency_key": draw.choice("kln")} if draw.random() < often else {}
    return {
        **asker.given,
        **keyed,
        "session_id": draw.choice(SESSIONS),
        "sensitivity": row.sensitivity,
        "tags": [f"tag-{row.mark}"],
        "actor": {"type": draw.choice(("human", "agent", "tool")), "id": f"who-{row.mark}"},
    }


def full(asker: Asker) -> tuple[Eyes, ...]:
    """What the key could see of it: a write is answered to who holds the key."""
    return (asker.eyes(asker.key.channel or "private"),)


def bundle(world: World, draw: random.Random) -> Bundle | None:
    return draw.choice(world.bundles) if world.bundles else None


def through(asker: Asker, bundle: Bundle | None) -> tuple[Eyes, ...]:
    """A bundle is read again by who could have asked for it, and shows what it showed then."""
    if bundle is None or bundle.eyes.tenant != asker.key.tenant:
        return ()
    made = (bundle.eyes.channel, bundle.eyes.user, bundle.agent)
    said = (asker.channel, asker.user, asker.agent)
    pinned = (asker.key.channel, asker.key.user, asker.key.agent)
    fits = all(
        one in (None, own) for given in (said, pinned) for one, own in zip(given, made, strict=True)
    )
    return (bundle.eyes,) if fits else ()


def event(world: World, draw: random.Random, asker: Asker) -> tuple[Row, dict[str, Any]]:
    row = fresh(asker, "message", "private", sensitivity=sensitivity(draw))
    text = said(row, draw)
    kinds: dict[str, dict[str, Any]] = {
        "message": {"text": text},
        "tool_call": {"tool": f"tool-{row.mark}", "arguments": {"q": text}},
        "tool_result": {"tool": "fs", "path": row.mark, "text": f"{text}\n" * draw.choice((1, 90))},
        "decision": {"decision": text, "rationale": [row.mark], "subject": draw.choice("xy")},
        "task_update": {"title": text, "details": row.mark},
        "artifact": {"name": row.mark, "text": text},
    }
    kind = draw.choice(tuple(kinds))
    content = kinds[kind]
    if kind == "decision" and draw.random() < 0.3:
        content["supersedes"] = target(world, draw, asker, "decision_id")
    if kind == "task_update" and draw.random() < 0.3:
        content["task_id"] = target(world, draw, asker, "task_id")
    body = {**origin(draw, asker, row), "kind": kind, "content": content}
    return replace(row, kind=kind), body


@case("POST", "/api/v1/events")
def record(world: World, draw: random.Random, asker: Asker) -> Request:
    row, body = event(world, draw, asker)
    return Request("POST", "/api/v1/events", json=body, writes=row, eyes=full(asker))


@case("POST", "/api/v1/events/batch")
def batch(world: World, draw: random.Random, asker: Asker) -> Request:
    row, body = event(world, draw, asker)
    asked = {"events": [body]}
    return Request("POST", "/api/v1/events/batch", json=asked, writes=row, eyes=full(asker))


@case("POST", "/api/v1/artifacts")
def upload(world: World, draw: random.Random, asker: Asker) -> Request:
    row = fresh(asker, "artifact", "private", sensitivity=sensitivity(draw))
    given = {
        **asker.given,
        "session_id": draw.choice(SESSIONS),
        "sensitivity": row.sensitivity,
        "name": row.mark,
    }
    content = (said(row, draw) * draw.choice((1, 2_000))).encode()
    headers = {"content-type": "text/plain"}
    return Request(
        *("POST", "/api/v1/artifacts"),
        params=given,
        content=content,
        headers=headers,
        writes=row,
        eyes=full(asker),
    )


@case("POST", "/api/v1/decisions")
def decide(world: World, draw: random.Random, asker: Asker) -> Request:
    row = fresh(asker, "decision", "private", sensitivity=sensitivity(draw, 3))
    body = {**origin(draw, asker, row), "decision": said(row, draw), "subject": draw.choice("xy")}
    if draw.random() < 0.4:
        body["supersedes"] = target(world, draw, asker, "decision_id")
    return Request("POST", "/api/v1/decisions", json=body, writes=row, eyes=full(asker))


@case("POST", "/api/v1/tasks")
def do(world: World, draw: random.Random, asker: Asker) -> Request:
    row = fresh(asker, "task_update", "private", sensitivity=sensitivity(draw, 3))
    body = {**origin(draw, asker, row), "title": said(row, draw), "details": row.mark}
    if draw.random() < 0.4:
        body |= {"task_id": target(world, draw, asker, "task_id"), "status": "doing"}
    return Request("POST", "/api/v1/tasks", json=body, writes=row, eyes=full(asker))


@case("PUT", "/api/v1/views/{name}")
def edit(world: World, draw: random.Random, asker: Asker) -> Request:
    name = draw.choice(VIEWS)
    row = fresh(asker, "view", "private" if name == "rules.user" else "public")
    row = replace(row, at={"name": name})
    body = {"text": said(row, draw)}
    if draw.random() < 0.2:
        body["version"] = target(world, draw, asker, "version")
    asked = Request("PUT", "/api/v1/views/{name}", at={"name": name}, params=asker.given, json=body)
    return replace(asked, writes=row, eyes=full(asker))


@case("POST", "/api/v1/views/{name}/restore")
def restore(world: World, draw: random.Random, asker: Asker) -> Request:
    name = draw.choice(VIEWS)
    body = {"version": target(world, draw, asker, "version")}
    asked = Request("POST", "/api/v1/views/{name}/restore", at={"name": name}, params=asker.given)
    return replace(asked, json=body, eyes=full(asker))


@case("POST", "/api/v1/summaries")
def summarize(world: World, draw: random.Random, asker: Asker) -> Request:
    row = fresh(asker, "summary", "private", sensitivity=sensitivity(draw, 3))
    cites = [target(world, draw, asker, "event_id") for _ in range(draw.randint(1, 3))]
    body = {**origin(draw, asker, row), "text": said(row, draw), "cites": cites}
    return Request("POST", "/api/v1/summaries", json=body, writes=row, eyes=full(asker))


@case("POST", "/api/v1/handoffs")
def hand_over(world: World, draw: random.Random, asker: Asker) -> Request:
    row = fresh(asker, "handoff", "agent")
    body: dict[str, Any] = {**asker.given, "to_agent": draw.choice(AGENTS), "note": said(row, draw)}
    body |= {"session_id": draw.choice(SESSIONS), **question(world, draw)}
    if draw.random() < 0.5:
        body["evidence"] = [target(world, draw, asker, "event_id")]
    if draw.random() < 0.2:
        body["idempotency_key"] = draw.choice("hi")
    eyes = (asker.eyes(row.channel),)
    return Request("POST", "/api/v1/handoffs", json=body, writes=row, eyes=eyes)


def _answer(route: str) -> Case:
    def answer(world: World, draw: random.Random, asker: Asker) -> Request:
        row = replace(fresh(asker, "answer", ""), channel=asker.key.channel or "")
        at = {"handoff_id": target(world, draw, asker, "handoff_id")}
        body = {**asker.given, "note": said(row, draw), "session_id": draw.choice(SESSIONS)}
        return Request("POST", route, at=at, json=body, writes=row)

    return answer


CASES["POST", "/api/v1/handoffs/{handoff_id}/accept"] = _answer(
    "/api/v1/handoffs/{handoff_id}/accept"
)
CASES["POST", "/api/v1/handoffs/{handoff_id}/reject"] = _answer(
    "/api/v1/handoffs/{handoff_id}/reject"
)
