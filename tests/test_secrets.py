"""The secrets filter at every door: what is stored has markers where the secrets stood."""

import base64
import json
import logging
import random
from typing import Any

import httpx
import pytest

import make
import secret_specs
from conftest import MakeKey
from memoryd.core import db, errors
from memoryd.daemon import Daemon
from memoryd.doors import import_requests, logs
from wire import EVENTS, assert_problem, download, storing_nothing, tool_result, upload, write_view

KEY = "ghp_" + secret_specs.some("w", 36, random.Random(1))
SAID = f"use {KEY} for it"
KEPT = "use [redacted:github-token] for it"


async def whole(daemon: Daemon, tenant: str) -> str:
    """Every row that the tenant has, as text."""
    tables = ("events", "chunks", "artifacts", "decisions", "tasks", "view_texts", "summaries")
    async with db.tenant(daemon.pool, tenant) as conn:
        rows = [
            row[0]
            for table in (*tables, "handoffs", "receipts")
            for row in await conn.fetch(f"select t::text from {table} t")
        ]
    return "\n".join(rows)


async def post(client: httpx.AsyncClient, path: str, **body: Any) -> dict[str, Any]:
    answer = await client.post(f"/api/v1/{path}", json=body)
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found


CONTENTS: dict[str, dict[str, Any]] = {
    "message": {"text": SAID, "meta": {"api_key": "swordfish", KEY: [KEY], f"{KEY}x": 1}},
    "tool_call": {"tool": KEY, "arguments": {"authorization": "swordfish", "header": SAID}},
    "tool_result": {"tool": "sh", "text": SAID, "path": f"/tmp/{KEY}", "exit": SAID},
    "decision": {"decision": SAID, "subject": SAID, "rationale": [SAID], "constraints": [SAID]},
    "task_update": {"title": SAID, "details": SAID},
    "artifact": {"name": f"{KEY}.txt", "text": SAID, "media_type": f"text/{KEY}", "by": SAID},
}


@pytest.mark.parametrize("kind", CONTENTS)
async def test_every_kind_of_event_is_filtered_in_all_its_parts(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, kind: str
) -> None:
    answer = await client.post(
        EVENTS,
        json=make.body(
            kind=kind,
            content=CONTENTS[kind],
            tags=["fine", SAID],
            refs=[SAID],
            actor={"type": "tool", "id": KEY},
            idempotency_key="1",
        ),
    )

    assert answer.status_code == 201, answer.text
    assert "github-token" in answer.json()["redacted"]
    stored = await whole(daemon, tenant)
    assert "[redacted:github-token]" in stored
    assert KEY not in stored
    assert "swordfish" not in stored


async def test_an_answer_without_secrets_is_the_seeds_own(client: httpx.AsyncClient) -> None:
    answer = await post(client, "events", **make.body())

    assert set(answer) == {"event_id", "chunk_ids", "created_at"}


async def test_a_batch_says_of_each_event_what_was_redacted(client: httpx.AsyncClient) -> None:
    events = [make.body(), make.body(content={"text": SAID})]

    answer = await post(client, "events/batch", events=events)

    assert [one.get("redacted") for one in answer["events"]] == [None, ["github-token"]]


async def test_a_retry_is_known_by_what_is_left_of_it(client: httpx.AsyncClient) -> None:
    other = SAID.replace(KEY[-4:], "WXYZ")
    first, again, different = [
        await post(client, "events", **make.body(content={"text": text}, idempotency_key="k"))
        for text in (SAID, SAID, other)
    ]
    refused = await client.post(EVENTS, json=make.body(content={"text": "x"}, idempotency_key="k"))

    assert first == again == different
    assert_problem(refused, 409, "idempotency_key")


@pytest.mark.parametrize("field", ["session_id", "user_id", "agent_id", "idempotency_key"])
async def test_a_handle_that_holds_a_secret_is_refused_without_repeating_it(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, field: str
) -> None:
    async with storing_nothing(daemon, tenant):
        answer = await client.post(EVENTS, json=make.body(**{field: f"of {KEY}"}))

    assert_problem(answer, 422, field)
    assert KEY not in answer.text


ENCODED = ["utf-8", "utf-16", "utf-16-be", "utf-32", "latin-1"]


@pytest.mark.parametrize("encoding", ENCODED)
async def test_an_output_is_filtered_in_the_encoding_it_has(
    client: httpx.AsyncClient, encoding: str
) -> None:
    text = f"Größe: 5\n{SAID}\n" + "und so weiter\n" * 9
    sent = text.encode(encoding)
    body = tool_result(bytes=base64.b64encode(sent).decode()) | {"kind": "artifact"}

    recorded = await post(client, "events", **body)
    event = (await client.get(f"{EVENTS}/{recorded['event_id']}")).json()
    kept = (await download(client, event["content"])).content

    assert recorded["redacted"] == ["github-token"]
    assert kept.decode(encoding).startswith("Größe: 5\nuse [redacted:github-token]")
    assert kept.decode(encoding).endswith(" for it\n" + "und so weiter\n" * 9)
    assert encoding == "utf-8" or len(kept) == len(sent)


async def test_an_upload_is_filtered_before_it_is_cut_into_pieces(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    before = "a line of a log, and nothing else in it\n" * 26_214  # a piece ends inside the key

    answer = await upload(client, (before[: 2**20 - 20] + SAID).encode(), name=KEY, path=SAID)
    kept = (await download(client, answer)).text

    assert answer["redacted"] == ["github-token"]
    assert kept.endswith(KEPT)
    assert KEY[:12] not in await whole(daemon, tenant)


async def test_lines_in_a_list_are_read_together(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    key = secret_specs.fill("{64b}⏎{64b}⏎{20b}==", random.Random(1))[0].splitlines()
    marks = ("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----")
    source = ["a line", marks[0], *key, marks[1], "and another"]

    answer = await post(client, "events", **make.body(content={"text": "x", "source": source}))
    stored = await whole(daemon, tenant)

    assert answer["redacted"] == ["private-key"]
    assert [line for line in key if line in stored] == []
    assert '"a line"' in stored
    assert '"and another"' in stored


async def test_of_what_is_secret_nothing_is_kept(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    said = {"sensitivity": "secret", "tags": ["heron"], "refs": ["heron"]}
    for kind, given in CONTENTS.items():
        content = json.loads(json.dumps(given).replace(KEY, "heron"))
        await post(client, "events", **make.body(kind=kind, content=content, **said))
    await upload(client, b"heron", name="heron", path="heron", sensitivity="secret", tag="heron")
    stored = await whole(daemon, tenant)

    assert "heron" not in stored
    assert stored.count("[redacted:secret]") == len(CONTENTS) + 1


async def test_the_ledger_is_filtered(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    decision = await post(client, "decisions", decision=SAID, rationale=[SAID])
    task = await post(client, "tasks", title=SAID, details=SAID)
    changed = await post(client, "tasks", task_id=task["task_id"], title=f"{KEY} again")
    cites = [decision["event_id"]]
    summary = await post(client, "summaries", session_id="s1", text=SAID, cites=cites)
    handoff = await post(client, "handoffs", to_agent="b", note=SAID, idempotency_key="1")
    again = await post(client, "handoffs", to_agent="b", note=SAID, idempotency_key="1")
    answered = f"handoffs/{handoff['handoff_id']}/reject"
    await post(client, answered, agent_id="b", note=SAID, idempotency_key="2")

    for answer in (decision, task, changed, summary, handoff):
        assert answer["redacted"] == ["github-token"]
    assert handoff["note"] == KEPT
    assert again == handoff
    assert KEY not in await whole(daemon, tenant)


async def test_a_view_is_answered_as_it_is_kept(client: httpx.AsyncClient) -> None:
    first = await write_view(client, "rules.org", SAID)
    again = await write_view(client, "rules.org", SAID)
    read = (await client.get("/api/v1/views/rules.org")).json()

    assert (first["text"], first["redacted"]) == (KEPT, ["github-token"])
    assert again == first
    assert "redacted" not in read


async def test_a_view_and_a_receiver_are_not_named_by_a_secret(client: httpx.AsyncClient) -> None:
    view = await client.put(f"/api/v1/views/identity.{KEY}", json={"text": "hello"})
    handoff = await client.post("/api/v1/handoffs", json={"to_agent": KEY})

    assert_problem(view, 422, "name")
    assert_problem(handoff, 422, "to_agent")


async def test_a_receipt_keeps_no_secret_and_replays_the_same(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    await post(client, "events", **make.body(content={"text": SAID}))
    asked = {"session_id": "s1", "query_text": f"what is {KEY}?", "intent": KEY}
    built = await client.post("/api/v1/acb/build", json=asked)
    replayed = await client.get(f"/api/v1/acb/{built.json()['acb_id']}")

    assert built.content == replayed.content
    assert built.json()["provenance"]["intent"] == "[redacted:github-token]"
    assert KEY.lower() not in built.text.lower()
    assert KEY.lower() not in (await whole(daemon, tenant)).lower()


@pytest.mark.parametrize("field", ["session_id", "user_id", "agent_id"])
async def test_a_receipt_is_not_made_for_a_secret(client: httpx.AsyncClient, field: str) -> None:
    asked = {"session_id": "s1", field: KEY}

    answer = await client.post("/api/v1/acb/build", json=asked)

    assert_problem(answer, 422, field)


async def test_a_key_pins_no_secret(make_key: MakeKey, tenant: str) -> None:
    with pytest.raises(errors.Invalid) as refused:
        await make_key(tenant, user_id=KEY)

    assert refused.value.field == "user_id"
    assert KEY not in refused.value.detail


def test_the_key_of_an_import_says_nothing_of_a_secret() -> None:
    other = SAID.replace(KEY[-4:], "WXYZ")

    bodies = [import_requests._keyed({"title": text}, "v1") for text in (SAID, other)]
    keys = {body["idempotency_key"] for body in bodies}

    assert len(keys) == 1


def test_a_log_line_has_neither_secrets_nor_what_an_error_quotes() -> None:
    error = ValueError("of ours: heron")
    told = f"somebody says {KEY}"
    record = logging.LogRecord("x", 40, "p", 1, told, (), (ValueError, error, None))
    record.detail = SAID

    line = logs.JsonLines().format(record)

    assert json.loads(line)["detail"] == KEPT
    assert json.loads(line)["error"] == "ValueError"
    assert "heron" not in line
    assert KEY not in line
