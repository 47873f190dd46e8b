"""After `high` events came through every door, no byte of the home has a word of them."""

import os
import zlib
from pathlib import Path

import httpx
import pytest

import commands
import make
from conftest import asking
from memoryd.core import db
from memoryd.custody import rebuild
from memoryd.daemon import now
from memoryd.seal import keys
from memoryd.search import index
from raw import files, owner
from sealed import HIGH, LONG, WORDS, bundle, find, record_all
from wire import post, upload, vectors

PLAIN = "wombatzq"  # said in clear, so that finding nothing means something
# Compression would hide words: every column keeps its bytes as they are.
UNCOMPRESSED = """
do $$
declare
  place record;
begin
  for place in
    select c.oid::regclass as name, a.attname
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
    where c.relnamespace = 'memoryd'::regnamespace and c.relkind = 'r'
      and a.attstorage in ('x', 'm')
  loop
    execute format('alter table %s alter column %I set storage external',
                   place.name, place.attname);
  end loop;
end $$;
"""


async def use(client: httpx.AsyncClient) -> None:
    """Read it in every way, so that whatever reading leaves behind is there."""
    await find(client, WORDS[0])
    await bundle(client, query_text=" ".join(WORDS))
    await client.post("/api/v1/summaries/extract", json={"session_id": "s1"})
    await client.post("/api/v1/handoffs", json={"to_agent": "b"})
    content = {"decision": WORDS[1], "supersedes": "dec_none"}
    refused = make.body(kind="decision", content=content, **HIGH)
    assert (await client.post("/api/v1/events", json=refused)).status_code == 422


@pytest.fixture
def folder(home: Path) -> Path:
    """Of this test alone: PostgreSQL's binaries are elsewhere."""
    own = home.parent / f"raw-{os.getpid()}"
    own.mkdir(mode=0o711)
    return own


async def test_no_byte_of_the_home_has_a_word_of_what_is_high(folder: Path) -> None:
    home = folder / "home"
    commands.memoryd(home, "migrate")
    async with owner(home) as (_, conn):
        await conn.execute(UNCOMPRESSED)
    with commands.serving(home, "--log-level", "debug") as served:
        async with asking(served.url) as client:
            await post(client, content={"text": f"a {PLAIN} in clear"})
            await record_all(client)
            await upload(client, LONG.encode(), "text/plain", tool="okapizq", **HIGH)
            await use(client)
            await vectors(client)
    async with owner(home) as (target, conn):
        async with conn.transaction():
            await db.set_tenant(conn, "default")
            await index.flush(conn, "default", least=1)
            await keys.rotate(conn, "default", now())
        await conn.execute("analyze")
        equal = [one.equal for one in await rebuild.rebuild(target, lambda *_: None)]
        await conn.execute("checkpoint")
    whole = dict(files(folder))
    sought = [*(word.encode() for word in WORDS), zlib.compress(LONG.encode(), 1)[8:40]]
    found = {(word, path.name) for path, raw in whole.items() for word in sought if word in raw}

    assert equal == [True]
    assert found == set()
    assert sum(PLAIN.encode() in raw for raw in whole.values()) >= 3
    assert sum(len(raw) for raw in whole.values()) > 10_000_000
