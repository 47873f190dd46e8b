"""A12, Dedupe Prevention: the same content recorded 50 times costs its tokens once."""

import httpx

import make
from test_bundle import build, record

TEXT = "The harbour master closes the gate at nine, except on market days, when it stays open."


async def test_fifty_copies_cost_as_much_as_one(client: httpx.AsyncClient) -> None:
    await record(client, content={"text": TEXT})
    once = await build(client, query_text="when does the gate close?")
    copies = [
        make.body(content={"text": TEXT}, session_id="s1" if number % 2 else f"s{number}")
        for number in range(49)
    ]
    await client.post("/api/v1/events/batch", json={"events": copies})
    often = await build(client, query_text="when does the gate close?")

    assert str(often["sections"]).count("harbour master") == 1
    assert often["token_used_est"] == once["token_used_est"]
    duplicates = [one for one in often["omissions"] if one["reason"] == "duplicate"]
    assert sum(one["count"] for one in duplicates) >= 49


async def test_near_copies_cost_once_too(client: httpx.AsyncClient) -> None:
    for word in ("please", "friends", "everyone", "again", "thanks"):
        told = f"{TEXT} Every visitor has to be out by then, and so have the boats, {word}."
        await record(client, content={"text": told}, session_id=word)
    bundle = await build(client, query_text="when does the gate close?", session_id="next")

    assert str(bundle["sections"]).count("harbour master") == 1
