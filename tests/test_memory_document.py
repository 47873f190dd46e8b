"""A user's document over HTTP (seed 004 step 8): models, metadata, places, eviction, writers."""

import asyncio
import logging
import re

import httpx
import pytest
from pydantic_core import to_json

from memories import FACTS, add, ask, users
from memoryd.core import db, tokens
from memoryd.core.model import Reader
from memoryd.daemon import Daemon
from memoryd.memories import document
from wire import assert_refused, storing_nothing

ADA = users("ada")
KEY = "pin: ghp_" + "a1B2" * 9
LONG = "The user keeps a list of everything that was ever said about the garden, number "


async def add_fact(client: httpx.AsyncClient, content: str, **more: object) -> str:
    made = await ask(client, "POST", f"{ADA}/facts", 201, json={"content": content, **more})
    found: str = made["id"]
    return found


async def test_an_empty_document_has_its_metadata(client: httpx.AsyncClient) -> None:
    found = await ask(client, "GET", ADA)

    assert found["facts"] == found["placer_user_datapoints"] == []
    assert found["metadata"] == {
        "last_updated": "1970-01-01T00:00:00+00:00",
        "total_facts": 0,
        "total_active_facts": 0,
        "total_pois": 0,
        "token_count": tokens.count('{"facts":[],"placer_user_datapoints":[]}'),
        "schema_version": "1.0",
    }


async def test_a_fact_stands_in_the_document_under_the_names_of_the_seed(
    client: httpx.AsyncClient,
) -> None:
    fact_id = await add_fact(client, "x", source_conversation_id="c1", source_message_id="m1")
    found = await ask(client, "GET", ADA)

    (fact,) = found["facts"]
    assert re.fullmatch("[A-Za-z0-9]{8}", fact_id)
    assert fact == {
        "id": fact_id,
        "content": "x",
        "added_at": fact["added_at"],
        "source_conversation_id": "c1",
        "source_message_id": "m1",
        "is_active": True,
    }
    assert found["metadata"]["last_updated"] == fact["added_at"]


async def test_facts_of_both_doors_are_the_same_rows(client: httpx.AsyncClient) -> None:
    fact_id = await add_fact(client, "User's name is Alex")
    await add(client, user_id="ada")
    listed = await ask(client, "GET", FACTS, params={"user_id": "ada"})
    found = await ask(client, "GET", ADA)

    assert {one["id"] for one in listed["memories"]} == {one["id"] for one in found["facts"]}
    assert listed["memories"][0] | {"id": fact_id, "category": "context"} == listed["memories"][0]


async def test_an_inactive_fact_stays_in_the_document_and_leaves_the_list(
    client: httpx.AsyncClient,
) -> None:
    fact_id = await add_fact(client, "User lives in Seattle")
    await add_fact(client, "User lives in Portland")
    done = await ask(client, "POST", f"{ADA}/facts/{fact_id}/deactivate")
    found = await ask(client, "GET", ADA)

    assert done["is_active"] is False
    assert [one["is_active"] for one in found["facts"]] == [False, True]
    metadata = found["metadata"]
    assert (metadata["total_facts"], metadata["total_active_facts"]) == (2, 1)
    asked = {"user_id": "ada"}
    assert (await ask(client, "GET", FACTS, params=asked))["total"] == 1
    await ask(client, "DELETE", f"{ADA}/facts/{fact_id}/deactivate")
    assert (await ask(client, "GET", FACTS, params=asked))["total"] == 2


async def test_a_place_counts_the_messages_that_mention_it(client: httpx.AsyncClient) -> None:
    home = {"place_id": "p1", "place_name": "Home", "notes": "123 Main St, Seattle"}
    said = {"conversation_id": "c1", "message_id": "m1"}
    await ask(client, "POST", f"{ADA}/places", 201, json={**home, **said})
    for conversation, message in (("c1", "m2"), ("c2", "m3"), ("c2", "m3")):
        body = {"conversation_id": conversation, "message_id": message}
        place = await ask(client, "POST", f"{ADA}/places/p1/mentions", 201, json=body)
    found = await ask(client, "GET", ADA)

    assert found["placer_user_datapoints"] == [place]
    assert {name: place[name] for name in home} == home
    mentioned = {name: [one[0] for one in said] for name, said in place["mentioned_in"].items()}
    assert mentioned == {"c1": ["m1", "m2"], "c2": ["m3"]}
    assert found["metadata"]["total_pois"] == 1
    assert found["metadata"]["last_updated"] >= place["mentioned_in"]["c2"][0][1]


async def test_a_place_that_is_added_again_keeps_its_mentions(client: httpx.AsyncClient) -> None:
    home = {"place_id": "p1", "place_name": "Home", "notes": "by the lake"}
    said = {"conversation_id": "c1", "message_id": "m1"}
    await ask(client, "POST", f"{ADA}/places", 201, json={**home, **said})
    await ask(client, "DELETE", f"{ADA}/places/p1")
    gone = await ask(client, "GET", ADA)
    moved = {"place_id": "p1", "place_name": "Old home"}
    place = await ask(client, "POST", f"{ADA}/places", 201, json=moved)

    assert gone["placer_user_datapoints"] == []
    assert (place["place_name"], place["notes"]) == ("Old home", "by the lake")
    assert list(place["mentioned_in"]) == ["c1"]


async def test_the_count_of_tokens_is_of_the_document_without_its_metadata(
    client: httpx.AsyncClient,
) -> None:
    await add_fact(client, "User likes 日本語 and 🏳️‍🌈 <|endoftext|>")
    home = {"place_id": "p1", "place_name": "Home", "conversation_id": "c", "message_id": "m"}
    await ask(client, "POST", f"{ADA}/places", 201, json=home)
    found = await ask(client, "GET", ADA)

    counted = found["metadata"].pop("token_count")
    del found["metadata"]
    assert counted == tokens.count(to_json(found).decode())


@pytest.mark.parametrize(
    ("path", "body", "field", "limit"),
    [
        ("facts", {"content": ""}, "content", "1"),
        ("facts", {"content": "  \n"}, "content", "1"),
        ("facts", {"content": "x" * 501}, "content", "500"),
        ("facts", {"content": "ok", "category": "place"}, "category", None),
        ("facts", {"content": "ok", "user_id": "bob"}, "user_id", None),
        ("facts", {"content": "my password is Sommer2024!"}, "content", None),
        ("places", {"place_id": "", "place_name": "Home"}, "place_id", "1"),
        ("places", {"place_id": "p", "place_name": "x" * 256}, "place_name", "255"),
        ("places", {"place_id": "p", "place_name": "H", "notes": "x" * 501}, "notes", "500"),
        ("places", {"place_id": "p", "place_name": "H", "notes": KEY}, "notes", None),
        ("places/p1/mentions", {"conversation_id": "c"}, "message_id", None),
    ],
)
async def test_what_breaks_a_limit_is_refused_and_not_stored(
    client: httpx.AsyncClient,
    daemon: Daemon,
    tenant: str,
    path: str,
    body: dict[str, object],
    field: str,
    limit: str | None,
) -> None:
    async with storing_nothing(daemon, tenant):
        answer = await client.post(f"{ADA}/{path}", json=body)

    assert answer.status_code == 422, answer.text
    assert answer.json()["field"] == field
    assert limit is None or answer.json()["limit"] == limit


async def test_what_is_not_there_is_refused(client: httpx.AsyncClient) -> None:
    said = {"conversation_id": "c1", "message_id": "m1"}

    assert_refused(await client.post(f"{ADA}/facts/aaaaaaaa/deactivate"), 404, "memory_id")
    assert_refused(await client.post(f"{ADA}/places/p9/mentions", json=said), 404, "place_id")


async def test_a_long_document_loses_inactive_facts_and_then_the_oldest(
    client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    oldest = await add_fact(client, LONG + "0")
    middle = await add_fact(client, LONG + "1")
    await ask(client, "POST", f"{ADA}/facts/{middle}/deactivate")
    with caplog.at_level(logging.WARNING, logger="memoryd.memories"):
        for number in range(2, 200):
            await add_fact(client, LONG + str(number))
            if len(caplog.records) == 2:
                break
    found = await ask(client, "GET", ADA)

    evictions = [one for one in caplog.records if "Evicted" in one.getMessage()]
    assert {one.getMessage() for one in evictions} == {
        "Evicted 1 facts for user ada due to token limit"
    }
    assert [vars(one)["memory_ids"] for one in evictions] == [[middle], [oldest]]
    assert all(LONG not in str(vars(one)) for one in evictions)
    assert found["metadata"]["token_count"] <= document.LIMIT
    assert found["metadata"]["token_count"] > document.LIMIT - 200
    assert not {oldest, middle} & {one["id"] for one in found["facts"]}
    listed = await ask(client, "GET", FACTS, params={"user_id": "ada"})
    assert oldest not in {one["id"] for one in listed["memories"]}
    assert (await ask(client, "GET", FACTS + oldest, params={"user_id": "ada"}))["evicted"]


async def test_an_evicted_fact_is_found_and_comes_back(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    first = await add_fact(client, "The user's boat is called Albatross")
    owner = Reader(tenant_id=tenant, user_id="ada")
    await document.fit(daemon, owner, limit=20)
    gone = await ask(client, "GET", ADA)
    results = await ask(
        client, "POST", "/api/v1/search", json={"query": "Albatross", "user_id": "ada"}
    )

    assert gone["facts"] == []
    assert [one["text"] for one in results["results"]] == ["The user's boat is called Albatross"]
    await ask(client, "POST", f"{FACTS}{first}/undelete", params={"user_id": "ada"})
    assert (await ask(client, "GET", ADA))["metadata"]["total_facts"] == 1


async def test_fifty_writers_at_once_lose_nothing(client: httpx.AsyncClient) -> None:
    home = {"place_id": "p1", "place_name": "Home"}
    await ask(client, "POST", f"{ADA}/places", 201, json=home)
    facts = [client.post(f"{ADA}/facts", json={"content": f"Fact {n}"}) for n in range(50)]
    mentions = [
        client.post(
            f"{ADA}/places/p1/mentions",
            json={"conversation_id": f"c{n % 5}", "message_id": f"m{n}"},
        )
        for n in range(50)
    ]
    answers = await asyncio.gather(*facts, *mentions)
    found = await ask(client, "GET", ADA)

    assert {one.status_code for one in answers} == {201}
    assert {one["content"] for one in found["facts"]} == {f"Fact {n}" for n in range(50)}
    (place,) = found["placer_user_datapoints"]
    assert sorted(len(said) for said in place["mentioned_in"].values()) == [10] * 5
    metadata = found.pop("metadata")
    assert (metadata["total_facts"], metadata["total_active_facts"]) == (50, 50)
    assert metadata["token_count"] == tokens.count(to_json(found).decode())


async def test_fifty_writers_of_a_full_document_keep_it_within_its_limit(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    for _ in range(2):
        answers = await asyncio.gather(
            *(client.post(f"{ADA}/facts", json={"content": f"{LONG}{n} " * 4}) for n in range(50))
        )
        assert {one.status_code for one in answers} == {201}
    found = await ask(client, "GET", ADA)

    assert document.LIMIT - 600 < found["metadata"]["token_count"] <= document.LIMIT
    async with db.tenant(daemon.pool, tenant) as conn:
        evicted = await conn.fetchval(
            "select count(*) from memories where until is null and evicted"
        )
    assert evicted + len(found["facts"]) == 100


async def test_users_are_listed_with_what_is_remembered_of_them(
    client: httpx.AsyncClient,
) -> None:
    await add_fact(client, "User's name is Ada")
    home = {"place_id": "a/b c", "place_name": "Home"}
    await ask(client, "POST", f"{users('eve/x')}/places", 201, json=home)
    said = {"conversation_id": "c1", "message_id": "m1"}
    place = f"{users('eve%2Fx')}/places/a%2Fb%20c"
    mentioned = await ask(client, "POST", f"{place}/mentions", 201, json=said)

    assert list(mentioned["mentioned_in"]) == ["c1"]
    assert (await ask(client, "GET", "/api/v1/users"))["users"] == [
        {"user_id": "ada", "memories_count": {"fact": 1, "place": 0}},
        {"user_id": "eve/x", "memories_count": {"fact": 0, "place": 1}},
    ]
