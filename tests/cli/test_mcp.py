"""`memoryd mcp` over stdio, driven by the SDK's client: it joins a daemon, or starts one."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters
from mcp.client.client import Client

import conftest
from commands import SECONDS, Served, environ
from mcp_client import MODES, refused, use
from memoryd.daemon import Daemon
from memoryd.doors import serving


@asynccontextmanager
async def started(home: Path, *arguments: str, mode: Any = "legacy") -> AsyncIterator[Client]:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "memoryd", "mcp", *arguments],
        env={"MEMORYD_HOME": str(home)},
    )
    async with Client(command, mode=mode, read_timeout_seconds=SECONDS) as client:
        yield client


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_joins_the_daemon_that_runs(
    cli_home: Path, served: Served, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.perf_counter()
    async with started(
        cli_home, "--agent", "scout", "--session", f"mcp-{mode}", mode=mode
    ) as client:
        shaken = time.perf_counter() - began
        tools = [one.name for one in (await client.list_tools()).tools]
        done = await use(client, "memory_record_event", text="Said over stdio.")
        await use(client, "save_to_core", content="I am helpful")
    async with conftest.asking(served.url) as http:
        kept = (await http.get(f"/api/v1/events/{done['event_id']}")).json()
    with capsys.disabled():
        print(f"\nMCP handshake over stdio ({mode}): {shaken:.2f} s")

    assert serving.find(cli_home) == served.url
    assert "memory_build_acb" in tools and "add_to_memory" in tools
    assert kept["content"] == {"text": "Said over stdio."}
    assert (kept["session_id"], kept["agent_id"]) == (f"mcp-{mode}", "scout")


async def test_twenty_calls_at_once_lose_nothing(cli_home: Path, served: Served) -> None:
    texts = [f"Parallel note {number}." for number in range(20)]
    async with started(cli_home, "--session", "mcp-many") as client:
        await asyncio.gather(*(use(client, "memory_record_event", text=text) for text in texts))
    async with conftest.asking(served.url) as http:
        asked = {"session_id": "mcp-many", "limit": "100"}
        found = (await http.get("/api/v1/events", params=asked)).json()["events"]

    assert sorted(one["content"]["text"] for one in found) == sorted(texts)


async def test_without_a_daemon_it_starts_one_of_its_own(home: Path, daemon: Daemon) -> None:
    """The home's PostgreSQL runs, but nobody serves HTTP on it: the command does it itself."""
    async with started(home, "--session", "mcp-alone", "--user", "mcp-alone") as client:
        done = await use(client, "memory_record_event", text="Said to nobody else.")
        built = await use(client, "memory_build_acb", query_text="what was said?")
        short = await refused(client, "add_to_memory", content="x", category="person")

    assert serving.find(home) is None
    assert done["event_id"] in str(built["sections"])
    assert "field: content" in short


def speak(home: Path, *messages: dict[str, Any], **env: str) -> subprocess.CompletedProcess[str]:
    lines = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in messages)
    return subprocess.run(
        [sys.executable, "-m", "memoryd", "mcp"],
        env=environ(home, **env),
        input=lines,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


HELLO: dict[str, Any] = {
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def test_nothing_but_the_protocol_is_on_standard_output(cli_home: Path, served: Served) -> None:
    done = speak(cli_home, HELLO, {"method": "notifications/initialized"}, MEMORYD_URL=served.url)
    (line,) = done.stdout.splitlines()

    assert done.returncode == 0, done.stderr
    answer = json.loads(line)
    assert answer["result"]["serverInfo"]["name"] == "memoryd"
    assert answer["result"]["protocolVersion"] == "2025-11-25"


def test_a_daemon_that_does_not_answer_is_told_in_the_protocol(cli_home: Path) -> None:
    listing = {"id": 2, "method": "tools/list", "params": {}}
    process = subprocess.Popen(
        [sys.executable, "-m", "memoryd", "mcp"],
        env=environ(cli_home, MEMORYD_URL="http://127.0.0.1:9"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin and process.stdout
    for message in (HELLO, {"method": "notifications/initialized"}, listing):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(2)]
    process.communicate(timeout=SECONDS)

    assert "result" in answers[0]
    assert "no daemon answers at http://127.0.0.1:9" in answers[1]["error"]["message"]
