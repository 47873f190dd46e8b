"""A10, Retrieval Path Bounded: pool, scored chunks and tokens stay within the seed's bounds."""

from typing import Any

import httpx

import make
import wire
from memoryd.daemon import Daemon
from test_bundle import build, section

MATCHES = 3_000
QUESTION = "harbour report of the boat at sea"
CREW = (
    *("anchor", "buoy", "cable", "deck", "engine", "flag", "gauge", "hatch", "iron", "jib"),
    *("keel", "lamp", "mast", "net", "oar", "pump", "quay", "rope", "sail", "tar"),
)
# Each is found in one way before the other in the other way, so that the pool has both.
BY_WORDS = "Never harbour a grudge: boat neck sweaters, sea salt, a school report, and dentists."
BY_MEANING = "Ships: a vessel is out on the ocean, off the port."


def report(number: int, times: int = 1) -> str:
    crew = " ".join(f"{name} {number * step % 997}," for step, name in enumerate(CREW, 3))
    return f"Harbour report {number}: " + f"boat {number} at sea, {crew} " * times


async def add(client: httpx.AsyncClient, texts: list[str]) -> None:
    for start in range(0, len(texts), 1_000):
        events = [
            make.body(session_id=f"day-{start + at // 100}", content={"text": text})
            for at, text in enumerate(texts[start : start + 1_000])
        ]
        answer = await client.post("/api/v1/events/batch", json={"events": events})
        assert answer.status_code == 201


def scored(bundle: dict[str, Any]) -> tuple[int, int]:
    """How many chunks the evidence shows, and how many of those that were scored it leaves out."""
    shown = [ref for item in section(bundle, "retrieved_evidence") for ref in item["refs"]]
    left = [one for one in bundle["omissions"] if one.get("section") == "retrieved_evidence"]
    return len([one for one in shown if one.startswith("chk_")]), sum(one["count"] for one in left)


def used(bundle: dict[str, Any]) -> int:
    (part,) = (part for part in bundle["sections"] if part["name"] == "retrieved_evidence")
    tokens: int = part["token_est"]
    return tokens


async def test_two_hundred_are_scored_where_more_would_fit(client: httpx.AsyncClient) -> None:
    await add(client, [report(number) for number in range(MATCHES)])
    bundle = await build(client, query_text=QUESTION, session_id="next")

    assert scored(bundle) == (200, 0)
    assert used(bundle) < 25_000
    assert 200 < bundle["provenance"]["candidate_pool_size"] <= 2_000


async def test_tokens_end_it_where_they_are_longer(client: httpx.AsyncClient) -> None:
    await add(client, [report(number, times=3) for number in range(MATCHES)])
    bundle = await build(client, query_text=QUESTION, session_id="next")

    shown, left = scored(bundle)
    assert shown + left == 200
    assert 27_000 < used(bundle) <= 28_000
    assert bundle["token_used_est"] <= 65_000


async def test_the_pool_has_two_thousand_by_words_and_by_meaning(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    await add(client, [BY_WORDS] * MATCHES + [BY_MEANING] * MATCHES)
    await wire.embedded(daemon, tenant)
    bundle = await build(client, query_text=QUESTION, session_id="next")

    shown, left = scored(bundle)
    assert shown + left == 200
    assert bundle["provenance"]["candidate_pool_size"] == 2_000
