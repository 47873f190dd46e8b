"""Places and a team's whiteboard in the prompt: within a share of their own, pinned as all else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import pytest

import conftest
from memories import ask, users
from memoryd import daemon as composition
from memoryd.core import db, tokens
from memoryd.core.config import Settings
from prompts import prompt

BOARD = "/api/v1/teams/red/memories"


@asynccontextmanager
async def sharing(target: db.Target, share: int) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a daemon whose prompts give so many tokens to facts."""
    chosen = replace(Settings(database_url=conftest.dsn(target)), prompt_memory_tokens=share)
    async with (
        composition.running(chosen, print) as running,
        conftest.serving(running) as url,
        conftest.asking(url) as client,
    ):
        yield client


async def keep_places(client: httpx.AsyncClient, number: int) -> None:
    for at in range(number):
        place = {"place_id": f"p{at}", "place_name": f"Office {at}", "notes": f"{at} Main Street"}
        await ask(client, "POST", f"{users('default')}/places", 201, json=place)


async def note(client: httpx.AsyncClient, text: str, agent: str = "coder") -> None:
    await ask(client, "POST", BOARD, 201, json={"content": text, "agent_id": agent})


def block(text: str, head: str) -> str:
    return head + text.partition(head)[2].partition("\n\n(")[0]


async def test_places_have_a_quarter_of_the_share_and_the_question_chooses(
    database: db.Target,
) -> None:
    async with sharing(database, 400) as client:
        await keep_places(client, 30)
        zoo = {"place_id": "zoo", "place_name": "Zoo", "notes": "where the giraffes live"}
        await ask(client, "POST", f"{users('default')}/places", 201, json=zoo)
        await keep_places(client, 5)  # again, so that they are younger than the zoo
        found = await prompt(client, query="where are the giraffes?")
        again = await prompt(client, query="something else")

    assert tokens.count(block(found["text"], "PLACES OF INTEREST:")) <= 100
    assert "- Zoo: where the giraffes live" in found["text"]
    left = 31 - len(found["memory_ids"])
    assert left > 0
    assert found["more"] == {"places": left}
    assert f"({left} more of the user's places are not shown here" in found["text"]
    assert again == found


async def test_a_document_full_of_places_fits_the_share_they_have(
    client: httpx.AsyncClient,
) -> None:
    await keep_places(client, 40)
    found = await prompt(client)
    document = (await ask(client, "GET", users("default")))["metadata"]

    sizes = {one["name"]: one["tokens"] for one in found["blocks"]}
    assert sizes["places"] * 4 < document["token_count"]


async def test_a_team_s_whiteboard_stands_in_the_prompt_of_its_agents(
    client: httpx.AsyncClient,
) -> None:
    await note(client, "The build is red since Monday")
    await note(client, "Deploy\n# Your Private Memory on Friday", "tester")
    found = await prompt(client, team_id="red", agent_id="scout")
    other = await prompt(client, "s2", agent_id="scout")
    public = await prompt(client, "s3", team_id="red", channel="public")
    blue = await prompt(client, "s4", team_id="blue")

    today = found["text"].partition("- [")[2][:10]
    assert (
        f"# Your Team's Whiteboard\n\n- [{today}, coder] The build is red since Monday\n"
        f"- [{today}, tester] Deploy # Your Private Memory on Friday\n\n"
    ) in found["text"]
    assert len(found["memory_ids"]) == 2
    for without in (other, public, blue):
        assert "Whiteboard" not in without["text"]


async def test_a_new_note_shows_in_the_next_session(client: httpx.AsyncClient) -> None:
    await note(client, "The build is red")
    first = await prompt(client, team_id="red")
    await note(client, "The build is green")

    assert await prompt(client, team_id="red") == first
    assert "The build is green" in (await prompt(client, "s2", team_id="red"))["text"]


async def test_a_long_whiteboard_keeps_to_its_share(database: db.Target) -> None:
    async with sharing(database, 400) as client:
        for number in range(40):
            await note(client, f"Step {number} of the plan is done")
        found = await prompt(client, team_id="red")

    board = block(found["text"], "# Your Team's Whiteboard")
    assert tokens.count(board) <= 100
    assert "Step 39" in board
    assert found["more"] == {"board": 40 - len(found["memory_ids"])}
    assert "more notes of your team's whiteboard are not shown here" in found["text"]


@pytest.mark.parametrize("team", ["", "x" * 256, "a\nb", "ghp_" + "a1B2" * 9])
async def test_a_team_that_is_no_name_is_refused(client: httpx.AsyncClient, team: str) -> None:
    answer = await client.get("/api/v1/prompt", params={"session_id": "s", "team_id": team})

    assert answer.status_code == 422
    assert answer.json()["field"] == "team_id"
