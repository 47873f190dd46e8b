"""A3, Decision Supersession: only the newest decision is in the bundle, its lineage intact."""

import httpx

from test_bundle import build, record, section

CHOICES = ("Use MySQL for storage.", "Use SQLite for storage.", "Use PostgreSQL for storage.")


async def test_only_the_newest_decision_is_shown(client: httpx.AsyncClient) -> None:
    ids: list[str] = []
    for choice in CHOICES:
        content = {"decision": choice, **({"supersedes": ids[-1]} if ids else {})}
        decided = await record(client, kind="decision", content=content)
        ids.append(f"dec_{decided['event_id'][4:]}")
    bundle = await build(client, query_text="which storage do we use?", session_id="next")
    then = await build(client, query_text="which storage do we use?", session_id="next", as_of=1)
    lineage = (await client.get(f"/api/v1/decisions/{ids[1]}")).json()

    assert [item["decision_id"] for item in section(bundle, "decision_ledger")] == [ids[2]]
    assert "MySQL" not in str(bundle["sections"])
    assert "SQLite" not in str(bundle["sections"])
    gone = [one for one in bundle["omissions"] if one["reason"] == "superseded"]
    assert gone[0]["count"] == 2
    assert [item["decision_id"] for item in section(then, "decision_ledger")] == [ids[0]]
    assert (lineage["supersedes"], lineage["superseded_by"]) == (ids[0], ids[2])
