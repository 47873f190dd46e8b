"""What follows a question is found by it: an answer seldom repeats what it was asked."""

import httpx
import pytest

import make
import wire
from memoryd.core import db
from memoryd.daemon import Daemon
from memoryd.search import index

ANSWER = "Xenoblade, since last winter."
QUERY = "which video game does Nate like best?"
SMALL_TALK = ["The printer is out of paper again.", "Tea and cake at four.", "It rains a lot."]


async def met(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, user: str, before: str
) -> float:
    """How well late interaction finds the answer after what was said before it, for this user."""
    owner = {"user_id": user, "channel": "private"}
    events = [
        make.body(session_id=f"{user}-{at}", content={"text": text}, **owner)
        for at, text in enumerate([*SMALL_TALK, before])
    ]
    events.append(events[-1] | {"content": {"text": ANSWER}})
    answer = await client.post(wire.BATCH, json={"events": events})
    assert answer.status_code == 201, answer.text
    await wire.embedded(daemon, tenant)
    asked = {"query": QUERY, "explain": True, **owner}
    found = (await client.post("/api/v1/search", json=asked)).json()["results"]
    return float(next(one["parts"]["maxsim"] for one in found if one["text"] == ANSWER))


@pytest.mark.parametrize("mark", ["?", "\uff1f", "? \n"])
async def test_an_answer_is_raised_halfway_to_its_question(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, mark: str
) -> None:
    said = "Which video game do you like best"
    told = await met(client, daemon, tenant, "ada", f"{said}.")
    raised = await met(client, daemon, tenant, "bob", f"{said}{mark}")

    assert raised - told > (1 - told) / 4


async def test_whether_something_sealed_asks_is_not_told(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    for level in ("none", "low", "high"):
        await wire.post(client, sensitivity=level, content={"text": "Which game do you like best?"})
    async with db.tenant(daemon.pool, tenant) as conn:
        await index.flush(conn, tenant, least=1)
        records = await index.columns(conn, tenant)

    assert records["asks"].tolist() == [1, 1, 0]
