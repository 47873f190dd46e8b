"""Any memory goes to any version and back, by its id: over HTTP and as typed in a chat."""

from dataclasses import dataclass
from typing import Any

import httpx
import pytest

import conftest
from conftest import MakeKey
from memories import SARAH, add, agents, ask, listed, users
from memoryd.daemon import Daemon
from test_command import typed
from wire import assert_refused, storing_nothing

ANY = "/api/v1/memories"
BOARD = "/api/v1/teams/red/memories"


@dataclass(frozen=True)
class Sort:
    """One of each type: made, changed twice, and seen where it is used."""

    name: str
    texts: tuple[str, str, str]


SORTS = [
    Sort("fact", ("Sarah is on Platform", "Sarah is on Design", "Sarah leads Design")),
    Sort("place", ("by the lake", "by the sea", "sold")),
    Sort("core", ("I am helpful", "I am brief", "I am kind")),
    Sort("journal", ("Met a user", "Met two users", "Met three users")),
    Sort("whiteboard", ("Build is red", "Build is green", "Build is gone")),
]
each_sort = pytest.mark.parametrize("sort", SORTS, ids=lambda one: one.name)


async def make(client: httpx.AsyncClient, sort: Sort) -> str:
    first = sort.texts[0]
    if sort.name == "fact":
        return str((await add(client, content=first, subject="Sarah"))["id"])
    if sort.name == "place":
        home = {"place_id": "p1", "place_name": "Home", "notes": first}
        await ask(client, "POST", f"{users('default')}/places", 201, json=home)
        page = await ask(client, "GET", ANY, params={"type": "place"})
        return str(page["memories"][0]["id"])
    if sort.name == "whiteboard":
        return str((await ask(client, "POST", BOARD, 201, json={"content": first}))["id"])
    said = {"content": first, "memory_type": sort.name}
    return str((await ask(client, "POST", agents("scout"), 201, json=said))["id"])


async def made_and_edited(client: httpx.AsyncClient, sort: Sort) -> str:
    memory_id = await make(client, sort)
    for text in sort.texts[1:]:
        await ask(client, "PUT", f"{ANY}/{memory_id}", json={"content": text})
    return memory_id


async def seen(client: httpx.AsyncClient, sort: Sort) -> list[str]:
    """What its own door shows."""
    if sort.name == "fact":
        return await listed(client)
    if sort.name == "place":
        found = await ask(client, "GET", users("default"))
        return [str(one["notes"]) for one in found["placer_user_datapoints"]]
    path = BOARD if sort.name == "whiteboard" else agents("scout")
    return [str(one["content"]) for one in (await ask(client, "GET", path))["memories"]]


async def restore(client: httpx.AsyncClient, memory_id: str, version: int) -> Any:
    path = f"{ANY}/{memory_id}/restore"
    return await ask(client, "POST", path, json={"version": version})


@each_sort
async def test_any_memory_goes_to_any_version_and_back(
    client: httpx.AsyncClient, sort: Sort
) -> None:
    memory_id = await made_and_edited(client, sort)
    first = await restore(client, memory_id, 1)
    at_first = await seen(client, sort)
    last = await restore(client, memory_id, 3)
    had = await ask(client, "GET", f"{ANY}/{memory_id}/versions")
    changed = await client.get(f"{ANY}/{memory_id}/diff", params={"from": 1, "to": 2})

    one, two, three = sort.texts
    assert (first["version"], first["content"], first["previous_content"]) == (4, one, three)
    assert (last["version"], last["content"], last["type"]) == (5, three, sort.name)
    assert at_first == [one]
    assert await seen(client, sort) == [three]
    assert [each["content"] for each in had["versions"]] == [one, two, three, one, three]
    assert f"-{one}\n+{two}\n" in changed.text


@each_sort
async def test_any_deleted_memory_comes_back_with_its_text_or_an_older_one(
    client: httpx.AsyncClient, sort: Sort
) -> None:
    memory_id = await made_and_edited(client, sort)
    gone = await ask(client, "DELETE", f"{ANY}/{memory_id}")
    nothing = await seen(client, sort)
    refused = await client.put(f"{ANY}/{memory_id}", json={"content": "What is gone"})
    back = await ask(client, "POST", f"{ANY}/{memory_id}/undelete")
    at_last = await seen(client, sort)
    await ask(client, "DELETE", f"{ANY}/{memory_id}")
    await restore(client, memory_id, 2)

    assert (gone["deleted"], nothing) == (True, [])
    assert refused.status_code == 404
    assert (back["deleted"], at_last) == (False, [sort.texts[2]])
    assert await seen(client, sort) == [sort.texts[1]]


@each_sort
async def test_a_chat_undoes_whatever_it_is(client: httpx.AsyncClient, sort: Sort) -> None:
    memory_id = await made_and_edited(client, sort)
    name = "Home: " if sort.name == "place" else ""
    one, two, three = (name + text for text in sort.texts)

    async def chat(text: str) -> str:
        return await typed(client, text, agent_id="scout")

    assert await chat(f"/memory undo {memory_id}") == f"Undone: '{three}' → '{two}'"
    assert await chat(f"/memory undo {memory_id} 1") == f"Undone: '{two}' → '{one}'"
    assert await chat(f"/memory undo {memory_id} v3") == f"Undone: '{one}' → '{three}'"
    assert await chat(f"/memory delete {memory_id}") == f"Deleted: '{three}'"
    assert await seen(client, sort) == []
    assert await chat(f"/memory undo {memory_id}") == f"Restored: '{three}'"
    assert await seen(client, sort) == [sort.texts[2]]
    await chat(f"/memory delete {memory_id}")
    assert await chat(f"/memory undo {memory_id} 2") == f"Restored: '{two}'"
    assert f"• v5 ({(await shown(client, memory_id))['created_at'][:10]})" in await chat(
        f"/memory show {memory_id}"
    )
    shelf = {"fact": "", "place": " places", "whiteboard": " whiteboard red"}
    assert f"[{memory_id}] {two}" in await chat(
        f"/memory list{shelf.get(sort.name, f' {sort.name}')}"
    )


async def shown(client: httpx.AsyncClient, memory_id: str) -> Any:
    return await ask(client, "GET", f"{ANY}/{memory_id}")


async def test_a_promotion_is_a_version_and_can_be_taken_back(client: httpx.AsyncClient) -> None:
    memory_id = await make(client, SORTS[3])
    await ask(client, "POST", f"{agents('scout')}/{memory_id}/promote")
    had = await ask(client, "GET", f"{ANY}/{memory_id}/versions")
    undone = await typed(client, f"/memory undo {memory_id}", agent_id="scout")
    found = await shown(client, memory_id)

    assert [(one["type"], one["made_by"]) for one in had["versions"]] == [
        ("journal", "add"),
        ("core", "promote"),
    ]
    assert undone == "Undone: 'Met a user' is journal again, no longer core"
    assert (found["type"], found["version"]) == ("journal", 3)
    assert (await restore(client, memory_id, 2))["type"] == "core"


async def test_a_place_takes_its_name_back_with_its_notes(client: httpx.AsyncClient) -> None:
    memory_id = await make(client, SORTS[1])
    new = {"place_id": "p1", "place_name": "The hut", "notes": "far away"}
    await ask(client, "POST", f"{users('default')}/places", 201, json=new)
    back = await restore(client, memory_id, 1)

    assert (back["subject"], back["content"]) == ("Home", "by the lake")
    document = await ask(client, "GET", users("default"))
    assert [one["place_name"] for one in document["placer_user_datapoints"]] == ["Home"]


@pytest.mark.parametrize("way", ["undelete", "restore", "activate", "as of the document"])
async def test_what_comes_back_must_not_contradict_what_took_its_place(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, way: str
) -> None:
    gone = (await add(client))["id"]
    held = f"{users('default')}/facts/{gone}/deactivate"
    if way in ("undelete", "restore"):
        await ask(client, "DELETE", f"{ANY}/{gone}")
    else:
        await ask(client, "POST", held)
    rival = await add(client, content="Sarah left the company", subject=" SARAH ")

    async def back(*, force: bool) -> httpx.Response:
        if way == "restore":
            body = {"version": 1, "force": force}
            return await client.post(f"{ANY}/{gone}/restore", json=body)
        if way == "as of the document":
            return await client.request("DELETE", held, params={"force": force})
        return await client.post(f"{ANY}/{gone}/{way}", params={"force": force})

    async with storing_nothing(daemon, tenant):
        refused = await back(force=False)
        told = await typed(client, f"/memory undo {gone}")

    assert_refused(refused, 409, "subject")
    assert rival["id"] in refused.json()["detail"]
    assert told.startswith(f"Another memory has the same subject: [{rival['id']}] Sarah left")
    assert (await back(force=True)).status_code == 200
    assert await listed(client) == [SARAH["content"], rival["content"]]


async def test_a_chat_keeps_both_when_told_to(client: httpx.AsyncClient) -> None:
    gone = (await add(client))["id"]
    await ask(client, "DELETE", f"{ANY}/{gone}")
    await add(client, content="Sarah left the company")
    reply = await typed(client, f"/memory undo {gone} anyway")

    assert reply == f"Restored: '{SARAH['content']}'"
    assert len(await listed(client)) == 2


@pytest.mark.parametrize(
    ("at", "text", "limit"),
    [
        (0, "four", "5 to 500 characters"),
        (0, "x" * 501, "5 to 500 characters"),
        (1, "x" * 501, "1 to 500 characters"),
        (2, "x" * 10_001, "10000"),
        (4, "  ", "1"),
    ],
)
async def test_an_edit_keeps_to_the_limits_of_its_type(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, at: int, text: str, limit: str
) -> None:
    memory_id = await make(client, SORTS[at])
    async with storing_nothing(daemon, tenant):
        refused = await client.put(f"{ANY}/{memory_id}", json={"content": text})

    assert_refused(refused, 422, "content", limit)


async def test_an_agent_s_memory_is_changed_by_whoever_speaks_for_it_alone(
    client: httpx.AsyncClient, url: str, tenant: str, make_key: MakeKey
) -> None:
    memory_id = await make(client, SORTS[2])
    other = await make_key(tenant, agent_id="tester")
    team = await make_key(tenant, channel="team")
    for key in (other, team):
        async with conftest.asking(url, key) as stranger:
            assert (await stranger.get(f"{ANY}/{memory_id}")).status_code == 404
            assert (await stranger.delete(f"{ANY}/{memory_id}")).status_code == 404
            told = await typed(stranger, f"/memory delete {memory_id}")
            assert told.startswith("There is no memory")
    named = await client.get(f"{ANY}/{memory_id}", params={"agent_id": "tester"})

    assert named.status_code == 404
    assert not (await shown(client, memory_id))["deleted"]


async def test_what_was_deleted_is_listed_to_be_brought_back(client: httpx.AsyncClient) -> None:
    made = [await make(client, sort) for sort in SORTS]
    for memory_id in made:
        await ask(client, "DELETE", f"{ANY}/{memory_id}")
    found = []
    for sort in SORTS:
        asked = {"type": sort.name, "agent_id": "scout", "team_id": "red", "include_deleted": True}
        page = await ask(client, "GET", ANY, params=asked)
        found += [one["id"] for one in page["memories"] if one["deleted"]]
    shelf = await typed(client, "/memory list deleted")

    assert found == made
    assert [made[0] in shelf, made[1] in shelf] == [True, True]
    assert shelf.endswith("Use /memory undo <id> to bring one back.")


async def test_a_version_that_is_not_there_is_told_with_those_that_are(
    client: httpx.AsyncClient,
) -> None:
    memory_id = await made_and_edited(client, SORTS[4])
    refused = await client.post(f"{ANY}/{memory_id}/restore", json={"version": 9})
    unknown = await client.get(f"{ANY}/zzzzzzzz")

    assert_refused(refused, 404, "version", "1 to 3")
    assert_refused(unknown, 404, "memory_id")
