"""Scrub: a log from before the filter loses its secrets, and keeps everything else."""

import hashlib
import secrets
from dataclasses import replace
from typing import Any

import make
from erasing import (
    TENANT,
    indexed,
    owning,
    replayed,
    rows,
    silent,
    store,
    uncompressed,
)
from memoryd.core import db, record
from memoryd.core.model import Reader
from memoryd.custody import files, scrub, sweep, verify
from memoryd.seal.store import pieces_of
from memoryd.seal.vault import Vault

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
WIFI = "Sommer2024!"


def older(text: str, *, output: bytes | None = None, **given: Any) -> record.Write:
    """As a version without the filter wrote it."""
    content = {"text": "placeholder"} if output is None else {"tool": "sh"}
    write = make.write(TENANT, **{"content": content, "output": output and b"x" * 99_999, **given})
    said = {name: text if value == "placeholder" else value
            for name, value in write.event.content.items()}  # fmt: skip
    event = replace(write.event, content=said, tags=given.get("raw_tags", write.event.tags))
    artifact = write.artifact
    if output is not None and artifact is not None:
        digest = hashlib.sha256(output).digest()
        artifact = replace(artifact, digest=digest, size=len(output))
        event.content["excerpt_text"] = output.decode()[:60_000]
    return replace(
        write,
        event=event,
        artifact=artifact,
        pieces=() if output is None else pieces_of(output),
        chunks=record.chunks_of(event, output),
    )


async def scrubbed(target: db.Target, dry_run: bool = False) -> scrub.Findings:
    async with owning(target) as conn:
        found = await scrub.search(conn, TENANT, silent)
        if not dry_run:
            await scrub.scrub(conn, found, now=make.NOW, entropy=make.entropy)
    return found


async def everything(target: db.Target) -> str:
    """All that any table says, as PostgreSQL shows it, with pieces unpacked."""
    report = verify.Report()
    async with owning(target, None) as conn, conn.transaction():
        tables = await conn.fetch(db.query("verify.columns"))
        met = set()
        for table in tables:
            sought = {TOKEN.encode(), WIFI.rstrip("!").encode()}
            met |= await verify._read(conn, report, table["name"], table["columns"], sought)
    return b" ".join(met).decode()


async def test_a_secret_leaves_every_table_and_the_sentence_stays(database: db.Target) -> None:
    await store(
        database,
        [
            older(f"Use {TOKEN} to push."),
            older("We ship on Friday."),
            older(f"the wifi password is {WIFI} and it works"),
        ],
    )
    await indexed(database)
    before = await everything(database)
    found = await scrubbed(database)
    said = await rows(database, "select text, position from chunks order by position")

    assert before != "" and await everything(database) == ""
    assert [row["text"] for row in said] == [
        "Use [redacted:github-token] to push.",
        "We ship on Friday.",
        "the wifi password is [redacted:password] and it works",
    ]
    assert len(found.events) == 2 and set(found.rules) == {"github-token", "password"}
    assert await replayed(database) == {}


async def test_views_and_artifacts_are_redone(database: db.Target) -> None:
    decision = make.write(TENANT, kind="decision", content={"decision": "placeholder"})
    said = {"decision": f"We deploy with {TOKEN}."}
    decision = replace(decision, event=replace(decision.event, content=said))
    output = ("line\n" * 20_000 + f"token {TOKEN}\n").encode()
    result = older("", kind="tool_result", output=output)
    await store(database, [decision, result])
    await scrubbed(database)
    (kept,) = await rows(database, "select decision from decisions")
    (artifact,) = await rows(database, "select digest, size from artifacts")
    pieces = await rows(database, "select digest from artifact_pieces")

    assert kept["decision"] == "We deploy with [redacted:github-token]."
    assert {row["digest"] for row in pieces} == {artifact["digest"]}
    assert artifact["size"] != len(output)
    assert await everything(database) == ""
    assert await replayed(database) == {}


async def test_what_is_sealed_is_scrubbed_and_sealed_again(database: db.Target) -> None:
    target = replace(database, vault=Vault(lambda: [b"k" * 32], None, secrets.token_bytes))
    output = ("line\n" * 20_000 + f"token {TOKEN}\n").encode()
    await store(
        target,
        [
            older(f"Use {TOKEN} to push.", sensitivity="high"),
            older("", kind="tool_result", output=output, sensitivity="high"),
        ],
    )
    found = await scrubbed(target)
    async with owning(target) as conn, conn.transaction():
        await db.set_tenant(conn, TENANT)
        told = await conn.fetch("select text, event_id from chunks order by position, ordinal")
        [event] = await conn.fetch("select event_id, content from events where position = 1")

    assert found.rules == {"github-token": 2}
    assert event["content"] == {"text": "Use [redacted:github-token] to push."}
    assert told[0]["text"] == "Use [redacted:github-token] to push."
    assert TOKEN not in str(told) and told[-1]["text"].endswith("token [redacted:github-token]\n")
    assert await rows(database, "select 1 from chunks where text like '%redacted%'") == []
    assert await replayed(target) == {}


async def test_a_dry_run_names_events_and_rules_and_changes_nothing(database: db.Target) -> None:
    (event_id,) = await store(database, [older(f"Use {TOKEN} to push.")])
    found = await scrubbed(database, dry_run=True)

    assert (found.events, found.rules) == ([event_id], {"github-token": 1})
    assert TOKEN not in str(found)
    assert TOKEN in await everything(database)


async def test_each_scrubbed_event_has_an_erasure_that_names_no_secret(database: db.Target) -> None:
    events = await store(database, [older(f"Use {TOKEN}."), older(f"Or {TOKEN}, too.")])
    await scrubbed(database)
    again = await scrubbed(database)
    acts = await rows(
        database, "select content from events where kind = 'erasure' order by position"
    )

    assert [row["content"]["erased"]["reason"] for row in acts] == [
        f"{event_id}: github-token" for event_id in events
    ]
    assert again.events == []


async def test_questions_and_idempotency_keys_are_scrubbed(database: db.Target) -> None:
    write = make.write(TENANT, idempotency_key="placeholder")
    await store(database, [replace(write, idempotency_key=TOKEN)])
    async with owning(database) as conn, conn.transaction():
        await db.set_tenant(conn, TENANT)
        reader = Reader(tenant_id=TENANT, channel="private", user_id="ada", agent_id="bot")
        asked = {"reader": vars(reader), "asked": {"query_text": f"what does {TOKEN} open?"}}
        made = {"sections": {}, "provenance": {"query_terms": [TOKEN.lower()]}}
        await conn.execute(
            "insert into receipts values ($1, 'acb_1', $2, 1, $3, $4)",
            *(TENANT, make.NOW, asked, made),
        )
    found = await scrubbed(database)
    (kept,) = await rows(database, "select inputs, items from receipts")

    assert (len(found.events), found.questions) == (1, ["acb_1"])
    assert kept["inputs"]["asked"]["query_text"] == "what does [redacted:github-token] open?"
    assert TOKEN.lower() not in str(kept["items"])
    assert await everything(database) == ""


async def test_a_secret_in_a_name_is_told_and_left_to_an_erasure(database: db.Target) -> None:
    write = older("We ship on Friday.")
    await store(database, [replace(write, event=replace(write.event, session_id=TOKEN))])
    found = await scrubbed(database)

    assert found.handles == [write.event.event_id]
    assert TOKEN in await everything(database)


async def test_after_the_sweep_no_file_has_it(database: db.Target) -> None:
    await uncompressed(database)
    await store(database, [older(f"Use {TOKEN} to push."), older("What then?")])
    await indexed(database)
    await scrubbed(database)
    await sweep.sweep(database, TENANT, now=make.NOW, entropy=make.entropy(), progress=silent)
    report = verify.Report()
    async with owning(database, None) as conn:
        await files.search(conn, report, [TOKEN.encode()])

    assert report.findings == [] and report.files > 300


async def test_vectors_of_what_followed_are_made_anew(database: db.Target) -> None:
    await store(database, [older(f"Use {TOKEN} to push."), older("What then?")])
    await indexed(database)
    before = {row["key"] for row in await rows(database, "select key from token_codes")}
    await scrubbed(database)
    await indexed(database)
    after = {row["key"] for row in await rows(database, "select key from token_codes")}

    assert len(before) == len(after) == 2
    assert before.isdisjoint(after)
