"""How long an MCP client waits for `memoryd mcp`: for the handshake, and for the first answer.

`python bench/mcp_handshake.py`: on a home of its own, five times with a daemon to join and five
times without, when the command starts one itself. The aim is a handshake in under a second.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from memoryd.doors import throwaway

AIM = 1.0  # seconds
HELLO: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


def ask(process: "subprocess.Popen[str]", method: str, params: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin and process.stdout
    message = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    assert answer["id"] == method and "result" in answer, answer
    return answer


def handshake(home: Path) -> tuple[float, float]:
    """Seconds from the start of the process to the answers to `initialize` and `tools/list`."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "memoryd", "mcp"],
        env={**throwaway.environment(), "MEMORYD_HOME": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    ask(process, "initialize", HELLO)
    shaken = time.perf_counter() - began
    ask(process, "tools/list", {})
    listed = time.perf_counter() - began
    assert process.stdin
    process.stdin.close()
    process.wait(30)
    return shaken, listed


def measure(name: str, home: Path, times: int) -> None:
    found = [handshake(home) for _ in range(times)]
    for what, seconds in zip(("handshake", "tools/list"), zip(*found, strict=True), strict=True):
        middle, most = statistics.median(seconds), max(seconds)
        print(f"{name:<24}{what:<12} p50 {middle:.2f} s   most {most:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    times = parser.parse_args().times
    bare = [sys.executable, "-c", "import mcp.server.lowlevel, mcp.server.stdio"]
    began = time.perf_counter()
    subprocess.run(bare, check=True)
    print(f"baseline: importing the SDK alone {time.perf_counter() - began:.2f} s; aim {AIM:.2f} s")
    with throwaway.room("memoryd-mcp-") as room:
        home = room / "home"
        with throwaway.daemon(home, room / "log"):
            measure("joins a daemon", home, times)
        measure("starts one itself", home, times)


if __name__ == "__main__":
    main()
