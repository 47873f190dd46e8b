"""Random reads across tenants, users and channels, through every route: nobody is shown a word, a
name or an id that the rules of sight keep from them.

`bench/leaks.py` runs the same for as long as one likes.
"""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import httpx
import pytest
from hypothesis import Phase, settings, stateful
from hypothesis import strategies as st
from starlette.routing import Mount

import leak_cases
import leak_world
import leak_writes
from conftest import MakeKey
from leak_world import World
from memoryd.doors import app

WORLDS, STEPS = 8, 50
READS_A_STEP = 25  # some 2,500 in all


def every(routes: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for route in routes:
        inside = getattr(route, "original_router", None)
        if inside is not None:
            yield from every(inside.routes)
        for method in getattr(route, "methods", ()) if inside is None else ():
            yield method, re.sub(r":\w+}", "}", route.path)
        if isinstance(route, Mount):
            yield "MOUNT", route.path


def test_every_route_has_a_case() -> None:
    """A new route fails here until somebody says how it is asked."""
    found = set(every(app.document().routes))
    files = {("MOUNT", "/static"), ("HEAD", "/openapi.json")}

    assert found - files == set(leak_writes.CASES)


class Strangers(stateful.RuleBasedStateMachine):
    """Two tenants with seven kinds of key each; what was written is known word by word."""

    url: str
    make_key: Any  # makes one from a thread
    numbers = iter(range(1, 1_000))
    done: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        number = next(self.numbers)
        tenants = [f"leaks-{number}-{side}" for side in "ab"]
        self.client = httpx.Client(base_url=self.url, timeout=120, verify=False)
        self.world = World(self.client, leak_world.make_keys(self.make_key, tenants))

    @stateful.initialize(draw=st.randoms(use_true_random=False))
    def begin(self, draw: random.Random) -> None:
        for route in leak_cases.WRITES * 4:
            self._ask(draw, route)

    @stateful.rule(
        draw=st.randoms(use_true_random=False),
        route=st.sampled_from(leak_cases.WRITES),
    )
    def write(self, draw: random.Random, route: tuple[str, str]) -> None:
        self._ask(draw, route)

    @stateful.rule(draw=st.randoms(use_true_random=False))
    def repeat(self, draw: random.Random) -> None:
        """Somebody else sends what was sent before, with its idempotency key."""
        if self.world.sent:
            asker, asked = draw.choice(self.world.sent)
            key = draw.choice(self.world.keys)
            self.world.ask(*leak_world.again(asker, asked, key))

    @stateful.rule(
        draw=st.randoms(use_true_random=False),
        routes=st.lists(
            st.sampled_from(leak_cases.READS), min_size=READS_A_STEP, max_size=READS_A_STEP
        ),
    )
    def read(self, draw: random.Random, routes: list[tuple[str, str]]) -> None:
        for route in routes:
            self._ask(draw, route)

    @stateful.rule(draw=st.randoms(use_true_random=False))
    def hidden_is_as_missing(self, draw: random.Random) -> None:
        """Of a thing by its id, a refusal does not tell whether there is one."""
        self.world.compare(draw, leak_cases.BY_ID)

    def _ask(self, draw: random.Random, route: tuple[str, str]) -> None:
        asker = leak_world.asker(draw, self.world.keys)
        self.world.ask(asker, leak_writes.CASES[route](self.world, draw, asker))

    def teardown(self) -> None:
        self.client.close()
        self.done["reads"] += self.world.reads
        self.done["seen"] += self.world.seen


async def test_nobody_is_shown_what_is_not_theirs(
    url: str, make_key: MakeKey, capsys: pytest.CaptureFixture[str]
) -> None:
    loop = asyncio.get_running_loop()

    async def make(tenant: str, pins: dict[str, str]) -> str:
        return await make_key(tenant, **pins)

    def from_thread(tenant: str, **pins: str) -> str:
        return asyncio.run_coroutine_threadsafe(make(tenant, pins), loop).result()

    Strangers.url, Strangers.make_key = url, staticmethod(from_thread)
    Strangers.done.clear()
    # Not shrunk: the message has the one request that matters.
    phases = (Phase.explicit, Phase.generate)
    many = settings(max_examples=WORLDS, stateful_step_count=STEPS, phases=phases)
    await asyncio.to_thread(stateful.run_state_machine_as_test, Strangers, settings=many)
    with capsys.disabled():
        print(f"\n{Strangers.done['reads']:,} requests, {Strangers.done['seen']:,} things seen")

    assert Strangers.done["reads"] > 1_500
    assert Strangers.done["seen"] > 400
