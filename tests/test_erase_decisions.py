"""A line of decisions after some of it was erased: its newest holds, and nothing beside it."""

import itertools
from collections.abc import Sequence

import httpx
import pytest

import conftest
from erasing import TENANT, erased, owning, replayed, store, write
from memoryd.core import db, errors, ids, record
from memoryd.core.model import Reader
from memoryd.ledger import decisions
from test_bundle import build
from test_bundle_truth import ledger_of
from wire import decide, found

LONG = 4


async def line(target: db.Target, sensitivity: str = "none") -> list[str]:
    """The ids of decisions of which each replaces the one before; in between, others are made."""
    made: list[str] = []
    for number in range(LONG):
        said = {"decision": f"Ship on day {number}.", "supersedes": made[-1] if made else None}
        given = {"kind": "decision", "sensitivity": sensitivity, "content": said}
        [event_id] = await store(target, [write("ada", "s1", "", **given)])
        made.append(ids.same("dec", event_id))
        await store(target, [write("ada", "s1", f"Day {number} was chosen.")])
    return made


async def standing(target: db.Target) -> list[tuple[str, str | None, str | None, str]]:
    """Each decision with the one it replaced, the one that replaced it, and what it is now."""
    reader = Reader(tenant_id=TENANT, user_id="ada")
    async with owning(target) as conn, conn.transaction():
        await db.set_tenant(conn, TENANT)
        asked = decisions.Filters()
        found = await decisions.page(conn, reader, asked, as_of=2**62, limit=200)
    return [(d.decision_id, d.supersedes, d.superseded_by, d.status) for d in reversed(found)]


def expected(
    made: Sequence[str], gone: Sequence[int] = ()
) -> list[tuple[str, str | None, str | None, str]]:
    """Each that is left between its nearest neighbours that are; the first of them names what it
    replaced, though that is gone.
    """
    left = [one for number, one in enumerate(made) if number not in gone]
    at = made.index(left[0])
    sides = zip([made[at - 1] if at else None, *left], left, [*left[1:], None], strict=False)
    return [(own, old, new, "superseded" if new else "active") for old, own, new in sides]


@pytest.mark.parametrize("sensitivity", ["none", "high"])
async def test_what_is_left_of_a_line_is_a_line(database: db.Target, sensitivity: str) -> None:
    """Whichever go, and in whichever order: the newest that is left is the only one that holds."""
    for gone in [(1,), (2,), (3,), (1, 2), (2, 1), (2, 3), (3, 1), (0, 1)]:
        made = await line(database, sensitivity)
        for number in gone:
            await erased(database, "event", ids.same("evt", made[number]))

        assert await standing(database) == expected(made, gone), gone
        assert await replayed(database) == {}
        assert await standing(database) == expected(made, gone), gone
        await erased(database, "user", "ada")


async def test_what_was_erased_cannot_be_replaced_any_more(database: db.Target) -> None:
    """Nor does a decision that names it replace what that had replaced, unnoticed."""
    made = await line(database)
    await erased(database, "event", ids.same("evt", made[-1]))
    said = {"decision": "Ship never.", "supersedes": made[-1]}
    late = write("ada", "s1", "", kind="decision", content=said)
    async with owning(database) as conn:
        with pytest.raises(errors.Invalid, match="there is no decision"):
            async with conn.transaction():
                await record.append(conn, TENANT, [late], late.event.ts)

    assert await standing(database) == expected(made[:-1])


async def test_the_tombstone_of_a_decision_says_only_which_one_it_replaced(
    database: db.Target,
) -> None:
    made = await line(database)
    for newer, older in itertools.pairwise(reversed(made)):
        event_id = ids.same("evt", newer)
        done = await erased(database, "event", event_id)
        async with owning(database) as conn, conn.transaction():
            await db.set_tenant(conn, TENANT)
            statement = "select content from events where event_id = $1"
            said = await conn.fetchval(statement, event_id)

        assert said == {"erased_by": done.erasure.erasure_id, "replaced": older}


async def test_a_replay_keeps_a_conflict_as_it_was_when_what_ended_it_is_erased(
    url: str, tenant: str, make_key: conftest.MakeKey, client: httpx.AsyncClient
) -> None:
    tabs = await decide(client, decision="Indent with tabs.", subject="indentation")
    spaces = await decide(client, decision="Use four spaces.", subject="indentation")
    long = "Editors decide. " * 120  # has no room, so that the bundle does not show it
    await decide(client, decision=long, session_id="gone", supersedes=tabs["decision_id"])
    asked = {"sections": ["decision_ledger"], "max_tokens": 300}
    bundle = await build(client, **asked)
    await erase_session(url, await make_key(tenant, role="admin"), "gone")
    again = await client.get(f"/api/v1/acb/{bundle['acb_id']}")

    assert "conflict" not in ledger_of(bundle, spaces)
    assert again.json() == bundle
    present = ledger_of(await build(client, **asked), spaces)
    assert f"may conflict with: {tabs['decision_id']}" in present


async def test_a_replay_stays_when_what_a_decision_of_it_replaced_is_erased(
    url: str, tenant: str, make_key: conftest.MakeKey, client: httpx.AsyncClient
) -> None:
    tabs = await decide(client, decision="Indent with tabs.")
    gone = await decide(
        client, decision="Use spaces.", session_id="gone", supersedes=tabs["decision_id"]
    )
    last = await decide(client, decision="Let it be.", supersedes=gone["decision_id"])
    bundle = await build(client, sections=["decision_ledger"])
    await erase_session(url, await make_key(tenant, role="admin"), "gone")
    again = await client.get(f"/api/v1/acb/{bundle['acb_id']}")

    assert "Let it be." in ledger_of(bundle, last)
    assert again.json() == bundle
    assert (await found(client, last["decision_id"]))["supersedes"] == tabs["decision_id"]


async def erase_session(url: str, key: str, session_id: str) -> None:
    async with conftest.asking(url, key) as admin:
        done = await admin.post("/api/v1/erasures", json={"session_id": session_id})
    assert done.is_success, done.text
