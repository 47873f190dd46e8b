"""Audit and proposals over HTTP: nothing is done unasked, and all of it can be undone."""

import asyncio
from typing import Any

import httpx
import pytest

import conftest
from conftest import MakeKey
from memories import FACTS, add, agents, ask, listed
from prompts import prompt

CARE = "/api/v1/memories"
LATER = "2030-01-01T00:00:00Z"


async def proposals(client: httpx.AsyncClient, **given: Any) -> list[dict[str, Any]]:
    found = await ask(client, "GET", f"{CARE}/proposals", params=given)
    every: list[dict[str, Any]] = found["proposals"]
    return every


async def act(
    client: httpx.AsyncClient, one: Any, what: str, status: int = 200, **given: Any
) -> Any:
    path = f"{CARE}/proposals/{one['id']}/{what}"
    return await ask(client, "POST", path, status, params=given)


async def two_teas(client: httpx.AsyncClient) -> tuple[str, str]:
    said = {"category": "preference", "subject": None}
    first = await add(client, content="The user likes green tea", **said)
    second = await add(client, content="User likes green teas.", **said)
    return first["id"], second["id"]


async def test_an_audit_reports_and_changes_nothing(client: httpx.AsyncClient) -> None:
    first, second = await two_teas(client)
    await add(client)
    report = await ask(client, "GET", f"{CARE}/audit")
    late = await ask(client, "GET", f"{CARE}/audit", params={"now": LATER})

    (found,) = report["findings"]
    assert (found["kind"], found["memory_ids"]) == ("duplicate", [first, second])
    assert found["fix"] == "memoryd consolidate"
    assert report["counts"] == {"duplicate": 1}
    assert late["counts"] == {"duplicate": 1, "never_recalled": 3}
    assert len(await listed(client)) == 3


async def test_a_prompt_counts_as_a_reading(client: httpx.AsyncClient) -> None:
    await add(client)
    await prompt(client, now=LATER)
    report = await ask(client, "GET", f"{CARE}/audit", params={"now": LATER})

    assert report["counts"] == {}


async def test_a_bundle_counts_as_a_reading(client: httpx.AsyncClient) -> None:
    await add(client, content="The user is allergic to peanuts", subject=None)
    asked = {"session_id": "s1", "query_text": "which nuts? peanuts?", "now": LATER}
    await ask(client, "POST", "/api/v1/acb/build", json=asked)
    report = await ask(client, "GET", f"{CARE}/audit", params={"now": LATER})

    assert report["counts"] == {}


async def test_a_fact_that_was_read_matters_more(client: httpx.AsyncClient) -> None:
    read = await add(client, user_id="ada")
    await prompt(client, user_id="ada", now="2029-12-31T00:00:00Z")
    new = await add(client, content="Alec is the boss", subject="Alec", user_id="ada")
    given = {"user_id": "ada", "now": LATER}
    first, second = (await ask(client, "GET", f"{CARE}/importance", params=given))["memories"]

    assert (first["memory_id"], first["access_count"]) == (read["id"], 1)
    assert first["last_accessed_at"].startswith("2029-12-31")
    assert (second["memory_id"], second["access_count"]) == (new["id"], 0)
    assert 1 > first["importance"] > 0.9
    assert second["importance"] < 0.1


async def test_a_merge_is_applied_and_undone(client: httpx.AsyncClient) -> None:
    first, second = await two_teas(client)
    (one,) = await proposals(client)
    done = await act(client, one, "apply")
    merged = await listed(client)
    left = await proposals(client)
    undone = await act(client, one, "undo")

    assert [source["memory_id"] for source in one["sources"]] == [first, second]
    assert done["memory_ids"] == [first, second]
    assert done["undo"] == f"memoryd consolidate --undo {one['id']}"
    assert merged == ["User likes green teas."]
    assert left == []
    assert sorted(undone["memory_ids"]) == sorted([first, second])
    assert await listed(client) == ["The user likes green tea", "User likes green teas."]


async def test_what_changed_meanwhile_is_not_applied_and_not_undone(
    client: httpx.AsyncClient,
) -> None:
    first, second = await two_teas(client)
    (one,) = await proposals(client)
    await ask(client, "PUT", FACTS + second, json={"content": "User likes green teas"})
    refused = await act(client, one, "apply", 404)
    (new,) = await proposals(client)
    await act(client, new, "apply")
    await ask(client, "PUT", FACTS + first, json={"content": "The user likes coffee"})
    undone = await act(client, new, "undo")
    again = await act(client, new, "undo")

    assert refused["field"] == "proposal_id"
    assert undone["memory_ids"] == [second]
    assert again["memory_ids"] == []
    assert await listed(client) == ["The user likes coffee", "User likes green teas"]


async def test_what_a_person_deleted_since_an_undo_leaves_deleted(
    client: httpx.AsyncClient,
) -> None:
    first, second = await two_teas(client)
    (one,) = await proposals(client)
    await act(client, one, "apply")
    await ask(client, "DELETE", FACTS + first)
    undone = await act(client, one, "undo")

    assert undone["memory_ids"] == [second]
    assert await listed(client) == ["User likes green teas."]


async def test_the_line_that_takes_it_back_says_whose_it_is(client: httpx.AsyncClient) -> None:
    said = {"category": "preference", "subject": None, "user_id": "Ada L"}
    await add(client, content="The user likes green tea", **said)
    await add(client, content="User likes green teas.", **said)
    (one,) = await proposals(client, user_id="Ada L")
    done = await act(client, one, "apply", user_id="Ada L", agent_id="scout")

    assert done["undo"] == f"memoryd consolidate --undo {one['id']} --user 'Ada L' --agent scout"


async def test_a_faded_fact_is_retired_and_brought_back(client: httpx.AsyncClient) -> None:
    made = await add(client)
    (one,) = await proposals(client, now=LATER)
    await act(client, one, "apply", now=LATER)
    gone = await listed(client)
    await act(client, one, "undo")

    assert one["kind"] == "retire"
    assert gone == []
    found = await ask(client, "GET", FACTS + made["id"])
    assert found["is_active"]


async def test_what_recurs_in_a_journal_becomes_core_and_not_again(
    client: httpx.AsyncClient,
) -> None:
    for _ in range(3):
        said = {"content": "Ada asks for short answers", "memory_type": "journal"}
        await ask(client, "POST", agents("scout"), 201, json=said)
    (one,) = await proposals(client, agent_id="scout")
    done = await act(client, one, "apply", agent_id="scout")
    left = await proposals(client, agent_id="scout")
    counted = (await ask(client, "GET", agents("scout")))["memories_count"]
    undone = await act(client, one, "undo", agent_id="scout")

    assert (one["kind"], one["text"]) == ("promote", "Ada asks for short answers")
    assert len(one["sources"]) == 3
    assert left == []
    assert counted == {"core": 1, "journal": 3}
    assert undone["memory_ids"] == done["memory_ids"]
    assert (await ask(client, "GET", agents("scout")))["memories_count"]["core"] == 0
    assert await proposals(client) == []


async def test_of_many_who_promote_at_once_one_core_memory_is_made(
    client: httpx.AsyncClient,
) -> None:
    said = {"content": "Ada asks for short answers", "memory_type": "journal"}
    for _ in range(3):
        made = await ask(client, "POST", agents("scout"), 201, json=said)
    (one,) = await proposals(client, agent_id="scout")
    path, scout = f"{CARE}/proposals/{one['id']}/apply", {"agent_id": "scout"}
    applied = await asyncio.gather(*(client.post(path, params=scout) for _ in range(8)))
    counted = (await ask(client, "GET", agents("scout")))["memories_count"]
    await act(client, one, "undo", agent_id="scout")
    again = await act(client, one, "apply", agent_id="scout")
    done = [each.json()["memory_ids"] for each in applied if each.status_code == 200]

    assert {each.status_code for each in applied} <= {200, 404}  # it was applied already
    assert counted["core"] == 1
    assert again["memory_ids"] not in done
    path = f"{agents('scout')}/{made['id']}/promote"
    promoted = await asyncio.gather(*(client.post(path) for _ in range(8)))
    had = await ask(client, "GET", f"{CARE}/{made['id']}/versions")
    assert {each.status_code for each in promoted} <= {200, 409}  # it is core already
    assert [each["made_by"] for each in had["versions"]] == ["add", "promote"]


async def test_a_reader_s_key_sees_proposals_and_applies_none(
    client: httpx.AsyncClient, url: str, tenant: str, make_key: MakeKey
) -> None:
    await two_teas(client)
    async with conftest.asking(url, await make_key(tenant, role="reader")) as reading:
        (one,) = await proposals(reading)
        refused = await reading.post(f"{CARE}/proposals/{one['id']}/apply")

    assert refused.status_code == 403
    assert len(await listed(client)) == 2


async def test_another_agent_s_journal_is_not_looked_at(
    url: str, tenant: str, make_key: MakeKey
) -> None:
    async with conftest.asking(url, await make_key(tenant, agent_id="scout")) as own:
        answers = [
            await own.get(f"{CARE}/{what}", params={"agent_id": "other"})
            for what in ("audit", "proposals")
        ]

    assert [one.status_code for one in answers] == [403, 403]


@pytest.mark.parametrize(("proposal_id", "status"), [("prp_" + "0" * 16, 404), ("x", 422)])
@pytest.mark.parametrize("what", ["apply", "undo"])
async def test_an_unknown_proposal_is_told(
    client: httpx.AsyncClient, proposal_id: str, status: int, what: str
) -> None:
    refused = await act(client, {"id": proposal_id}, what, status)

    assert refused["field"] == "proposal_id"
