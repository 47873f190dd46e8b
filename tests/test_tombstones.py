"""Deletions by tombstone: afterwards every search is that of a store that never held them."""

import itertools
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import make
from memoryd.core import db, privacy
from memoryd.search import index, retrieve
from memoryd.search.corpus import Corpus, Stale
from memoryd.search.retrieve import Filters, Search
from test_index import QUERIES, READERS, find, flush, history, store

GONE = [1, 2, 7, 30, 31, 32, 33, 58, 60]  # positions: at the ends, alone and in a row
_numbers = itertools.count()


@pytest.fixture
async def pool(database: db.Target) -> AsyncIterator[db.Pool]:
    one = await db.open_pool(database, 6)
    yield one
    await one.close()


async def delete(pool: db.Pool, tenant: str, positions: Sequence[int]) -> int:
    """As an erasure does it."""
    async with db.tenant(pool, tenant) as conn:
        found = await index.delete(conn, tenant, positions)
        await conn.execute("delete from chunks where position = any($1::bigint[])", positions)
    return found


async def purge(pool: db.Pool, tenant: str) -> int:
    async with db.tenant(pool, tenant) as conn:
        return await index.purge(conn, tenant)


async def clear(pool: db.Pool, tenant: str) -> None:
    async with db.tenant(pool, tenant) as conn:
        await index.clear(conn, tenant)


async def merge_all(pool: db.Pool, tenant: str) -> None:
    """Into one, whatever their sizes."""
    async with db.tenant(pool, tenant) as conn:
        if not (await index.segments(conn, tenant))[1]:
            return
        await conn.execute(db.query("index.merge_postings"), tenant, 0, 2**31 - 1)
        await conn.execute(db.query("index.merge_segments"), tenant, 0, 2**31 - 1)


async def rankings(
    pool: db.Pool, corpus: Corpus, drafts: Sequence[int] | None = None, readers: Any = READERS
) -> list[Any]:
    """Of many readers and questions; each hit by the number of its draft, which `drafts` has for
    each position where it is not the position itself.
    """
    found = []
    for reader, text in itertools.product(readers, QUERIES):
        for filters in (Filters(), Filters(session_id="s1", tag="red")):
            hits = await find(pool, corpus, reader, text, filters=filters)
            at = [int(corpus.column("position")[hit.doc]) for hit in hits]
            names = at if drafts is None else [drafts[position - 1] for position in at]
            found.append([(n, h.score, h.parts) for n, h in zip(names, hits, strict=True)])
    return found


async def never(
    pool: db.Pool, drafts: Sequence[dict[str, Any]], gone: Sequence[int], readers: Any = READERS
) -> list[Any]:
    """The rankings of a store that never held the drafts at the positions `gone`."""
    kept = [at for at in range(1, len(drafts) + 1) if at not in gone]
    tenant = f"never-{next(_numbers)}"
    await store(pool, tenant, [drafts[at - 1] for at in kept])
    return await rankings(pool, Corpus(tenant), kept, readers)


async def test_what_is_deleted_never_existed_after_whatever_follows(pool: db.Pool) -> None:
    drafts = history(60)
    expected = await never(pool, drafts, GONE)
    for part in range(0, 54, 9):
        await store(pool, "t", drafts[part : part + 9])
        await flush(pool, "t")
    await store(pool, "t", drafts[54:])
    before = await rankings(pool, Corpus("t"))
    assert await delete(pool, "t", GONE) == 9
    after = {"delete": await rankings(pool, Corpus("t"))}
    for step in (purge, merge_all, clear, flush):
        await step(pool, "t")
        after[step.__name__] = await rankings(pool, Corpus("t"))

    assert sum(map(len, expected)) > 100
    assert before != expected
    assert {step for step, found in after.items() if found != expected} == set()


@pytest.mark.parametrize("first", [merge_all, purge])
async def test_merging_comes_before_or_after_purging(pool: db.Pool, first: Any) -> None:
    drafts = history(30)
    expected = await never(pool, drafts, [3, 25])
    for part in (0, 10, 20):
        await store(pool, "t", drafts[part : part + 10])
        await flush(pool, "t")
    await delete(pool, "t", [3, 25])
    for step in (first, merge_all, purge):
        await step(pool, "t")

    assert await rankings(pool, Corpus("t")) == expected


@pytest.mark.parametrize("looked", ["at the tail", "at a part of the tail", "at segments"])
async def test_a_daemon_that_holds_them_in_memory_sees_it_in_its_next_search(
    pool: db.Pool, looked: str
) -> None:
    drafts, gone = history(60), [1, 20, 58]
    expected = await never(pool, drafts, gone)
    early = Corpus("t")
    await store(pool, "t", drafts[:40])
    if looked == "at segments":
        await flush(pool, "t")
    await rankings(pool, early)
    await store(pool, "t", drafts[40:])
    if looked == "at the tail":
        await rankings(pool, early)
    await delete(pool, "t", gone)
    seen = await rankings(pool, early)
    await purge(pool, "t")
    with pytest.raises(Stale):
        await rankings(pool, early)

    assert seen == expected
    assert await rankings(pool, Corpus("t")) == expected


async def test_a_search_under_way_ends_as_it_began(pool: db.Pool) -> None:
    """Another one on the same arrays takes the deletion in meanwhile."""
    await store(pool, "t", history(60))
    corpus = Corpus("t")
    before = await find(pool, corpus, READERS[0], QUERIES[0])
    asked = Search(text=QUERIES[0], now=make.NOW, limit=200)
    sight = privacy.sight(READERS[0])
    async with db.snapshot(pool, "t") as conn:
        stage = await retrieve.prepare(conn, corpus, None, sight, asked)
        await retrieve.read_words(conn, stage)
        await delete(pool, "t", GONE)
        after = await find(pool, corpus, READERS[0], QUERIES[0])
        await purge(pool, "t")
        found = await retrieve.rank(conn, stage, None)

    assert found.hits == before
    assert after != before


async def test_deleting_again_or_what_is_not_there_changes_nothing(pool: db.Pool) -> None:
    drafts = history(20)
    await store(pool, "t", [*drafts, {"sensitivity": "secret"}])
    expected = await never(pool, drafts, [5, 20])
    await delete(pool, "t", [5, 20])
    found = [await delete(pool, "t", positions) for positions in ([], [21], [999])]
    await purge(pool, "t")
    again = [await delete(pool, "t", [5]), await purge(pool, "t")]

    assert (found, again) == ([0, 0, 0], [1, 0])
    assert await rankings(pool, Corpus("t")) == expected


async def test_deleting_everything_leaves_an_empty_store_that_goes_on(pool: db.Pool) -> None:
    drafts = history(20)
    followed = Corpus("t")
    await store(pool, "t", drafts[:10])
    await rankings(pool, followed)
    await delete(pool, "t", range(1, 11))
    empty = await rankings(pool, followed)
    await store(pool, "t", drafts[10:])

    assert not any(empty)
    assert await rankings(pool, followed) == await never(pool, drafts, range(1, 11))


async def test_as_of_and_the_position_pass_over_what_is_gone(pool: db.Pool) -> None:
    await store(pool, "t", history(20))
    await delete(pool, "t", [3, 4, 9, 19, 20])
    corpus, asked = Corpus("t"), Search(text=QUERIES[0], now=make.NOW)
    async with db.snapshot(pool, "t") as conn:
        await retrieve.prepare(conn, corpus, None, privacy.sight(READERS[0]), asked)

    assert [corpus.end(at) for at in (None, 18, 20, 4, 3, 2, 0)] == [18, 18, 18, 2, 2, 2, 0]
    assert (corpus.living(0, 20), corpus.living(2, 4), corpus.living(5, 18)) == (15, 0, 12)


STEPS = {"flush": flush, "purge": purge, "merge": merge_all, "clear": clear}
STEP = st.one_of(
    st.tuples(st.just("store"), st.integers(1, 5)),
    st.tuples(st.just("delete"), st.lists(st.integers(1, 24), min_size=1, max_size=4)),
    st.sampled_from([("look",), *((name,) for name in STEPS)]),
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, min_size=6, max_size=16))
async def test_whatever_the_order(pool: db.Pool, steps: list[tuple[Any, ...]]) -> None:
    drafts, readers = history(80), READERS[:1]
    tenant, stored, gone = f"order-{next(_numbers)}", 0, set[int]()
    followed = Corpus(tenant)
    for name, *values in steps:
        if name == "store":
            await store(pool, tenant, drafts[stored : stored + values[0]])
            stored += values[0]
        elif name == "delete":
            gone |= {position for position in values[0] if position <= stored}
            await delete(pool, tenant, values[0])
        elif name == "look":
            try:
                await rankings(pool, followed, readers=readers)
            except Stale:
                followed = Corpus(tenant)
        else:
            await STEPS[name](pool, tenant)
    expected = await never(pool, drafts[:stored], sorted(gone), readers)

    assert await rankings(pool, Corpus(tenant), readers=readers) == expected
    if not {"purge", "clear"} & {name for name, *_ in steps}:
        assert await rankings(pool, followed, readers=readers) == expected
