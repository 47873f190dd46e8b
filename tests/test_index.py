"""The inverted index: exact BM25, whatever the segments, the reader and the filters."""

import math
import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

import make
from memoryd.core import db, privacy, record
from memoryd.core.model import Actor, Reader
from memoryd.search import analyze, index, retrieve
from memoryd.search.corpus import Corpus
from memoryd.search.retrieve import Filters, Search

WORDS = [f"word{number}" for number in range(60)]
READERS = [
    Reader(tenant_id="t", channel="private", user_id="ada"),
    Reader(tenant_id="t", channel="private", user_id="bob"),
    Reader(tenant_id="t", channel="public", user_id="ada"),
    Reader(tenant_id="t", channel="team", user_id="eve"),
]


def history(events: int, seed: int = 1) -> list[dict[str, Any]]:
    """Drafts of many sessions, users, channels and tags, with Zipf's words."""
    draw = random.Random(seed)
    said = []
    for number in range(events):
        words = [WORDS[int(len(WORDS) ** draw.random()) - 1] for _ in range(draw.randint(3, 30))]
        said.append(
            {
                "session_id": f"s{draw.randrange(8)}",
                "actor": Actor(type="human", id=draw.choice(["ada", "bob"])),
                "user_id": draw.choice(["ada", "bob"]),
                "channel": draw.choice(["private", "private", "public", "team", "agent"]),
                "sensitivity": draw.choice(["none", "none", "low", "high"]),
                "tags": tuple(draw.sample(["red", "green", "blue"], draw.randrange(3))),
                "kind": "message",
                "content": {"text": " ".join(words)},
                "ts": make.NOW - timedelta(hours=events - number),
            }
        )
    return said


async def store(pool: db.Pool, tenant: str, drafts: Sequence[dict[str, Any]]) -> None:
    async with db.tenant(pool, tenant) as conn:
        await record.append(conn, tenant, [make.write(tenant, **one) for one in drafts], make.NOW)


async def flush(pool: db.Pool, tenant: str) -> int:
    async with db.tenant(pool, tenant) as conn:
        return await index.flush(conn, tenant, least=1)


async def merge(pool: db.Pool, tenant: str) -> bool:
    async with db.tenant(pool, tenant) as conn:
        return await index.merge(conn, tenant)


async def find(
    pool: db.Pool, corpus: Corpus, reader: Reader, text: str, **more: Any
) -> list[retrieve.Hit]:
    asked = Search(text=text, now=make.NOW, limit=200, **more)
    async with db.snapshot(pool, corpus.tenant_id) as conn:
        stage = await retrieve.prepare(conn, corpus, None, privacy.sight(reader), asked)
        await retrieve.read_words(conn, stage)
        return (await retrieve.rank(conn, stage, None)).hits


@asynccontextmanager
async def pooled(target: db.Target) -> AsyncIterator[db.Pool]:
    pool = await db.open_pool(target, 4)
    yield pool
    await pool.close()


QUERIES = [
    "word1 word7",
    "word2",
    "what did word3 and word40 say about word5?",
    "word59 word58",
    "ada",
]


async def test_segments_merges_and_tail_give_the_same_scores_to_the_bit(
    database: db.Target,
) -> None:
    drafts = history(240)
    async with pooled(database) as pool:
        await store(pool, "t", drafts)
        unflushed = Corpus("t")
        before = [await find(pool, unflushed, READERS[0], text) for text in QUERIES]
        for part in range(12):
            await store(pool, "v", drafts[20 * part : 20 * part + 20])
            assert await flush(pool, "v") == 20
        assert await merge(pool, "v")
        await flush(pool, "t")
        kept = [await find(pool, unflushed, READERS[0], text) for text in QUERIES]
        fresh = [await find(pool, Corpus("t"), READERS[0], text) for text in QUERIES]
        merged = [await find(pool, Corpus("v"), READERS[0], text) for text in QUERIES]

    assert all(len(hits) > 5 for hits in before)
    assert kept == before
    assert fresh == before
    assert merged == before


def brute_force(drafts: Sequence[dict[str, Any]], text: str) -> dict[int, float]:
    """BM25 by the book, over these drafts alone."""
    docs = [
        Counter(
            analyze.terms(
                f"({one['ts'].day} {one['ts']:%B %Y}) {one['actor'].id}: {one['content']['text']}"
            )
        )
        for one in drafts
    ]
    average = sum(doc.total() for doc in docs) / len(docs)
    scores = dict.fromkeys(range(len(docs)), 0.0)
    for term in analyze.query_terms(text):
        having = sum(term in doc for doc in docs)
        idf = math.log(1 + (len(docs) - having + 0.5) / (having + 0.5))
        for at, doc in enumerate(docs):
            often = doc[term]
            norm = 1.2 * (1 - 0.75 + 0.75 * doc.total() / average)
            scores[at] += idf * often / (often + norm)
    return scores


def sees(reader: Reader, draft: dict[str, Any]) -> bool:
    rule = privacy.RULES[reader.channel]
    reachable = draft["channel"] in rule.channels or (
        draft["channel"] in rule.own_channels and draft["user_id"] == reader.user_id
    )
    return reachable and draft["sensitivity"] in rule.sensitivities


async def raw(pool: db.Pool, reader: Reader, text: str, **more: Any) -> dict[int, float]:
    """The first stage's BM25 of every document, before any normalisation."""
    corpus = Corpus("t")
    async with db.snapshot(pool, "t") as conn:
        asked = Search(text=text, now=make.NOW, **more)
        stage = await retrieve.prepare(conn, corpus, None, privacy.sight(reader), asked)
        await retrieve.read_words(conn, stage)
    return {doc: float(value) for doc, value in enumerate(stage.scores[:-1])}


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: f"{reader.channel}-{reader.user_id}")
async def test_scores_are_those_of_a_store_that_holds_the_visible_rows_alone(
    database: db.Target, reader: Reader
) -> None:
    drafts = history(150)
    visible = [at for at, one in enumerate(drafts) if sees(reader, one)]
    async with pooled(database) as pool:
        await store(pool, "t", drafts[:100])
        await flush(pool, "t")
        await store(pool, "t", drafts[100:])
        for text in QUERIES:
            found = await raw(pool, reader, text)
            alone = brute_force([drafts[at] for at in visible], text)

            assert 10 < len(visible) < 150
            assert {doc: value for doc, value in found.items() if value} == pytest.approx(
                {visible[at]: value for at, value in alone.items() if value}, rel=1e-12
            )


async def test_the_ranking_is_that_of_a_store_that_holds_the_visible_rows_alone(
    database: db.Target,
) -> None:
    """All parts of the score, not only the words': neighbours and sessions too."""
    drafts, reader = history(200), READERS[1]
    async with pooled(database) as pool:
        await store(pool, "t", drafts)
        await store(pool, "alone", [one for one in drafts if sees(reader, one)])
        mine, alone = Corpus("t"), Corpus("alone")
        for text in QUERIES:
            one = await find(pool, mine, reader, text)
            other = await find(pool, alone, reader, text)

            assert [(hit.score, hit.parts) for hit in one] == [
                (hit.score, hit.parts) for hit in other
            ]


@pytest.mark.parametrize(
    "filters",
    [
        Filters(session_id="s1"),
        Filters(kind="message", tag="red"),
        Filters(since=make.NOW - timedelta(hours=50), until=make.NOW - timedelta(hours=10)),
        Filters(user_id="bob", agent_id="default"),
        Filters(session_id="nobody's"),
    ],
    ids=str,
)
async def test_filters_only_remove(database: db.Target, filters: Filters) -> None:
    drafts = history(150)
    async with pooled(database) as pool:
        await store(pool, "t", drafts)
        corpus = Corpus("t")
        for text in QUERIES:
            everything = {hit.doc: hit for hit in await find(pool, corpus, READERS[0], text)}
            filtered = {
                hit.doc: hit for hit in await find(pool, corpus, READERS[0], text, filters=filters)
            }
            expected = {doc for doc in everything if passes(filters, drafts[doc])}

            assert set(filtered) == expected
            for doc, hit in filtered.items():
                assert hit.parts == everything[doc].parts


def passes(filters: Filters, draft: dict[str, Any]) -> bool:
    return (
        filters.session_id in (None, draft["session_id"])
        and filters.user_id in (None, draft["user_id"])
        and (filters.tag is None or filters.tag in draft["tags"])
        and (filters.since is None or draft["ts"] >= filters.since)
        and (filters.until is None or draft["ts"] < filters.until)
    )


async def test_as_of_is_what_a_search_would_have_found_then(database: db.Target) -> None:
    drafts = history(120)
    async with pooled(database) as pool:
        await store(pool, "t", drafts[:70])
        corpus = Corpus("t")
        then = [await find(pool, corpus, READERS[0], text) for text in QUERIES]
        await store(pool, "t", drafts[70:])
        now = [await find(pool, corpus, READERS[0], text) for text in QUERIES]
        again = [await find(pool, corpus, READERS[0], text, as_of=70) for text in QUERIES]
        fresh = [await find(pool, Corpus("t"), READERS[0], text, as_of=70) for text in QUERIES]

    assert again == then
    assert fresh == then
    assert now != then


async def test_two_daemons_agree(database: db.Target) -> None:
    """One has followed every write, flush and merge; the other starts now."""
    async with pooled(database) as pool:
        followed = Corpus("t")
        for part in range(20):
            await store(pool, "t", history(15, seed=part))
            await find(pool, followed, READERS[0], "word1")
            if part % 2:
                await flush(pool, "t")
            await merge(pool, "t")
        one = [await find(pool, followed, READERS[0], text) for text in QUERIES]
        other = [await find(pool, Corpus("t"), READERS[0], text) for text in QUERIES]

    assert one == other


async def test_clearing_the_index_changes_no_ranking(database: db.Target) -> None:
    async with pooled(database) as pool:
        for part in range(10):
            await store(pool, "t", history(10, seed=part))
            await flush(pool, "t")
        await merge(pool, "t")
        before = [await find(pool, Corpus("t"), READERS[0], text) for text in QUERIES]
        async with db.tenant(pool, "t") as conn:
            await index.clear(conn, "t")
        cleared = [await find(pool, Corpus("t"), READERS[0], text) for text in QUERIES]
        await flush(pool, "t")
        after = [await find(pool, Corpus("t"), READERS[0], text) for text in QUERIES]

    assert cleared == before
    assert after == before


async def test_a_flush_waits_for_enough_and_takes_whole_events(database: db.Target) -> None:
    async with pooled(database) as pool:
        await store(pool, "t", [{"content": {"text": "word " * 2_000}}, *history(3)])
        async with db.tenant(pool, "t") as conn:
            assert await index.flush(conn, "t", least=1_000) == 0
            assert await index.flush(conn, "t", least=5) == 13
            assert await index.flush(conn, "t", least=1) == 0
