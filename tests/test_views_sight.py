"""Who sees an editable text: its channel, its user, and what a key pins."""

import httpx
import pytest

import conftest
from conftest import MakeKey
from wire import VIEWS, assert_problem, write_view

OWN = f"{VIEWS}/rules.user"


async def test_each_user_has_rules_of_his_own(client: httpx.AsyncClient) -> None:
    ada = await write_view(client, "rules.user", "Ada's", user_id="ada")
    bob = await write_view(client, "rules.user", "Bob's", user_id="bob")

    assert (ada["channel"], bob["channel"]) == ("private", "private")
    for user, text in (("ada", "Ada's"), ("bob", "Bob's")):
        found = await client.get(OWN, params={"user_id": user, "format": "markdown"})
        assert found.text == text
        (one,) = (await client.get(VIEWS, params={"user_id": user})).json()["views"]
        assert one["actor"]["id"] == user


async def test_another_users_rules_are_as_if_absent(client: httpx.AsyncClient) -> None:
    made = await write_view(client, "rules.user", "Ada's", user_id="ada")
    bob = {"user_id": "bob"}
    nothing = [
        await client.get(OWN, params=bob),
        await client.get(f"{OWN}/history", params=bob),
        await client.get(f"{OWN}/diff", params=bob),
        await client.get(OWN, params={**bob, "version": made["version"]}),
        await client.post(f"{OWN}/restore", params=bob, json={"version": made["version"]}),
    ]

    assert (await client.get(VIEWS, params=bob)).json() == {"views": []}
    for answer in nothing:
        assert_problem(answer, 404)
        assert "Ada" not in answer.text


@pytest.mark.parametrize("channel", ["public", "team", "agent"])
async def test_outside_private_talk_nobodys_rules_are_seen(
    client: httpx.AsyncClient, channel: str
) -> None:
    await write_view(client, "rules.user", "Ada's", user_id="ada")
    answer = await client.get(OWN, params={"user_id": "ada", "channel": channel})

    assert_problem(answer, 404)


@pytest.mark.parametrize(
    ("kept", "seen_by"),
    [
        ("public", {"public", "team", "agent", "private"}),
        ("team", {"team", "agent", "private"}),
        ("agent", {"team", "agent", "private"}),
    ],
)
async def test_a_shared_text_is_seen_where_its_channel_is(
    client: httpx.AsyncClient, kept: str, seen_by: set[str]
) -> None:
    await write_view(client, "identity.planner", "You plan.", channel=kept)
    seen = set()
    for channel in ("public", "team", "agent", "private"):
        answer = await client.get(f"{VIEWS}/identity.planner", params={"channel": channel})
        listed = (await client.get(VIEWS, params={"channel": channel})).json()["views"]
        assert (answer.status_code == 200) == bool(listed)
        seen |= {channel} if listed else set()

    assert seen == seen_by


async def test_an_edit_stays_in_the_channel_of_the_text(client: httpx.AsyncClient) -> None:
    first = await write_view(client, "rules.org", "one", channel="team")
    second = await write_view(client, "rules.org", "two")
    moved = await client.put(
        f"{VIEWS}/rules.org", params={"channel": "public"}, json={"text": "two"}
    )
    restored = await client.post(f"{VIEWS}/rules.org/restore", json={"version": first["version"]})

    assert (second["channel"], restored.json()["channel"]) == ("team", "team")
    assert_problem(moved, 422, "channel")


@pytest.mark.parametrize(
    ("name", "channel"),
    [("rules.user", "public"), ("rules.user", "team"), ("rules.project", "private")],
)
async def test_only_the_users_own_rules_are_private(
    client: httpx.AsyncClient, name: str, channel: str
) -> None:
    by_query = await client.put(
        f"{VIEWS}/{name}", params={"channel": channel}, json={"text": "mine"}
    )
    by_body = await client.put(f"{VIEWS}/{name}", json={"text": "mine", "channel": channel})

    assert_problem(by_query, 422, "channel")
    assert_problem(by_body, 422, "channel")


async def test_a_key_reaches_no_further_than_what_it_pins(
    url: str, tenant: str, make_key: MakeKey, client: httpx.AsyncClient
) -> None:
    await write_view(client, "rules.user", "Ada's", user_id="ada")
    await write_view(client, "rules.org", "the team's", channel="team")
    pinned = await make_key(tenant, user_id="bob", channel="public")
    async with conftest.asking(url, pinned) as bob:
        refused = [
            await bob.get(OWN, params={"user_id": "ada"}),
            await bob.put(OWN, params={"user_id": "ada"}, json={"text": "mine"}),
            await bob.get(VIEWS, params={"channel": "private"}),
        ]
        hidden = await bob.get(f"{VIEWS}/rules.org")
        written = await bob.put(f"{VIEWS}/rules.project", json={"text": "shared"})
        taken_over = await bob.put(f"{VIEWS}/rules.org", json={"text": "mine"})

    for answer in refused:
        assert_problem(answer, 403, answer.json()["field"])
    assert_problem(hidden, 404)
    assert written.json()["channel"] == "public"
    assert_problem(taken_over, 422, "channel")
    assert (await client.get(f"{VIEWS}/rules.org")).json()["text"] == "the team's"


async def test_what_a_private_key_writes_is_not_shared(
    url: str, tenant: str, make_key: MakeKey
) -> None:
    async with conftest.asking(url, await make_key(tenant, channel="private")) as private:
        shared = await private.put(f"{VIEWS}/rules.project", json={"text": "for all"})
        own = await private.put(OWN, json={"text": "mine"})

    assert_problem(shared, 422, "channel")
    assert own.status_code == 200
