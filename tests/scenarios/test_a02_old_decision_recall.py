"""A2, Old Decision Recall: 200 days and 50,000 events later, it is there with its refs."""

from datetime import timedelta

import conftest
import make
from memoryd import daemon as composition
from memoryd.core import db
from memoryd.search import index
from test_bundle import build, record, section

EVENTS = 50_000
TOPICS = ("tests", "deploys", "reviews", "meetings", "budget", "hiring", "travel", "lunch")


def filler(number: int) -> dict[str, object]:
    text = f"Status {number}: {TOPICS[number % 8]} went on, {TOPICS[number // 8 % 8]} are next."
    ts = make.NOW + timedelta(minutes=number * 5)
    session = f"day-{number // 250}"
    return make.body(content={"text": text}, session_id=session, ts=ts.isoformat())


async def test_a_decision_is_recalled_with_its_refs(database: db.Target) -> None:
    settings = conftest.outside(database)
    async with (
        composition.running(settings, print, work=False) as daemon,
        conftest.serving(daemon) as url,
        conftest.asking(url) as client,
    ):
        cited = await record(client, content={"text": "Redis lost our queue twice this month."})
        content = {
            "decision": "Keep the job queue in PostgreSQL, not in Redis.",
            "rationale": ["Redis lost jobs when it restarted"],
        }
        old = (composition.now() - timedelta(days=200)).isoformat()
        decided = await record(
            client, kind="decision", content=content, refs=[cited["event_id"]], ts=old
        )
        for start in range(0, EVENTS, 1_000):
            events = [filler(number) for number in range(start, start + 1_000)]
            answer = await client.post("/api/v1/events/batch", json={"events": events})
            assert answer.status_code == 201
            async with db.tenant(daemon.pool, "default") as conn:
                await index.flush(conn, "default")
        bundle = await build(client, query_text="where does the job queue live?", session_id="new")

    (item,) = section(bundle, "decision_ledger")
    assert bundle["provenance"]["position"] == EVENTS + 2
    assert "Keep the job queue in PostgreSQL" in item["text"]
    assert item["refs"] == [decided["event_id"], cited["event_id"]]
