"""Whose references are shown to whom, and what of them is never kept."""

import httpx

import conftest
from memories import ask
from memoryd.references import model
from stored import LOG, REFERENCES, read, search, store


async def test_unknown_and_foreign_keys_are_answered_alike(
    client: httpx.AsyncClient, url: str, tenant: str, make_key: conftest.MakeKey
) -> None:
    made = await store(client, key="plans", user_id="ada")
    async with (
        conftest.asking(url, await make_key(tenant, user_id="bob")) as bob,
        conftest.asking(url, await make_key(f"not-{tenant}")) as stranger,
    ):
        answers = [
            await who.get(f"{REFERENCES}/{key}{end}", params=params)
            for who in (bob, stranger)
            for key in ("plans", made["event_id"], "no-such-key")
            for end, params in (("", {}), ("", {"lines": "1-2"}), ("/raw", {}))
        ]
        changed = await bob.post(f"{REFERENCES}/plans/deactivate")
        listed = await ask(bob, "GET", REFERENCES)

    details = {
        answer.json()["detail"]
        .replace(made["event_id"], "K")
        .replace("no-such-key", "K")
        .replace("plans", "K")
        for answer in [*answers, changed]
    }
    assert {answer.status_code for answer in [*answers, changed]} == {404}
    assert details == {"there is no reference 'K' that you may see"}
    assert listed["references"] == []


async def test_nothing_private_is_shown_where_the_public_listens(
    client: httpx.AsyncClient,
) -> None:
    made = await store(client, key="k")
    shared = await store(client, "for all to see: cabbages", key="k2", channel="public")
    public = {"channel": "public"}
    hidden = await client.get(f"{REFERENCES}/k", params=public)
    listed = await ask(client, "GET", REFERENCES, params=public)
    found = await search(client, "left-pad cabbages", **public)
    again = await store(client, "another text", key="k", **public)

    assert hidden.status_code == 404
    assert [one["key"] for one in listed["references"]] == [shared["key"]]
    assert [one["key"] for one in found] == [shared["key"]]
    assert again["existed"] is False  # a refusal would tell that there is one
    assert (await read(client, "k"))["event_id"] == made["event_id"]
    assert (await read(client, "k", **public))["content"] == "another text"


async def test_what_a_team_shares_others_ask_for_by_its_event(client: httpx.AsyncClient) -> None:
    made = await store(client, key="k", user_id="ada", channel="team")
    [seen] = await search(client, "left-pad", user_id="bob", channel="team")

    assert seen["key"] == made["event_id"]
    assert f"[MemoryRef: {made['event_id']} - " in seen["placeholder"]
    whole = await read(client, seen["key"], user_id="bob", channel="team")
    assert whole["content"] == LOG
    refused = await client.get(f"{REFERENCES}/k", params={"user_id": "bob", "channel": "team"})
    assert refused.status_code == 404


async def test_secrets_reach_neither_the_content_nor_the_description(
    client: httpx.AsyncClient,
) -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    text = f"error: login failed with {token}\n" * 3
    made = await store(client, text, metadata={"command": f"gh auth --with-token {token}"})
    whole = await read(client, made["key"])
    refused = await client.post(REFERENCES, json={"content": "x", "key": token.replace("_", ".")})

    assert made["redacted"]
    assert token not in f"{made} {whole}"
    assert "redacted" in whole["content"]
    assert model.PLACEHOLDER.fullmatch(made["placeholder"])
    assert refused.status_code in (201, 422)


async def test_what_is_high_is_shown_to_those_who_may(client: httpx.AsyncClient) -> None:
    made = await store(client, "the okapi sleeps at nine", sensitivity="high")
    whole = await read(client, made["key"])
    agent = await client.get(f"{REFERENCES}/{made['key']}", params={"channel": "agent"})

    assert whole["content"] == "the okapi sleeps at nine"
    assert whole["description"] == "the okapi sleeps at nine"
    assert "okapi" not in made["key"]
    assert agent.status_code == 404


async def test_a_reader_key_retrieves_and_searches_and_stores_nothing(
    client: httpx.AsyncClient, url: str, tenant: str, make_key: conftest.MakeKey
) -> None:
    await store(client, key="k")
    async with conftest.asking(url, await make_key(tenant, role="reader")) as reader:
        whole = await read(reader, "k")
        refused = await reader.post(REFERENCES, json={"content": "x"})
        tool = await reader.post(
            "/api/v1/tools/retrieve_memory", json={"arguments": {"memory_key": "k", "lines": "1"}}
        )
        storing = await reader.post(
            "/api/v1/tools/store_memory", json={"arguments": {"content": "x"}}
        )

    assert whole["content"] == LOG
    assert (refused.status_code, storing.status_code, tool.status_code) == (403, 403, 200)
