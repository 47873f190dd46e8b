"""Deletions beside writers, indexers, embedders and searches, each on a connection of its own."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence

import pytest

from memoryd import embed
from memoryd.core import db
from memoryd.search import index, vectors
from memoryd.search.corpus import Corpus, Stale
from memoryd.search.encoders import Encoders
from memoryd.search.searcher import Searcher
from test_index import QUERIES, READERS, find, flush, history, merge, store
from test_index_purge import TALK, embed_all, search
from test_index_purge import never as never_said
from test_tombstones import delete, never, purge, rankings


@pytest.fixture
async def pool(database: db.Target) -> AsyncIterator[db.Pool]:
    one = await db.open_pool(database, 6)
    yield one
    await one.close()


async def test_deleting_waits_for_a_flush_under_way(pool: db.Pool) -> None:
    drafts = history(30)
    await store(pool, "t", drafts)
    async with db.tenant(pool, "t") as conn:
        await index.flush(conn, "t", least=1)
        deleting = asyncio.create_task(delete(pool, "t", [4, 30]))
        await asyncio.sleep(0.2)
        assert not deleting.done()
    assert await deleting == 2

    assert await rankings(pool, Corpus("t")) == await never(pool, drafts, [4, 30])


async def test_a_flush_does_not_wait_for_a_deletion_under_way(pool: db.Pool) -> None:
    await store(pool, "t", history(30))
    async with db.tenant(pool, "t") as conn:
        await index.delete(conn, "t", [4])
        await store(pool, "t", history(5, seed=2))

        assert await flush(pool, "t") == 0


async def keep_up(pool: db.Pool, corpus: Corpus, until: asyncio.Task[None]) -> Corpus:
    """What a daemon does all the time."""
    while not until.done():
        await flush(pool, "t")
        await merge(pool, "t")
        try:
            await find(pool, corpus, READERS[0], QUERIES[0])
        except Stale:
            corpus = Corpus("t")
    return corpus


async def written(pool: db.Pool, position: int) -> bool:
    async with db.tenant(pool, "t") as conn:
        return bool(await conn.fetch("select from chunks where position = $1", position))


async def erase(pool: db.Pool, positions: Sequence[int]) -> None:
    """One after the other, as soon as it is written."""
    for at, position in enumerate(sorted(positions)):
        while not await written(pool, position):
            await asyncio.sleep(0)
        assert await delete(pool, "t", [position]) == 1
        if at % 7 == 6:
            await purge(pool, "t")


async def test_beside_writers_flushes_and_merges_nothing_else_is_lost(
    pool: db.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "FANOUT", 3)
    drafts = history(160)
    gone = random.Random(1).sample(range(1, 121), 30)

    async def write() -> None:
        for start in range(0, 160, 4):
            await store(pool, "t", drafts[start : start + 4])

    writing = asyncio.create_task(asyncio.wait_for(write(), 60))
    erasing = asyncio.create_task(asyncio.wait_for(erase(pool, gone), 60))
    daemons = [keep_up(pool, Corpus("t"), task) for task in (writing, erasing)]
    await asyncio.gather(writing, erasing, *(following := [*map(asyncio.create_task, daemons)]))
    followed = [task.result() for task in following]
    expected = await never(pool, drafts, gone)

    for corpus in (Corpus("t"), *followed):
        try:
            assert await rankings(pool, corpus) == expected
        except Stale:
            assert corpus in followed


async def test_two_erasures_at_once_go_one_after_the_other(pool: db.Pool) -> None:
    drafts, halves = history(60), (range(1, 40, 3), range(30, 61, 4))
    await store(pool, "t", drafts)
    found = await asyncio.gather(*(delete(pool, "t", half) for half in halves))
    gone = {*halves[0], *halves[1]}

    assert sum(found) == sum(map(len, halves))
    assert await rankings(pool, Corpus("t")) == await never(pool, drafts, sorted(gone))


async def test_beside_writers_and_embedders_every_vector_stays_at_its_place(
    pool: db.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is erased is erased with its codes, and its successors' are made anew."""
    monkeypatch.setattr(vectors, "BATCH", 2)
    encoder, searcher = embed.Encoder(), Searcher(pool, Encoders())

    async def write() -> None:
        for one in TALK:
            await store(pool, "t", [one])
            await asyncio.sleep(0.02)

    async def erase(position: int) -> None:
        while not await written(pool, position):
            await asyncio.sleep(0)
        await delete(pool, "t", [position])
        async with db.tenant(pool, "t") as conn:
            await index.purge(conn, "t")
            left = await conn.fetch("select distinct position from chunks order by 1")
            await vectors.renew(conn, "t", encoder, [row["position"] for row in left])

    async def embed_on() -> None:
        for _ in range(20):
            await embed_all(pool)
            await search(pool, searcher=searcher)

    await asyncio.gather(write(), embed_on(), embed_on(), erase(2), erase(5), erase(8))
    await embed_all(pool)
    expected = await never_said(pool, [2, 5, 8])

    assert await search(pool, searcher=searcher) == expected
    assert await search(pool) == expected
