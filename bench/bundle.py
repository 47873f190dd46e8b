"""Bundles at a million chunks over HTTP: fast, with retrieval, many at once, after a restart.

`python bench/bundle.py` fills a home (half of the chunks in one tenant, which has texts, tasks,
decisions, a handoff and a long conversation), starts the daemon on it and asks. On a busy machine
times mean little by themselves, so each is also given as a multiple of two others of the same
rounds: `/readyz`, which is a bare query, and a plain search.
"""

import argparse
import asyncio
import functools
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import asyncpg

import bundle_fill
import bundle_table
import load
import processor
import scale_fill
from bundle_table import Report, Sizes
from memoryd import daemon
from memoryd.core import config

PORT = 17_383
WARM_UP = 15
LIMIT_SECONDS = 5_400  # of the whole run; filling a million takes some ten minutes
VECTOR_SECONDS = 600
FULL, SMALL = 65_000, 8_000  # tokens


def asked(query: str | None, tokens: int = FULL) -> tuple[str, bytes]:
    body: dict[str, Any] = {"session_id": bundle_fill.SESSION, "max_tokens": tokens}
    if query is not None:
        body["query_text"] = query
    return "POST /api/v1/acb/build", json.dumps(body).encode()


def kinds(query: str) -> dict[str, tuple[str, bytes]]:
    """What a round asks, in turn."""
    return {
        "readyz": ("GET /readyz", b""),
        "search": ("POST /api/v1/search", json.dumps({"query": query, "limit": 10}).encode()),
        "fast path": asked(None),
        "retrieval, 65,000 tokens": asked(query, FULL),
        "retrieval, 8,000 tokens": asked(query, SMALL),
    }


async def clock(client: load.Client, request: tuple[str, bytes]) -> tuple[float, bytes]:
    """Until the last byte of the answer is there."""
    began = time.perf_counter()
    status, answer = await client.ask(*request)
    spent = (time.perf_counter() - began) * 1000
    assert status == 200, answer
    return spent, answer


async def rounds(queries: Sequence[str]) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """One request after the other; and what the daemon says that its bundles took, on average."""
    client = load.Client(PORT)
    spent: dict[str, list[float]] = {name: [] for name in kinds("")}
    parts: dict[str, list[dict[str, float]]] = {}
    for query in queries:
        for name, request in kinds(query).items():
            took, answer = await clock(client, request)
            spent[name].append(took)
            if "acb" in request[0]:
                parts.setdefault(name, []).append(json.loads(answer)["provenance"]["timings_ms"])
    client.close()
    means = {
        name: {step: sum(one[step] for one in said) / len(said) for step in said[0]}
        for name, said in parts.items()
    }
    return spent, means


async def at_once(agents: int, queries: Sequence[str], name: str) -> list[float]:
    """So many agents, each with a connection of its own, asking as fast as they are answered."""
    waiting = list(queries)
    spent: list[float] = []

    async def agent() -> None:
        client = load.Client(PORT)
        while waiting:
            took, _ = await clock(client, kinds(waiting.pop())[name])
            spent.append(took)
        client.close()

    await asyncio.gather(*(agent() for _ in range(agents)))
    return spent


async def measure(
    language: scale_fill.Language, sizes: Sizes, seed: int, used: Callable[[], dict[str, float]]
) -> tuple[Any, Any, dict[str, float]]:
    """Times by what was asked, what the daemon says of it, and the processor time of a bundle of
    many at once.
    """
    queries = language.queries(sizes.rounds + sizes.agents * sizes.each, seed)
    await rounds(language.queries(WARM_UP, seed + 1))
    spent, timings = await rounds(queries[: sizes.rounds])
    more = queries[sizes.rounds :]
    spent["searches at once"] = await at_once(sizes.agents, more, "search")
    kind = "retrieval, 65,000 tokens"
    # New connections have plans to make: a row of their own, as for all that is cold.
    fresh = language.queries(2 * sizes.agents, seed + 2)
    spent["agents at once, at first"] = await at_once(sizes.agents, fresh, kind)
    before = used()
    spent["agents at once"] = await at_once(sizes.agents, more, kind)
    after = used()
    return spent, timings, {name: (after[name] - before[name]) / len(more) for name in after}


async def pending() -> int:
    client = load.Client(PORT)
    _, answer = await client.get("/readyz")
    client.close()
    return int(answer["pending_vectors"])


async def settled() -> None:
    """Wait until every chunk has its vectors."""
    deadline = time.monotonic() + VECTOR_SECONDS
    while left := await pending():
        assert time.monotonic() < deadline, f"{left:,} vectors are still missing"
        await asyncio.sleep(1)


@asynccontextmanager
async def serving(home: Path, *options: str) -> AsyncIterator[int]:
    """Its process."""
    process = await load.start(home, PORT, *options)
    try:
        yield process.pid
    finally:
        load.stop(process)


async def fill(home: Path, language: scale_fill.Language, chunks: int) -> None:
    async with daemon.postgres(config.Settings(home=home), _quiet) as (target, _):
        await daemon.bring_up_to_date(target, _quiet)
        plain: asyncpg.Connection = await asyncpg.connect(**target.arguments)
        await scale_fill.fill(plain, language, chunks)
        await plain.close()
    async with serving(home):
        await bundle_fill.furnish(PORT, language)
        await settled()


def _quiet(_: str) -> None:
    """A bench prints what it measured."""


async def show_sections(report: Report, query: str) -> None:
    """Every section must have something in it, or the bench measures too little."""
    client = load.Client(PORT)
    _, answer = await client.post("/api/v1/acb/build", asked(query)[1])
    client.close()
    report.items = {one["name"]: len(one["items"]) for one in answer["sections"]}
    report.tokens = answer["token_used_est"]
    assert all(report.items.values()), report.items


async def run(home: Path, sizes: Sizes, filled: bool = False) -> Report:
    language = scale_fill.Language()
    report = Report(sizes, machine())
    if not filled:
        await fill(home, language, sizes.chunks)
    load.read(home)
    async with serving(home, "--no-background") as pid:
        await show_sections(report, language.queries(1, seed=2)[0])
        used = functools.partial(processor.spent, home, pid)
        found = await measure(language, sizes, 11, used)
        report.paused, report.timings, report.processor = found
    for query in language.queries(sizes.restarts, seed=13):
        began = time.perf_counter()
        async with serving(home):
            report.ready.append((time.perf_counter() - began) * 1000)
            first, _ = await clock(load.Client(PORT), asked(query))
        report.paused.setdefault("first after a restart", []).append(first)
    load.read(home)
    async with serving(home) as pid:
        await bundle_fill.grow(PORT, language, sizes.backlog)
        before = await pending()
        used = functools.partial(processor.spent, home, pid)
        report.running, *_ = await measure(language, sizes, 17, used)
        report.pending = before, await pending()
    return report


def machine() -> str:
    models = [line for line in _read("/proc/cpuinfo").splitlines() if "model name" in line]
    model = models[0].partition(": ")[2] if models else "unknown processor"
    return f"{os.cpu_count()} x {model}, load average {os.getloadavg()[0]:.1f} at the start"


def _read(path: str) -> str:
    return Path(path).read_text() if Path(path).exists() else ""


async def main(sizes: Sizes, kept: Path | None) -> Report:
    """On a home that is removed, or one that is `kept` and not filled again the next time."""
    async with asyncio.timeout(LIMIT_SECONDS):
        if kept is not None:
            return await run(kept / "home", sizes, filled=(kept / "home").exists())
        async with load.home() as home:
            return await run(home, sizes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for one, default in asdict(Sizes()).items():
        parser.add_argument(f"--{one}", type=int, default=default)
    parser.add_argument("--home", type=Path, help="a folder to keep; by default, none is left")
    parser.add_argument("--json", action="store_true", help="print one JSON value")
    given = vars(parser.parse_args())
    folder, as_json = given.pop("home"), given.pop("json")
    found = bundle_table.summary(asyncio.run(main(Sizes(**given), folder)))
    print(json.dumps(found) if as_json else bundle_table.table(found))
