"""Search at 10,000, 100,000 and a million chunks: latency, size, memory, exactness.

`python bench/scale.py` fills a home for each size (`scale_fill`), starts the daemon on it and asks
over HTTP, one question at a time. Tables go to standard output, figures to `docs/figures`.

"Words and bits" is the same daemon with one step taken out: `memoryd serve` started by this file,
with late interaction replaced by nothing. There is no request option for it.
"""

import argparse
import asyncio
import json
import math
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg

import load
import scale_fill
import scale_plot
from memoryd import daemon
from memoryd.core import config, db, privacy, read, record
from memoryd.core.model import Reader
from memoryd.doors import cli
from memoryd.search import analyze, index, retrieve
from memoryd.search.corpus import Corpus

PORT = 17_379
WARM_UP = 20
CHECKED = 50  # queries compared with brute force
TOP = 20
FIGURES = Path(__file__).parent.parent / "docs" / "figures"
WITHOUT_LATE = "--serve-without-late"


async def same_as_the_daemon(conn: asyncpg.Connection) -> None:
    """Of one tenant: its chunks are those of its events, its index that of `index.flush`."""
    tenant = scale_fill.SAMPLE
    events = await conn.fetch(db.query("rebuild.events"), tenant, 0, 2**31)
    chunks = await conn.fetch("select * from chunks where tenant_id = $1 order by position", tenant)
    made = [record.chunks_of(read.to_event(row), None) for row in events]
    assert [[(c.chunk_id, c.ordinal, c.token_est, c.text) for c in one] for one in made] == [
        [(row["chunk_id"], row["ordinal"], row["token_est"], row["text"])] for row in chunks
    ], "the filler's chunks are not the daemon's"
    filled = await _index_of(conn, tenant)
    change = conn.transaction()
    await change.start()
    await db.set_tenant(conn, tenant)
    await index.clear(conn, tenant)
    assert await index.flush(conn, tenant, least=1) == len(chunks)
    assert await _index_of(conn, tenant) == filled, "the filler's index is not the daemon's"
    await change.rollback()
    print(f"  {len(chunks):,} chunks of `{tenant}`: chunks, segment and postings as the daemon's")


async def _index_of(conn: asyncpg.Connection, tenant: str) -> list[list[Any]]:
    return [
        [tuple(row) for row in await conn.fetch(
            f"select * from {table} where tenant_id = $1 order by 2, 3", tenant
        )]
        for table in ("segments", "postings", "names")
    ]  # fmt: skip


class BruteForce:
    """BM25 by the book over the texts themselves, for a few queries at a time.

    It shares the spelling of single words with the index (`analyze.terms`), and nothing else.
    """

    def __init__(self, queries: Sequence[str]) -> None:
        self._asked = {query: dict.fromkeys(_spelled(query)) for query in queries}
        wanted = {term for asked in self._asked.values() for term in asked}
        self._found: dict[str, dict[int, int]] = {term: {} for term in wanted}
        self._spelled: dict[str, list[str]] = {}
        self._lengths: dict[int, int] = {}

    def read(self, row: Any) -> None:
        said = f"{row['ts'].day} {row['ts']:%B %Y} {row['actor_id']} {row['text']}"
        counts: dict[str, int] = defaultdict(int)
        length = 0
        for word in re.findall(r"\w+", said):
            if word not in self._spelled:
                self._spelled[word] = _spelled(word)
            for term in self._spelled[word]:
                length += 1
                if term in self._found:
                    counts[term] += 1
        self._lengths[row["position"]] = length
        for term, count in counts.items():
            self._found[term][row["position"]] = count

    def scores(self, query: str) -> dict[int, float]:
        docs = len(self._lengths)
        average = sum(self._lengths.values()) / docs
        scores: dict[int, float] = defaultdict(float)
        for term in self._asked[query]:
            having = self._found[term]
            rarity = math.log(1 + (docs - len(having) + 0.5) / (len(having) + 0.5))
            for doc, often in having.items():
                norm = 1.2 * (1 - 0.75 + 0.75 * self._lengths[doc] / average)
                scores[doc] += rarity * often / (often + norm)
        return scores


def _spelled(text: str) -> list[str]:
    return [term for word in re.findall(r"\w+", text) for term in analyze.terms(word)]


async def overlap(target: db.Target, queries: Sequence[str]) -> float:
    """The share of the first stage's best by words that brute force ranks as high."""
    exact = BruteForce(queries)
    conn = await db.connect(target, None)
    async with conn.transaction():
        rows = conn.cursor(
            "select position, ts, actor_id, text from chunks where tenant_id = $1"
            " and (channel <> 'private' or user_id = 'default')",
            scale_fill.BIG,
            prefetch=5_000,
        )
        async for row in rows:
            exact.read(row)
    corpus, agreed = Corpus(scale_fill.BIG), 0.0
    async with conn.transaction():
        await db.set_tenant(conn, scale_fill.BIG)
        for query in queries:
            found = await _best_by_words(conn, corpus, query)
            truth = exact.scores(query)
            least = sorted(truth.values(), reverse=True)[:TOP][-1]
            right = sum(truth[doc] >= least * (1 - 1e-9) for doc in found)
            agreed += right / min(TOP, len(truth))
    await conn.close()
    return agreed / len(queries)


async def _best_by_words(conn: asyncpg.Connection, corpus: Corpus, query: str) -> list[int]:
    """Log positions, best first."""
    asked = retrieve.Search(text=query, now=scale_fill.NOW)
    sight = privacy.sight(Reader(tenant_id=corpus.tenant_id))
    stage = await retrieve.prepare(conn, corpus, None, sight, asked)
    await retrieve.read_words(conn, stage)
    best = (-stage.scores).argsort(kind="stable")[:TOP]
    best = best[stage.scores[best] > 0]
    positions: list[int] = corpus.column("position")[best].tolist()
    return positions


async def fill(home: Path, language: scale_fill.Language, result: scale_plot.Result) -> None:
    began = time.perf_counter()
    async with daemon.postgres(config.Settings(home=home), print) as (target, _):
        await daemon.bring_up_to_date(target, print)
        plain: asyncpg.Connection = await asyncpg.connect(**target.arguments)
        if not await plain.fetch("select from memoryd.tenants limit 1"):
            await scale_fill.fill(plain, language, result.chunks)
        await plain.close()
        print(f"  filled in {time.perf_counter() - began:.0f} s")
        conn = await db.connect(target, None)
        await same_as_the_daemon(conn)
        sizes = await conn.fetch(
            "select relname, pg_total_relation_size(oid) as size from pg_class"
            " where relnamespace = 'memoryd'::regnamespace and relkind = 'r'"
        )
        result.tables = {row["relname"]: row["size"] for row in sizes}
        shared = await conn.fetchval("select count(*) from token_codes")
        result.token_codes = result.tables["token_codes"] * result.chunks // shared
        await conn.close()
        result.overlap = await overlap(target, language.queries(CHECKED, seed=3))


@asynccontextmanager
async def served(home: Path, without_late: bool = False) -> AsyncIterator[subprocess.Popen[bytes]]:
    if without_late:
        environ = {**os.environ, "MEMORYD_HOME": str(home), "MEMORYD_PORT": str(PORT)}
        with (home.parent / "serve.log").open("ab") as output:
            command = [sys.executable, __file__, WITHOUT_LATE]
            process = subprocess.Popen(command, env=environ, stdout=output, stderr=output)
        await load.ready(PORT, process)
    else:
        process = await load.start(home, PORT)
    try:
        yield process
    finally:
        load.stop(process)


async def ask(queries: Sequence[str]) -> list[float]:
    """The latency of each search, in milliseconds."""
    client, spent = load.Client(PORT), []
    for query in queries:
        body = json.dumps({"query": query, "limit": 10}).encode()
        began = time.perf_counter()
        status, answer = await client.post("/api/v1/search", body)
        spent.append((time.perf_counter() - began) * 1000)
        assert status == 200 and answer["degraded"] is None, answer
        assert answer["pending_vectors"] == 0 and len(answer["results"]) == 10, query
    client.close()
    return spent


async def health(times: int) -> list[float]:
    client, spent = load.Client(PORT), []
    for _ in range(times):
        began = time.perf_counter()
        await client.get("/healthz")
        spent.append((time.perf_counter() - began) * 1000)
    client.close()
    return spent


def resident(process: subprocess.Popen[bytes]) -> int:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def processor_ms(process: subprocess.Popen[bytes]) -> float:
    """What the daemon's threads have computed so far, its PostgreSQL not counted."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(
    home: Path, language: scale_fill.Language, queries: int, result: scale_plot.Result
) -> None:
    asked = language.queries(WARM_UP + queries, seed=11)
    load.read(home)
    async with served(home) as process:
        before = resident(process)
        await ask(asked[:WARM_UP])
        result.health = await health(queries)
        spent = processor_ms(process)
        result.late = await ask(asked[WARM_UP:])
        result.processor = (processor_ms(process) - spent) / queries
        result.load = os.getloadavg()[0]
        result.resident = before, resident(process)
    async with served(home):
        result.restarted = (await ask(asked[:1]))[0]
    os.sync()
    load.forget(home)
    async with served(home):
        result.cold = (await ask(asked[:1]))[0]
    load.read(home)
    async with served(home, without_late=True):
        await ask(asked[:WARM_UP])
        result.bits = await ask(asked[WARM_UP:])


@asynccontextmanager
async def kept(folder: Path) -> AsyncIterator[Path]:
    folder.mkdir(0o711, parents=True, exist_ok=True)
    yield folder / "home"


async def main(sizes: Sequence[int], queries: int, keep: Path | None) -> None:
    language = scale_fill.Language()
    results = []
    for chunks in sizes:
        print(f"{chunks:,} chunks")
        result = scale_plot.Result(chunks)
        async with kept(keep / str(chunks)) if keep else load.home() as home:
            await fill(home, language, result)
            await measure(home, language, queries, result)
        results.append(result)
    scale_plot.report(results)
    scale_plot.draw(results, FIGURES)


def serve_without_late() -> None:
    """`memoryd serve` with one step taken out."""

    async def nothing(*_: object) -> dict[str, Any]:
        return {}

    retrieve.Vectors.late = nothing  # type: ignore[assignment]
    cli.main(["serve", "--log-level", "warning"])


if __name__ == "__main__":
    if WITHOUT_LATE in sys.argv:
        serve_without_late()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default="10000,100000,1000000", help="chunks, by comma")
    parser.add_argument("--queries", type=int, default=200, help="measured at each size")
    parser.add_argument("--keep", type=Path, help="a folder for the homes, filled only once")
    given = parser.parse_args()
    asyncio.run(main([int(size) for size in given.sizes.split(",")], given.queries, given.keep))
