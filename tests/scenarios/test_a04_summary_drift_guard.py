"""A4, Summary Drift Guard: the source beats the drifted summary."""

import httpx

from test_bundle import build, record, section

QUESTION = "which port does the staging server listen on?"


async def summarize(client: httpx.AsyncClient, text: str, *cites: str) -> None:
    asked = {"session_id": "s1", "text": text, "cites": cites}
    answer = await client.post("/api/v1/summaries", json=asked)
    assert answer.status_code == 201, answer.text


async def test_a_summary_stands_below_what_it_cites(client: httpx.AsyncClient) -> None:
    source = await record(client, content={"text": "Staging listens on port 8443 since Monday."})
    await summarize(
        client, "The staging server listens on port 8080, the staging server!", source["event_id"]
    )
    bundle = await build(client, query_text=QUESTION, session_id="next")

    texts = [item["text"] for item in section(bundle, "retrieved_evidence")]
    assert ["8443" in text for text in texts] == [True, False]


async def test_in_its_own_conversation_the_source_is_enough(client: httpx.AsyncClient) -> None:
    """There the source stands below the evidence, and the summary would stand above it."""
    source = await record(client, content={"text": "Staging listens on port 8443 since Monday."})
    await summarize(client, "The staging server listens on port 8080!", source["event_id"])
    bundle = await build(client, query_text=QUESTION)

    assert "8443" in section(bundle, "recent_window")[0]["text"]
    assert "8080" not in str(bundle["sections"])
    assert [(one["reason"], one["count"]) for one in bundle["omissions"]] == [("duplicate", 1)]


async def test_nor_does_it_stand_above_a_source_that_the_question_did_not_find(
    client: httpx.AsyncClient,
) -> None:
    source = await record(client, content={"text": "It is 8443 since Monday."})
    for number in range(250):  # what is found instead
        text = f"Port {number} of the harbour."
        await record(client, content={"text": text}, session_id="noise")
    await summarize(client, "The staging server listens on port 8080!", source["event_id"])
    bundle = await build(client, query_text=QUESTION)

    assert "8443" in section(bundle, "recent_window")[0]["text"]
    assert len(section(bundle, "retrieved_evidence")) > 150
    assert "8080" not in str(bundle["sections"])


async def test_a_search_shows_it_below_its_source_too(client: httpx.AsyncClient) -> None:
    source = await record(client, content={"text": "Staging listens on port 8443 since Monday."})
    text = "The staging server listens on port 8080, the staging server, which port, listen!"
    await summarize(client, text, source["event_id"])
    asked = {"query": QUESTION, "limit": 1}
    (best,) = (await client.post("/api/v1/search", json=asked)).json()["results"]

    assert best["event_id"] == source["event_id"]


async def test_a_summary_whose_source_was_superseded_is_left_out(
    client: httpx.AsyncClient,
) -> None:
    old = await record(client, kind="decision", content={"decision": "Staging has port 8080."})
    await summarize(client, "The staging server listens on port 8080.", old["event_id"])
    content = {"decision": "Staging has port 8443.", "supersedes": f"dec_{old['event_id'][4:]}"}
    await record(client, kind="decision", content=content)
    bundle = await build(client, query_text=QUESTION, session_id="next")

    assert "8080" not in str(bundle["sections"])
    assert {one["reason"] for one in bundle["omissions"]} == {"superseded", "stale_summary"}
