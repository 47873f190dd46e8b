"""Erasure where the master key is missing: what is sealed is erased without being opened."""

from typing import Any

import pytest

import make
from erasing import TENANT, carried_out, erased, indexed, owning, replayed, rows, store, write
from memoryd.core import db, errors, ids, record
from memoryd.seal import keys as keys_of
from memoryd.search import index
from test_sealing_rewrap import OLD, having

HIGH: dict[str, Any] = {"sensitivity": "high"}
LEFT = "select user_id, sensitivity from events where kind <> 'erasure' and user_id <> ''"


def said(user: str, after: str = "") -> list[record.Write]:
    return [
        write(user, f"s-{user}", f"The zanzibar{user}{after} is sealed.", **HIGH, tags=("quokka",)),
        write(user, f"s-{user}", f"The parallel{user}{after} is not."),
    ]


@pytest.mark.parametrize("later", [False, True], ids=["all in segments", "some after the last"])
async def test_a_user_is_erased_without_the_key(database: db.Target, later: bool) -> None:
    closed, opened = having(database), having(database, OLD)
    await store(opened, [*said("ada"), *said("bob")])
    await indexed(opened)
    if later:
        await store(opened, [*said("ada", "again"), *said("bob", "again")])
    outcome = await carried_out(closed, "user", "ada")
    left = {(row["user_id"], row["sensitivity"]) for row in await rows(closed, LEFT)}
    await indexed(opened)

    assert outcome.report is not None and outcome.report.raw
    assert outcome.report.findings == []
    assert outcome.erasure.events == 2 + 2 * later
    assert left == {("bob", "high"), ("bob", "none")}
    assert await found(opened, "zanzibarbob") == 1
    assert await found(opened, "zanzibarada") == await found(opened, "parallelada") == 0
    assert await replayed(opened) == {}


async def found(target: db.Target, word: str) -> int:
    """How many documents the index has of a word, as it is or as it is hidden."""
    async with owning(target) as conn, conn.transaction():
        await db.set_tenant(conn, TENANT)
        keys = await keys_of.load(conn, TENANT)
        assert keys.hide is not None
        terms = [word, keys.hide(word)]
        blocks = await conn.fetch(db.query("index.postings"), TENANT, terms)
    return sum(len(row["block"]) // index.POSTING.itemsize for row in blocks)


async def test_what_must_be_sealed_anew_waits_for_the_key(database: db.Target) -> None:
    """A version holds what its thing had before, and Bob's sealed one follows an erased one."""
    own: dict[str, Any] = {"kind": "task_update", "channel": "team", **HIGH}
    made = write("ada", "s1", "", content={"title": "Ours"}, **own)
    task = ids.same("tsk", made.event.event_id)
    change = {"task_id": task, "title": "Mine"}
    sealed = make.write(TENANT, user_id="bob", content=change, **own)
    kept = await store(having(database, OLD), [made, sealed])
    assert len(kept) == 2
    with pytest.raises(errors.Closed, match="master key"):
        await erased(having(database), "user", "ada")

    assert len(await rows(having(database), LEFT)) == 2
    assert (await erased(having(database, OLD), "user", "ada")).erasure.events == 1


async def test_a_whole_tenant_goes_without_the_key(database: db.Target) -> None:
    await store(having(database, OLD), said("ada"))
    outcome = await carried_out(having(database), "tenant", TENANT)

    assert outcome.report is not None and outcome.report.findings == []
    assert await rows(having(database), "select from tenant_keys") == []
