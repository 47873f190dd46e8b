"""Reading decisions over HTTP: who sees what, as of when, filters, pages, the order by text."""

import httpx
import pytest

import conftest
from conftest import MakeKey
from wire import DECISIONS, assert_problem, decide, decided, found, pages, post

QUERY = f"{DECISIONS}/query"

SAID = [
    {"decision": "ada's plan", "user_id": "ada"},
    {"decision": "bob's plan", "user_id": "bob"},
    {"decision": "the team's plan", "user_id": "bob", "channel": "team"},
    {"decision": "the team's plan, high", "channel": "team", "sensitivity": "high"},
    {"decision": "all agents' plan", "channel": "agent"},
    {"decision": "everyone's plan", "channel": "public"},
]
SHARED = {"the team's plan", "all agents' plan", "everyone's plan"}
SEEN: dict[str, tuple[dict[str, str], set[str]]] = {
    "public": ({"channel": "public", "user_id": "ada"}, {"everyone's plan"}),
    "agent": ({"channel": "agent", "user_id": "ada"}, SHARED),
    "team": ({"channel": "team", "user_id": "ada"}, {*SHARED, "the team's plan, high"}),
    "ada": ({"user_id": "ada"}, {*SHARED, "the team's plan, high", "ada's plan"}),
    "bob": ({"user_id": "bob"}, {*SHARED, "the team's plan, high", "bob's plan"}),
}


@pytest.mark.parametrize("who", SEEN)
async def test_a_reader_sees_what_its_channel_shows(client: httpx.AsyncClient, who: str) -> None:
    eyes, expected = SEEN[who]
    made = [await decide(client, **said) for said in SAID]
    listed = await decided(client, **eyes)
    ranked = await decided(client, text="whose plan?", **eyes)
    shown = [
        one["decision"]
        for one in made
        if (await client.get(f"{DECISIONS}/{one['decision_id']}", params=eyes)).status_code == 200
    ]

    assert set(listed) == set(ranked) == set(shown) == expected
    assert len(listed) == len(ranked) == len(expected)


async def test_a_hidden_decision_looks_like_one_that_does_not_exist(
    client: httpx.AsyncClient,
) -> None:
    made = await decide(client, user_id="bob")
    hidden = await client.get(f"{DECISIONS}/{made['decision_id']}", params={"user_id": "ada"})
    missing = await client.get(f"{DECISIONS}/dec_none", params={"user_id": "ada"})
    body = {"decision": "Mine.", "user_id": "ada"}
    taken = await client.post(DECISIONS, json={**body, "supersedes": made["decision_id"]})
    nothing = await client.post(DECISIONS, json={**body, "supersedes": "dec_none"})

    assert_problem(hidden, 404)
    assert hidden.text.replace(made["decision_id"], "dec_none") == missing.text
    assert_problem(taken, 422, "supersedes")
    assert taken.text.replace(made["decision_id"], "dec_none") == nothing.text


async def test_a_writer_hears_only_of_conflicts_that_it_may_see(
    url: str, tenant: str, make_key: MakeKey, client: httpx.AsyncClient
) -> None:
    """A key of the public channel may write what is highly sensitive, and read none of it."""
    said = {"channel": "public", "sensitivity": "high", "subject": "launch"}
    await decide(client, **said, decision="Launch on the ninth.")
    async with conftest.asking(url, await make_key(tenant, channel="public")) as public:
        answer = await decide(public, **said, decision="Launch whenever.")

    assert answer["decision"] == "Launch whenever."
    assert answer["conflicts"] == []


async def test_as_of_shows_what_was_decided_then(client: httpx.AsyncClient) -> None:
    first = await decide(client, decision="Use MySQL.")
    second = await decide(client, decision="Use SQLite.", supersedes=first["decision_id"])
    await decide(client, decision="Use PostgreSQL.", supersedes=second["decision_id"])
    moments = [0, 1, 2, 3, first["created_at"], second["created_at"]]

    assert [await decided(client, as_of=at) for at in moments] == [
        *([], ["Use MySQL."], ["Use SQLite."], ["Use PostgreSQL."]),
        *(["Use MySQL."], ["Use SQLite."]),
    ]
    assert await decided(client, as_of=2, text="use") == ["Use SQLite."]
    then = await found(client, second["decision_id"], as_of=2)
    assert (then["status"], then["superseded_by"]) == ("active", None)
    assert then["lineage"]["descendants"] == []
    early = await client.get(f"{DECISIONS}/{second['decision_id']}", params={"as_of": 1})
    assert_problem(early, 404)


async def test_a_moment_to_come_is_now(client: httpx.AsyncClient) -> None:
    await decide(client)
    for moment in ("999999999", "2999-01-01T00:00:00Z"):
        page = (await client.get(QUERY, params={"as_of": moment})).json()
        assert (len(page["decisions"]), page["position"]) == (1, 1)


async def test_filters_choose_by_scope_reference_and_time(client: httpx.AsyncClient) -> None:
    await decide(client, decision="a", refs=["evt_1", "evt_2"], ts="2026-01-01T00:00:00Z")
    await decide(client, decision="b", refs=["evt_2"], ts="2026-01-02T00:00:00Z", scope="user")
    await decide(client, decision="c", ts="2026-01-03T00:00:00Z", scope="global")

    assert await decided(client, scope="user") == ["b"]
    assert await decided(client, ref="evt_2") == ["b", "a"]
    assert await decided(client, ref=["evt_2", "evt_1"]) == ["a"]
    assert await decided(client, since="2026-01-02T00:00:00Z") == ["c", "b"]
    assert await decided(client, until="2026-01-02T00:00:00Z") == ["a"]
    assert await decided(client, since="0001-01-01T00:00:00+14:00") == ["c", "b", "a"]
    assert await decided(client, text="b", ref="evt_2", scope="user") == ["b"]


async def test_pages_are_complete_and_show_one_moment(client: httpx.AsyncClient) -> None:
    made = [await decide(client, decision=f"decision {number}") for number in range(7)]
    seen = []
    async for page in pages(client, QUERY, limit=3):
        seen += [one["decision"] for one in page["decisions"]]
        await decide(client, supersedes=made.pop(0)["decision_id"])

    assert seen == [f"decision {number}" for number in range(6, -1, -1)]
    assert page["position"] == 7


async def test_a_text_puts_the_best_match_first(client: httpx.AsyncClient) -> None:
    await decide(client, decision="Indent with four spaces.")
    await decide(client, decision="Keep the log in PostgreSQL.", subject="storage engine")
    await decide(client, decision="Release on Fridays.", rationale=["customers test at weekends"])

    assert (await decided(client, text="PostgreSQL log"))[0] == "Keep the log in PostgreSQL."
    assert (await decided(client, text="storage engine"))[0] == "Keep the log in PostgreSQL."
    assert (await decided(client, text="weekends"))[0] == "Release on Fridays."
    assert await decided(client, text="indent spaces", limit=1) == ["Indent with four spaces."]


async def test_a_text_finds_the_active_among_hundreds_that_are_not(
    client: httpx.AsyncClient,
) -> None:
    """What the filters remove takes no place among the 200 that a search puts in order."""
    kept = await decide(client, decision="The parrot eats nuts.", scope="user")
    last = (await decide(client, decision="The parrot eats nuts, version 0."))["decision_id"]
    for number in range(1, 240):
        said = f"The parrot eats nuts, version {number}."
        content = {"decision": said, "supersedes": last}
        last = f"dec_{(await post(client, kind='decision', content=content))['event_id'][4:]}"

    assert await decided(client, text="parrot version", scope="user") == [kept["decision"]]
    assert set(await decided(client, text="parrot")) == {said, kept["decision"]}
    assert len(await decided(client, text="parrot", status="superseded", limit=200)) == 200
    lineage = (await found(client, last))["lineage"]
    assert (len(lineage["ancestors"]), lineage["descendants"]) == (239, [])
