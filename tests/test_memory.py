"""Facts over HTTP (seed 000): the endpoints, models, limits and scenarios of the seed."""

import asyncio
import re

import httpx
import pytest

from memories import FACTS, SARAH, add, ask, listed
from memoryd.daemon import Daemon
from wire import assert_refused, storing_nothing

MODEL = {"id", "category", "subject", "content", "version", "created_at", "updated_at"}


async def test_a_new_memory_has_the_model_of_the_seed(client: httpx.AsyncClient) -> None:
    made = await add(client)

    assert set(made) == MODEL
    assert re.fullmatch("[A-Za-z0-9]{8}", made["id"])
    assert made == {
        **SARAH,
        "id": made["id"],
        "version": 1,
        "created_at": made["created_at"],
        "updated_at": made["created_at"],
    }


async def test_memories_are_listed_by_category_and_then_by_creation(
    client: httpx.AsyncClient,
) -> None:
    await add(client, content="We use Python 3.12", category="project", subject=None)
    await add(client, content="Sarah is a colleague", subject="Sarah")
    await add(client, content="Alec is the boss", subject="Alec")
    await add(client, content="Due dates on Fridays", category="preference", subject=None)
    await add(client, content="Works on Platform", category="context", subject=None)

    page = await ask(client, "GET", FACTS)
    assert [one["content"] for one in page["memories"]] == [
        "Works on Platform",
        "Sarah is a colleague",
        "Alec is the boss",
        "Due dates on Fridays",
        "We use Python 3.12",
    ]
    assert page["total"] == 5
    assert all(set(one) == MODEL for one in page["memories"])


async def test_an_update_is_a_version_under_the_same_id_and_answers_old_and_new(
    client: httpx.AsyncClient,
) -> None:
    made = await add(client)
    new = {"content": "Sarah works on the Design team"}
    changed = await ask(client, "PUT", FACTS + made["id"], json=new)
    found = await ask(client, "GET", FACTS + made["id"])

    assert (changed["id"], changed["version"]) == (made["id"], 2)
    assert changed["previous_content"] == SARAH["content"]
    assert changed["content"] == new["content"]
    assert changed["updated_at"] > changed["created_at"] == made["created_at"]
    assert [(one["version"], one["content"]) for one in found["versions"]] == [
        (1, SARAH["content"]),
        (2, new["content"]),
    ]
    assert await listed(client) == [new["content"]]


async def test_a_deleted_memory_leaves_the_list_and_can_be_brought_back(
    client: httpx.AsyncClient,
) -> None:
    made = await add(client)
    gone = await ask(client, "DELETE", FACTS + made["id"])

    assert gone["content"] == SARAH["content"]
    assert await listed(client) == []
    assert await listed(client, include_deleted=True) == [SARAH["content"]]
    assert (await ask(client, "GET", FACTS + made["id"]))["deleted"]
    assert_refused(await client.delete(FACTS + made["id"]), 404, "memory_id")
    assert_refused(
        await client.put(FACTS + made["id"], json={"content": "anew!"}), 404, "memory_id"
    )
    await ask(client, "POST", f"{FACTS}{made['id']}/undelete")
    assert await listed(client) == [SARAH["content"]]


async def test_a_second_memory_of_a_subject_is_refused_and_names_the_first(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    made = await add(client, subject="Sarah  Lee")
    async with storing_nothing(daemon, tenant):
        answer = await client.post(FACTS, json={**SARAH, "subject": " sarah LEE "})

    assert_refused(answer, 409, "subject")
    assert made["id"] in answer.json()["detail"]
    assert "update_memory" in answer.json()["detail"]
    forced = await add(client, subject="Sarah Lee", force=True)
    assert forced["id"] != made["id"]


async def test_the_subject_of_a_deleted_memory_is_free_again(client: httpx.AsyncClient) -> None:
    made = await add(client)
    await ask(client, "DELETE", FACTS + made["id"])

    assert (await add(client))["id"] != made["id"]


async def test_of_many_who_add_one_subject_at_once_one_wins(client: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(*(client.post(FACTS, json=SARAH) for _ in range(12)))

    assert sorted(one.status_code for one in answers) == [201] + [409] * 11
    assert await listed(client) == [SARAH["content"]]


async def test_a_memory_goes_to_any_version_and_back(client: httpx.AsyncClient) -> None:
    made = await add(client)
    for text in ("Sarah is on Design", "Sarah leads Design"):
        await ask(client, "PUT", FACTS + made["id"], json={"content": text})
    first = await ask(client, "POST", f"{FACTS}{made['id']}/restore", json={"version": 1})
    back = await ask(client, "POST", f"{FACTS}{made['id']}/restore", json={"version": 3})

    assert (first["version"], first["content"]) == (4, SARAH["content"])
    assert first["previous_content"] == "Sarah leads Design"
    assert (back["version"], back["content"]) == (5, "Sarah leads Design")
    versions = await ask(client, "GET", f"{FACTS}{made['id']}/versions")
    assert [one["made_by"] for one in versions["versions"]] == [
        *("add", "update", "update"),
        *("restore", "restore"),
    ]


async def test_restoring_brings_a_deleted_memory_back(client: httpx.AsyncClient) -> None:
    made = await add(client)
    await ask(client, "DELETE", FACTS + made["id"])
    await ask(client, "POST", f"{FACTS}{made['id']}/restore", json={"version": 1})

    assert await listed(client) == [SARAH["content"]]


async def test_two_versions_are_compared(client: httpx.AsyncClient) -> None:
    made = await add(client)
    await ask(client, "PUT", FACTS + made["id"], json={"content": "Sarah leads Design"})
    last = await client.get(f"{FACTS}{made['id']}/diff")
    same = await client.get(f"{FACTS}{made['id']}/diff", params={"from": 2, "to": 2})
    missing = await client.get(f"{FACTS}{made['id']}/diff", params={"from": 7})

    assert "-Sarah works on the Platform team\n+Sarah leads Design\n" in last.text
    assert same.text == ""
    assert_refused(missing, 404, "version", "1 to 2")


@pytest.mark.parametrize(
    ("given", "field", "limit"),
    [
        ({"content": "four"}, "content", "5"),
        ({"content": "    .    "}, "content", "5"),
        ({"content": "     "}, "content", "5"),
        ({"content": "x" * 501}, "content", "500"),
        ({"content": None}, "content", None),
        ({"content": ["Sarah"]}, "content", None),
        ({"category": "secret"}, "category", "'person', 'preference', 'context' or 'project'"),
        ({"subject": "x" * 201}, "subject", "200"),
        ({"force": "yes"}, "force", None),
        ({"colour": "red"}, "colour", None),
        ({"user_id": "a\nb"}, "user_id", r"^[^\x00-\x1f\x7f]+$"),
        ({"source_conversation_id": "x" * 256}, "source_conversation_id", "255"),
        ({"content": "a NUL \0 inside"}, "content", None),
    ],
)
async def test_what_breaks_a_limit_is_refused_and_not_stored(
    client: httpx.AsyncClient,
    daemon: Daemon,
    tenant: str,
    given: dict[str, object],
    field: str,
    limit: str | None,
) -> None:
    async with storing_nothing(daemon, tenant):
        answer = await client.post(FACTS, json={**SARAH, **given})

    assert_refused(answer, 422, field, limit)


@pytest.mark.parametrize("text", ["12345", "x" * 500, "🏳️‍🌈" * 80, "日本語です"])
async def test_what_is_just_within_the_limits_is_kept_as_it_is(
    client: httpx.AsyncClient, text: str
) -> None:
    made = await add(client, content=text, subject="s" * 200)

    assert (made["content"], made["subject"]) == (text, "s" * 200)


async def test_unknown_ids_versions_and_malformed_ids_are_refused(
    client: httpx.AsyncClient,
) -> None:
    made = await add(client)

    assert_refused(await client.get(FACTS + "aaaaaaaa"), 404, "memory_id")
    assert_refused(
        await client.put(FACTS + "aaaaaaaa", json={"content": "12345"}), 404, "memory_id"
    )
    assert (await client.get(FACTS + "short")).status_code == 422
    restored = await client.post(f"{FACTS}{made['id']}/restore", json={"version": 2})
    assert_refused(restored, 404, "version", "1 to 1")


async def test_without_the_last_slash_it_is_the_same(client: httpx.AsyncClient) -> None:
    made = await client.post("/api/memory", json=SARAH, follow_redirects=True)
    page = await client.get("/api/memory", follow_redirects=True)

    assert made.status_code == 201
    assert page.json()["total"] == 1
