"""A3, Decision Supersession: only the newest decision is in the bundle, its lineage intact."""

from typing import Any

import httpx

import wire
from test_bundle import build, record, section

CHOICES = ("Use MySQL for storage.", "Use SQLite for storage.", "Use PostgreSQL for storage.")


def lineage(decision: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What it replaced, and what replaced it, oldest first."""
    line = decision["lineage"]
    ancestors, descendants = (
        [one["decision_id"] for one in line[side]] for side in ("ancestors", "descendants")
    )
    return ancestors, descendants


async def test_only_the_newest_decision_is_shown(client: httpx.AsyncClient) -> None:
    ids: list[str] = []
    for choice in CHOICES:
        content = {"decision": choice, **({"supersedes": ids[-1]} if ids else {})}
        decided = await record(client, kind="decision", content=content)
        ids.append(f"dec_{decided['event_id'][4:]}")
    bundle = await build(client, query_text="which storage do we use?", session_id="next")
    then = await build(client, query_text="which storage do we use?", session_id="next", as_of=1)
    first, middle, last = [await wire.found(client, one) for one in ids]

    assert [item["decision_id"] for item in section(bundle, "decision_ledger")] == [ids[2]]
    assert "MySQL" not in str(bundle["sections"])
    assert "SQLite" not in str(bundle["sections"])
    gone = [one for one in bundle["omissions"] if one["reason"] == "superseded"]
    assert gone[0]["count"] == 2
    assert [item["decision_id"] for item in section(then, "decision_ledger")] == [ids[0]]
    assert (middle["supersedes"], middle["superseded_by"]) == (ids[0], ids[2])
    assert lineage(first) == ([], ids[1:])
    assert lineage(middle) == (ids[:1], ids[2:])
    assert lineage(last) == (ids[:2], [])
