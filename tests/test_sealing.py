"""What is `high` lies sealed in the database, and is as any other to those who may see it."""

import hashlib
import random
import zlib
from typing import Any

import httpx
import pytest

import conftest
import make
from memoryd.core import content, db, record
from memoryd.core.model import Reader
from memoryd.daemon import Daemon
from memoryd.search import index, retrieve
from memoryd.search.corpus import Corpus
from sealed import HIGH, LONG, WORDS, bundle, find, rebuilt, record_all, stored
from test_index import QUERIES, flush, history, pooled, store
from test_index import find as ranked
from wire import EVENTS, SUMMARIES, download, found, listed, post, upload


async def test_no_word_of_it_is_in_any_row(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    made = await record_all(client)
    async with db.tenant(daemon.pool, tenant) as conn:
        await index.flush(conn, tenant, least=1)
    rows = await stored(daemon.target, tenant)

    assert made["message"]["event_id"] in rows
    assert {word for word in WORDS if word in rows} == set()


async def test_every_door_gives_it_back(client: httpx.AsyncClient) -> None:
    made = await record_all(client)
    events = {one["event_id"]: one for one in await listed(client)}
    message = events[made["message"]["event_id"]]
    decision = await found(client, made["decision"]["decision_id"])
    task = await found(client, made["task"]["task_id"])
    summary = (await client.get(f"{SUMMARIES}/{made['summary']['summary_id']}")).json()

    assert (message["content"], message["tags"]) == (
        {"text": "the quokkazq sings"},
        ["axolotlzq"],
    )
    assert events[made["call"]["event_id"]]["content"]["narwhalzq"] == [1, "pangolinzq"]
    assert events[made["short"]["event_id"]]["content"]["excerpt_text"] == "tarsierzq"
    assert (decision["decision"], decision["subject"]) == ("feed the aardwolfzq", "bilbyzq")
    assert decision["rationale"] + decision["constraints"] == ["a cassowaryzq", "no dugongzq"]
    assert decision["alternatives"] + decision["consequences"] == ["echidnazq", "hoatzinzq"]
    assert (task["title"], task["details"]) == ("wash the indrizq", "with the jerboazq")
    assert summary["text"] == "a kinkajouzq"


async def test_artifacts_come_back_whole_and_by_range(client: httpx.AsyncClient) -> None:
    made = await record_all(client)
    event = (await client.get(f"{EVENTS}/{made['long']['event_id']}")).json()
    log = await download(client, event["content"])
    part = await download(client, event["content"], range="bytes=4-12")
    file = await download(client, made["file"])

    assert (log.text, part.text) == (LONG, "gharialzq")
    assert file.content == b"the markhorzq\n" * 9


async def test_a_task_that_goes_on_keeps_its_sealed_words(client: httpx.AsyncClient) -> None:
    made = await record_all(client)
    task_id = made["task"]["task_id"]
    for change in ({"status": "doing"}, {"details": "with two nilgaizq"}, {"status": "done"}):
        answer = await client.post("/api/v1/tasks", json={"task_id": task_id, **change, **HIGH})
        assert answer.status_code == 200, answer.text
    task = await found(client, task_id)

    assert (task["title"], task["details"]) == ("wash the indrizq", "with two nilgaizq")


@pytest.mark.parametrize(
    "word",
    ["quokkazq", "pangolinzq", "tarsierzq", "gharialzq", "numbatzq", "markhorzq"],
)
async def test_its_words_find_it_flushed_or_not(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, word: str
) -> None:
    await record_all(client)
    before = await find(client, word)
    async with db.tenant(daemon.pool, tenant) as conn:
        await index.flush(conn, tenant, least=1)
    after = await find(client, word)
    hidden = await find(client, word, channel="agent")

    assert word in before[0] and word in after[0]
    assert hidden == []


async def test_its_tags_filter_as_others_do(client: httpx.AsyncClient) -> None:
    await record_all(client)
    await post(client, content={"text": "a plain quokkazq"}, tags=["axolotlzq"])
    shown = await listed(client, tag="axolotlzq")
    searched = await find(client, "quokkazq", filters={"tag": "axolotlzq"})

    assert [one["content"]["text"] for one in shown] == [
        "a plain quokkazq",
        "the quokkazq sings",
    ]
    assert sorted(searched) == ["a plain quokkazq", "the quokkazq sings"]
    assert await listed(client, tag="numbatzq") == []


def unsealed(one: dict[str, Any]) -> dict[str, Any]:
    return {**one, "sensitivity": "low" if one["sensitivity"] == "high" else one["sensitivity"]}


async def test_ranking_is_to_the_bit_that_of_the_same_store_unsealed(database: db.Target) -> None:
    """A term and its hash are one term: one frequency, one rarity, one order."""
    drafts = history(240)
    found = []
    async with pooled(database) as pool:
        for tenant, said in {"sealed": drafts, "clear": [unsealed(one) for one in drafts]}.items():
            await store(pool, tenant, said[:200])
            await flush(pool, tenant)
            await store(pool, tenant, said[200:])
            corpus, reader = Corpus(tenant), Reader(tenant_id=tenant, user_id="ada")
            for text in QUERIES:
                for tag in (None, "red"):
                    chosen = retrieve.Filters(tag=tag)
                    found.append(await ranked(pool, corpus, reader, text, filters=chosen))
        half = len(found) // 2

    assert found[:half] == found[half:]
    assert sum(map(len, found)) > 1_000


async def test_a_bundle_shows_it_and_replays_to_the_same_bytes(client: httpx.AsyncClient) -> None:
    await record_all(client)
    asked = {"query_text": "what does the quokkazq do?"}
    made = [await bundle(client, **asked, session_id=session) for session in ("s1", "s2")]
    again = [(await client.get(f"/api/v1/acb/{one['acb_id']}")).json() for one in made]
    public = await bundle(client, **asked, channel="public")
    here, elsewhere = (
        {part["name"]: str(part["items"]) for part in one["sections"]} for one in made
    )

    assert again == made
    assert "quokkazq" in elsewhere["retrieved_evidence"] and "indrizq" in elsewhere["task_state"]
    assert "aardwolfzq" in here["decision_ledger"] and "fossazq" in here["decision_ledger"]
    assert "quokkazq" in here["recent_window"]
    assert "[MemoryRef: " in here["recent_window"] and "okapizq kakapozq" in here["recent_window"]
    assert not any(word in str(public["sections"]) for word in WORDS)


async def test_a_question_that_quotes_it_is_sealed_with_the_receipt(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    await record_all(client)
    forged = "⟦sealed:aaaaaaaaaaaaaaaa:AAAA⟧"
    made = [await bundle(client, query_text=text) for text in ("why does quokkazq sing?", forged)]
    again = [(await client.get(f"/api/v1/acb/{one['acb_id']}")).json() for one in made]
    public = await bundle(client, query_text="a plain wombatzq?", channel="public")
    rows = await stored(daemon.target, tenant)

    assert again == made
    assert "quokkazq" in made[0]["provenance"]["query_terms"]
    assert "quokkazq" not in rows and "wombatzq" in rows
    assert (await client.get(f"/api/v1/acb/{public['acb_id']}")).json() == public


async def test_a_rebuild_writes_the_same_bytes(database: db.Target) -> None:
    async with conftest.running(database) as client:
        made = await record_all(client)
        change = {"task_id": made["task"]["task_id"], "status": "doing", **HIGH}
        await client.post("/api/v1/tasks", json=change)
        outcome = await rebuilt(database, "default")
        hits = await find(client, "quokkazq")

    assert outcome.equal and outcome.rows["tasks"] == 2 and outcome.rows["chunks"] > 10
    assert "quokkazq" in hits[0]


@pytest.mark.parametrize("channel", ["private", "public"])
async def test_a_copied_marker_opens_nothing(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, channel: str
) -> None:
    """Somebody has a dump of the database and a key that writes."""
    made = await record_all(client)
    async with db.tenant(daemon.pool, tenant) as conn:
        stolen = [
            row[0]
            for row in await conn.fetch(
                "select content->>'sealed' from events where kind = 'message'"
                " union all select text from chunks where kind in ('message', 'task_update')"
            )
        ]
    named = {"event_id": made["message"]["event_id"], "task_id": made["task"]["task_id"]}
    for number, text in enumerate(stolen):
        content = {"text": text, "sealed": text, **named}
        await post(client, channel=channel, content=content, tags=[text[:200], f"n{number}"])
    back = await listed(client, channel=channel, limit=len(stolen))
    searched = await find(client, "sealed", channel=channel, limit=200)

    assert len(stolen) == 5
    assert [one["content"]["text"] for one in back] == stolen[::-1]
    assert [one["content"]["sealed"] for one in back] == stolen[::-1]
    assert not any(word in str(back) for word in WORDS)
    assert channel == "private" or not any(word in str(searched) for word in WORDS)


async def test_a_retry_is_known_and_its_hash_cannot_be_guessed(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    said = {"content": {"text": "the quokkazq sings"}, "idempotency_key": "k1"}
    first = await post(client, **HIGH, **said)
    again = await post(client, **HIGH, **said)
    other = await client.post(EVENTS, json=make.body(**HIGH, **said | {"content": {"text": "no"}}))
    async with db.tenant(daemon.pool, tenant) as conn:
        kept = await conn.fetchval("select request_hash from events")
    draft = make.draft(**HIGH, **said, tenant_id=tenant, user_id="default", agent_id="default")
    guessed = record._hash(draft, content.Normal({"text": "the quokkazq sings"}))

    assert again == first and other.status_code == 409
    assert kept != guessed


async def test_bytes_sealed_and_in_clear_are_not_linked(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    whole = random.Random(1).randbytes(2_000_000)
    await upload(client, whole)
    sealed = await upload(client, whole, **HIGH)
    async with db.tenant(daemon.pool, tenant) as conn:
        digests = await conn.fetch("select digest, sensitivity from artifacts order by ts")
        pieces = await conn.fetch("select digest, bytes from artifact_pieces order by digest")
    clear = {row["digest"] for row in digests if row["sensitivity"] == "none"}
    closed = b"".join(row["bytes"] for row in pieces if row["digest"] not in clear)

    assert clear == {hashlib.sha256(whole).digest()} and len({row[0] for row in digests}) == 2
    assert whole[:64] not in closed and zlib.compress(whole[: 2**20], 1)[8:72] not in closed
    assert (await download(client, sealed)).content == whole


async def test_a_summary_of_it_is_as_sensitive(client: httpx.AsyncClient) -> None:
    made = await record_all(client)
    cited = {"session_id": "s1", "text": "x", "cites": [made["message"]["event_id"]]}
    refused = await client.post(SUMMARIES, json=cited | {"sensitivity": "low"})
    extracted = await client.post(f"{SUMMARIES}/extract", json={"session_id": "s1"})
    handed = await client.post("/api/v1/handoffs", json={"to_agent": "b", "query_text": "quokkazq"})

    assert refused.status_code == 422
    assert extracted.json()["sensitivity"] == "high" and "fossazq" in extracted.json()["text"]
    assert not any(word in handed.json()["packet"] for word in WORDS)


async def test_it_waits_for_no_vectors(database: db.Target) -> None:
    async with conftest.running(database) as client:
        await post(client, **HIGH)
        ready = (await client.get("/readyz")).json()

    assert (ready["pending_vectors"], ready["sealing"]) == (0, "open")
