"""The sample history of `memoryd demo`: a made-up ferry line, ready to be recorded.

Where an event names another, as `@postgres`, that one's `idempotency_key` is meant: its id is known
only when it was recorded.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from importlib import resources
from typing import Any

from memoryd.core import ids

SESSIONS = ("booking", "launch")
WEEK = timedelta(days=7)
# What an event may name another in, and the kind of id that is meant.
_NAMED = {"supersedes": "dec", "task_id": "tsk"}

Draft = dict[str, Any]


def events(now: datetime) -> list[Draft]:
    """In order of time, moved by whole weeks so that they end in the one before `now`: a Friday
    stays a Friday.
    """
    found: list[Draft] = []
    for session in SESSIONS:
        read = _read(session)
        found += [{**read["common"], **event} for event in read["events"]]
    found.sort(key=lambda event: event["ts"])  # stable, and one zone
    moved = (now - datetime.fromisoformat(found[-1]["ts"])) // WEEK * WEEK
    return [
        {**event, "ts": (datetime.fromisoformat(event["ts"]) + moved).isoformat()}
        for event in found
    ]


def views() -> dict[str, str]:
    """The texts that stand for an identity, the project's rules and what a user prefers."""
    found: dict[str, str] = _read("views")
    return found


def _read(name: str) -> Any:
    file = resources.files("memoryd").joinpath(f"data/demo/{name}.json")
    return json.loads(file.read_text(encoding="utf-8"))


def batches(drafts: Iterable[Draft], known: Mapping[str, str]) -> Iterator[list[Draft]]:
    """Cut where an event names another that is not recorded yet; `known` grows in between."""
    batch: list[Draft] = []
    for draft in drafts:
        if any(name not in known for name in _names(draft)):
            yield batch
            batch = []
        batch.append(_resolved(draft, known))
    yield batch


def _names(draft: Draft) -> list[str]:
    content = [draft["content"].get(field, "") for field in _NAMED]
    return [name[1:] for name in (*content, *draft.get("refs", ())) if name.startswith("@")]


def _resolved(draft: Draft, known: Mapping[str, str]) -> Draft:
    content = {
        field: ids.same(_NAMED[field], known[value[1:]]) if field in _NAMED else value
        for field, value in draft["content"].items()
    }
    refs = [known[ref[1:]] for ref in draft.get("refs", ())]
    return {**draft, "content": content, "refs": refs}
