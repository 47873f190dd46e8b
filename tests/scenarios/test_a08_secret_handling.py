"""A8, Secret Handling: what is secret is never stored and never loaded, in any channel."""

import httpx
import pytest

from memoryd.core import db
from memoryd.daemon import Daemon
from test_bundle import build, record

SECRET = "the vault code is 8812-blue-heron"


@pytest.mark.parametrize("channel", ["private", "team", "agent", "public"])
async def test_a_secret_event_leaves_nothing_but_its_marker(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, channel: str
) -> None:
    await record(client, channel=channel, sensitivity="secret", content={"text": SECRET})
    bundle = await build(client, channel=channel, query_text="what is the vault code?")

    assert "heron" not in str(bundle)
    assert bundle["token_used_est"] == 0
    async with db.tenant(daemon.pool, tenant) as conn:
        row = await conn.fetchval("select events::text from events")
    assert "heron" not in row
    assert "[redacted:secret]" in row
