"""Another embedding model takes over while searches go on."""

import json
import shutil
from pathlib import Path

import pytest

import make
from memoryd import embed
from memoryd.core import db, record
from memoryd.search import encoders, vectors


@pytest.fixture
def other_model(tmp_path: Path) -> Path:
    """The same weights under another name: what matters is that their codes are kept apart."""
    folder = tmp_path / "other"
    shutil.copytree(embed.MINILM, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"name": "other-model"}))
    return folder


async def store(target: db.Target, tenant: str, events: int) -> None:
    pool = await db.open_pool(target, 1)
    writes = [make.write(tenant, content={"text": f"event number {n}"}) for n in range(events)]
    async with db.tenant(pool, tenant) as conn:
        await record.append(conn, tenant, writes, make.NOW)
    await pool.close()


async def pending(target: db.Target, tenant: str, model: str) -> int:
    conn = await db.connect(target, db.APP)
    async with conn.transaction():
        await db.set_tenant(conn, tenant)
        count = await vectors.pending(conn, tenant, model)
    await conn.close()
    return count


async def test_a_switch_encodes_everything_first_and_then_every_process_follows(
    database: db.Target, other_model: Path
) -> None:
    await store(database, "a", 40)
    await store(database, "b", 3)
    seen: list[tuple[str, int, int]] = []
    used = encoders.Encoders()
    conn = await db.connect(database, db.APP)
    await used.look(conn)
    before = used.current.name
    await encoders.switch(database, embed.Encoder(other_model), lambda *step: seen.append(step))
    await used.look(conn)
    await conn.close()

    assert before == embed.Encoder().name
    assert used.current.name == "other-model"
    assert [await pending(database, tenant, "other-model") for tenant in ("a", "b")] == [0, 0]
    assert await pending(database, "a", before) == 40
    assert ("a", 40, 40) in seen


async def test_a_switch_that_was_stopped_goes_on_where_it_was(
    database: db.Target, other_model: Path
) -> None:
    await store(database, "a", 80)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await encoders.switch(database, embed.Encoder(other_model), stop)
    left = await pending(database, "a", "other-model")
    used = encoders.Encoders()
    conn = await db.connect(database, db.APP)
    await used.look(conn)
    still = used.current.name
    await encoders.switch(database, embed.Encoder(other_model), lambda *_: None)
    await used.look(conn)
    await conn.close()

    assert left == 80 - vectors.BATCH
    assert still == embed.Encoder().name
    assert used.current.name == "other-model"
    assert await pending(database, "a", "other-model") == 0
