"""Purging: no byte of what was deleted is left in the index; and vectors beside deletions."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import make
from memoryd import embed
from memoryd.core import db
from memoryd.core.model import Actor, Reader
from memoryd.search import index, retrieve, vectors, words
from memoryd.search.encoders import Encoders
from memoryd.search.searcher import Answer, Searcher
from test_index import store

ENCODER = embed.Encoder()
ADA = Reader(tenant_id="t", user_id="ada")
SPY = Actor(type="human", id="moneypenny")
ASKED = ["who feeds the tortoise?", "what is the weather like?", "where is the meeting tomorrow?"]


@pytest.fixture
async def pool(database: db.Target) -> AsyncIterator[db.Pool]:
    one = await db.open_pool(database, 4)
    yield one
    await one.close()


def draft(session: str, text: str, **more: Any) -> dict[str, Any]:
    return {"session_id": session, "content": {"text": text}, "user_id": "ada", **more}


TALK = [
    draft("s1", "The tortoise eats dandelions every morning."),
    draft("s1", "Who feeds it when you are away?"),
    draft("s2", "The meeting is in the garden.", tags=("place",)),
    draft("s1", "My neighbour does, and she loves it."),
    draft("s2", "And if it rains tomorrow?"),
    draft("s3", "The tortoise eats dandelions every morning."),
    draft("s2", "Then we meet in the greenhouse, as we did last year."),
    draft("s1", "Tell her that the gate sticks."),
]
SECRET = draft("fleming", "The umbrella hides a microfilm.", user_id="bond", actor=SPY)
SECRET |= {"tags": ("universal",), "ts": make.NOW - timedelta(minutes=7)}


async def embed_all(pool: db.Pool, tenant: str = "t", encoder: embed.Encoder = ENCODER) -> None:
    more = 1
    while more:
        async with db.tenant(pool, tenant) as conn:
            more = await vectors.embed_next(conn, tenant, encoder)


async def erase(pool: db.Pool, positions: Sequence[int], purge: bool = True) -> None:
    """With its successors' vectors."""
    async with db.tenant(pool, "t") as conn:
        await index.delete(conn, "t", positions)
        await conn.execute("delete from chunks where position = any($1::bigint[])", positions)
        if purge:
            await index.purge(conn, "t")
        left = await conn.fetch("select distinct position from chunks order by 1")
        await vectors.renew(conn, "t", ENCODER, [row["position"] for row in left])


async def flush(pool: db.Pool) -> None:
    async with db.tenant(pool, "t") as conn:
        await index.flush(conn, "t", least=1)


async def rows(pool: db.Pool, statement: str) -> list[Any]:
    async with db.tenant(pool, "t") as conn:
        return list(await conn.fetch(statement))


async def bytes_of(pool: db.Pool) -> bytes:
    """All that the tables of the index hold, as PostgreSQL would send it."""
    found = []
    for table in (*index.TABLES, *vectors.TABLES):
        for row in await rows(pool, f"select * from {table}"):
            found += [value if isinstance(value, bytes) else str(value).encode() for value in row]
    return b"\n".join(found)


async def search(pool: db.Pool, tenant: str = "t", searcher: Searcher | None = None) -> list[Any]:
    """What a client sees for each question: texts, scores and their parts, what is pending."""
    found = []
    for text in ASKED:
        asked = retrieve.Search(text=text, now=make.NOW, limit=50)
        reader = Reader(tenant_id=tenant, user_id="ada")
        answer: Answer = await (searcher or Searcher(pool, Encoders())).search(reader, asked)
        hits = [(hit.score, hit.parts) for hit in answer.hits]
        found.append(([row["text"] for row in answer.rows], hits, answer.pending_vectors))
    return found


async def never(pool: db.Pool, gone: Sequence[int]) -> list[Any]:
    kept = [one for at, one in enumerate(TALK, 1) if at not in gone]
    await store(pool, "never", kept)
    await embed_all(pool, "never")
    return await search(pool, "never")


async def test_nothing_of_what_was_deleted_is_left(pool: db.Pool) -> None:
    await store(pool, "t", [*TALK[:4], SECRET, *TALK[4:]])
    await flush(pool)
    await embed_all(pool)
    [segment] = await rows(pool, "select columns from segments")
    record = segment["columns"][4 * index.DOC.itemsize :][: index.DOC.itemsize]
    [code] = await rows(pool, "select codes from code_segments")
    size = vectors.code_type(ENCODER.dimensions).itemsize
    key, pooled = code["codes"][4 * size :][:16], code["codes"][4 * size + 16 :][: size - 16]
    marks = [b"umbrella", b"microfilm", b"moneypenni", b"universal", b"moneypenny", b"fleming"]
    marks += [b"bond", record[8:16], record[20:44], key, pooled]
    before = await bytes_of(pool)
    await erase(pool, [5])
    after = await bytes_of(pool)

    assert [mark for mark in marks if mark not in before] == []
    assert [mark for mark in marks if mark in after] == []


async def test_only_what_held_it_is_rewritten(pool: db.Pool) -> None:
    for part in (TALK[:3], [*TALK[3:5], SECRET], TALK[5:]):
        await store(pool, "t", part)
        await flush(pool)
    versions = "select first_doc, term, xmin::text from postings"
    before = {(row[0], row[1]): row[2] for row in await rows(pool, versions)}
    segments = await rows(pool, "select first_doc, xmin::text from segments order by 1")
    async with db.tenant(pool, "t") as conn:
        await index.delete(conn, "t", [6])
        await index.purge(conn, "t")
    after = {(row[0], row[1]): row[2] for row in await rows(pool, versions)}
    again = await rows(pool, "select first_doc, xmin::text from segments order by 1")
    alone = ("moneypenni", "the", "umbrella", "hide", "a", "microfilm", words.TAG + "universal")
    changed = {key for key in after if after[key] != before[key]}

    assert before.keys() - after.keys() == {(3, term) for term in alone}
    assert changed == {(3, term) for term in ("1", "may", "2026")}
    assert [one == other for one, other in zip(segments, again, strict=True)] == [True, False, True]


async def test_token_codes_that_another_chunk_uses_stay(pool: db.Pool) -> None:
    """Of the two tortoises one goes."""
    await store(pool, "t", TALK)
    await embed_all(pool)
    before = await rows(pool, "select key from token_codes")
    await erase(pool, [6])
    after = await rows(pool, "select key from token_codes")

    assert len(before) == len(after) == 7
    assert await search(pool) == await never(pool, [6])


@pytest.mark.parametrize("when", ["before", "after", "between"])
@pytest.mark.parametrize("purge", [True, False])
async def test_vectors_are_those_of_a_store_that_never_held_it(
    pool: db.Pool, monkeypatch: pytest.MonkeyPatch, when: str, purge: bool
) -> None:
    """Deleted before, after or in the midst of being embedded; the successors' are made anew."""
    gone = [2, 3, 8]
    monkeypatch.setattr(vectors, "BATCH", 3)
    searcher = Searcher(pool, Encoders())
    await store(pool, "t", TALK[:4])
    if when != "before":
        await embed_all(pool)
    await store(pool, "t", TALK[4:])
    if when == "after":
        await embed_all(pool)
    await search(pool, searcher=searcher)
    await erase(pool, gone, purge)
    pending = (await search(pool, searcher=searcher))[0][2]
    await embed_all(pool)
    expected = await never(pool, gone)

    assert pending == {"before": 5, "between": 3, "after": 0}[when]
    assert await search(pool, searcher=searcher) == expected
    assert await search(pool) == expected


async def test_a_vector_made_anew_forgets_the_turn_before(pool: db.Pool) -> None:
    await store(pool, "t", TALK)
    await embed_all(pool)
    before = {row["key"] for row in await rows(pool, "select key from token_codes")}
    await erase(pool, [1])
    after = {row["key"] for row in await rows(pool, "select key from token_codes")}

    assert len(before - after) == len(after - before) == 1
    assert await search(pool) == await never(pool, [1])


async def test_deleting_waits_for_an_embedder_at_work_on_any_model(pool: db.Pool) -> None:
    """Or it would commit codes of what is gone."""
    await store(pool, "t", TALK)

    async def delete() -> None:
        async with db.tenant(pool, "t") as conn:
            await index.delete(conn, "t", [4])
            await conn.execute("delete from chunks where position = 4")
            await index.purge(conn, "t")

    async with db.tenant(pool, "t") as conn:
        assert await vectors.embed_next(conn, "t", ENCODER) == 8
        deleting = asyncio.create_task(delete())
        await asyncio.sleep(0.2)
        assert not deleting.done()
    await deleting
    [segment] = await rows(pool, "select codes from code_segments")
    codes = np.frombuffer(segment["codes"], vectors.code_type(ENCODER.dimensions))

    assert codes["key"].any(axis=1).tolist() == [at != 3 for at in range(8)]
    assert len(await rows(pool, "select key from token_codes")) == 6


async def test_an_embedder_does_not_begin_beside_a_deletion(pool: db.Pool) -> None:
    await store(pool, "t", TALK)
    async with db.tenant(pool, "t") as conn, db.tenant(pool, "t") as other:
        await index.delete(conn, "t", [4])

        assert await vectors.embed_next(other, "t", ENCODER) == 0


async def test_a_name_may_come_back(pool: db.Pool) -> None:
    """With a number of its own, in every daemon."""
    searcher = Searcher(pool, Encoders())
    again = draft("fleming", "The tortoise hides in the meeting room.", actor=SPY)
    await store(pool, "t", [*TALK, SECRET])
    await search(pool, searcher=searcher)
    await erase(pool, [9])
    await store(pool, "t", [again, draft("s9", "The weather is fine.")])
    early = await search(pool, searcher=searcher)
    await flush(pool)
    await store(pool, "t", [draft("s10", "Tomorrow it rains.")])
    await store(pool, "alone", [*TALK, again, draft("s9", "The weather is fine.")])
    async with db.tenant(pool, "t") as conn:
        names = [row["name"] for row in await conn.fetch(db.query("index.names"), "t", 0)]

    assert early == await search(pool, "alone")
    assert await search(pool, searcher=searcher) == await search(pool)
    assert (names.count("fleming"), names.count("moneypenny"), names.count("")) == (1, 1, 3)
