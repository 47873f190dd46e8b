"""Random reads across tenants, users and channels through every route: how many leak.

`python bench/leaks.py --reads 10000`: on a daemon and a home of its own. The first answer that
shows somebody what is not theirs ends it, with the request, the answer and the seed.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import httpx

import leak_cases
import leak_world
import leak_writes
from leak_world import World
from memoryd.doors import throwaway

READS_A_WORLD = 1_000


def create(home: Path, tenant: str, **pins: str) -> str:
    """A key, as an operator makes one."""
    options = [f"--{name.removesuffix('_id')}={pin}" for name, pin in pins.items()]
    command = ["memoryd", "keys", "create", "--json", "--role", "agent", "--tenant", tenant]
    made = subprocess.run(
        [sys.executable, "-m", *command, *options],
        env={**throwaway.environment(), "MEMORYD_HOME": str(home)},
        check=True,
        capture_output=True,
    )
    key: str = json.loads(made.stdout)["key"]
    return key


def explore(world: World, draw: random.Random, reads: int, asked: Counter[str]) -> None:
    """Write some, read much, and now and then repeat what somebody else wrote."""
    for route in leak_cases.WRITES * 5:
        step(world, draw, route, asked)
    for number in range(reads):
        step(world, draw, draw.choice(leak_cases.READS), asked)
        if number % 8 == 0:
            step(world, draw, draw.choice(leak_cases.WRITES), asked)
        if number % 40 == 0 and world.sent:
            asker, request = draw.choice(world.sent)
            world.ask(*leak_world.again(asker, request, draw.choice(world.keys)))
        if number % 20 == 0:
            world.compare(draw, leak_cases.BY_ID)


def step(world: World, draw: random.Random, route: tuple[str, str], asked: Counter[str]) -> None:
    asker = leak_world.asker(draw, world.keys)
    answer = world.ask(asker, leak_writes.CASES[route](world, draw, asker))
    asked[f"{' '.join(route)} {answer.status_code // 100}xx"] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reads", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    asked: Counter[str] = Counter()
    seen, requests, began = 0, 0, time.perf_counter()
    with throwaway.room("memoryd-leaks-") as room:
        home = room / "home"
        with throwaway.daemon(home, room / "log") as url, httpx.Client(base_url=url) as client:
            for number in range(-(-given.reads // READS_A_WORLD)):
                draw = random.Random(given.seed * 1_000 + number)
                tenants = [f"world-{number}-{side}" for side in "ab"]
                keys = leak_world.make_keys(lambda *a, **k: create(home, *a, **k), tenants)
                world = World(client, keys)
                explore(world, draw, min(READS_A_WORLD, given.reads), asked)
                seen, requests = seen + world.seen, requests + world.reads
                print(f"world {number + 1}: {requests:,} requests, {seen:,} things seen, 0 leaks")
    for route, count in sorted(asked.items()):
        print(f"  {route:<56}{count:>7,}")
    spent = time.perf_counter() - began
    print(f"{requests:,} requests, seed {given.seed}, {spent:.0f} s: 0 leaks")


if __name__ == "__main__":
    main()
