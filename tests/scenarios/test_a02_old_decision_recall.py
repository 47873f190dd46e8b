"""A2, Old Decision Recall: 200 days, 50,000 events and 400 decisions later, it is there with its
refs, because it is asked for.
"""

from datetime import timedelta
from typing import Any

import httpx

import conftest
import make
import wire
from memoryd import daemon as composition
from memoryd.core import db
from memoryd.daemon import Daemon
from memoryd.search import index
from test_bundle import build, record, section

EVENTS = 50_000
READ = 150  # the newest decisions, with which the ledger is filled
OLD = (make.NOW - timedelta(days=200)).isoformat()
ASKED = {"session_id": "new", "now": make.NOW.isoformat()}
QUESTION = "where does the job queue live?"
DECIDED = {
    "decision": "Keep the job queue in PostgreSQL, not in Redis.",
    "rationale": ["Redis lost jobs when it restarted"],
}
TOPICS = ("tests", "deploys", "reviews", "meetings", "budget", "hiring", "travel", "lunch")
IN_ITS_WORDS = ("job adverts", "review queue", "job titles", "lunch queue", "live music")


def filler(number: int) -> dict[str, Any]:
    text = f"Status {number}: {TOPICS[number % 8]} went on, {TOPICS[number // 8 % 8]} are next."
    ts = make.NOW - timedelta(days=199) + timedelta(minutes=number * 5)
    session = f"day-{number // 250}"
    return make.body(content={"text": text}, session_id=session, ts=ts.isoformat())


def newer(number: int, topics: tuple[str, ...] = TOPICS) -> dict[str, Any]:
    """A decision of the last weeks, about something else."""
    about = f"{topics[number % len(topics)]} of team {number // len(topics)}"
    content = {"decision": f"Round {number}: the {about} stay with them.", "subject": about}
    ts = make.NOW - timedelta(hours=400 - number)
    return make.body(kind="decision", content=content, session_id="council", ts=ts.isoformat())


async def decide(client: httpx.AsyncClient) -> list[str]:
    """The old decision, and what it cites: its refs in a bundle."""
    cited = await record(client, content={"text": "Redis lost our queue twice this month."}, ts=OLD)
    refs = [cited["event_id"]]
    decided = await record(client, kind="decision", content=DECIDED, refs=refs, ts=OLD)
    return [decided["event_id"], *refs]


async def add(client: httpx.AsyncClient, bodies: list[dict[str, Any]]) -> None:
    answer = await client.post("/api/v1/events/batch", json={"events": bodies})
    assert answer.status_code == 201, answer.text


def recalled(bundle: dict[str, Any]) -> list[list[str]]:
    """The refs of the old decision, where the ledger has it."""
    ledger = section(bundle, "decision_ledger")
    return [one["refs"] for one in ledger if DECIDED["decision"] in one["text"]]


async def test_a_decision_is_recalled_with_its_refs(database: db.Target) -> None:
    settings = conftest.outside(database)
    async with (
        composition.running(settings, print, work=False) as daemon,
        conftest.serving(daemon) as url,
        conftest.asking(url) as client,
    ):
        refs = await decide(client)
        for start in range(0, EVENTS, 1_000):
            await add(client, [filler(number) for number in range(start, start + 1_000)])
            async with db.tenant(daemon.pool, "default") as conn:
                await index.flush(conn, "default")
        await add(client, [newer(number) for number in range(400)])
        unasked = await build(client, **ASKED)
        whole = await build(client, query_text=QUESTION, **ASKED)
        small = await build(client, query_text=QUESTION, max_tokens=4_000, **ASKED)

    assert whole["provenance"]["position"] == EVENTS + 402
    assert recalled(whole) == recalled(small) == [refs]
    assert recalled(unasked) == []
    assert "job queue" not in str(unasked["sections"])
    (over,) = unasked["omissions"]  # of those that were read: newer ones fill the ledger
    assert (over["section"], over["reason"]) == ("decision_ledger", "over_budget")


async def test_it_is_recalled_among_newer_ones_that_share_its_words(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    refs = await decide(client)
    await add(client, [newer(number, IN_ITS_WORDS) for number in range(READ + 10)])
    await wire.embedded(daemon, tenant)
    unasked = await build(client, **ASKED)
    small = await build(client, query_text=QUESTION, max_tokens=4_000, **ASKED)

    assert recalled(small) == [refs]
    assert recalled(unasked) == []
