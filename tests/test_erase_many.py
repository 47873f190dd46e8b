"""One user among a hundred others: nothing of them is left, and the others notice nothing."""

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx

import make
from conftest import running
from erasing import carried_out, replayed, rows, uncompressed
from memoryd.core import db
from wire import BATCH, vectors

USERS = 101
GONE = "user042"
BUILD = "/api/v1/acb/build"
WORDS = ("zephyr", "obsidian", "marzipan", "quagmire", "tangerine", "labyrinth", "pendulum")


def secret(user: int, at: int) -> str:
    """A word that nobody else says."""
    return f"{WORDS[at % len(WORDS)]}{user:03}x{at}"


def said(user: int) -> list[dict[str, Any]]:
    own = {"user_id": f"user{user:03}", "session_id": f"session{user:03}"}
    texts = [f"My {secret(user, at)} stands in the garden, number {at}." for at in range(3)]
    lines = 3_000 if f"user{user:03}" == GONE else 3  # an artifact of 78 KB, or none
    output = "\n".join(f"{secret(user, 3)} line {line}" for line in range(lines))
    return [
        *(make.body(**own, content={"text": text}) for text in texts),
        make.body(**own, kind="tool_result", content={"tool": "sh", "text": output}),
        make.body(**own, kind="decision", content={"decision": f"We keep the {secret(user, 4)}."}),
        make.body(**own, kind="task_update", content={"title": f"Water the {secret(user, 5)}"}),
        make.body(**own, channel="team", content={"text": f"Hello all, {secret(user, 6)} here."}),
    ]


async def build(client: httpx.AsyncClient, user: int) -> tuple[str, bytes]:
    """A bundle of what is the user's own, and what the team said of the garden."""
    asked = {
        "user_id": f"user{user:03}",
        "session_id": f"session{user:03}",
        "query_text": f"what stands in the garden, {secret(user, 0)}?",
        "max_tokens": 600,
        "format": "messages",
    }
    answer = await client.post(BUILD, json=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()["acb_id"], answer.content


async def in_files(database: db.Target, words: list[str]) -> list[str]:
    """A search of our own: all that the server and the daemon ever wrote here."""
    folder, oid = (await rows(database, db.query("sweep.data_directory"), owner=None))[0]
    home = Path(folder).parent.parent
    ours = [path for path in home.rglob("*") if path.is_file() and _may_tell(path, oid)]
    assert len(ours) > 300
    raw = ((path, path.read_bytes()) for path in ours)
    return [f"{word} in {path}" for path, read in raw for word in words if word.encode() in read]


def _may_tell(path: Path, oid: str) -> bool:
    """Not the programs, and of the tables those of this database."""
    other = re.search(r"/base/(\d+)/", str(path))
    return "binaries-" not in str(path) and (other is None or other[1] == oid)


async def test_one_user_among_a_hundred_others_is_gone_and_the_others_notice_nothing(
    database: db.Target,
) -> None:
    await uncompressed(database)
    gone = int(GONE.removeprefix("user"))
    async with running(database) as client:
        for user in range(USERS):
            answer = await client.post(BATCH, json={"events": said(user)})
            assert answer.status_code == 201, answer.text
        bundles = dict(
            zip(range(USERS), [await build(client, user) for user in range(USERS)], strict=True)
        )
        await vectors(client)
        outcome = await carried_out(database, "user", GONE, tenant_id="default")
        words = [secret(gone, at) for at in range(7)]
        # Now, since whoever asks by that name later is noted under it in the audit.
        left = await in_files(database, [GONE, "session042", *words])
        replays = await asyncio.gather(
            *(client.get(f"/api/v1/acb/{acb_id}") for acb_id, _ in bundles.values())
        )
        found = await client.post(
            "/api/v1/search", json={"query": secret(gone, 0), "user_id": GONE, "limit": 50}
        )
    shown = {user for user, (_, body) in bundles.items() if secret(gone, 6).encode() in body}

    assert outcome.report is not None and outcome.report.findings == []
    assert outcome.report.raw
    assert outcome.report.words - outcome.report.shared == 2 + len(WORDS)  # two names, seven words
    assert outcome.erasure.events == 7 and outcome.erasure.rows["artifacts"] == 1
    assert shown < set(range(USERS))
    for (user, (_, body)), answer in zip(bundles.items(), replays, strict=True):
        if user == gone or user in shown:
            assert answer.status_code == 410
        else:
            assert answer.content == body
    assert all(secret(gone, 0) not in hit["text"] for hit in found.json()["results"])
    assert await replayed(database) == {}
    assert left == await in_files(database, words) == []
