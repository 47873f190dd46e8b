"""Memories are views of the log: replayed to the same rows, safe in races, of one owner."""

import asyncio
import itertools
from dataclasses import replace
from typing import Any

import httpx
import pytest

import conftest
import make
from conftest import MakeKey
from memories import FACTS, SARAH, add, agents, ask, listed, users
from memoryd import daemon as composition
from memoryd.core import db, record
from memoryd.core.config import Settings
from memoryd.core.model import Caller, Reader
from memoryd.custody import rebuild
from memoryd.daemon import Daemon
from memoryd.memories import document, facts, model, project
from memoryd.memories.write import Origin
from memoryd.seal.vault import Keys
from wire import assert_refused, storing_nothing


async def change_everything(client: httpx.AsyncClient) -> None:
    """Every operation once."""
    made = await add(client)
    await ask(client, "PUT", FACTS + made["id"], json={"content": "Sarah leads Design"})
    await ask(client, "POST", f"{FACTS}{made['id']}/restore", json={"version": 1})
    await ask(client, "DELETE", FACTS + made["id"])
    await ask(client, "POST", f"{FACTS}{made['id']}/undelete")
    await add(client, force=True)
    home = {"place_id": "p1", "place_name": "Home", "conversation_id": "c", "message_id": "m"}
    for notes in ("by the lake", "sold"):
        body = {**home, "notes": notes}
        await ask(client, "POST", f"{users('default')}/places", 201, json=body)
    said = {"conversation_id": "c", "message_id": "m2"}
    await ask(client, "POST", f"{users('default')}/places/p1/mentions", 201, json=said)
    await ask(client, "POST", f"{users('default')}/facts/{made['id']}/deactivate")
    held = f"{users('default')}/facts/{made['id']}/deactivate"
    await ask(client, "DELETE", held, params={"force": True})
    note = await ask(client, "POST", agents("coder"), 201, json={"content": "Tea at five"})
    await ask(client, "POST", f"{agents('coder')}/{note['id']}/promote")
    board = "/api/v1/teams/red/memories"
    red = await ask(client, "POST", board, 201, json={"content": "Build is red"})
    for one in (note["id"], red["id"]):
        await ask(client, "DELETE", f"/api/v1/memories/{one}")
        await ask(client, "POST", f"/api/v1/memories/{one}/undelete")
        await ask(client, "POST", f"/api/v1/memories/{one}/restore", json={"version": 1})


async def test_a_rebuild_brings_back_every_memory_version_mention_and_eviction(
    database: db.Target,
) -> None:
    async with conftest.running(database) as client:
        await change_everything(client)
        before = await ask(client, "GET", users("default"))
    async with composition.running(Settings(database_url=conftest.dsn(database)), print) as daemon:
        owner = Reader(tenant_id="default")
        await document.fit(daemon, owner, limit=120)
    replayed = await rebuild.rebuild(database, lambda *_: None)
    owner_conn = await db.connect(database, None)
    await owner_conn.execute("delete from memoryd.memories; delete from memoryd.mentions")
    lost = await rebuild.rebuild(database, lambda *_: None)
    again = await rebuild.rebuild(database, lambda *_: None)
    ops = await owner_conn.fetchval("select array_agg(distinct op) from memoryd.memories")
    await owner_conn.close()
    async with conftest.running(database) as client:
        after = await ask(client, "GET", users("default"))

    assert [one.equal for one in replayed] == [True]
    assert lost[0].differed["memories"] > 10
    assert lost[0].differed["mentions"] == 3
    assert [one.equal for one in again] == [True]
    assert set(ops) == {
        *("add", "update", "restore", "delete", "undelete", "place"),
        *("deactivate", "activate", "promote", "evict"),
    }
    assert after["placer_user_datapoints"] == before["placer_user_datapoints"]
    assert len(after["facts"]) < len(before["facts"])


async def test_an_id_that_is_taken_is_drawn_again_and_overwrites_nothing(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    made = await add(client)
    drawn = itertools.chain([made["id"], made["id"]], ["freeFREE"])
    fact = await facts.add(
        *(daemon, Caller(tenant_id=tenant, role="agent"), Origin(user_id="bob")),
        text="Alec is the boss",
        category="person",
        draw=lambda: next(drawn),
    )

    assert fact.memory_id == "freeFREE"
    assert await listed(client) == [SARAH["content"]]


async def test_an_id_that_is_always_taken_is_an_error_and_overwrites_nothing(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    made = await add(client)
    with pytest.raises(model.Taken):
        await facts.add(
            *(daemon, Caller(tenant_id=tenant, role="agent"), Origin()),
            text="Alec is the boss",
            category="person",
            draw=lambda: str(made["id"]),
        )

    assert await listed(client) == [SARAH["content"]]


async def test_two_connections_that_change_one_memory_lose_nothing(
    client: httpx.AsyncClient,
) -> None:
    made = await add(client)
    texts = [f"Sarah is in room {number}" for number in range(20)]
    answers = await asyncio.gather(
        *(client.put(FACTS + made["id"], json={"content": text}) for text in texts)
    )
    versions = (await ask(client, "GET", f"{FACTS}{made['id']}/versions"))["versions"]

    assert {one.status_code for one in answers} == {200}
    assert {one["content"] for one in versions[1:]} == set(texts)
    assert [one["version"] for one in versions] == list(range(1, 22))
    by_version = {one["version"]: one["content"] for one in versions}
    for answer in answers:
        changed = answer.json()
        assert changed["previous_content"] == by_version[changed["version"] - 1]


async def test_of_many_deletes_at_once_one_is_recorded(client: httpx.AsyncClient) -> None:
    made = await add(client)
    answers = await asyncio.gather(*(client.delete(FACTS + made["id"]) for _ in range(6)))

    assert sorted(one.status_code for one in answers) == [200] + [404] * 5


async def test_an_eviction_decided_on_an_older_document_is_refused(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    made = await add(client)
    await add(client, subject="Alec")
    said = {"memory_id": made["id"], "op": "evict", "document": 1}
    write = make.write(tenant, kind="memory", content=said)
    with pytest.raises(Exception, match="changed meanwhile"):
        await daemon.group.commit(tenant, [write])

    assert len(await listed(client)) == 2


async def test_users_do_not_see_or_change_each_others_memories(client: httpx.AsyncClient) -> None:
    made = await add(client, user_id="ada")
    bob = {"user_id": "bob"}
    address = FACTS + made["id"]

    assert await listed(client, **bob) == []
    assert await listed(client, user_id="ada") == [SARAH["content"]]
    assert_refused(await client.get(address, params=bob), 404, "memory_id")
    assert_refused(await client.delete(address, params=bob), 404, "memory_id")
    answer = await client.put(address, json={"content": "taken over", **bob})
    assert_refused(answer, 404, "memory_id")
    assert (await ask(client, "GET", users("bob")))["facts"] == []
    await add(client, **bob)  # the same subject, of another user


async def test_what_a_user_shares_is_changed_by_them_alone(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    made = await add(client, user_id="ada", channel="public")
    bob: dict[str, Any] = {"params": {"user_id": "bob"}}
    address = FACTS + made["id"]
    tool = {"arguments": {"memory_id": made["id"], "content": "taken over"}, "user_id": "bob"}
    async with storing_nothing(daemon, tenant):
        answers = [
            await client.put(address, json={"content": "taken over"}, **bob),
            await client.delete(address, **bob),
            await client.post(f"{address}/restore", json={"version": 1}, **bob),
            await client.post(f"/api/v1/memories/{made['id']}/deactivate", **bob),
            await client.post("/api/v1/tools/update_memory", json=tool),
        ]

    assert (await ask(client, "GET", address, **bob))["content"] == SARAH["content"]
    for answer in answers:
        assert_refused(answer, 403, "user_id")


async def test_a_key_of_one_user_cannot_ask_for_another(
    url: str, tenant: str, make_key: MakeKey
) -> None:
    async with conftest.asking(url, await make_key(tenant, user_id="ada")) as ada:
        await add(ada)
        answers = [
            await ada.get(FACTS, params={"user_id": "bob"}),
            await ada.post(FACTS, json={**SARAH, "user_id": "bob"}),
            await ada.get(users("bob")),
            await ada.post(f"{users('bob')}/facts", json={"content": "x"}),
        ]
    async with conftest.asking(url, await make_key(tenant, user_id="ada", channel="public")) as low:
        seen = await listed(low)
    async with conftest.asking(url, await make_key(tenant, role="reader")) as reader:
        answers.append(await reader.post(FACTS, json=SARAH))

    assert {one.status_code for one in answers} == {403}
    assert seen == []


async def test_a_client_cannot_record_the_kind_memory_itself(client: httpx.AsyncClient) -> None:
    content = {"memory_id": "aaaaaaaa", "op": "add", "type": "fact", "text": "hello"}
    answer = await client.post("/api/v1/events", json=make.body(kind="memory", content=content))

    assert answer.status_code == 422
    assert answer.json()["field"] == "kind"


async def test_a_replay_passes_over_what_an_erasure_took(conn: db.Conn, tenant: str) -> None:
    """An event whose memory is gone is an error, unless something was erased after it."""
    said = {"memory_id": "aaaaaaaa", "op": "update", "text": "hello there"}
    event = make.write(tenant, kind="memory", content=said).event
    with pytest.raises(Exception, match="there is no memory"):
        await project.project(conn, replace(event, position=1), Keys(tenant))
    await record.append(conn, tenant, [make.write(tenant), make.write(tenant)], make.NOW)
    columns = "tenant_id, ts, recorded_at, session_id, user_id, agent_id, channel, actor_type, "
    columns += "actor_id, sensitivity, tags, refs"
    await conn.execute(
        f"insert into events ({columns}, event_id, position, kind, content)"
        f" select {columns}, 'evt_x', 3, 'erasure', '{{}}' from events where position = 2"
    )

    await project.project(conn, replace(event, position=1), Keys(tenant))
    assert await conn.fetchval("select count(*) from memories") == 0


@pytest.mark.parametrize(("said", "back"), [({}, True), ({"force": False}, False)])
async def test_a_log_from_before_the_rule_of_what_comes_back_replays_as_it_was(
    conn: db.Conn, tenant: str, said: dict[str, bool], back: bool
) -> None:
    """An `undelete` that does not speak of `force` was recorded before it was asked."""
    fact = {"op": "add", "type": "fact", "category": "person", "subject": "Sarah", "text": "Hi all"}
    contents: list[dict[str, object]] = [
        {"memory_id": "aaaaaaaa", **fact},
        {"memory_id": "aaaaaaaa", "op": "delete"},
        {"memory_id": "bbbbbbbb", **fact},
    ]
    writes = [make.write(tenant, kind="memory", content=one) for one in contents]
    await record.append(conn, tenant, writes, make.NOW)
    last = {"memory_id": "aaaaaaaa", "op": "undelete", **said}
    write = make.write(tenant, kind="memory", content=last)
    if not back:
        with pytest.raises(model.SameSubject):
            await record.append(conn, tenant, [write], make.NOW)
        return
    await record.append(conn, tenant, [write], make.NOW)

    held = "select count(*) from memories where until is null and not deleted"
    assert await conn.fetchval(held) == 2
