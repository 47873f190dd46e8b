"""Kill the daemon, the postmaster or both at random moments under load; count what is lost.

`python bench/crash.py --kills 100`: every event that was acknowledged must be in the log
afterwards, once, at a dense position, and a replay must find the views equal.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import load
from memoryd import daemon
from memoryd.core import db
from memoryd.core.config import Settings
from memoryd.custody import rebuild

PORT = 17_378
LOST = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
VICTIMS = ("daemon", "postmaster", "both")


@dataclass
class Tally:
    acknowledged: dict[str, str] = field(default_factory=dict)  # idempotency key → event id
    retries: int = 0
    contradictions: int = 0  # a retry that was answered with another event
    kills: dict[str, int] = field(default_factory=lambda: dict.fromkeys(VICTIMS, 0))


async def write(number: int, tally: Tally, stop: asyncio.Event) -> None:
    """One client: sends an event until it is acknowledged, then the next."""
    draw = random.Random(number)
    client = load.Client(PORT)
    count = 0
    while not stop.is_set():
        count += 1
        key = f"client-{number}-{count}"
        body = json.dumps(load.draft(draw, idempotency_key=key)).encode()
        while not stop.is_set():
            try:
                status, answer = await client.post("/api/v1/events", body)
            except LOST:
                status, answer = 0, {}
            if status == 201:
                tally.acknowledged[key] = answer["event_id"]
                break
            tally.retries += 1
            await asyncio.sleep(0.05)
        if count % 5 == 0:
            await send_again(client, key, body, tally)
    client.close()


async def send_again(client: load.Client, key: str, body: bytes, tally: Tally) -> None:
    """A client that did not hear the answer sends it once more."""
    try:
        status, answer = await client.post("/api/v1/events", body)
    except LOST:
        return
    if status == 201 and answer["event_id"] != tally.acknowledged.get(key):
        tally.contradictions += 1


def postmaster(home: Path) -> int | None:
    try:
        return int((home / "postgres-18" / "data" / "postmaster.pid").read_text().split()[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None


async def kill(
    victim: str, home: Path, process: subprocess.Popen[bytes]
) -> subprocess.Popen[bytes]:
    """End it without warning, and wait until the daemon is ready again."""
    if victim in ("postmaster", "both") and (pid := postmaster(home)):
        os.kill(pid, signal.SIGKILL)
    if victim in ("daemon", "both"):
        process.kill()
        process.wait()
        return await load.start(home, PORT)
    await load.ready(PORT, process)
    return process


async def torment(home: Path, kills: int, clients: int, seed: int, progress: bool) -> Tally:
    draw = random.Random(seed)
    tally, stop = Tally(), asyncio.Event()
    process = await load.start(home, PORT)
    writers = [asyncio.create_task(write(number, tally, stop)) for number in range(clients)]
    try:
        for number in range(kills):
            await asyncio.sleep(draw.uniform(0.05, 0.8))
            victim = draw.choice(VICTIMS)
            process = await kill(victim, home, process)
            tally.kills[victim] += 1
            if progress:
                print(
                    f"\r{number + 1}/{kills} kills, {len(tally.acknowledged):,} acknowledged",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )
        await asyncio.sleep(0.5)
        stop.set()
        await asyncio.gather(*writers)
    finally:
        load.stop(process)
    return tally


@dataclass(frozen=True)
class Verdict:
    events: int
    lost: int
    twice: int
    holes: int
    views_equal: bool


async def judge(home: Path, tally: Tally) -> Verdict:
    async with daemon.running(Settings(home=home), print) as running:
        async with db.tenant(running.pool, "default") as conn:
            rows = await conn.fetch("select event_id, idempotency_key, position from events")
        outcomes = await rebuild.rebuild(running.target, lambda *_: None)
    stored = {row["idempotency_key"]: row["event_id"] for row in rows}
    return Verdict(
        events=len(rows),
        lost=sum(stored.get(key) != event for key, event in tally.acknowledged.items()),
        twice=len(rows) - len(stored),
        holes=max((row["position"] for row in rows), default=0) - len(rows),
        views_equal=all(outcome.equal for outcome in outcomes),
    )


async def main(kills: int, clients: int, seed: int) -> None:
    async with load.home() as home:
        tally = await torment(home, kills, clients, seed, progress=True)
        verdict = await judge(home, tally)
    print(f"\nkills                       {sum(tally.kills.values())}  {tally.kills}")
    print(f"acknowledged                {len(tally.acknowledged):,} ({tally.retries:,} retries)")
    print(f"events in the log           {verdict.events:,}")
    print(f"acknowledged events lost    {verdict.lost}")
    print(f"events stored twice         {verdict.twice}")
    print(f"retries answered otherwise  {tally.contradictions}")
    print(f"holes in the positions      {verdict.holes}")
    print(f"views equal to a replay     {'yes' if verdict.views_equal else 'NO'}")
    good = not (verdict.lost or verdict.twice or verdict.holes or tally.contradictions)
    sys.exit(0 if good and verdict.views_equal else 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    asyncio.run(main(given.kills, given.clients, given.seed))
