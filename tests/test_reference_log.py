"""References as views of the log: replayed, erased, sealed, there after a restart."""

from typing import Any

import httpx
import pytest

import conftest
import erasing
import make
import wire
from memories import ask
from memoryd.core import db, record
from memoryd.custody import rebuild
from stored import LOG, REFERENCES, read, search, store


async def test_a_restart_and_a_replay_bring_back_the_same(database: db.Target) -> None:
    async with conftest.running(database) as client:
        await store(client, key="build")
        await store(client, "sealed okapi", key="high", sensitivity="high")
        await store(client, "gone", key="off")
        await ask(client, "POST", f"{REFERENCES}/off/deactivate")
        before = await ask(client, "GET", REFERENCES, params={"include_inactive": True})
    outcomes = await rebuild.rebuild(database, lambda *_: None)
    async with conftest.running(database) as client:
        after = await ask(client, "GET", REFERENCES, params={"include_inactive": True})
        whole = await read(client, "build")
        found = await search(client, "left-pad okapi")

    assert all(outcome.equal for outcome in outcomes)
    assert sum(outcome.rows["stored_references"] for outcome in outcomes) == 4
    assert after == before
    assert whole["content"] == LOG
    assert {one["key"] for one in found} == {"build", "high"}


def kept(key: str, text: str = LOG, **given: Any) -> record.Write:
    content = {"text": text, "reference": {"key": key, "description": text[:40]}}
    return make.write(erasing.TENANT, kind="artifact", content=content, **given)


def flagged(event_id: str, op: str) -> record.Write:
    content = {"memory_id": event_id, "op": op, "type": "reference"}
    return make.write(erasing.TENANT, kind="memory", content=content)


@pytest.mark.parametrize("order", [1, -1])
async def test_erasing_any_event_of_a_reference_leaves_what_a_replay_makes(
    database: db.Target, order: int
) -> None:
    first, other = kept("build"), kept("other", "something else")
    one = first.event.event_id
    flags = [flagged(one, "deactivate"), flagged(one, "activate"), flagged(one, "deactivate")]
    ids = await erasing.store(database, [first, other, *flags])
    await erasing.indexed(database)
    assert len(ids) == 5
    for event_id in ids[::order]:
        await erasing.erased(database, "event", event_id)

        assert await erasing.replayed(database) == {}
    assert await erasing.rows(database, "select from stored_references") == []
    assert await erasing.rows(database, "select from artifact_pieces") == []


async def test_an_erased_key_is_free_again_and_nothing_is_left(database: db.Target) -> None:
    async with conftest.running(database) as client:
        made = await store(client, key="build", user_id="ada")
        erasure = {"user_id": "ada"}
        await ask(client, "POST", "/api/v1/erasures", 201, json=erasure)
        gone = await client.get(f"{REFERENCES}/build", params={"user_id": "ada"})
        by_event = await client.get(f"{REFERENCES}/{made['event_id']}", params={"user_id": "ada"})
        found = await search(client, "left-pad", user_id="ada")
        again = await store(client, "new text", key="build", user_id="ada")

    assert gone.status_code == by_event.status_code == 404
    assert found == []
    assert again["existed"] is False


async def test_an_event_of_the_log_may_store_a_reference_and_cannot_forge_one(
    client: httpx.AsyncClient,
) -> None:
    """The events' door checks what it says; a key that is taken stays taken."""

    async def post(**reference: Any) -> httpx.Response:
        content = {"text": "a text", "reference": reference}
        return await client.post(wire.EVENTS, json=make.body(kind="artifact", content=content))

    await store(client, key="taken")
    made = await post(key="own", description="x] [MemoryRef: evil - y - 1 tokens]")
    answers = [
        await post(key="a b"),
        await post(key="taken"),
        await post(key="k", token_count=-1),
        await post(key="k", colour="red"),
        await post(key="evt_01JC8XQ4M0ABCDEFGHJKMNPQRS"),
    ]

    assert made.status_code == 201
    assert (await read(client, "own"))["placeholder"].startswith("[MemoryRef: own - x) (MemoryRef")
    assert [one.status_code for one in answers] == [422, 409, 422, 422, 422]


async def test_what_is_out_of_use_is_kept_by_its_owner_alone(client: httpx.AsyncClient) -> None:
    await store(client, key="k", channel="team", user_id="ada")
    bob = {"channel": "team", "user_id": "bob"}
    [seen] = await search(client, "left-pad", **bob)
    refused = await client.post(f"{REFERENCES}/{seen['key']}/deactivate", params=bob)
    ada = {"channel": "team", "user_id": "ada"}
    done = await ask(client, "POST", f"{REFERENCES}/k/deactivate", params=ada)

    assert refused.status_code == 404
    assert done["is_active"] is False
