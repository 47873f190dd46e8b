"""How much of the known evidence stands in a bundle: `memoryd bench … --bundle TOKENS`."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx

from memoryd import neutral
from memoryd.doors import reach
from memoryd.doors.bench_data import Conversation, Turn
from memoryd.doors.bench_score import Measured
from memoryd.doors.cli import say

RECALLED = ("retrieved_evidence", "recent_window")  # sections that show events

Said = Mapping[str, Turn]  # by event
Ask = Callable[[httpx.AsyncClient, Conversation, dict[str, Turn]], Awaitable[list[Measured]]]


def asking(budget: int, intent: str) -> Ask:
    """Asks for bundles of at most `budget` tokens, one for each question."""

    async def ask(
        client: httpx.AsyncClient, conversation: Conversation, said: dict[str, Turn]
    ) -> list[Measured]:
        about = {
            "session_id": f"{conversation.user_id}-asking",  # one without turns
            "user_id": conversation.user_id,
            "channel": "private",
            "max_tokens": budget,
            "intent": intent,
            "now": conversation.after.isoformat(),
        }
        found, wordy = [], 0
        for question in conversation.questions:
            asked = {"query_text": question.text, **about}
            start = time.perf_counter()
            bundle = await reach.call(client, "POST", "/api/v1/acb/build", json=asked)
            took = (time.perf_counter() - start) * 1_000
            measures = held(bundle, question.gold, said)
            used = bundle["token_used_est"]
            found.append(Measured(question.category, took, measures, used))
            about_it = bundle["provenance"]
            wordy += bool(about_it["embedding"]["pending_vectors"] or about_it.get("degraded"))
        if wordy:
            say(f"{wordy} of them were answered without all vectors")
        return found

    return ask


def held(bundle: Mapping[str, Any], gold: frozenset[str], said: Said) -> dict[str, float]:
    """What share of `gold` the bundle cites, whether all or any of it, and what share it has word
    for word: of a long message a part may be cited, or its text cut.
    """
    items = [
        item
        for section in bundle["sections"]
        if section["name"] in RECALLED
        for item in section["items"]
    ]
    cited = {said[ref].turn_id for item in items for ref in item["refs"] if ref in said}
    whole = {
        said[ref].turn_id
        for item in items
        for ref in item["refs"]
        if ref in said and neutral.neutral(said[ref].text.strip()) in item["text"]
    }
    return {
        "evidence": len(gold & cited) / len(gold),
        "any": float(not gold.isdisjoint(cited)),
        "all": float(gold <= cited),
        "whole": len(gold & whole) / len(gold),
    }
