"""A9, Fast Path Assembly: without a question nothing is searched; one statement reads it all."""

import httpx

import make
from memoryd.core import context, db, ids
from memoryd.core.model import Reader
from memoryd.core.receipt import Asked
from memoryd.daemon import Daemon
from test_bundle import build, record, section


async def test_nothing_is_retrieved_without_a_question(client: httpx.AsyncClient) -> None:
    for number in range(20):
        await record(client, content={"text": f"Turn {number} of the conversation."})
    bundle = await build(client)

    assert bundle["provenance"]["candidate_pool_size"] == 0
    assert section(bundle, "retrieved_evidence") == []
    texts = [item["text"] for item in section(bundle, "recent_window")]
    assert texts == [f"[human ada]\nTurn {number} of the conversation." for number in range(20)]


async def test_one_statement_reads_and_one_writes_the_receipt(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    await record(client)
    statements: list[str] = []
    pool = await db.open_pool(daemon.target, 1)  # nobody else's statements are on it
    async with pool.acquire() as conn:
        only = conn._con  # type: ignore[attr-defined]
        only.add_query_logger(lambda asked: statements.append(asked.query))
    acb_id = ids.new("acb", make.NOW, make.entropy())
    asked = Asked(session_id="s1", now=make.NOW)
    await context.build(pool, daemon.searcher, Reader(tenant_id=tenant), asked, acb_id)
    await pool.close()

    begin, reads, commit, writes = statements
    assert begin.startswith("begin") and commit == "commit"
    assert reads == db.query("context.gather")
    assert writes == db.query("context.add_receipt")
