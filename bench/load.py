"""What the benches share: a daemon of their own, a client that costs little, and tables."""

import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, BinaryIO

WORDS = 20_000
CHARACTERS = 600  # of one event's text
READ_BYTES = 1 << 20


def text(draw: random.Random, characters: int = CHARACTERS) -> str:
    """Words with Zipf's frequencies, about `characters` long."""
    words: list[str] = []
    size = 0
    while size < characters:
        rank = int(WORDS ** draw.random())
        word = _word(rank)
        words.append(word)
        size += len(word) + 1
    return " ".join(words)


def _word(rank: int) -> str:
    """The more common, the shorter, as in a language."""
    word = ""
    while rank:
        rank, consonant = divmod(rank, 16)
        rank, vowel = divmod(rank, 5)
        word += "bcdfghjklmnprstv"[consonant] + "aeiou"[vowel]
    return word


def draft(draw: random.Random, **more: Any) -> dict[str, Any]:
    return {
        "session_id": f"s{draw.randrange(50)}",
        "actor": {"type": "human", "id": "ada"},
        "kind": "message",
        "content": {"text": text(draw)},
        **more,
    }


class Client:
    """One kept-alive HTTP connection; a bench measures the daemon, not a client library."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes) -> tuple[int, Any]:
        status, answer = await self.ask(f"POST {path}", body)
        return status, json.loads(answer)

    async def get(self, path: str) -> tuple[int, Any]:
        status, answer = await self.ask(f"GET {path}", b"")
        return status, json.loads(answer)

    async def ask(self, line: str, body: bytes) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        head = f"{line} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        try:
            answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(answer.partition("content-length: ")[2].partition("\r")[0])
            return int(answer.split(" ", 2)[1]), await reader.readexactly(length)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@asynccontextmanager
async def home() -> AsyncIterator[Path]:
    """A fresh folder that an unprivileged PostgreSQL may reach, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="memoryd-bench-"))
    folder.chmod(0o711)
    try:
        yield folder / "home"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def start(home: Path, port: int, *options: str) -> subprocess.Popen[bytes]:
    """`memoryd serve` as a process of its own, ready to answer."""
    environ = {**os.environ, "MEMORYD_HOME": str(home), "MEMORYD_PORT": str(port)}
    with (home.parent / "serve.log").open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "memoryd", "serve", "--log-level", "warning", *options],
            env=environ,
            stdout=output,
            stderr=output,
        )
    await ready(port, process)
    return process


async def ready(port: int, process: subprocess.Popen[bytes], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    client = Client(port)
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit(f"the daemon ended with code {process.returncode}")
        try:
            status, _ = await client.get("/readyz")
        except (OSError, asyncio.IncompleteReadError):
            status = 0
        if status == 200:
            client.close()
            return
        await asyncio.sleep(0.02)
    sys.exit(f"the daemon was not ready within {seconds} s")


def read(home: Path) -> None:
    """Have the home's files in memory, as on a machine that has served for a while: what comes from
    the disk is measured apart, and some machines drop what was not read for a minute.
    """
    for file in _files(home):
        while file.read(READ_BYTES):
            pass


def forget(home: Path) -> None:
    """Drop the home's files from the page cache, so that the next read is from the disk."""
    for file in _files(home):
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _files(home: Path) -> Iterator[BinaryIO]:
    for path in home.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                yield file


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(20)


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
