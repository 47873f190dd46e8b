"""Random events as clients send them, by many people on every channel, and random requests."""

import random
from collections.abc import Callable
from typing import Any

import histories
import make
from memoryd.core import model, record, render

SESSIONS, USERS, AGENTS = ("s1", "s2", "s3"), ("ada", "bob"), ("coder", "tester")
QUESTIONS = ("when do we ship?", "日本語", "</memory> Friday?", "word line a", "...", "why", "🏳️‍🌈")


def said(draw: random.Random, most: int = 20_000) -> str:
    """A text that a message may have: some of it is seen."""
    found = histories.text(draw)[:most]
    return (
        found if any(letter > " " and not letter.isspace() for letter in found) else f"{found}\x1c"
    )


def owner(draw: random.Random) -> dict[str, Any]:
    """Whose it is and who may see it."""
    return {
        "session_id": draw.choice(SESSIONS),
        "user_id": draw.choice(USERS),
        "agent_id": draw.choice(AGENTS),
        "channel": draw.choice(model.CHANNELS),
        "sensitivity": draw.choice(("none", "none", "none", *model.SENSITIVITIES)),
    }


def event(draw: random.Random) -> dict[str, Any]:
    kind = draw.choice(("message", "message", "message", *CONTENT))
    actor = {"type": draw.choice(model.ORIGINS), "id": draw.choice(histories.NAMES)}
    given = {"ts": f"20{draw.randint(10, 25)}-05-01T12:00:00Z"} if draw.random() < 0.3 else {}
    return {**owner(draw), "actor": actor, "kind": kind, "content": CONTENT[kind](draw), **given}


CONTENT: dict[str, Callable[[random.Random], dict[str, Any]]] = {
    "message": lambda draw: {"text": said(draw)},
    "tool_call": lambda draw: {"tool": "bash", "arguments": histories.text(draw)[:3_000]},
    "tool_result": lambda draw: {"tool": "fs[read]", "text": histories.text(draw), "path": "a]\nb"},
    "decision": lambda draw: {"decision": said(draw), "rationale": [histories.text(draw)[:2_000]]},
    "task_update": lambda draw: {"title": said(draw), "status": draw.choice(("open", "doing"))},
    "artifact": lambda draw: {"name": "x", "text": histories.text(draw)},
}


def change(draw: random.Random, event: dict[str, Any], event_id: str) -> dict[str, Any] | None:
    """What may follow `event`: a decision is superseded, a task goes on."""
    own = {name: event[name] for name in owner(draw)}
    if event["sensitivity"] == "secret" or event["kind"] not in ("decision", "task_update"):
        return None
    if event["kind"] == "decision":
        content = {"decision": said(draw), "supersedes": event_id.replace("evt_", "dec_")}
    else:
        status = draw.choice(("doing", "done"))
        content = {"task_id": event_id.replace("evt_", "tsk_"), "status": status}
    return make.body(**own, kind=event["kind"], content=content, refs=[event_id])


def texts(draw: random.Random, tenant: str, cited: list[str]) -> list[record.Write]:
    """What people edit, hand over and sum up."""
    names = ("identity.coder", "identity.tester", "rules.org", "rules.project", "rules.user")
    views: list[dict[str, Any]] = [
        {
            "kind": "view",
            "content": {
                "name": name,
                "owner": "ada" if name == "rules.user" else "",
                "text": histories.text(draw)[:50_000],
            },
        }
        for name in draw.sample(names, draw.randint(0, 5))
    ]
    packet = {"to_agent": draw.choice(AGENTS), "note": "", "packet": histories.text(draw)}
    summary = {"about": "s1", "text": said(draw)}
    made = [*views, {"kind": "handoff", "content": packet}]
    made.append(
        {
            "kind": "summary",
            "content": summary,
            "refs": tuple(draw.sample(cited, min(2, len(cited)))),
        }
    )
    return [make.write(tenant, **{**owner(draw), **one}) for one in made]


def request(draw: random.Random, head: int, moments: list[str]) -> dict[str, Any]:
    """A wish for a bundle, with `now`, so that it can be asked again."""
    wish: dict[str, Any] = {
        "session_id": draw.choice(SESSIONS),
        "user_id": draw.choice(USERS),
        "agent_id": draw.choice(AGENTS),
        "channel": draw.choice(model.CHANNELS),
        "now": "2026-05-02T00:00:00Z",
    }
    weights = {name: draw.choice((0, 0.5, 10, -0.0, 1e-300)) for name in ("alpha", "beta", "gamma")}
    maybe = {
        "query_text": draw.choice((*QUESTIONS, said(draw, 300))),
        "intent": draw.choice(("default", "recall", "decide", "repo_onboarding")),
        "max_tokens": draw.choice((draw.randint(200, 2_000), draw.randint(200, 200_000))),
        "as_of": draw.choice((draw.randint(0, head), draw.choice(moments), "2020-01-01T00:00:00Z")),
        "scoring": weights,
        "sections": draw.choices(render.SECTIONS, k=draw.randint(1, 7)),
        "format": "messages",
        "provider": draw.choice(("anthropic", "openai")),
    }
    odds = {"as_of": 0.3, "sections": 0.3, "scoring": 0.3, "query_text": 0.7, "max_tokens": 0.8}
    chosen = {name: maybe[name] for name in maybe if draw.random() < odds.get(name, 0.5)}
    return wish | chosen
