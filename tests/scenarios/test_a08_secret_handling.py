"""A8, Secret Handling: what is secret is never stored and never loaded, in any channel."""

import zlib
from typing import Any

import httpx
import pytest

from memoryd.core import db
from memoryd.daemon import Daemon
from memoryd.search import index
from sealed import stored
from test_bundle import build, record, section

SECRET = "the vault code is 8812-blue-heron"
KEY = "AKIA" + "Q3EGRT5YU7IO9PLM"
SAID: dict[str, dict[str, Any]] = {
    "message": {"text": SECRET, "meta": {"list": [SECRET]}},
    "tool_call": {"tool": "open", "arguments": SECRET},
    "tool_result": {"tool": "open", "text": f"{SECRET}\n" * 3_000},  # more than an excerpt holds
    "decision": {"decision": SECRET, "rationale": [SECRET]},
    "task_update": {"title": SECRET, "details": SECRET},
    "artifact": {"name": "vault", "text": SECRET},
}
in_every_channel = pytest.mark.parametrize("channel", ["private", "team", "agent", "public"])


async def everything(daemon: Daemon, tenant: str) -> str:
    """All columns of all tables, with the terms of the index, and what is compressed in them."""
    async with db.tenant(daemon.pool, tenant) as conn:
        await index.flush(conn, tenant, least=1)
        pieces = await conn.fetch("select bytes from artifact_pieces")
    whole = b"".join(zlib.decompress(row["bytes"]) for row in pieces)
    return await stored(daemon.target, tenant) + whole.decode()


def holds(rows: str, word: str) -> bool:
    """As text or as bytes, in any case."""
    forms = {word, word.lower(), word.encode().hex(), word.lower().encode().hex()}
    return any(form in rows for form in forms)


@in_every_channel
async def test_a_secret_event_leaves_nothing_but_its_marker(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, channel: str
) -> None:
    given = {"channel": channel, "sensitivity": "secret", "tags": ["heron"], "refs": ["heron"]}
    for kind, content in SAID.items():
        await record(client, kind=kind, content=content, **given)
    bundle = await build(client, channel=channel, query_text="what is the vault code?")
    await record(client, channel=channel, content={"text": "The sparrow is no secret."})
    rows = await everything(daemon, tenant)

    assert "heron" not in str(bundle)
    assert bundle["token_used_est"] == 0
    assert holds(rows, "sparrow")
    assert not holds(rows, "heron")
    assert rows.count("[redacted:secret]") >= len(SAID)


@in_every_channel
async def test_a_secret_in_a_text_is_replaced_in_its_place(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, channel: str
) -> None:
    said = f"Deploy with {KEY} until Friday."
    await record(client, channel=channel, content={"text": said})
    output = {"tool": "env", "text": f"{said}\n" * 3_000}
    await record(client, channel=channel, kind="tool_result", content=output)
    asked = {"channel": channel, "query_text": f"is {KEY} our key to deploy?"}
    bundles = [await build(client, **asked, session_id=session) for session in ("s1", "next")]
    rows = await everything(daemon, tenant)

    left = said.replace(KEY, "[redacted:aws-access-key]")
    assert left in section(bundles[0], "recent_window")[0]["text"]
    assert left in section(bundles[1], "retrieved_evidence")[0]["text"]
    assert holds(rows, left)
    assert not holds(rows + str(bundles), KEY)
