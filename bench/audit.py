"""What it costs a request to be kept in the audit: the same requests with and without, in turns.

`python bench/audit.py --requests 4000`: on a daemon in this process and a home of its own.
"""

import argparse
import asyncio
import statistics
import time

import httpx
from fastapi import FastAPI
from starlette.types import Scope

from memoryd import daemon as composition
from memoryd.core.config import Settings
from memoryd.custody import audit
from memoryd.daemon import Daemon
from memoryd.doors import app, http, throwaway

BLOCK = 100  # requests before the other kind has its turn
READ = "/api/v1/events?limit=1"
EVENT = {
    "session_id": "s1",
    "kind": "message",
    "actor": {"type": "human", "id": "ada"},
    "content": {"text": "We ship on Friday."},
}


class Forgetful(http.Gate):
    """Keeps nothing of a request."""

    def _keep(self, scope: Scope, note: audit.Note, status: int) -> None:
        pass


async def block(client: httpx.AsyncClient) -> tuple[float, float]:
    """Milliseconds of wall time and of this process's own, a request."""
    began, used = time.perf_counter(), time.process_time()
    for _ in range(BLOCK):
        (await client.get(READ)).raise_for_status()
    spent = (time.perf_counter() - began, time.process_time() - used)
    return spent[0] / BLOCK * 1000, spent[1] / BLOCK * 1000


def routes(daemon: Daemon) -> FastAPI:
    made = app.document()
    made.state.daemon = daemon
    return made


def asking(gate: http.Gate) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(gate), base_url="http://localhost")


async def measure(daemon: Daemon, requests: int) -> dict[str, list[tuple[float, float]]]:
    clients = {
        "without": asking(Forgetful(routes(daemon), daemon.settings, daemon.audit)),
        "with": asking(app.build(daemon)),
    }
    (await clients["with"].post("/api/v1/events", json=EVENT)).raise_for_status()
    for client in clients.values():
        await block(client)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in clients}
    for number in range(requests // BLOCK):
        name = ("without", "with", "with", "without")[number % 4]
        found[name].append(await block(clients[name]))
    return found


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=4_000)
    given = parser.parse_args()
    with throwaway.room("memoryd-audit-") as room:
        settings = Settings(home=room / "home")
        async with composition.running(settings, print) as daemon:
            found = await measure(daemon, given.requests)
    for at, clock in enumerate(("wall", "cpu")):
        middle = {name: statistics.median(one[at] for one in found[name]) for name in found}
        ratio = middle["with"] / middle["without"]
        print(
            f"{clock:<5} median ms a read: {middle['without']:.3f} without, "
            f"{middle['with']:.3f} with: {ratio:.3f}"
        )


if __name__ == "__main__":
    asyncio.run(main())
