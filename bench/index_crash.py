"""Kill an indexer, the postmaster or both while it flushes and merges; compare with a rebuild.

`python bench/index_crash.py --kills 50`: afterwards every ranking over the tables that survived
must equal, to the bit, the one after the index was made anew from the chunks.
"""

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import load
from memoryd import daemon
from memoryd.core import db, privacy, record
from memoryd.core.config import Settings
from memoryd.core.model import Actor, Caller, Draft, Reader
from memoryd.search import index, retrieve
from memoryd.search.corpus import Corpus

TENANT = "default"
READERS = [
    Reader(tenant_id=TENANT),
    Reader(tenant_id=TENANT, user_id="bob"),
    Reader(tenant_id=TENANT, channel="public"),
]
VICTIMS = ("indexer", "postmaster", "both")
LEAST = 20  # chunks in a segment here, so that there are many flushes and merges
NOW = datetime(2026, 5, 1, tzinfo=UTC)
QUIET = 60.0  # seconds without a sign of life before a run is given up
Ranking = list[list[retrieve.Hit]]


async def work(home: Path, seed: int) -> None:
    """What is killed: writes, flushes and merges without end, saying each step."""
    draw = random.Random(seed)
    async with daemon.postgres(Settings(home=home), _to_stderr) as (target, _):
        await daemon.bring_up_to_date(target, _to_stderr)
        pool = await db.open_pool(target, 2)
        while True:
            writes = [_write(draw) for _ in range(draw.randint(1, 30))]
            async with db.tenant(pool, TENANT) as conn:
                await record.append(conn, TENANT, writes, daemon.now())
            async with db.tenant(pool, TENANT) as conn:
                flushed = await index.flush(conn, TENANT, least=LEAST)
            async with db.tenant(pool, TENANT) as conn:
                merged = await index.merge(conn, TENANT)
            print("merged" if merged else "flushed" if flushed else "wrote", flush=True)


def _write(draw: random.Random) -> record.Write:
    draft = Draft(
        session_id=f"s{draw.randrange(20)}",
        actor=Actor(type="human", id=draw.choice(["ada", "bob"])),
        kind="message",
        content={"text": load.text(draw, draw.randint(20, 2_000))},
        user_id=draw.choice(["default", "bob"]),
        channel=draw.choice(["private", "public", "team", "agent"]),
        tags=tuple(draw.sample(["red", "green", "blue"], draw.randrange(3))),
    )
    caller = Caller(tenant_id=TENANT, role="agent")
    return record.prepare(caller, draft, daemon.now(), daemon.entropy())


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)


@dataclass
class Tally:
    kills: dict[str, int] = field(default_factory=lambda: dict.fromkeys(VICTIMS, 0))
    steps: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("wrote", "flushed", "merged"), 0)
    )


class Indexer:
    """A process that does `work`, and what it has said."""

    def __init__(self, home: Path, seed: int, tally: Tally) -> None:
        self._tally = tally
        self.log = home.parent / "indexer.log"
        with self.log.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, __file__, "--work", str(home), "--seed", str(seed)],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    async def step(self) -> bool:
        """Wait for its next step; False when it has ended."""
        assert self.process.stdout is not None
        reading = asyncio.to_thread(self.process.stdout.readline)
        line = (await asyncio.wait_for(reading, QUIET)).strip()
        if line:
            self._tally.steps[line] += 1
        return bool(line)

    async def kill(self) -> None:
        self.process.kill()
        while await self.step():
            pass
        self.process.wait()


def _postmaster(home: Path) -> int | None:
    try:
        return int((home / "postgres-18" / "data" / "postmaster.pid").read_text().split()[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None


async def torment(home: Path, kills: int, seed: int, progress: bool) -> Tally:
    draw, tally = random.Random(seed), Tally()
    for number in range(kills):
        indexer = Indexer(home, seed * 1_000 + number, tally)
        try:
            for _ in range(draw.randint(3, 30)):
                if not await indexer.step():
                    sys.exit(f"the indexer ended by itself:\n{indexer.log.read_text()[-2_000:]}")
            await asyncio.sleep(draw.uniform(0, 0.03))  # into the midst of a step
            victim = draw.choice(VICTIMS)
            if victim != "indexer" and (pid := _postmaster(home)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if victim == "postmaster":
                await asyncio.sleep(0.2)  # the indexer sees it, and dies of it
        finally:
            await indexer.kill()
        tally.kills[victim] += 1
        if progress:
            steps = ", ".join(f"{count:,} {name}" for name, count in tally.steps.items())
            print(f"\r{number + 1}/{kills} kills, {steps}", end="", file=sys.stderr, flush=True)
    return tally


@dataclass(frozen=True)
class Verdict:
    chunks: int
    segments: int
    indexed: int  # chunks in segments
    hits: int  # compared
    different: int  # rankings that a rebuild changes


async def judge(home: Path, queries: int = 40) -> Verdict:
    """Compare the tables as they were left with those of an index made anew."""
    async with opened(home) as pool:
        async with db.tenant(pool, TENANT) as conn:
            chunks = await conn.fetchval("select count(*) from chunks")
            _, found = await index.segments(conn, TENANT)
        asked = _queries(queries)
        left = await _rankings(pool, asked)
        async with db.tenant(pool, TENANT) as conn:
            await index.clear(conn, TENANT)
        bare = await _rankings(pool, asked)
        async with db.tenant(pool, TENANT) as conn:
            await index.flush(conn, TENANT, least=1)
        rebuilt = await _rankings(pool, asked)
    return Verdict(
        chunks=chunks,
        segments=len(found),
        indexed=sum(row["docs"] for row in found),
        hits=sum(len(hits) for hits in left),
        different=sum(
            len({_bits(one) for one in three}) > 1
            for three in zip(left, bare, rebuilt, strict=True)
        ),
    )


def _bits(hits: list[retrieve.Hit]) -> str:
    """Every float in hexadecimal: equal only where no bit differs."""
    return "\n".join(
        " ".join([str(hit.doc), hit.score.hex(), *(part.hex() for part in hit.parts.values())])
        for hit in hits
    )


def _queries(count: int) -> list[retrieve.Search]:
    draw = random.Random(0)
    plain = [
        retrieve.Search(text=load.text(draw, draw.choice([4, 15, 60])), now=NOW, limit=200)
        for _ in range(count)
    ]
    filters = retrieve.Filters(session_id="s3"), retrieve.Filters(tag="red")
    return plain + [replace(plain[0], filters=one) for one in filters]


async def _rankings(pool: db.Pool, asked: Sequence[retrieve.Search]) -> Ranking:
    """By words alone, through the eyes of each reader, from a memory that holds nothing yet."""
    corpus = Corpus(TENANT)
    found: Ranking = []
    for reader in READERS:
        for one in asked:
            async with db.snapshot(pool, TENANT) as conn:
                stage = await retrieve.prepare(conn, corpus, None, privacy.sight(reader), one)
                await retrieve.read_words(conn, stage)
                found.append((await retrieve.rank(conn, stage, None)).hits)
    return found


@asynccontextmanager
async def opened(home: Path) -> AsyncIterator[db.Pool]:
    async with daemon.postgres(Settings(home=home), _to_stderr) as (target, _):
        await daemon.bring_up_to_date(target, _to_stderr)
        pool = await db.open_pool(target, 2)
        try:
            yield pool
        finally:
            await pool.close()


async def main(kills: int, seed: int) -> None:
    async with load.home() as home:
        tally = await torment(home, kills, seed, progress=True)
        verdict = await judge(home)
    print(f"\nkills                        {sum(tally.kills.values())}  {tally.kills}")
    print(f"steps                        {tally.steps}")
    print(f"chunks, in segments          {verdict.chunks:,}, {verdict.indexed:,}")
    print(f"segments left                {verdict.segments}")
    print(f"hits compared                {verdict.hits:,}")
    print(f"rankings a rebuild changes   {verdict.different}")
    sys.exit(1 if verdict.different or not verdict.hits else 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, help="be the process that is killed, on this home")
    given = parser.parse_args()
    if given.work:
        asyncio.run(work(given.work, given.seed))
    else:
        asyncio.run(main(given.kills, given.seed))
