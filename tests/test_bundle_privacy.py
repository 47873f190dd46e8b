"""Nothing of a row that the reader may not see is anywhere in a bundle; it is only counted."""

import itertools
from typing import Any

import httpx
import pytest

import make
from memoryd.core import db, model, record
from memoryd.daemon import Daemon
from test_bundle import build, section
from wire import BATCH

USERS = ("ada", "bob")
QUESTION = "which walrus sleeps in the harbour?"

# Design §8, written out once more: what a reader in a channel may see of each channel's rows.
SEEN = {
    "public": {"public": "none low"},
    "agent": {"public": "none low", "team": "none low", "agent": "none low"},
    "team": dict.fromkeys(("public", "team", "agent"), "none low high"),
    "private": dict.fromkeys(("public", "team", "agent", "private"), "none low high"),
}


def visible(row: dict[str, Any], channel: str, user: str) -> bool:
    allowed = SEEN[channel].get(row["channel"], "").split()
    own = row["channel"] != "private" or row["user_id"] == user
    return row["sensitivity"] in allowed and own


def rows() -> list[dict[str, Any]]:
    """A row of every kind for every channel, sensitivity and user, each with words of its own."""
    found = []
    places = itertools.product(model.CHANNELS, model.SENSITIVITIES, USERS)
    for number, (channel, sensitivity, user) in enumerate(places):
        mark = f"mark{number:03}x"
        said = f"The walrus {mark} sleeps in the harbour."
        own = {"channel": channel, "sensitivity": sensitivity, "user_id": user}
        contents = {
            "message": {"text": said},
            "tool_call": {"tool": "look", "at": said},
            "tool_result": {"tool": "look", "path": mark, "text": f"{said}\n" * 90},
            "artifact": {"name": mark, "text": said},
            "decision": {"decision": said, "rationale": [mark]},
            "task_update": {"title": said, "details": mark},
        }
        found += [
            {**own, "mark": mark, "kind": kind, "content": content, "agent_id": mark}
            for kind, content in contents.items()
        ]
    return found


def texts(number: int, channel: str, sensitivity: str, user: str) -> list[dict[str, Any]]:
    """What is edited, handed over and summed up, in channels that their doors would not choose."""
    mark = f"text{number:03}x"
    own = {"channel": channel, "sensitivity": sensitivity, "user_id": user, "mark": mark}
    packet = {"to_agent": "reader", "note": "", "packet": f"The walrus {mark}."}
    view = {"name": f"identity.{mark}", "owner": "", "text": f"The walrus {mark}."}
    summary = {"about": "s1", "text": f"The walrus {mark} sleeps."}
    return [
        {**own, "kind": "handoff", "content": packet},
        {**own, "kind": "view", "content": view},
        {**own, "kind": "summary", "content": summary},
    ]


@pytest.fixture
async def written(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> list[tuple[dict[str, Any], str]]:
    """Every row, and the id of its event."""
    every = rows()
    events = [
        make.body(
            **{name: value for name, value in row.items() if name != "mark"},
            actor={"type": "human", "id": f"by-{row['mark']}"},
            tags=[row["mark"]],
        )
        for row in every
    ]
    answer = await client.post(BATCH, json={"events": events})
    assert answer.status_code == 201, answer.text
    found = [one["event_id"] for one in answer.json()["events"]]
    places = itertools.product(model.CHANNELS, ("none", "low", "high"), USERS)
    more = [row for number, place in enumerate(places) for row in texts(number, *place)]
    writes = [
        make.write(tenant, **{name: value for name, value in row.items() if name != "mark"})
        for row in more
    ]
    async with db.tenant(daemon.pool, tenant) as conn:
        await record.append(conn, tenant, writes, make.NOW)
    return [
        *zip(every, found, strict=True),
        *((r, w.event.event_id) for r, w in zip(more, writes, strict=True)),
    ]


READERS = list(itertools.product(model.CHANNELS, USERS))


@pytest.mark.parametrize("asked", [{}, {"query_text": QUESTION}], ids=["fast", "retrieved"])
async def test_a_hidden_row_is_counted_and_nowhere(
    client: httpx.AsyncClient, written: list[tuple[dict[str, Any], str]], asked: dict[str, str]
) -> None:
    for channel, user in READERS:
        reader = {"channel": channel, "user_id": user, "agent_id": "reader", "format": "messages"}
        answer = await client.post(
            "/api/v1/acb/build", json={"session_id": "s1", **reader, **asked}
        )
        hidden = [one for one in written if not visible(one[0], channel, user)]

        assert answer.status_code == 200
        for row, event_id in hidden:
            assert row["mark"] not in answer.text, (channel, user, row)
            assert event_id[4:] not in answer.text
        assert "[redacted:" not in answer.text
        elsewhere = ("view",) if asked else ("view", "summary")  # not of this agent, not a turn
        told = [row["kind"] for row, _ in hidden if row["sensitivity"] != "secret"]
        least = sum(kind not in elsewhere for kind in told)
        assert answer.json()["provenance"]["hidden"] >= least, (channel, user)


async def test_what_may_be_seen_is_there(
    client: httpx.AsyncClient, written: list[tuple[dict[str, Any], str]]
) -> None:
    """Otherwise an empty bundle would pass: every visible decision, task and packet is shown."""
    for channel, user in READERS:
        bundle = await build(client, channel=channel, user_id=user, agent_id="reader")
        for kind, name in (
            ("decision", "decision_ledger"),
            ("task_update", "task_state"),
            ("handoff", "handoff_packet"),
        ):
            shown = " ".join(one["text"] for one in section(bundle, name))
            expected = {
                row["mark"]
                for row, _ in written
                if row["kind"] == kind and visible(row, channel, user)
            }

            assert {mark for mark in expected if mark not in shown} == set()
            assert len(section(bundle, name)) == len(expected)


async def test_an_identity_is_seen_as_its_channel_allows(
    client: httpx.AsyncClient, written: list[tuple[dict[str, Any], str]]
) -> None:
    views = [row for row, _ in written if row["kind"] == "view"]
    for row, (channel, user) in itertools.product(views, READERS[::2]):
        bundle = await build(
            client,
            channel=channel,
            user_id=user,
            agent_id=row["mark"],
            sections=["identity"],
        )
        seen = visible(row, channel, user)

        assert bool(section(bundle, "identity")) == seen, (row, channel, user)
        assert (row["mark"] in str(bundle)) == seen


async def test_what_others_hide_takes_nobodys_place(
    client: httpx.AsyncClient,
) -> None:
    """However many private decisions and tasks the others have, and however new."""
    own = [
        make.body(user_id="ada", kind="decision", content={"decision": "Ship on Friday."}),
        make.body(user_id="ada", kind="task_update", content={"title": "Ship it"}),
        make.body(user_id="ada", content={"text": "We ship."}),
    ]
    others = [
        make.body(user_id="bob", kind=kind, content={name: f"Bob's {number}"})
        for number in range(320)
        for kind, name in (("decision", "decision"), ("task_update", "title"), ("message", "text"))
    ]
    for events in (own, others):
        answer = await client.post(BATCH, json={"events": events})
        assert answer.status_code == 201, answer.text
    bundle = await build(client, user_id="ada")

    assert [one["text"].splitlines()[1] for one in section(bundle, "decision_ledger")] == [
        "Ship on Friday."
    ]
    assert len(section(bundle, "task_state")) == len(section(bundle, "recent_window")) == 1
    assert "Bob" not in str(bundle)
    assert bundle["provenance"]["hidden"] >= 600
