"""The public tools of MCP against a daemon: the inspector's command line and the conformance suite.

`npm install --prefix DIR @modelcontextprotocol/inspector @modelcontextprotocol/conformance`, with
Node.js >= 22, then `python bench/mcp_public.py DIR`. Nothing else is downloaded.

The suite's other scenarios ask a server for tools and resources of the suite's own (`test_image`,
`test://static-text`) or for what memoryd does not have (logging, completion, subscriptions).
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from memoryd.doors import throwaway

SCENARIOS = (
    *("server-initialize", "ping", "tools-list", "resources-list", "prompts-list"),
    *("server-sse-multiple-streams", "dns-rebinding-protection"),
)
CALL = ["--method", "tools/call", "--tool-name", "memory_record_event", "--tool-arg", "text=Hi"]


def run(folder: Path, name: str, *arguments: str, **env: str) -> str:
    command = [str(folder / "node_modules" / ".bin" / name), *arguments]
    environ = {**os.environ, **env}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    return done.stdout if done.returncode == 0 else f"failed: {done.stdout}{done.stderr}"


def inspect(folder: Path, *server: str) -> dict[str, Any]:
    """The tools that the inspector lists, and one that it calls."""
    listed = run(folder, "mcp-inspector", "--cli", *server, "--method", "tools/list")
    called = run(folder, "mcp-inspector", "--cli", *server, *CALL)
    return {
        "tools": len(json.loads(listed)["tools"]),
        "recorded": json.loads(called)["structuredContent"]["event_id"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="Where npm installed them.")
    folder: Path = parser.parse_args().folder.absolute()
    with throwaway.room("memoryd-mcp-") as room:
        home = room / "home"
        with throwaway.daemon(home, room / "log") as url:
            print("inspector, HTTP ", inspect(folder, f"{url}/mcp", "--transport", "http"))
            stdio = ("-e", f"MEMORYD_HOME={home}", sys.executable, "-m", "memoryd", "mcp")
            print("inspector, stdio", inspect(folder, *stdio))
            for name in SCENARIOS:
                told = run(
                    folder, "conformance", "server", "--url", f"{url}/mcp", "--scenario", name
                )
                passed = [line for line in told.splitlines() if line.startswith("Passed")]
                print(f"conformance {name:<28}", *(passed or [told]))


if __name__ == "__main__":
    main()
