"""kill -9 of an indexer or the postmaster in the midst of flushes and merges.

The bench does the same fifty times.
"""

import index_crash
import load
from memoryd.core import db


async def test_rankings_after_kills_equal_those_of_a_rebuild() -> None:
    async with load.home() as home:
        tally = await index_crash.torment(home, kills=3, seed=2, progress=False)
        verdict = await index_crash.judge(home, queries=10)

    assert all(count > 0 for count in tally.steps.values())
    assert tally.kills["indexer"] < 3
    assert 0 < verdict.indexed <= verdict.chunks
    assert verdict.hits > 100
    assert verdict.different == 0


async def test_the_judge_sees_a_lost_posting() -> None:
    """So that a verdict of zero means something."""
    async with load.home() as home:
        await index_crash.torment(home, kills=1, seed=1, progress=False)
        async with index_crash.opened(home) as pool, db.tenant(pool, index_crash.TENANT) as conn:
            await conn.execute("delete from postings where first_doc = 0")
        verdict = await index_crash.judge(home, queries=5)

    assert verdict.different > 0
