"""kill -9 of the daemon, the postmaster or both, under load: no acknowledged event is lost.

The bench does the same a hundred times.
"""

import crash
import load


async def test_every_acknowledged_event_survives_kills_at_random_moments() -> None:
    async with load.home() as home:
        tally = await crash.torment(home, kills=4, clients=4, seed=3, progress=False)
        verdict = await crash.judge(home, tally)

    assert set(tally.kills.values()) != {0}
    assert len(tally.acknowledged) > 50
    assert verdict.lost == 0
    assert verdict.twice == 0
    assert verdict.holes == 0
    assert verdict.views_equal
    assert tally.contradictions == 0


async def test_the_judge_sees_a_lost_event() -> None:
    """So that a verdict of zero means something."""
    async with load.home() as home:
        tally = await crash.torment(home, kills=0, clients=1, seed=3, progress=False)
        tally.acknowledged["never-sent"] = "evt_1"
        verdict = await crash.judge(home, tally)

    assert verdict.lost == 1
