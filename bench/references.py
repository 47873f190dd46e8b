"""A large output as a reference: streamed in, found, read in parts, streamed out; beyond the limit
refused; there after a restart.

`python bench/references.py --megabytes 100`: on a daemon and a home of its own.
"""

import argparse
import hashlib
import random
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from memoryd.doors import throwaway

REFERENCES = "/api/v1/references"
WORDS = ("fetch", "link", "build", "cache", "resolve", "unpack", "verify", "install", "audit")
PATIENCE = 1_200  # seconds for one request


def lines(size: int) -> Iterator[bytes]:
    """A log of `size` bytes, the same every time, with one line that fails."""
    draw, made, number = random.Random(1), 0, 0
    while made < size:
        block = []
        for _ in range(1_000):
            number += 1
            words = " ".join(draw.choices(WORDS, k=6))
            block.append(f"{number:08d} {draw.choice(WORDS)}: {words} {draw.randrange(10**6)} ms\n")
        if not made:
            block[500] = "00000501 npm ERR! left-pad@9.9.9 postinstall failed\n"
        part = "".join(block).encode()[: size - made]
        made += len(part)
        yield part


def timed(name: str, began: float, said: object = "") -> None:
    print(f"{name:<44}{time.perf_counter() - began:>8.2f} s  {said}")


def resident(home: Path) -> str:
    """The daemon's memory, most so far: of the process that has the home open."""
    most = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            environ = (status.parent / "environ").read_bytes()
            text = status.read_text()
        except OSError:
            continue
        if str(home).encode() in environ and "python" in text.partition("\n")[0]:
            peak = next(line for line in text.splitlines() if line.startswith("VmHWM"))
            most = max(most, int(peak.split()[1]))
    return f"{most / 1024:,.0f} MB resident at most"


def store(client: httpx.Client, size: int) -> str:
    digest = hashlib.sha256()

    def sent() -> Iterator[bytes]:
        for part in lines(size):
            digest.update(part)
            yield part

    began = time.perf_counter()
    params = {"key": "big", "metadata": '{"command": "npm install"}', "session_id": "s1"}
    answer = client.post(f"{REFERENCES}/upload", params=params, content=sent())
    assert answer.status_code == 201, answer.text
    timed(f"stored {size:,} bytes", began, answer.json()["placeholder"])
    return digest.hexdigest()


def parts(client: httpx.Client) -> None:
    asked: tuple[dict[str, str | int], ...] = (
        {"lines": "500-502"},
        {"lines": "-2"},
        {"bytes": "50000000-50000079"},
        {"find": "left-pad", "context": 1},
        {"find": "no such text anywhere"},
    )
    for params in asked:
        began = time.perf_counter()
        answer = client.get(f"{REFERENCES}/big", params=params)
        assert answer.status_code in (200, 416), answer.text
        timed(f"read {params}", began, answer.json().get("part", answer.json().get("detail")))


def find(client: httpx.Client) -> None:
    began = time.perf_counter()
    body = {"query": "left-pad postinstall failed"}
    found = client.post(f"{REFERENCES}/search", json=body).json()["results"]
    timed("found by a search", began, [one["key"] for one in found])


def whole(client: httpx.Client, expected: str) -> None:
    began, digest = time.perf_counter(), hashlib.sha256()
    with client.stream("GET", f"{REFERENCES}/big/raw") as answer:
        for part in answer.iter_bytes():
            digest.update(part)
    assert digest.hexdigest() == expected, "the bytes are others"
    timed("streamed back, byte-identical", began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--search", action="store_true", help="Search it too, while it is new.")
    given = parser.parse_args()
    size = given.megabytes * 1024 * 1024
    with throwaway.room("memoryd-references-") as room:
        home, log = room / "home", room / "log"
        with throwaway.daemon(home, log) as url, _client(url) as client:
            expected = store(client, size)
            parts(client)
            if given.search:
                find(client)
            whole(client, expected)
            began = time.perf_counter()
            over = client.post(f"{REFERENCES}/upload", content=lines(101 * 1024 * 1024))
            timed("101 MB refused", began, (over.status_code, over.json()["limit"]))
            print(resident(home))
        with throwaway.daemon(home, log) as url, _client(url) as client:
            whole(client, expected)


def _client(url: str) -> httpx.Client:
    return httpx.Client(base_url=url, timeout=PATIENCE)


if __name__ == "__main__":
    main()
