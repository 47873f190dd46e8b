"""A9, Fast Path Assembly: without a question nothing is searched; one statement reads it all.

How fast that is, `bench/bundle.py` measures.
"""

import httpx

import conftest
from memoryd import daemon as composition
from memoryd.core import db
from test_bundle import build, record, section

AUDITING = ("BEGIN;", db.query("audit.begin"), db.query("audit.add"), "COMMIT;")


async def test_nothing_is_retrieved_without_a_question(client: httpx.AsyncClient) -> None:
    for number in range(20):
        await record(client, content={"text": f"Turn {number} of the conversation."})
    bundle = await build(client)

    assert bundle["provenance"]["candidate_pool_size"] == 0
    assert section(bundle, "retrieved_evidence") == []
    texts = [item["text"] for item in section(bundle, "recent_window")]
    assert texts == [f"[human ada]\nTurn {number} of the conversation." for number in range(20)]


async def test_one_statement_reads_and_one_writes_the_receipt(database: db.Target) -> None:
    """Over HTTP, of a daemon with one connection, so that every statement is seen; all but those
    that write down, at any time after it, who asked.
    """
    statements: list[str] = []
    async with (
        composition.running(conftest.outside(database, pool_size=1), print, work=False) as daemon,
        conftest.serving(daemon) as url,
        conftest.asking(url) as client,
    ):
        await record(client)
        async with daemon.pool.acquire() as conn:
            only = conn._con  # type: ignore[attr-defined]
            only.add_query_logger(lambda asked: statements.append(asked.query))
        bundle = await build(client)

    begin, reads, commit, writes = (one for one in statements if one not in AUDITING)
    assert begin.startswith("begin") and commit == "commit"
    assert reads == db.query("context.gather")
    assert writes == db.query("context.add_receipt")
    assert len(section(bundle, "recent_window")) == 1
