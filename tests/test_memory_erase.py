"""After an erasure, memories are what a replay of the rest makes of them."""

from typing import Any

import pytest

import erasing
import make
from memoryd.core import db

# Every operation, on two facts, a place that is added thrice, and an entry of a journal.
SAID: list[dict[str, Any]] = [
    {"memory_id": "aaaaaaaa", "op": "add", "type": "fact", "text": "Sarah is here", "subject": "S"},
    {"memory_id": "aaaaaaaa", "op": "update", "text": "Sarah left us", "subject": "S"},
    {"memory_id": "aaaaaaaa", "op": "update", "text": "Sarah is back", "subject": "S"},
    {"memory_id": "aaaaaaaa", "op": "restore", "restores": 1},
    {"memory_id": "aaaaaaaa", "op": "delete"},
    {"memory_id": "bbbbbbbb", "op": "add", "type": "fact", "text": "Another one", "subject": "s"},
    {"memory_id": "bbbbbbbb", "op": "evict", "document": 6},
    {"memory_id": "bbbbbbbb", "op": "undelete"},
    {"memory_id": "bbbbbbbb", "op": "deactivate"},
    {"memory_id": "cccccccc", "op": "place", "place_id": "p", "subject": "Home"},
    {"memory_id": "cccccccc", "op": "mention"},
    {"memory_id": "dddddddd", "op": "place", "place_id": "p", "subject": "Den", "text": "sold"},
    {"memory_id": "cccccccc", "op": "mention"},
    {"memory_id": "eeeeeeee", "op": "place", "place_id": "p", "subject": "Old home"},
    {"memory_id": "ffffffff", "op": "add", "type": "journal", "text": "A note of today"},
    {"memory_id": "ffffffff", "op": "promote"},
]


async def remembered(database: db.Target) -> list[str]:
    """Stored, each in its own transaction; returns the events' ids."""
    ids: list[str] = []
    for said in SAID:
        content = dict(said)
        if "restores" in content:
            content["restores"] = ids[content["restores"]]
        if content["op"] in ("mention", "place"):
            content["mention"] = {"conversation_id": "c", "message_id": "m"}
        write = make.write(erasing.TENANT, kind="memory", content=content)
        ids += await erasing.store(database, [write])
    assert len(ids) == len(SAID)
    return ids


@pytest.mark.parametrize("order", [1, -1])
async def test_erasing_any_event_of_a_memory_leaves_what_a_replay_makes(
    database: db.Target, order: int
) -> None:
    ids = await remembered(database)
    for event_id in ids[::order]:
        await erasing.erased(database, "event", event_id)

        assert await erasing.replayed(database) == {}
    assert await erasing.rows(database, "select from memories") == []
    assert await erasing.rows(database, "select from mentions") == []


@pytest.mark.parametrize("place", [0, 1, 2, 3, 5, 9, 11])
async def test_erasing_one_event_keeps_the_rest_of_the_memory(
    database: db.Target, place: int
) -> None:
    ids = await remembered(database)
    await erasing.erased(database, "event", ids[place])

    assert await erasing.replayed(database) == {}
    left = await erasing.rows(database, "select text, subject from memories")
    gone = (SAID[place].get("text"), SAID[place].get("subject"))
    assert left
    assert gone not in {tuple(row) for row in left}


@pytest.mark.parametrize("memory_id", ["aaaaaaaa", "bbbbbbbb", "cccccccc", "ffffffff"])
async def test_erasing_a_memory_takes_every_version_of_it(
    database: db.Target, memory_id: str
) -> None:
    await remembered(database)
    texts = await erasing.rows(
        database, "select text, subject from memories where memory_id = $1", memory_id
    )
    await erasing.erased(database, "memory", memory_id)
    left = await erasing.rows(database, "select content from events")

    words = {word for row in texts for word in row if word and len(word) > 1}
    assert words
    assert await erasing.replayed(database) == {}
    assert not any(word in str(row["content"]) for row in left for word in words)
    assert await erasing.rows(database, "select from memories")
