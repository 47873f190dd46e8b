"""Something `high` through every door that takes it, each with a word that is nowhere else."""

from typing import Any

import httpx

import make
from memoryd.core import db
from memoryd.custody import rebuild
from wire import BATCH, DECISIONS, SUMMARIES, TASKS, post, upload

HIGH = {"sensitivity": "high", "channel": "private"}
# Long enough that chance does not write them into what is sealed.
WORDS = [
    f"{animal}zq"
    for animal in (
        *("quokka", "axolotl", "okapi", "narwhal", "pangolin", "tarsier", "kakapo", "fossa"),
        *("numbat", "aardwolf", "bilby", "cassowary", "dugong", "echidna", "gharial", "hoatzin"),
        *(
            "indri",
            "jerboa",
            "kinkajou",
            "lamprey",
            "markhor",
            "nilgai",
            "tapir",
            "uakari",
            "vicuna",
        ),
    )
]
LONG = "the gharialzq log says nothing new\n" * 3_000  # more than an excerpt holds


async def record_all(client: httpx.AsyncClient) -> dict[str, Any]:
    """Everything; returns what the doors answered, by what it is."""
    made = await _events(client)
    return made | await _ledger(client, made["message"]["event_id"])


async def _events(client: httpx.AsyncClient) -> dict[str, Any]:
    said = {"content": {"text": "the quokkazq sings"}, "tags": ["axolotlzq"]}
    call = {"tool": "okapizq", "narwhalzq": [1, "pangolinzq"]}
    batch = {"events": [make.body(**HIGH, content={"text": "the numbatzq sleeps"})]}
    assert (await client.post(BATCH, json=batch)).status_code == 201
    return {
        "message": await post(client, **HIGH, **said, idempotency_key="m"),
        "call": await post(client, **HIGH, kind="tool_call", content=call),
        "short": await post(client, **HIGH, kind="tool_result", content=_result("tarsierzq")),
        "long": await post(client, **HIGH, kind="tool_result", content=_result(LONG, "kakapozq")),
        "event": await post(client, **HIGH, kind="decision", content={"decision": "a fossazq"}),
        "file": await upload(client, b"the markhorzq\n" * 9, "text/plain", name="nilgaizq", **HIGH),
    }


async def _ledger(client: httpx.AsyncClient, cited: str) -> dict[str, Any]:
    decision = {
        "decision": "feed the aardwolfzq",
        "subject": "bilbyzq",
        "rationale": ["a cassowaryzq"],
        "constraints": ["no dugongzq"],
        "alternatives": ["echidnazq"],
        "consequences": ["hoatzinzq"],
    }
    task = {"title": "wash the indrizq", "details": "with the jerboazq"}
    summary = {"session_id": "s1", "text": "a kinkajouzq", "cites": [cited], "tags": ["lampreyzq"]}
    kept = {"content": "a tapirzq", "description": "uakarizq", "metadata": {"path": "vicunazq"}}
    return {
        "reference": await _post(client, "/api/v1/references", kept | HIGH),
        "decision": await _post(client, DECISIONS, decision | HIGH),
        "task": await _post(client, TASKS, task | HIGH),
        "summary": await _post(client, SUMMARIES, summary | HIGH),
    }


def _result(text: str, path: str = "x") -> dict[str, Any]:
    return {"tool": "okapizq", "path": path, "text": text}


async def _post(client: httpx.AsyncClient, route: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post(route, json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def find(client: httpx.AsyncClient, query: str, **given: Any) -> list[str]:
    answer = await client.post("/api/v1/search", json={"query": query, **given})
    assert answer.status_code == 200, answer.text
    return [one["text"] for one in answer.json()["results"]]


async def bundle(client: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    asked = {"session_id": "s1", "agent_id": "default", "max_tokens": 20_000, **given}
    answer = await client.post("/api/v1/acb/build", json=asked)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def stored(target: db.Target, tenant: str) -> str:
    """All rows of a tenant as the database has them."""
    conn = await db.connect(target, None)
    tables = await conn.fetch(
        "select c.relname::text from pg_class c"
        " join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'"
        " where c.relnamespace = 'memoryd'::regnamespace and c.relkind = 'r'"
    )
    found = []
    for (table,) in tables:
        rows = f"select string_agg(t::text, '\n') from {table} t where tenant_id = $1"
        found.append(await conn.fetchval(rows, tenant) or "")
    await conn.close()
    return "\n".join(found)


async def rebuilt(target: db.Target, tenant: str) -> rebuild.Outcome:
    outcomes = await rebuild.rebuild(target, lambda *_: None)
    return next(one for one in outcomes if one.tenant_id == tenant)
