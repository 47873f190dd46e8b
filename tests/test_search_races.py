"""Searches beside each other and beside writers: each sees what its own snapshot has."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

import make
from memoryd import embed
from memoryd.core import db, privacy
from memoryd.core.model import Reader
from memoryd.search import corpus as corpora
from memoryd.search import index, retrieve, vectors
from memoryd.search.corpus import Corpus, Stale
from memoryd.search.encoders import Encoders
from memoryd.search.retrieve import Search
from memoryd.search.searcher import Answer, Searcher
from test_index import QUERIES, READERS, find, flush, history, merge, store

ASKED = Search(text=QUERIES[0], now=make.NOW, limit=200)


@pytest.fixture
async def pool(database: db.Target) -> AsyncIterator[db.Pool]:
    one = await db.open_pool(database, 6)
    yield one
    await one.close()


async def rank(conn: db.Conn, corpus: Corpus) -> list[retrieve.Hit]:
    stage = await retrieve.prepare(conn, corpus, None, privacy.sight(READERS[0]), ASKED)
    await retrieve.read_words(conn, stage)
    return (await retrieve.rank(conn, stage, None)).hits


async def test_an_older_snapshot_finds_what_it_has_in_arrays_that_have_grown(pool: db.Pool) -> None:
    drafts = history(60)
    corpus = Corpus("t")
    await store(pool, "t", drafts[:40])
    await flush(pool, "t")
    await store(pool, "t", drafts[40:50])
    before = await find(pool, corpus, READERS[0], QUERIES[0])
    async with db.snapshot(pool, "t") as older:
        await store(pool, "t", drafts[50:])
        after = await find(pool, corpus, READERS[0], QUERIES[0])
        again = await rank(older, corpus)

    assert again == before
    assert len(after) > len(before)


async def test_a_search_ends_with_the_postings_that_it_began_with(pool: db.Pool) -> None:
    """Another one takes in a flush before the first has read them."""
    await store(pool, "t", history(40))
    corpus = Corpus("t")
    before = await find(pool, Corpus("t"), READERS[0], QUERIES[0])
    async with db.snapshot(pool, "t") as conn:
        stage = await retrieve.prepare(conn, corpus, None, privacy.sight(READERS[0]), ASKED)
        await flush(pool, "t")
        await find(pool, corpus, READERS[0], "unheard")
        await retrieve.read_words(conn, stage)
        found = await retrieve.rank(conn, stage, None)

    assert corpus.postings is not stage.postings
    assert found.hits == before


async def test_what_two_searches_lack_is_taken_in_once(pool: db.Pool) -> None:
    await store(pool, "t", history(40))
    corpus = Corpus("t")
    async with AsyncExitStack() as stack:
        four = [await stack.enter_async_context(db.snapshot(pool, "t")) for _ in range(4)]
        found = await asyncio.gather(*(rank(conn, corpus) for conn in four))

    assert corpus.size == 40
    assert found == [await find(pool, Corpus("t"), READERS[0], QUERIES[0])] * 4


async def test_a_snapshot_without_segments_that_the_arrays_count_on_is_not_searched(
    pool: db.Pool,
) -> None:
    await store(pool, "t", history(40))
    corpus = Corpus("t")
    async with db.snapshot(pool, "t") as older:
        await flush(pool, "t")
        await find(pool, corpus, READERS[0], QUERIES[0])
        with pytest.raises(Stale):
            await rank(older, corpus)

    assert not corpus.stale  # it is the snapshot that is taken anew


async def test_arrays_that_one_found_stale_are_no_good_to_those_who_waited(pool: db.Pool) -> None:
    await store(pool, "t", history(20))
    corpus = Corpus("t")
    corpus.stale = True
    async with db.snapshot(pool, "t") as conn:
        with pytest.raises(Stale):
            await rank(conn, corpus)


async def test_views_that_were_made_anew_begin_to_count_anew(pool: db.Pool) -> None:
    """A newer version, started beside this one, sets all epochs back."""
    searcher = Searcher(pool, Encoders())
    await store(pool, "t", history(40))
    async with db.tenant(pool, "t") as conn:
        await index.clear(conn, "t")
    before = await searcher.search(READERS[0], ASKED)
    async with db.tenant(pool, "t") as conn:
        await conn.execute("delete from epochs where tenant_id = 't'")
    async with asyncio.timeout(20):
        after = await searcher.search(READERS[0], ASKED)

    assert ranking(after) == ranking(before) != []


async def test_a_search_has_the_vectors_of_its_own_snapshot(
    pool: db.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one has taken in more of them before the first looks."""
    searcher, encoder = Searcher(pool, Encoders()), embed.Encoder()
    await store(pool, "t", [{**one, "sensitivity": "none"} for one in history(30)])
    before = await searcher.search(READERS[0], ASKED)
    prepare, waiting = retrieve.prepare, [True]

    async def then_embed(conn: db.Conn, *given: Any) -> retrieve.Stage:
        stage = await prepare(conn, *given)
        if waiting and waiting.pop():
            async with db.tenant(pool, "t") as other:
                await vectors.embed_next(other, "t", encoder)
            await searcher.search(READERS[0], ASKED)
        return stage

    monkeypatch.setattr(retrieve, "prepare", then_embed)
    during = await searcher.search(READERS[0], ASKED)
    after = await searcher.search(READERS[0], ASKED)

    assert ranking(during) == ranking(before) != ranking(after)
    assert (during.pending_vectors, after.pending_vectors) == (30, 0)


async def test_each_answer_is_that_of_its_position_beside_writers_and_flushes(
    pool: db.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "FANOUT", 3)
    searcher, drafts = Searcher(pool, Encoders()), history(160)

    async def write() -> None:
        for start in range(0, len(drafts), 4):
            await store(pool, "t", drafts[start : start + 4])
            await flush(pool, "t")
            await merge(pool, "t")

    async def look(until: asyncio.Task[None]) -> list[Answer]:
        found = []
        while not until.done():
            found.append(await searcher.search(READERS[0], ASKED))
        return found

    writing = asyncio.create_task(asyncio.wait_for(write(), 60))
    looked = await asyncio.gather(*(look(writing) for _ in range(6)))
    await writing
    answers = [one for found in looked for one in found]
    later = Searcher(pool, Encoders())
    expected = {
        position: await later.search(READERS[0], ASKED, position)
        for position in {one.position for one in answers}
    }

    assert len(expected) > 10
    for one in answers:
        assert ranking(one) == ranking(expected[one.position])


def ranking(answer: Answer) -> list[tuple[int, float]]:
    places = [row["position"] for row in answer.rows]
    return list(zip(places, (hit.score for hit in answer.hits), strict=True))


async def test_a_tenant_that_asks_much_waits_for_itself_alone(
    pool: db.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "AT_ONCE", 1)
    searcher = Searcher(pool, Encoders())
    await store(pool, "t", history(20))
    corpus, _ = searcher._keep("t")
    async with corpus.places:
        waiting = asyncio.create_task(searcher.search(READERS[0], ASKED))
        elsewhere = await searcher.search(Reader(tenant_id="other"), ASKED)
        await asyncio.sleep(0.05)

        assert not waiting.done()
        assert elsewhere.rows == []
    assert len((await waiting).rows) > 0
