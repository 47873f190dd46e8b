"""Erasure: what is erased leaves every table, and what is left is what a replay would make."""

import asyncpg
import pytest

import make
from erasing import (
    TENANT,
    History,
    carried_out,
    erased,
    indexed,
    owning,
    replayed,
    rows,
    store,
    uncompressed,
    write,
)
from memoryd.core import db
from memoryd.custody import erase_act, erasure, keys, verify

KEYS = "select key from token_codes"
LIVING = "select position, event_id, user_id, content from events where kind <> 'erasure'"


@pytest.mark.parametrize("seed", range(6))
async def test_views_after_an_erasure_are_those_of_a_replay(database: db.Target, seed: int) -> None:
    kept = await store(database, History(seed).grow(80))
    if seed % 3 == 2:
        await indexed(database)
    what, name = [("user", "bob"), ("session", "s1"), ("event", kept[seed * 3])][seed % 3]
    done = await erased(database, what, name)  # type: ignore[arg-type]
    left = await rows(database, LIVING)

    assert done.erasure.events > 0
    assert len(left) == len(kept) - done.erasure.events
    assert await replayed(database) == {}
    assert await rows(database, LIVING) == left


async def test_nothing_is_left_in_tables_or_files(database: db.Target) -> None:
    await uncompressed(database)
    long = "the heliotrope hides xylophones " * 400
    await store(
        database,
        [
            write("ada", "s1", f"zanzibarquux {long}", tags=("wolframite",)),
            write("bob", "s1", "Bob says something ordinary."),
            write("ada", "s2", "The parallelepiped is mine.", channel="team"),
        ],
    )
    await indexed(database)
    outcome = await carried_out(database, "user", "ada")

    assert outcome.report is not None and outcome.swept is not None
    assert outcome.report.findings == []
    assert outcome.report.raw and outcome.report.file_bytes > 1_000_000
    assert outcome.report.words == 4 and outcome.report.shared == 0
    assert outcome.swept.wal
    assert await replayed(database) == {}


async def test_words_that_the_server_says_of_itself_are_not_taken_for_the_users(
    database: db.Target,
) -> None:
    """They stand in its settings and in its log."""
    await store(database, [write("ada", "s1", "listen_addresses autovacuum checkpoint")])
    outcome = await carried_out(database, "user", "ada")

    assert outcome.report is not None
    assert outcome.report.raw and outcome.report.words == 3
    assert outcome.report.findings == []


async def test_without_a_sweep_the_files_still_tell(database: db.Target) -> None:
    await uncompressed(database)
    await store(database, [write("ada", "s1", "The zanzibarquux is a parallelepiped.")])
    steps = erasure.Steps(sweep=False, verify=True)
    outcome = await carried_out(database, "user", "ada", steps)

    assert outcome.report is not None
    assert any("/pg_wal/" in found for found in outcome.report.findings)
    assert any("/base/" in found for found in outcome.report.findings)


@pytest.mark.parametrize(
    "leak",
    [
        "update chunks set text = 'about the zanzibarquux' where position = 2",
        "update names set name = 'zanzibarquux' where name_id = 0",
        "create table memoryd.later as select 't' tenant_id, '[\"a zanzibarquux\"]'::jsonb said",
        "create table memoryd.later as select 't' tenant_id, array['a zanzibarquux'] said",
        "create table memoryd.later as select 't' tenant_id, 'a zanzibarquux'::bytea said",
    ],
)
async def test_a_word_that_is_left_in_any_table_is_found(database: db.Target, leak: str) -> None:
    gone = write("ada", "s1", "The zanzibarquux is hers.")
    await store(database, [gone, write("bob", "s1", "Bob says something ordinary.")])
    await indexed(database)
    done = await erased(database, "user", "ada", remember=True)
    async with owning(database) as conn, conn.transaction():
        await db.set_tenant(conn, TENANT)
        await conn.execute(leak)
    report = await verify.verify(
        db.Target(database.arguments, embedded=False), TENANT, None, None, done.gone
    )

    assert len(report.findings) == 1 and not report.raw


async def test_what_others_said_too_proves_nothing(database: db.Target) -> None:
    await store(
        database,
        [
            write("ada", "s1", "The zanzibarquux is hers."),
            write("bob", "s1", "No, the zanzibarquux is mine."),
        ],
    )
    outcome = await carried_out(database, "user", "ada")

    assert outcome.report is not None and outcome.report.clean
    assert (outcome.report.words, outcome.report.shared) == (1, 1)


async def test_a_tombstone_keeps_its_place_and_nothing_else(database: db.Target) -> None:
    await store(
        database,
        [
            write("bob", "s1", "One."),
            write("ada", "s1", "Two.", tags=("x",), idempotency_key="k", refs=("evt_9",)),
        ],
    )
    before = await rows(database, "select event_id, position, recorded_at from events")
    done = await erased(database, "user", "ada")
    after = await rows(database, "select * from events order by position")

    assert [tuple(row)[1:3] for row in after[:2]] == [tuple(row)[:2] for row in before]
    assert after[1]["recorded_at"] == after[1]["ts"] == before[1]["recorded_at"]
    assert after[1]["content"] == {"erased_by": done.erasure.erasure_id}
    assert after[1]["user_id"] == after[1]["session_id"] == after[1]["actor_id"] == ""
    assert (after[1]["tags"], after[1]["refs"], after[1]["idempotency_key"]) == ([], [], None)
    assert after[2]["actor_id"] == "key_1" and "ada" not in str(after[2]["content"])
    assert after[2]["content"]["erased"]["fingerprint"] == erase_act.fingerprint(
        after[2]["event_id"], "ada"
    )


async def test_texts_made_of_what_is_erased_go_too_and_what_is_made_of_those(
    database: db.Target,
) -> None:
    said = write("ada", "s1", "Two.", channel="team")
    summed = make.write(
        TENANT, kind="summary", content={"about": "s1", "text": "They said two."},
        refs=(said.event.event_id,), user_id="bob", channel="team",
    )  # fmt: skip
    packet = make.write(
        TENANT, kind="handoff", content={"to_agent": "b", "note": "", "packet": "Two."},
        refs=(summed.event.event_id,), user_id="bob", channel="team",
    )  # fmt: skip
    await store(database, [said, write("bob", "s1", "One."), summed, packet])
    done = await erased(database, "user", "ada")
    left = await rows(database, LIVING)

    assert done.erasure.events == 3
    assert [row["user_id"] for row in left] == ["bob"]
    assert await rows(database, "select from summaries union all select from handoffs") == []


async def test_what_followed_an_erased_turn_is_encoded_anew(database: db.Target) -> None:
    turns = [write("ada", "s1", text) for text in ("The umbrella hides.", "Where?", "Over there.")]
    await store(database, turns)
    await indexed(database)
    before = [row["key"] for row in await rows(database, KEYS)]
    await erased(database, "event", turns[0].event.event_id)
    after = [row["key"] for row in await rows(database, KEYS)]
    never = await rows(database, "select 1 from code_segments where docs = 3")

    assert len(before) == 3 and len(after) == 2
    assert len(set(before) & set(after)) == 1  # of the last turn, whose turn before is still there
    assert len(never) == 1


async def test_pieces_that_another_artifact_shares_stay(database: db.Target) -> None:
    same, own = b"\xff\x00" * 99, b"\xfe\x00" * 99
    await store(
        database,
        [
            make.write(TENANT, kind="artifact", content={"name": name}, output=out, user_id=user)
            for user, name, out in [("ada", "x", same), ("bob", "y", same), ("ada", "z", own)]
        ],
    )
    done = await erased(database, "user", "ada")

    assert done.erasure.rows["artifacts"] == 2
    assert done.erasure.rows["artifact_pieces"] == 1
    assert await replayed(database) == {}


async def test_a_dry_run_counts_exactly_and_changes_nothing(database: db.Target) -> None:
    await store(database, History(3).grow(60))
    await indexed(database)
    tried = await erased(database, "user", "bob", dry_run=True)
    left = await rows(database, LIVING)
    done = await erased(database, "user", "bob")

    assert tried.erasure.erasure_id is None
    assert tried.erasure.rows == done.erasure.rows
    assert len(await rows(database, LIVING)) == len(left) - done.erasure.events


async def test_erasing_again_finds_nothing_and_records_nothing(database: db.Target) -> None:
    await store(database, [write("ada", "s1", "Two.")])
    await erased(database, "user", "ada")
    before = await rows(database, "select * from events")
    again = await erased(database, "user", "ada")

    assert again.erasure.erasure_id is None
    assert await rows(database, "select * from events") == before


@pytest.mark.parametrize("role", [db.APP, db.OWNER, None])
@pytest.mark.parametrize(
    "statement",
    [
        "update events set content = '{}'",
        "delete from events",
        "truncate events cascade",
        "delete from artifacts",
        "update receipts set items = '{}'",
    ],
)
async def test_the_log_is_rewritten_by_no_one_else(
    database: db.Target, role: str | None, statement: str
) -> None:
    await store(database, [write("ada", "s1", "Two."), write("bob", "s1", "One.")])
    done = await erased(database, "user", "ada")
    conn = await db.connect(database, role)
    async with conn.transaction():
        await db.set_tenant(conn, TENANT)
        await conn.execute(db.query("erase.name_act"), done.erasure.erasure_id)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await conn.execute(statement)
    await conn.close()


async def test_even_an_erasure_moves_nothing_in_the_log(database: db.Target) -> None:
    await store(database, [write("ada", "s1", "Two.")])
    async with owning(database) as conn, conn.transaction():
        await erase_act.begin(conn, TENANT, "me", now=make.NOW, entropy=make.entropy())
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="keeps its place"):
            await conn.execute("update events set position = 7 where position = 1")


async def test_a_tenant_goes_whole_and_its_neighbour_stays(database: db.Target) -> None:
    await store(database, History(1).grow(40))
    other = make.write("other", content={"text": "We stay."})
    await store(database, [other], tenant_id="other")
    await indexed(database)
    async with owning(database) as conn, conn.transaction():
        await db.set_tenant(conn, TENANT)
        given = {"tenant_id": TENANT, "role": "admin", "secret": "s" * 43, "now": make.NOW}
        await keys.create(conn, **given)  # type: ignore[arg-type]
    head = len(await rows(database, "select from events"))
    outcome = await carried_out(database, "tenant", TENANT)
    left = await rows(database, "select position, kind from events order by position")

    assert outcome.report is not None and outcome.report.clean
    assert outcome.erasure.rows["keys"] == 1 and outcome.erasure.rows["events"] == head
    assert left[0]["position"] == head + 1
    assert {row["kind"] for row in left} == {"erasure"}
    assert len(await rows(database, "select from chunks", tenant_id="other")) == 1
    assert await replayed(database) == {}
