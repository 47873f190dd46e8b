"""The write path: what a draft becomes, in one transaction."""

import zlib
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

import make
from memoryd.core import db, errors, read, record
from memoryd.core.model import EXCERPT_BYTES, Actor, Caller, Reader, Recorded


async def append(conn: db.Conn, *writes: record.Write) -> list[Recorded]:
    return await record.append(conn, writes[0].event.tenant_id, writes, make.NOW)


async def test_positions_are_dense_and_in_order(conn: db.Conn, tenant: str) -> None:
    for _ in range(3):
        await append(conn, make.write(tenant), make.write(tenant))

    positions = [row[0] for row in await conn.fetch("select position from events order by 1")]
    assert positions == [1, 2, 3, 4, 5, 6]


async def test_recording_times_never_run_backwards(conn: db.Conn, tenant: str) -> None:
    later = make.NOW + timedelta(hours=1)
    await record.append(conn, tenant, [make.write(tenant)], later)
    (answer,) = await record.append(conn, tenant, [make.write(tenant)], make.NOW)

    assert answer.created_at == later


async def test_retrying_a_key_records_nothing_new(conn: db.Conn, tenant: str) -> None:
    (first,) = await append(conn, make.write(tenant, idempotency_key="msg-1"))
    (again,) = await append(conn, make.write(tenant, idempotency_key="msg-1"))

    assert again == first
    assert await conn.fetchval("select count(*) from events") == 1


async def test_a_key_twice_in_one_group_is_one_event(conn: db.Conn, tenant: str) -> None:
    first, again = await append(
        conn,
        make.write(tenant, idempotency_key="msg-1"),
        make.write(tenant, idempotency_key="msg-1"),
    )

    assert again == first


async def test_a_key_reused_for_another_body_is_a_conflict(conn: db.Conn, tenant: str) -> None:
    await append(conn, make.write(tenant, idempotency_key="msg-1"))

    with pytest.raises(errors.Conflict, match="another body"):
        await append(
            conn, make.write(tenant, idempotency_key="msg-1", content={"text": "Something else."})
        )


async def test_the_order_of_keys_in_a_body_does_not_matter(conn: db.Conn, tenant: str) -> None:
    one = {"text": "hello", "a": {"x": 1, "y": 2}}
    other = {"a": {"y": 2, "x": 1}, "text": "hello"}
    (first,) = await append(conn, make.write(tenant, idempotency_key="k", content=one))
    (again,) = await append(conn, make.write(tenant, idempotency_key="k", content=other))

    assert again == first


async def test_a_long_tool_result_keeps_an_excerpt_and_its_bytes(
    conn: db.Conn, tenant: str
) -> None:
    output = "".join(f"line {number}\n" for number in range(20_000))
    write = make.write(
        tenant, kind="tool_result", content={"tool": "bash", "path": "log.txt", "text": output}
    )
    await append(conn, write)

    kept = write.event.content
    assert kept["truncated"] is True
    assert kept["artifact_id"].startswith("art_")
    assert len(kept["excerpt_text"].encode()) <= EXCERPT_BYTES
    assert kept["excerpt_text"].endswith("\n")
    assert kept["line_range"] == [1, kept["excerpt_text"].count("\n")]
    assert await read.blob_of(conn, write.event) == output.encode()
    assert "".join(piece.text for piece in write.chunks) == output


async def test_a_short_tool_result_needs_no_artifact(conn: db.Conn, tenant: str) -> None:
    content = {"tool": "fs.read_file", "path": "README.md", "text": "a\nb\n", "line_range": [7, 8]}
    write = make.write(tenant, kind="tool_result", content=content)

    assert write.artifact is None
    assert write.event.content == {
        "tool": "fs.read_file",
        "path": "README.md",
        "excerpt_text": "a\nb\n",
        "line_range": [7, 8],
        "truncated": False,
    }


async def test_binary_output_is_kept_whole_and_described(conn: db.Conn, tenant: str) -> None:
    output = b"\x89PNG\r\n\x00\xff" * 100
    content = {"tool": "screenshot", "media_type": "image/png"}
    write = make.write(tenant, kind="tool_result", content=content, output=output)
    await append(conn, write)

    assert write.event.content["excerpt_text"] == "[binary output, 800 bytes, image/png]"
    assert await read.blob_of(conn, write.event) == output


async def test_a_tool_may_print_nothing(conn: db.Conn, tenant: str) -> None:
    content = {"tool": "touch", "text": ""}
    (answer,) = await append(conn, make.write(tenant, kind="tool_result", content=content))

    assert answer.chunk_ids == ()


async def test_the_same_bytes_are_kept_once(conn: db.Conn, tenant: str) -> None:
    for _ in range(3):
        await append(conn, make.write(tenant, kind="artifact", content={"text": "same"}))

    assert await conn.fetchval("select count(*) from artifacts") == 3
    assert await conn.fetchval("select count(*) from artifact_pieces") == 1


async def test_pieces_are_compressed_and_bounded(conn: db.Conn, tenant: str) -> None:
    write = make.write(tenant, kind="artifact", content={"name": "a.txt"}, output=b"a" * 2_500_000)

    assert [len(zlib.decompress(piece)) for piece in write.pieces] == [1 << 20, 1 << 20, 402_848]


async def test_nothing_of_a_secret_is_stored(conn: db.Conn, tenant: str) -> None:
    write = make.write(
        tenant, sensitivity="secret", content={"text": "hunter2"}, tags=("hunter2",), refs=("x",)
    )
    await append(conn, write)

    row = await conn.fetchrow("select * from events")
    assert row is not None
    assert "hunter2" not in str(dict(row))
    assert await conn.fetchval("select count(*) from chunks") == 0


async def test_a_decision_takes_its_place_in_the_ledger(conn: db.Conn, tenant: str) -> None:
    first = make.write(tenant, kind="decision", content={"decision": "Use PostgreSQL."})
    await append(conn, first)
    old = f"dec_{first.event.event_id[4:]}"
    second = make.write(
        tenant,
        kind="decision",
        content={"decision": "Use PostgreSQL 18.", "rationale": ["newer"], "supersedes": old},
    )
    await append(conn, second)

    rows = await conn.fetch(
        "select decision_id, until, superseded_by, supersedes from decisions order by decision_id"
    )
    new = f"dec_{second.event.event_id[4:]}"
    assert [tuple(row) for row in rows] == [
        (old, 2, new, None),
        (new, None, None, old),
    ]


async def test_the_text_of_a_decision_has_its_subject_and_reasons(tenant: str) -> None:
    said = {"decision": "Use PostgreSQL.", "subject": "database", "rationale": ["one log"]}
    write = make.write(tenant, kind="decision", content=said)

    assert "".join(one.text for one in write.chunks) == "Use PostgreSQL.\ndatabase\none log"


async def test_superseding_what_is_not_there_is_refused(conn: db.Conn, tenant: str) -> None:
    content = {"decision": "x", "supersedes": "dec_none"}

    with pytest.raises(errors.Invalid, match="no decision"):
        await append(conn, make.write(tenant, kind="decision", content=content))


async def test_superseding_twice_is_a_conflict(conn: db.Conn, tenant: str) -> None:
    first = make.write(tenant, kind="decision", content={"decision": "one"})
    content = {"decision": "two", "supersedes": f"dec_{first.event.event_id[4:]}"}
    await append(conn, first, make.write(tenant, kind="decision", content=content))

    with pytest.raises(errors.Conflict, match="already"):
        await append(conn, make.write(tenant, kind="decision", content=content))


async def test_a_task_changes_only_what_the_update_names(conn: db.Conn, tenant: str) -> None:
    made = make.write(
        tenant, kind="task_update", content={"title": "Ship", "details": "soon"}, refs=("a",)
    )
    task_id = f"tsk_{made.event.event_id[4:]}"
    update = {"task_id": task_id, "status": "doing"}
    await append(
        conn, made, make.write(tenant, kind="task_update", content=update, refs=("a", "b"))
    )

    row = await conn.fetchrow("select status, title, details, refs from tasks where until is null")
    assert row is not None
    assert tuple(row) == ("doing", "Ship", "soon", ["a", "b"])


async def test_updating_an_unknown_task_is_refused(conn: db.Conn, tenant: str) -> None:
    with pytest.raises(errors.Invalid, match="no task"):
        await append(conn, make.write(tenant, kind="task_update", content={"task_id": "tsk_x"}))


async def test_a_key_fills_in_and_forbids_what_it_pins() -> None:
    caller = Caller(tenant_id="t", role="agent", user_id="ada", channel="team")
    write = record.prepare(caller, make.draft(), make.NOW, make.entropy())

    assert (write.event.user_id, write.event.channel) == ("ada", "team")
    with pytest.raises(errors.Forbidden, match="pinned"):
        record.prepare(caller, make.draft(user_id="bob"), make.NOW, make.entropy())


async def test_ids_are_derived_from_the_event(conn: db.Conn, tenant: str) -> None:
    write = make.write(tenant, content={"text": "word " * 1_000})

    again = record.chunks_of(write.event, None)
    assert again == write.chunks
    assert len({piece.chunk_id for piece in write.chunks}) == len(write.chunks) == 5


@pytest.mark.parametrize(
    "statement",
    [
        "update events set kind = 'message'",
        "delete from events",
        "truncate events cascade",
        "update artifacts set size = 0",
        "delete from artifact_pieces",
        "truncate receipts",
    ],
)
async def test_the_log_refuses_to_be_rewritten_by_anyone(
    database: db.Target, statement: str
) -> None:
    for role in (db.APP, db.OWNER, None):
        conn = await db.connect(database, role)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await conn.execute(statement)
        await conn.close()


async def test_what_is_written_is_read_back(conn: db.Conn, tenant: str) -> None:
    write = make.write(tenant, tags=("a", "b", "a"), refs=("evt_1",), ts=make.NOW)
    (answer,) = await append(conn, write)

    found = await read.event(conn, Reader(tenant_id=tenant), answer.event_id)
    assert found.tags == ("a", "b")
    assert found.actor == Actor(type="human", id="ada")
    assert (found.position, found.ts, found.content) == (
        1,
        make.NOW,
        {"text": "We ship on Friday."},
    )


@pytest.mark.parametrize(
    "other",
    [{"channel": "public"}, {"sensitivity": "high"}, {"user_id": "bob"}],
    ids=["another channel", "another sensitivity", "another user"],
)
async def test_a_task_or_decision_is_changed_only_from_where_it_is_seen(
    conn: db.Conn, tenant: str, other: dict[str, Any]
) -> None:
    """Otherwise a private title would end in a public row, and a stranger could overwrite it."""
    task = make.write(tenant, kind="task_update", content={"title": "Ship"})
    decision = make.write(tenant, kind="decision", content={"decision": "one"})
    await append(conn, task, decision)
    update = {"task_id": f"tsk_{task.event.event_id[4:]}", "title": "Mine now"}
    new = {"decision": "two", "supersedes": f"dec_{decision.event.event_id[4:]}"}

    with pytest.raises(errors.Invalid, match="no task"):
        await append(conn, make.write(tenant, kind="task_update", content=update, **other))
    with pytest.raises(errors.Invalid, match="no decision"):
        await append(conn, make.write(tenant, kind="decision", content=new, **other))
