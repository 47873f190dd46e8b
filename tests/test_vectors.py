"""Vectors: they follow in the background, tell of nothing hidden, and are computed once."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import numpy as np
import pytest

import make
from conftest import asking, outside, serving
from memoryd import daemon as composition
from memoryd import embed
from memoryd.core import db, record
from memoryd.core.model import Actor, Reader
from memoryd.daemon import Daemon
from memoryd.search import index, retrieve, vectors
from memoryd.search.encoders import Encoders
from memoryd.search.searcher import Answer, Searcher
from memoryd.search.worker import Worker
from wire import post

ENCODER = embed.Encoder()
ADA = Reader(tenant_id="t", user_id="ada")
PETS = {
    "s1": "My puppy chewed up another pair of slippers.",
    "s2": "The invoice for the server room was paid.",
    "s3": "We painted the kitchen walls green.",
    "s4": "The train to Lyon leaves at noon.",
}
ABOUT_A_DOG = "what did the dog destroy?"  # shares no word with any of them


def draft(session: str, text: str, **given: Any) -> dict[str, Any]:
    said = {"session_id": session, "content": {"text": text}, "user_id": "ada"}
    return {**said, "channel": "private", **given}


@pytest.fixture
async def pool(database: db.Target) -> AsyncIterator[db.Pool]:
    """Of a database of this test's own, where nobody works in the background."""
    one = await db.open_pool(database, 4)
    yield one
    await one.close()


async def store(pool: db.Pool, *drafts: dict[str, Any]) -> None:
    async with db.tenant(pool, "t") as conn:
        await record.append(conn, "t", [make.write("t", **one) for one in drafts], make.NOW)


async def embed_all(pool: db.Pool) -> None:
    more = True
    while more:
        async with db.tenant(pool, "t") as conn:
            more = bool(await vectors.embed_next(conn, "t", ENCODER))


async def rows(pool: db.Pool, statement: str) -> list[Any]:
    async with db.tenant(pool, "t") as conn:
        return list(await conn.fetch(statement))


async def search(
    pool: db.Pool, text: str, reader: Reader = ADA, searcher: Searcher | None = None, **given: Any
) -> Answer:
    asked = retrieve.Search(text=text, now=make.NOW, **given)
    return await (searcher or Searcher(pool, Encoders())).search(reader, asked)


def texts(answer: Answer) -> list[str]:
    return [row["text"] for row in answer.rows]


async def inputs(pool: db.Pool) -> list[embed.Input]:
    """What the encoder reads of each chunk."""
    async with db.tenant(pool, "t") as conn:
        places = await conn.fetch(db.query("vectors.next"), "t", 0, -1, 1_000)
        found = await conn.fetch(db.query("vectors.inputs"), "t", *zip(*places, strict=True))
    return [vectors.encoder_input(row) for row in found]


async def test_vectors_follow_in_the_background(database: db.Target) -> None:
    settings = outside(database)
    async with composition.running(settings, print) as running, serving(running) as url:
        running.worker.paused = True
        async with asking(url) as client:
            for session, text in PETS.items():
                await post(client, session_id=session, content={"text": text})
            waiting = (await client.get("/readyz")).json()["pending_vectors"]
            by_words = await _ask(client, "who chewed the slippers?")
            running.worker.paused = False
            running.worker.grown("default")
            await _ready(client)
            by_meaning = await _ask(client, ABOUT_A_DOG)

    assert waiting == by_words["pending_vectors"] == 4
    assert by_words["results"][0]["text"] == PETS["s1"]
    assert by_meaning["pending_vectors"] == 0
    assert by_meaning["results"][0]["text"] == PETS["s1"]


async def _ask(client: httpx.AsyncClient, query: str) -> dict[str, Any]:
    answer = await client.post("/api/v1/search", json={"query": query})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def _ready(client: httpx.AsyncClient) -> None:
    async with asyncio.timeout(120):
        while (await client.get("/readyz")).json()["pending_vectors"]:
            await asyncio.sleep(0.02)


async def test_a_worker_that_only_watches_rests_after_a_write(daemon: Daemon) -> None:
    worker = Worker(daemon.target, daemon.pool, daemon.encoders)
    watching = asyncio.create_task(worker.watch())
    await asyncio.sleep(0.1)
    worker.grown("t")
    await asyncio.sleep(0.1)
    awake = worker._wake.is_set()
    worker.stop()
    await watching

    assert not awake, "it would look around without end"


async def test_meaning_finds_what_shares_no_word(pool: db.Pool) -> None:
    await store(pool, *(draft(session, text) for session, text in PETS.items()))
    before = await search(pool, ABOUT_A_DOG)
    await embed_all(pool)
    after = await search(pool, ABOUT_A_DOG)

    assert (texts(before), before.pending_vectors) == ([], 4)
    assert (texts(after)[0], after.pending_vectors) == (PETS["s1"], 0)


async def test_what_is_sealed_gets_no_vector(pool: db.Pool) -> None:
    await store(pool, draft("s1", "plain"), draft("s2", "sealed", sensitivity="high"))
    await embed_all(pool)
    [segment] = await rows(pool, "select docs, codes from code_segments")
    tokens = await rows(pool, "select key from token_codes")
    codes = np.frombuffer(segment["codes"], vectors.code_type(ENCODER.dimensions))

    assert (segment["docs"], len(tokens)) == (2, 1)
    assert codes["key"][0].tobytes() == tokens[0]["key"]
    assert not codes["key"][1].any() and not codes["pooled"][1].any()


async def test_what_has_no_vector_is_found_by_its_words_beside_what_has(pool: db.Pool) -> None:
    """A sealed chunk never gets one, a new chunk not yet."""
    sealed = "The vault code changes every Tuesday."
    fresh = "The gardener brings tulips on Wednesday."
    await store(pool, *(draft(session, text) for session, text in PETS.items()))
    await store(pool, draft("s5", sealed, sensitivity="high"))
    await embed_all(pool)
    await store(pool, draft("s6", fresh))
    of_sealed = await search(pool, "when does the vault code change?")
    of_fresh = await search(pool, "when does the gardener bring tulips?")
    of_neither = await search(pool, ABOUT_A_DOG)

    assert texts(of_sealed)[0] == sealed
    assert texts(of_fresh)[0] == fresh
    assert texts(of_neither)[0] == PETS["s1"]
    assert not {sealed, fresh} & {*texts(of_neither)}


CONTEXTS = [
    ({}, True),
    ({"user_id": "bob"}, False),
    ({"channel": "team"}, False),
    ({"sensitivity": "low"}, False),
    ({"sensitivity": "high"}, False),
    ({"session_id": "another"}, False),
]


@pytest.mark.parametrize(("before", "taken"), CONTEXTS, ids=str)
async def test_context_is_taken_only_from_what_every_reader_of_the_chunk_sees(
    pool: db.Pool, before: dict[str, Any], taken: bool
) -> None:
    secret = "The wedding is on Saturday."
    await store(pool, {**draft("s1", secret), **before}, draft("s1", "Who told you?"))
    [_, after] = await inputs(pool)

    assert (secret in after.context) == taken
    assert after.own == "ada: Who told you?"
    assert secret not in after.own


async def test_context_passes_over_what_may_not_be_told(pool: db.Pool) -> None:
    said = [("ada", "First."), ("bob", "Hidden."), ("ada", "Second.")]
    turns = [
        draft("s1", text, user_id=user, actor=Actor(type="human", id=user)) for user, text in said
    ]
    await store(pool, *turns)
    [_, _, last] = await inputs(pool)

    assert last == embed.Input(context="(1 May 2026) ada: First.", own="ada: Second.")


async def test_the_same_text_is_encoded_once(pool: db.Pool) -> None:
    await store(pool, *(draft(f"s{at}", "All is well.") for at in range(40)))
    await embed_all(pool)
    [segments] = await rows(pool, "select sum(docs) as docs from code_segments")
    tokens = await rows(pool, "select key from token_codes")

    assert (segments["docs"], len(tokens)) == (40, 1)


async def test_an_index_made_anew_encodes_nothing_again(pool: db.Pool) -> None:
    await store(pool, *(draft(session, text) for session, text in PETS.items()))
    await embed_all(pool)
    before = await rows(pool, "select *, xmin::text from token_codes order by key")
    found = await search(pool, ABOUT_A_DOG)
    async with db.tenant(pool, "t") as conn:
        await index.clear(conn, "t")
    cleared = await search(pool, ABOUT_A_DOG)
    await embed_all(pool)
    after = await rows(pool, "select *, xmin::text from token_codes order by key")
    again = await search(pool, ABOUT_A_DOG)

    assert after == before and len(before) == 4
    assert (texts(cleared), cleared.pending_vectors) == ([], 4)
    assert again.hits == found.hits


async def test_clearing_waits_for_an_embedder_at_work(pool: db.Pool) -> None:
    """Or its codes would stand in the new index at the place they had in the old one."""
    await store(pool, *(draft(f"s{at}", f"Turn {at}.") for at in range(40)))
    async with db.tenant(pool, "t") as conn:
        await vectors.embed_next(conn, "t", ENCODER)

    async def clear() -> None:
        async with db.tenant(pool, "t") as conn:
            await index.clear(conn, "t")

    async with db.tenant(pool, "t") as conn:
        await vectors.embed_next(conn, "t", ENCODER)
        clearing = asyncio.create_task(clear())
        await asyncio.sleep(0.2)
    await clearing
    await embed_all(pool)
    found = await rows(pool, "select first_doc, docs from code_segments order by first_doc")

    assert [tuple(row) for row in found] == [(0, 32), (32, 8)]


async def test_merged_codes_give_the_same_distances(pool: db.Pool) -> None:
    question = ENCODER.query("turn seven")
    alone, followed = vectors.Codes("t", ENCODER), vectors.Codes("t", ENCODER)
    for at in range(10):
        await store(pool, draft(f"s{at}", f"It is turn {at}, and the word is {at * 7}."))
        await embed_all(pool)
        async with db.snapshot(pool, "t") as conn:
            await followed.refresh(conn, at + 1)
    async with db.snapshot(pool, "t") as conn:
        await alone.refresh(conn, 10)
    segments = await rows(pool, "select docs from code_segments order by first_doc")
    docs = np.arange(10)

    assert [row["docs"] for row in segments] == [8, 1, 1]
    assert alone.distances(question, 10).tolist() == followed.distances(question, 10).tolist()
    assert len(set(alone.distances(question, 10).tolist())) > 1
    assert alone.keys(docs) == followed.keys(docs)
    assert alone.pooled(docs).tolist() == followed.pooled(docs).tolist()


async def test_filters_and_visibility_come_before_the_nearest_are_chosen(
    pool: db.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With bounds so small that what is nearer would fill them."""
    for name in ("POOL", "FULL", "SCANNED"):
        monkeypatch.setattr(retrieve, name, 4)
    dogs = [f"The dog has destroyed {number} cushions." for number in range(20)]
    await store(pool, *(draft(f"s{at}", text) for at, text in enumerate(dogs)))
    await store(pool, *(draft("bob", f"{text} Bad dog!", user_id="bob") for text in dogs))
    await store(pool, draft("mine", "It rains.", tags=("weather",)))
    await embed_all(pool)
    all_of_them = await search(pool, ABOUT_A_DOG)
    session = await search(pool, ABOUT_A_DOG, filters=retrieve.Filters(session_id="mine"))
    tag = await search(pool, ABOUT_A_DOG, filters=retrieve.Filters(tag="weather"))

    assert len(all_of_them.rows) == 4
    assert {*texts(all_of_them)} <= {*dogs}
    assert texts(session) == texts(tag) == ["It rains."]
