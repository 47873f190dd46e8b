"""A session's prompt is pinned: the same bytes over calls, restarts and rebuilds."""

import asyncio
from dataclasses import replace

import httpx

import conftest
import make
from conftest import MakeKey
from memories import add
from memoryd import daemon as composition
from memoryd.core import db, tokens
from memoryd.core.config import Settings
from memoryd.core.model import Reader
from memoryd.custody import rebuild
from memoryd.daemon import Daemon
from memoryd.memories import blocks
from memoryd.memories import prompt as prompts
from prompts import NOW, PROMPT, keep, prompt


async def test_two_first_calls_at_once_see_the_same(client: httpx.AsyncClient) -> None:
    await add(client)
    found = await asyncio.gather(
        *(prompt(client) for _ in range(8)),
        *(add(client, subject=f"friend {n}", content=f"Friend {n}") for n in range(8)),
    )

    assert all(one == found[0] for one in found[:8])


async def test_a_pin_is_no_bundle(client: httpx.AsyncClient, daemon: Daemon, tenant: str) -> None:
    await prompt(client)
    async with db.tenant(daemon.pool, tenant) as conn:
        pin_id = await conn.fetchval("select acb_id from receipts where tenant_id = $1", tenant)
    answer = await client.get(f"/api/v1/acb/{pin_id}")

    assert answer.status_code == 404


async def erase(client: httpx.AsyncClient, **what: str) -> None:
    done = await client.post("/api/v1/erasures", json={"sweep": False, **what})
    assert done.status_code == 201, done.text


async def test_a_block_that_held_erased_text_is_broken_and_then_pinned_anew(
    url: str, tenant: str, make_key: MakeKey
) -> None:
    async with conftest.asking(url, await make_key(tenant, role="admin")) as client:
        await add(client, source_conversation_id="talk-1")
        await add(client, content="Alec is the boss", subject="Alec")
        before = await prompt(client)
        await erase(client, session_id="talk-1")
        after = await prompt(client)
        await add(client, content="Bob is a friend", subject="Bob")
        again = await prompt(client)

    assert "Sarah" in before["text"]
    assert "Sarah" not in after["text"]
    assert "Alec is the boss" in after["text"]
    assert again == after


async def test_erasing_the_session_or_the_user_breaks_the_pin(
    url: str, tenant: str, make_key: MakeKey
) -> None:
    async with conftest.asking(url, await make_key(tenant, role="admin")) as client:
        await client.post("/api/v1/events", json=make.body(session_id="s1"))
        await add(client)
        await prompt(client)
        await add(client, content="Alec is the boss", subject="Alec")
        await erase(client, session_id="s1")
        of_session = await prompt(client)
        await erase(client, user_id="default")
        of_user = await prompt(client)

    assert len(of_session["memory_ids"]) == 2
    assert of_user["memory_ids"] == []


async def test_rows_that_are_gone_break_the_pin(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    made = await add(client)
    await prompt(client)
    async with db.tenant(daemon.pool, tenant) as conn:
        await conn.execute("delete from memories where memory_id = $1", made["id"])

    assert (await prompt(client))["memory_ids"] == []


async def fill(client: httpx.AsyncClient) -> None:
    """Facts until the user's document evicts."""
    subjects = [f"friend number {n}" for n in range(40)]
    for at, subject in enumerate(subjects):
        numbers = " ".join(str(at * digit) for digit in range(100, 250))
        await add(client, content=f"{subject} dials {numbers}"[:480], subject=subject)
    found = (await client.get("/api/v1/users/default/memory")).json()["metadata"]
    assert 9_500 < found["token_count"] <= 10_000
    assert found["total_facts"] < len(subjects)


async def test_a_full_document_gives_the_same_bytes_a_thousand_times(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    await fill(client)
    texts, answers = set(), set()
    asked = prompts.Asked(session_id="s1", now=make.NOW)
    for _ in range(100):
        answer = await client.get(PROMPT, params={"session_id": "s1", "now": NOW})
        answers.add(answer.content)
        texts.add(answer.json()["text"])
    for _ in range(900):
        built = await prompts.build(daemon, Reader(tenant_id=tenant), asked)
        frame = blocks.Frame(now=make.NOW)
        texts.add(blocks.text(blocks.blocks(built.remembered, frame)))

    assert (len(texts), len(answers)) == (1, 1)
    assert "friend number 39" in texts.pop()


async def test_a_prompt_is_the_same_after_a_restart_and_a_rebuild(database: db.Target) -> None:
    async with conftest.running(database) as client:
        await fill(client)
        first = await prompt(client)
        await add(client, content="Alec is the boss", subject="Alec")
    async with conftest.running(database) as client:
        restarted = await prompt(client)
    (outcome,) = await rebuild.rebuild(database, lambda *_: None)
    owner = await db.connect(database, None)
    await owner.execute("update view_definition set sha256 = 'older'")
    await owner.close()
    async with conftest.running(database) as client:  # which drops and replays the views
        rebuilt = await prompt(client)

    assert outcome.equal
    assert restarted == rebuilt == first
    assert len(first["memory_ids"]) > 20


async def sharing(target: db.Target, share: int) -> Settings:
    return replace(Settings(database_url=conftest.dsn(target)), prompt_memory_tokens=share)


async def test_what_has_no_room_gives_way_to_what_the_question_is_about(
    database: db.Target,
) -> None:
    chosen = await sharing(database, 300)
    async with (
        composition.running(chosen, print) as running,
        conftest.serving(running) as url,
        conftest.asking(url) as client,
    ):
        for number in range(40):
            said = f"Colleague number {number} works in department {number}"
            await add(client, content=said, subject=f"colleague {number}")
        # Longer than any other, so that it never fills the rest of a room that these leave: how
        # many tokens they have depends on their ids.
        allergic = "The user is allergic to peanuts, has an adrenaline pen in the blue bag"
        peanuts = await add(
            client,
            content=f"{allergic}, and one more in a drawer of the desk at work",
            category="context",
            subject=None,
        )
        for number in range(40, 60):
            said = f"Colleague number {number} works in department {number}"
            await add(client, content=said, subject=f"colleague {number}")
        found = await prompt(client, query="which nuts must the user not eat, peanuts?")
        plain = await prompt(client, "s2")
        again = await prompt(client, query="colleague number 7")

    block = found["text"].partition("## Your Memory")[2].partition("\n\n(")[0]
    assert tokens.count("## Your Memory" + block) <= 300
    assert peanuts["id"] in found["memory_ids"]
    shown = len(found["memory_ids"])
    assert found["more"] == {"facts": 61 - shown}
    assert f"({61 - shown} more of your memories of the user are not shown here" in found["text"]
    assert again == found
    assert peanuts["id"] not in plain["memory_ids"]


async def test_an_agent_s_core_comes_before_its_journal_when_not_all_has_room(
    database: db.Target,
) -> None:
    chosen = await sharing(database, 200)
    async with (
        composition.running(chosen, print) as running,
        conftest.serving(running) as url,
        conftest.asking(url) as client,
    ):
        for number in range(30):
            await keep(running, "default", "scout", "journal", f"Entry {number} of the journal")
        for number in range(3):
            await keep(running, "default", "scout", "core", f"Belief {number} of mine")
        found = await prompt(client, agent_id="scout")

    block = found["text"].partition("# Your Private Memory")[2].partition("\n\n(")[0]
    assert tokens.count("# Your Private Memory" + block) <= 200
    assert [f"- Belief {number} of mine" in block for number in range(3)] == [True] * 3
    assert found["more"] == {"private": 33 - len(found["memory_ids"])}
    assert "- [2026-05-01] Entry 29 of the journal" in block
    assert "Entry 0 of the journal" not in block
