"""What makes every section of a bundle speak: texts, tasks, decisions, a handoff, a conversation.

All of it goes in over HTTP, as an agent would send it, in the words of `scale_fill`, so that
searches find decisions and tasks among the messages.
"""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

import load
import scale_fill

SESSION = "at-work"  # the conversation that bundles are built for
TURNS = 300
DECISIONS, REPLACED = 300, 60  # and how many of them were superseded
TASKS, DONE = 200, 80
BATCH = 50
VIEWS = ("identity.default", "rules.org", "rules.project", "rules.user")
TURN_WORDS, VIEW_WORDS, SHORT_WORDS = 80, 400, 12


class Writer:
    """Sends what it is told, and refuses to go on when that is refused."""

    def __init__(self, port: int, language: scale_fill.Language) -> None:
        self._client, self._language = load.Client(port), language
        self._rng = np.random.default_rng(5)

    def text(self, words: int) -> str:
        drawn = self._language.draw(self._rng, words).tolist()
        return " ".join(self._language.words[at] for at in drawn)

    def event(self, kind: str, **content: Any) -> dict[str, Any]:
        actor = {"type": "tool" if kind == "tool_result" else "human", "id": "ada"}
        return {"session_id": SESSION, "kind": kind, "actor": actor, "content": content}

    async def record(self, events: list[dict[str, Any]]) -> list[str]:
        """Their ids."""
        found: list[str] = []
        for start in range(0, len(events), BATCH):
            sent = {"events": events[start : start + BATCH]}
            answer = await self.send("POST /api/v1/events/batch", sent)
            found += [one["event_id"] for one in answer["events"]]
        return found

    async def send(self, line: str, sent: dict[str, Any]) -> Any:
        status, answer = await self._client.ask(line, json.dumps(sent).encode())
        assert status in (200, 201), answer
        return json.loads(answer)

    def close(self) -> None:
        self._client.close()


async def furnish(port: int, language: scale_fill.Language) -> None:
    """Once a home."""
    writer = Writer(port, language)
    for name in VIEWS:
        await writer.send(f"PUT /api/v1/views/{name}", {"text": writer.text(VIEW_WORDS)})
    await _decide(writer)
    await _plan(writer)
    await writer.record(list(_turns(writer)))
    packet = {"agent_id": "planner", "to_agent": "default", "note": writer.text(VIEW_WORDS)}
    await writer.send("POST /api/v1/handoffs", packet)
    writer.close()


async def _decide(writer: Writer) -> None:
    events = [
        writer.event(
            "decision",
            decision=writer.text(SHORT_WORDS),
            rationale=[writer.text(SHORT_WORDS), writer.text(SHORT_WORDS)],
        )
        for _ in range(DECISIONS)
    ]
    made = await writer.record(events)
    for old in made[:REPLACED]:
        new = writer.event("decision", decision=writer.text(SHORT_WORDS))
        new["content"]["supersedes"] = old.replace("evt_", "dec_")
        await writer.record([new])


async def _plan(writer: Writer) -> None:
    events = [
        writer.event("task_update", title=writer.text(SHORT_WORDS), details=writer.text(30))
        for _ in range(TASKS)
    ]
    made = await writer.record(events)
    tasks = [one.replace("evt_", "tsk_") for one in made]
    done = [writer.event("task_update", task_id=one, status="done") for one in tasks[:DONE]]
    doing = [writer.event("task_update", task_id=one, status="doing") for one in tasks[-5:]]
    await writer.record([*done, *doing])


def _turns(writer: Writer) -> Iterator[dict[str, Any]]:
    """A conversation in which every tenth turn is a tool's output, long and short by turns."""
    for number in range(TURNS):
        if number % 10:
            yield writer.event("message", text=writer.text(TURN_WORDS))
        else:
            lines = [writer.text(SHORT_WORDS) for _ in range(120 if number % 20 else 10)]
            yield writer.event("tool_result", tool="grep", text="\n".join(lines))


async def grow(port: int, language: scale_fill.Language, events: int) -> None:
    """More for the embedder to do."""
    writer = Writer(port, language)
    more = [writer.event("message", text=writer.text(TURN_WORDS)) for _ in range(events)]
    await writer.record([{**one, "session_id": "elsewhere"} for one in more])
    writer.close()
