"""What every bundle keeps, through the real endpoint: random histories, readers and requests."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

import talk
from conftest import asking, outside, serving
from histories import independent
from memoryd import daemon as composition
from memoryd.core import db, record, render
from memoryd.core.pack import CAPS, TOTAL
from memoryd.custody import keys
from memoryd.daemon import Daemon
from test_bundle import rendered

HISTORIES = 25  # of one test
AT_ONCE = 5  # of them: the disk is waited for together
REQUESTS = 3  # of one history
BUILD = "/api/v1/acb/build"


class History:
    """A tenant with events of its own, and a client that reads it."""

    def __init__(self, seed: int, client: httpx.AsyncClient) -> None:
        self.draw = random.Random(seed)
        self.client = client
        self.head = 0
        self.moments: list[str] = []
        self.chunks: dict[str, str] = {}  # to their events

    async def record(self, events: list[dict[str, Any]]) -> list[str]:
        answer = await self.client.post("/api/v1/events/batch", json={"events": events})
        assert answer.status_code == 201, answer.text
        recorded = answer.json()["events"]
        self.head += len(recorded)
        self.moments += [one["created_at"] for one in recorded]
        self.chunks |= {piece: one["event_id"] for one in recorded for piece in one["chunk_ids"]}
        return [one["event_id"] for one in recorded]

    async def fill(self, daemon: Daemon, tenant: str) -> None:
        events = [talk.event(self.draw) for _ in range(self.draw.randint(1, 25))]
        known = await self.record(events)
        found = [talk.change(self.draw, *one) for one in zip(events, known, strict=True)]
        changes = [one for one in found if one is not None and self.draw.random() < 0.5]
        if changes:
            await self.record(changes)
        writes = talk.texts(self.draw, tenant, known)
        async with db.tenant(daemon.pool, tenant) as conn:
            await record.append(conn, tenant, writes, composition.now())
        self.head += len(writes)
        self.chunks |= {
            piece.chunk_id: one.event.event_id for one in writes for piece in one.chunks
        }


def without_what_may_differ(answer: httpx.Response) -> dict[str, Any]:
    bundle: dict[str, Any] = answer.json()
    del bundle["acb_id"], bundle["provenance"]["timings_ms"]
    return bundle


def assert_exact(bundle: dict[str, Any], budget: int) -> None:
    reserve = (TOTAL - sum(CAPS.values())) * budget // TOTAL
    assert bundle["budget_tokens"] == budget
    for part in bundle["sections"]:
        texts = [one["text"] for one in part["items"]]
        assert part["token_est"] == independent(render.text([(part["name"], texts)]))
        assert part["token_est"] <= CAPS[part["name"]]
        assert all(one["tokens"] == independent(f"{one['text']}\n\n") for one in part["items"])
    assert bundle["token_used_est"] == independent(rendered(bundle)) <= budget - reserve


def assert_messages(bundle: dict[str, Any], wish: dict[str, Any]) -> None:
    """What a model is given is what was counted."""
    if wish.get("format") != "messages":
        assert "messages" not in bundle
        return
    given = bundle["messages"]
    if wish.get("provider", "anthropic") == "openai":
        texts = [one["content"] for one in given["messages"]]
    else:
        blocks = [*given["system"], *(one for said in given["messages"] for one in said["content"])]
        texts = [one["text"] for one in blocks]
    assert "".join(texts) == rendered(bundle)
    assert sum(independent(text) for text in texts) == bundle["token_used_est"]


async def assert_cited(history: History, wish: dict[str, Any], bundle: dict[str, Any]) -> None:
    """Every event that is cited is one that this reader may read, and was there by then."""
    eyes = {name: wish[name] for name in ("user_id", "agent_id", "channel")}
    items = [one for part in bundle["sections"] for one in part["items"]]
    assert all(one["refs"] for one in items)
    refs = {ref for one in items for ref in one["refs"]}
    cited = {ref for ref in refs if ref.startswith("evt_")}
    assert {history.chunks[ref] for ref in refs if ref.startswith("chk_")} <= cited
    for ref in sorted(cited):
        event = await history.client.get(f"/api/v1/events/{ref}", params=eyes)
        assert event.status_code == 200, ref
        assert event.json()["position"] <= bundle["provenance"]["position"]


async def try_one(history: History) -> None:
    wish = talk.request(history.draw, history.head, history.moments)
    built = await history.client.post(BUILD, json=wish)
    assert built.status_code == 200, built.text
    bundle = built.json()
    again = await history.client.post(BUILD, json=wish)
    replayed = await history.client.get(f"/api/v1/acb/{bundle['acb_id']}")

    assert replayed.content == built.content
    embedded = [answer.json()["provenance"].get("embedding") for answer in (built, again)]
    if embedded[0] == embedded[1]:
        assert without_what_may_differ(again) == without_what_may_differ(built)
    asked = wish.get("sections", render.SECTIONS)
    assert [part["name"] for part in bundle["sections"]] == [
        name for name in render.SECTIONS if name in asked
    ]
    assert_exact(bundle, wish.get("max_tokens", TOTAL))
    assert_messages(bundle, wish)
    await assert_cited(history, wish, bundle)


@asynccontextmanager
async def tenant(daemon: Daemon, url: str, seed: int) -> AsyncIterator[History]:
    name = f"history-{seed}"
    async with db.tenant(daemon.pool, name) as conn:
        given = {"tenant_id": name, "role": "agent", "secret": f"secret-of-{name}" * 2}
        _, key = await keys.create(conn, **given, now=composition.now())  # type: ignore[arg-type]
    async with asking(url, key) as client:
        history = History(seed, client)
        await history.fill(daemon, name)
        yield history


async def keep(daemon: Daemon, url: str, seed: int) -> None:
    async with tenant(daemon, url, seed) as history:
        for _ in range(REQUESTS):
            try:
                await try_one(history)
            except AssertionError as error:
                error.add_note(f"history {seed}")
                raise


@pytest.mark.parametrize("batch", range(5))
async def test_every_bundle_keeps_its_promises(database: db.Target, batch: int) -> None:
    """Words alone, or with vectors as far as they are there: the promises are the same."""
    settings = outside(database, max_bundle_tokens=200_000)
    async with (
        composition.running(settings, print, work=batch == 0) as daemon,
        serving(daemon) as url,
    ):
        seeds = range(batch * HISTORIES, (batch + 1) * HISTORIES)
        for first in seeds[::AT_ONCE]:
            together = range(first, first + AT_ONCE)
            await asyncio.gather(*(keep(daemon, url, seed) for seed in together))
