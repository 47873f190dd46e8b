"""Facts over HTTP: retries, pages, search, `as_of`, undo, whose they are."""

import asyncio

import httpx

from memories import FACTS, SARAH, add, ask, listed
from memoryd.daemon import Daemon
from wire import assert_refused, storing_nothing


async def test_a_retry_stores_nothing_and_answers_the_same(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    made = await add(client, idempotency_key="k1")
    new = {"content": "Sarah leads Design", "idempotency_key": "k2"}
    changed = await ask(client, "PUT", FACTS + made["id"], json=new)
    await ask(client, "PUT", FACTS + made["id"], json={"content": "Sarah left"})
    await ask(client, "DELETE", FACTS + made["id"])
    async with storing_nothing(daemon, tenant):
        again = await add(client, idempotency_key="k1")
        changed_again = await ask(client, "PUT", FACTS + made["id"], json=new)
        other = await client.post(
            FACTS, json={**SARAH, "content": "Other", "idempotency_key": "k1"}
        )

    assert again == made
    assert changed_again == changed
    assert_refused(other, 409, "idempotency_key")


async def test_one_key_sent_many_times_at_once_makes_one_memory(client: httpx.AsyncClient) -> None:
    asked = {**SARAH, "idempotency_key": "once"}
    answers = await asyncio.gather(*(client.post(FACTS, json=asked) for _ in range(8)))

    assert {one.status_code for one in answers} == {201}
    assert len({one.json()["id"] for one in answers}) == 1


async def test_a_list_is_filtered_and_paged_at_one_moment(client: httpx.AsyncClient) -> None:
    for number in range(5):
        await add(client, content=f"Fact number {number}", subject=f"s{number}")
    first = await ask(client, "GET", FACTS, params={"limit": 2})
    await add(client, content="A later fact", category="context", subject=None)
    second = await ask(client, "GET", FACTS, params={"limit": 2, "cursor": first["next"]})
    last = await ask(client, "GET", FACTS, params={"limit": 2, "cursor": second["next"]})

    pages = [*first["memories"], *second["memories"], *last["memories"]]
    assert [one["content"] for one in pages] == [f"Fact number {number}" for number in range(5)]
    assert last["next"] is None
    assert await listed(client, category="context") == ["A later fact"]
    assert await listed(client, subject=" S3 ") == ["Fact number 3"]


async def test_a_search_finds_the_facts_that_hold_best_first(client: httpx.AsyncClient) -> None:
    await add(client, content="The user is allergic to peanuts", category="person", subject=None)
    made = await add(client, content="The user drinks green tea", subject="tea")
    await ask(client, "PUT", FACTS + made["id"], json={"content": "The user drinks only coffee"})
    gone = await add(client, content="Peanuts are cheap in Lidl", subject="shops")
    await ask(client, "DELETE", FACTS + gone["id"])

    assert (await listed(client, q="peanuts"))[0] == "The user is allergic to peanuts"
    assert "Peanuts are cheap in Lidl" not in await listed(client, q="peanuts")
    assert (await listed(client, q="what does the user drink, coffee?"))[0].endswith("coffee")
    assert "The user drinks green tea" not in await listed(client, q="green tea")


async def test_a_list_and_a_memory_show_what_was_known_then(client: httpx.AsyncClient) -> None:
    made = await add(client)
    await ask(client, "PUT", FACTS + made["id"], json={"content": "Sarah leads Design"})
    await ask(client, "DELETE", FACTS + made["id"])

    assert await listed(client, as_of=1) == [SARAH["content"]]
    assert await listed(client, as_of=2) == ["Sarah leads Design"]
    assert await listed(client, as_of=3) == []
    found = await ask(client, "GET", FACTS + made["id"], params={"as_of": 1})
    assert (found["version"], len(found["versions"])) == (1, 1)


async def test_a_fact_says_which_conversation_each_version_comes_from(
    client: httpx.AsyncClient,
) -> None:
    made = await add(client, source_conversation_id="talk-1", source_message_id="m1")
    new = {"content": "Sarah leads Design", "source_conversation_id": "talk-2"}
    await ask(client, "PUT", FACTS + made["id"], json=new)
    found = await ask(client, "GET", FACTS + made["id"])

    sources = [one["source_conversation_id"] for one in found["versions"]]
    assert sources == ["talk-1", "talk-2"]
    assert found["source_conversation_id"] == "talk-2"


async def test_search_and_bundles_have_a_memory_as_it_stands(client: httpx.AsyncClient) -> None:
    made = await add(client, content="Sarah plays the bassoon", subject="Sarah")
    await ask(client, "PUT", FACTS + made["id"], json={"content": "She plays the oboe now"})

    assert await found(client, "does Sarah play the bassoon?") == ["Sarah: She plays the oboe now"]
    await ask(client, "POST", f"{FACTS}{made['id']}/restore", json={"version": 1})
    assert await found(client, "does Sarah play the bassoon?") == ["Sarah plays the bassoon"]
    await ask(client, "DELETE", FACTS + made["id"])
    assert await found(client, "does Sarah play the bassoon?") == []
    assert await found(client, "bassoon?", as_of=1) == ["Sarah plays the bassoon"]
    await ask(client, "POST", f"{FACTS}{made['id']}/undelete")
    assert await found(client, "does Sarah play the bassoon?") == ["Sarah plays the bassoon"]


async def found(client: httpx.AsyncClient, text: str, **more: int) -> list[str]:
    """What a search and a bundle have of it: the same."""
    asked = {"query": text, **more}
    results = (await ask(client, "POST", "/api/v1/search", json=asked))["results"]
    wanted = {"session_id": "s", "query_text": text, "sections": ["retrieved_evidence"], **more}
    bundle = await ask(client, "POST", "/api/v1/acb/build", json=wanted)
    texts = [one["text"] for one in results]
    shown = [one["text"] for one in bundle["sections"][0]["items"]]
    assert len(shown) == len(texts)
    assert all(any(text in one for one in shown) for text in texts)
    return texts
