"""Durable events a second, beside a bare insert loop on the same server in the same run.

`python bench/ingest.py`: single requests from 16 clients, and batches of 100; with indexing and
embedding left to another process, and with both going on in the same one.
"""

import argparse
import asyncio
import json
import random
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path

import asyncpg

import load
from memoryd import embedded

PORT = 17_377


async def many(
    clients: int, seconds: float, work: Callable[[int], Awaitable[int]]
) -> tuple[float, list[float]]:
    """Events a second, and the latency of each call in milliseconds."""
    spent: list[float] = []
    done = 0
    deadline = time.perf_counter() + seconds

    async def one(number: int) -> None:
        nonlocal done
        while time.perf_counter() < deadline:
            began = time.perf_counter()
            events = await work(number)
            done += events
            spent.append((time.perf_counter() - began) * 1000)

    began = time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(clients)))
    return done / (time.perf_counter() - began), spent


async def memoryd(clients: int, batch: int, seconds: float) -> tuple[float, list[float]]:
    draw = random.Random(7)
    connections = [load.Client(PORT) for _ in range(clients)]
    drafts = [load.draft(draw) for _ in range(2_000)]

    async def write(number: int) -> int:
        if batch == 1:
            status, answer = await connections[number].post(
                "/api/v1/events", json.dumps(draw.choice(drafts)).encode()
            )
        else:
            status, answer = await connections[number].post(
                "/api/v1/events/batch",
                json.dumps({"events": draw.choices(drafts, k=batch)}).encode(),
            )
        assert status == 201, answer
        return batch

    result = await many(clients, seconds, write)
    for connection in connections:
        connection.close()
    return result


async def bare(home: Path, clients: int, batch: int, seconds: float) -> tuple[float, list[float]]:
    """The same rows, straight into a table with the same keys, one transaction a call."""
    server = await asyncio.to_thread(embedded.join, home, print)
    where = vars(server.address)
    pool = await asyncpg.create_pool(**where, min_size=clients, max_size=clients)
    draw = random.Random(7)
    texts = [load.text(draw) for _ in range(2_000)]
    await pool.execute(
        "create table if not exists bare (tenant_id text, event_id text, content jsonb,"
        " primary key (tenant_id, event_id))"
    )

    async def write(_: int) -> int:
        rows = [
            ("t", uuid.uuid4().hex, json.dumps({"text": draw.choice(texts)})) for _ in range(batch)
        ]
        async with pool.acquire() as conn:
            await conn.executemany("insert into bare values ($1, $2, $3)", rows)
        return batch

    try:
        return await many(clients, seconds, write)
    finally:
        await pool.close()
        await asyncio.to_thread(server.close)


async def main(seconds: float) -> None:
    print(f"{'':<46}{'events/s':>10}{'p50 ms':>9}{'p95 ms':>9}{'of bare':>9}")
    for clients, batch in ((16, 1), (4, 100)):
        name = f"{clients} clients, " + ("single" if batch == 1 else f"batches of {batch}")
        for_bare = 0.0
        for option in ("--no-background", "--background"):
            async with load.home() as home:
                daemon = await load.start(home, PORT, option)
                try:
                    if not for_bare:
                        for_bare, spent = await bare(home, clients, batch, seconds)
                        show(f"bare insert, {name}", for_bare, spent, 1.0)
                    await memoryd(4, 1, 1)  # the vocabulary loads, the connections open
                    rate, spent = await memoryd(clients, batch, seconds)
                finally:
                    load.stop(daemon)
            working = "indexing paused" if option == "--no-background" else "indexing too"
            show(f"memoryd, {name}, {working}", rate, spent, rate / for_bare)


def show(name: str, rate: float, spent: list[float], ratio: float) -> None:
    p50, p95 = load.percentile(spent, 0.5), load.percentile(spent, 0.95)
    print(f"{name:<46}{rate:>10,.0f}{p50:>9.1f}{p95:>9.1f}{ratio:>9.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    asyncio.run(main(parser.parse_args().seconds))
