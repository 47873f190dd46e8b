"""A damaged model: words do alone, and every answer says so; nothing is ever switched to it."""

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import make
from commands import memoryd
from memoryd import embed
from memoryd.core import db, record
from memoryd.core.model import Reader
from memoryd.daemon import Daemon
from memoryd.search import retrieve
from memoryd.search.encoders import Encoders
from memoryd.search.searcher import Searcher
from memoryd.search.worker import Worker

Damage = Callable[[Path], object]


def _manifest(folder: Path, **changed: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))


DAMAGES: dict[str, Damage] = {
    "no manifest": lambda folder: (folder / "manifest.json").unlink(),
    "an empty manifest": lambda folder: (folder / "manifest.json").write_text("{}"),
    "a manifest that is no JSON": lambda folder: (folder / "manifest.json").write_text("{"),
    "a manifest of numbers": lambda folder: (folder / "manifest.json").write_text("[1]"),
    "other dimensions": lambda folder: _manifest(folder, dimensions=256),
    "odd dimensions": lambda folder: _manifest(folder, dimensions=100),
    "no model": lambda folder: (folder / "model.onnx").unlink(),
    "an empty model": lambda folder: (folder / "model.onnx").write_bytes(b""),
    "no vocabulary": lambda folder: (folder / "vocab.txt").unlink(),
    "an empty vocabulary": lambda folder: (folder / "vocab.txt").write_text(""),
    "a vocabulary without [UNK]": lambda folder: (folder / "vocab.txt").write_text("a\nb\n"),
    "no folder": shutil.rmtree,
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    shutil.copytree(embed.MINILM, tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
async def test_a_search_goes_on_by_words_and_says_why(
    daemon: Daemon, tenant: str, model: Path, damage: Damage
) -> None:
    damage(model)
    async with db.tenant(daemon.pool, tenant) as conn:
        await record.append(conn, tenant, [make.write(tenant)], make.NOW)
    encoders = Encoders()
    encoders.current = embed.Encoder(model)
    searcher = Searcher(daemon.pool, encoders)
    answer = await searcher.search(
        Reader(tenant_id=tenant), retrieve.Search(text="Friday", now=make.NOW)
    )

    assert len(answer.hits) == 1
    assert answer.degraded
    assert answer.degraded.startswith("searched by words alone")


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_nothing_damaged_can_be_loaded(model: Path, damage: Damage) -> None:
    damage(model)

    with pytest.raises(embed.Unusable):
        embed.Encoder(model).load()


async def test_a_model_that_is_gone_is_missed_by_name(database: db.Target, model: Path) -> None:
    owner = await db.connect(database, db.OWNER)
    await owner.execute(db.query("vectors.use"), str(model))
    encoders = Encoders()
    await encoders.look(owner)
    shutil.rmtree(model)
    late = Encoders()
    await late.look(owner)
    await owner.close()

    assert (encoders.current.folder, encoders.trouble) == (model, None)
    assert late.current.folder == embed.MINILM
    assert str(model) in str(late.trouble)


async def test_the_worker_indexes_and_waits_for_a_better_model(
    database: db.Target, model: Path
) -> None:
    owner = await db.connect(database, db.OWNER)
    await owner.execute(db.query("vectors.use"), str(model))
    encoders = Encoders()
    await encoders.look(owner)
    (model / "model.onnx").unlink()
    pool = await db.open_pool(database, 2)
    async with db.tenant(pool, "t") as conn:
        await record.append(conn, "t", [make.write("t") for _ in range(1_000)], make.NOW)
    worker = Worker(database, pool, encoders)
    worker.grown("t")
    working = asyncio.create_task(worker.run())
    flushed = 0
    while not flushed:
        await asyncio.sleep(0.05)
        async with db.tenant(pool, "t") as conn:
            flushed = await conn.fetchval("select count(*) from segments")
    worker.stop()
    await asyncio.wait_for(working, 60)
    pending = await worker.pending("t")
    await owner.close()
    await pool.close()

    assert pending == 1_000


def test_switching_to_a_damaged_model_is_refused_in_one_line(tmp_path: Path, model: Path) -> None:
    _manifest(model, dimensions=256)
    done = memoryd(tmp_path / "home", "embed", "switch", str(model))

    assert done.returncode == 1
    assert done.stderr.startswith("memoryd: ")
    assert done.stderr.count("\n") == 1
