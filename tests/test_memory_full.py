"""A full document: what is brought back stays, and mentions push nothing out."""

import asyncio
import uuid

import httpx

from memories import FACTS, ask
from memoryd.core.model import Reader
from memoryd.daemon import Daemon
from memoryd.memories import document
from test_memory_document import ADA, add_fact


async def test_what_is_brought_back_into_a_full_document_stays(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    first = await add_fact(client, "The user's boat is called Albatross")
    later = [await add_fact(client, f"The user's dog number {n} barks") for n in range(4)]
    owner = Reader(tenant_id=tenant, user_id="ada")
    limit = (await ask(client, "GET", ADA))["metadata"]["token_count"] - 5
    await document.fit(daemon, owner, limit=limit)
    await ask(client, "POST", f"{FACTS}{first}/undelete", params={"user_id": "ada"})
    await document.fit(daemon, owner, limit=limit)
    found = await ask(client, "GET", ADA)

    assert {one["id"] for one in found["facts"]} == {first, *later[1:]}


async def test_many_mentions_of_a_place_push_nothing_out(client: httpx.AsyncClient) -> None:
    await add_fact(client, "The user's boat is called Albatross")
    await ask(client, "POST", f"{ADA}/places", 201, json={"place_id": "h", "place_name": "Home"})
    for number in range(document.MENTIONS + 20):
        said = {"conversation_id": f"c{number % 3}", "message_id": f"m{number}"}
        await ask(client, "POST", f"{ADA}/places/h/mentions", 201, json=said)
    found = await ask(client, "GET", ADA)

    assert len(found["facts"]) == 1
    assert (
        sum(map(len, found["placer_user_datapoints"][0]["mentioned_in"].values()))
        == document.MENTIONS
    )


async def test_places_that_many_conversations_mention_push_no_fact_out(
    client: httpx.AsyncClient,
) -> None:
    fact = await add_fact(client, "The user's boat is called Albatross")
    for place in ("home", "work", "harbour"):
        said = {"place_id": place, "place_name": place.title()}
        await ask(client, "POST", f"{ADA}/places", 201, json=said)
        for _ in range(document.MENTIONS):
            ids = {"conversation_id": str(uuid.uuid4()), "message_id": str(uuid.uuid4())}
            await ask(client, "POST", f"{ADA}/places/{place}/mentions", 201, json=ids)
    found = await ask(client, "GET", ADA)
    shown = await ask(client, "GET", "/api/v1/prompt", params={"user_id": "ada"})

    assert [one["id"] for one in found["facts"]] == [fact]
    assert [len(one["mentioned_in"]) for one in found["placer_user_datapoints"]] == [20, 20, 20]
    assert found["metadata"]["token_count"] <= document.LIMIT
    assert "- Home (mentioned in 50 conversations)" in shown["text"]


async def test_adding_to_a_full_document_while_others_delete_from_it_is_answered(
    client: httpx.AsyncClient,
) -> None:
    """What a writer finds too much may be deleted before it is evicted."""
    kept = [await add_fact(client, f"{n} {'dog ' * 120}") for n in range(55)]
    said = {"content": f"The user's cat {'cat ' * 110}"}
    added, deleted = [], []
    for memory_id in kept[:30]:
        deleted.append(client.delete(FACTS + memory_id, params={"user_id": "ada"}))
        added.append(client.post(f"{ADA}/facts", json=said))
    answers = await asyncio.gather(
        *(one for pair in zip(added, deleted, strict=True) for one in pair)
    )

    assert [one.status_code for one in answers] == [201, 200] * 30
    assert (await ask(client, "GET", ADA))["metadata"]["token_count"] <= document.LIMIT
