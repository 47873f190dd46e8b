"""Nothing leaves the machine: neither the framework nor the MCP SDK reports to anybody, whatever
the environment says.
"""

import os
import socket
import subprocess
import sys

import pytest

from memoryd.doors import app, mcp_server

REST = """
import asyncio, httpx, sys
from memoryd.doors import app
async def ask():
    transport = httpx.ASGITransport(app.document())
    async with httpx.AsyncClient(transport=transport, base_url='http://x') as to:
        print((await to.get('/healthz')).status_code)
asyncio.run(ask())
print([name for name in sys.modules if name.startswith('opentelemetry.sdk')])
"""
# Every connection that is begun is noted, to wherever it goes.
MCP = """
import asyncio, sys
reached = []
sys.addaudithook(lambda name, told: reached.append(told[1]) if name == 'socket.connect' else None)
from mcp.client.client import Client
from memoryd.doors import mcp_server
async def ask():
    async with Client(mcp_server.make(mcp_server.Way(None, {}, {}))) as to:
        print(len((await to.list_prompts()).prompts))
asyncio.run(ask())
print(reached + [name for name in sys.modules if name.startswith('opentelemetry.sdk')])
"""


@pytest.mark.parametrize(("program", "answer"), [(REST, "200"), (MCP, "1")])
def test_no_telemetry_is_sent_whatever_the_environment_says(program: str, answer: str) -> None:
    """A collector listens; what is told to report to it answers a request and does not call."""
    with socket.create_server(("127.0.0.1", 0)) as collector:
        endpoint = f"http://127.0.0.1:{collector.getsockname()[1]}"
        environ = {
            **os.environ,
            "OTEL_SDK_DISABLED": "false",
            "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_METRICS_EXPORTER": "otlp",
            "OTEL_LOGS_EXPORTER": "otlp",
            "OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED": "true",
            "OTEL_BSP_SCHEDULE_DELAY": "1",
        }
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environ,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        collector.settimeout(0.2)

        with pytest.raises(TimeoutError):
            collector.accept()
        assert done.stdout.split("\n") == [answer, "[]", ""]


def test_telemetry_is_switched_off() -> None:
    chosen = app.document()._telemetry

    assert [chosen[name] for name in ("tracing", "metrics", "logs", "auto_configure")] == [
        False
    ] * 4


def test_the_sdk_traces_no_message() -> None:
    async def nobody() -> None:
        raise AssertionError

    assert mcp_server.make(mcp_server.Way(nobody, {}, {})).middleware == []  # type: ignore[arg-type]
