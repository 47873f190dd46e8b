"""The request that records what was edited in a file, with a key by which a retry is known."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memoryd import redact
from memoryd.custody.markdown_things import SECTIONS, Decision, Memory, Task, Thing, View
from memoryd.doors import exports, import_checks

SESSION = "files"  # of what began in a file; an edit stays in the session of what it edits


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: dict[str, Any]
    answered: Callable[[Mapping[str, Any]], Thing]
    params: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


def request(
    eyes: Mapping[str, str],
    thing: Thing,
    made: str,
    found: Mapping[str, Any] | None = None,
    left: Mapping[str, Any] | None = None,
) -> Request:
    """What records `thing`, or of a task that was `found` what is `left` to say; `made` tells what
    it was made from.
    """
    who = {name: value for name, value in eyes.items() if name != "channel"}
    if isinstance(thing, View):
        return _view_request(who, thing)
    if isinstance(thing, Memory):
        return _memory_request(eyes, thing, made)
    said: dict[str, Any] = {
        **who,
        "channel": thing.channel or eyes.get("channel"),
        "sensitivity": thing.sensitivity,
        "actor": {"type": "human", "id": eyes.get("user_id", "default")},
        "session_id": found["session_id"] if found else SESSION,
    }
    if isinstance(thing, Task):
        whole = {"title": thing.title, "details": thing.details, "status": thing.status}
        said |= {"task_id": thing.id, **(left or {})} if found else whole
        return _event_request("tasks", thing, _keyed(said, made), exports.task)
    names = ("decision", "scope", "subject", "refs", *SECTIONS)
    said |= {name: getattr(thing, name) for name in names}
    said["supersedes"] = thing.id or thing.supersedes
    if found:  # an edit is of the agent and has the tags of what it edits
        said |= {"agent_id": found["agent_id"], "tags": found["tags"]}
    return _event_request("decisions", thing, _keyed(said, made), exports.decision)


def _event_request(
    name: str, thing: Thing, body: dict[str, Any], answered: Callable[[Mapping[str, Any]], Thing]
) -> Request:
    import_checks.size(thing, body)
    return Request("POST", f"/api/v1/{name}", body, answered)


def _view_request(who: dict[str, str], thing: View) -> Request:
    """Guarded by its version; and the same text again is no new one."""
    path = exports.view_at(thing.name or "", {})["path"]
    params = who | ({"channel": thing.channel} if thing.channel else {})
    if thing.version is None:
        only_new = {"if-none-match": "*"}
        return Request("PUT", path, {"text": thing.text}, exports.view, params, only_new)
    body = {"text": thing.text, "version": thing.version}
    return Request("PUT", path, body, exports.view, params)


def _memory_request(eyes: Mapping[str, str], thing: Memory, made: str) -> Request:
    actor = {"type": "human", "id": eyes.get("user_id", "default")}
    said: dict[str, Any] = {**eyes, "actor": actor, "content": thing.content}
    if thing.id is None:
        said |= {"category": thing.category, "subject": thing.subject}
        return Request("POST", "/api/memory/", _keyed(said, made), exports.memory)
    path = f"/api/v1/memories/{thing.id}"
    return Request("PUT", path, _keyed(said, made), exports.memory)


def _keyed(said: Mapping[str, Any], base: str) -> dict[str, Any]:
    """With a key for what is said of which version, so that a retry records nothing new; the key is
    stored, so it is made without what the daemon will redact.
    """
    body = {name: value for name, value in said.items() if value is not None}
    whole = json.dumps([base, redact.value(body)], sort_keys=True).encode()
    return {**body, "idempotency_key": f"import-{hashlib.sha256(whole).hexdigest()}"}


def of_version(thing: Thing) -> str:
    """What tells this state of a thing from all others that it had or will have."""
    if isinstance(thing, Memory):
        return f"{thing.id} {thing.version}"
    return str(thing.id if isinstance(thing, Decision) else thing.version)
