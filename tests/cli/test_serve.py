"""`memoryd serve`: what it says, what it logs, how it ends."""

import http.client
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from commands import SECONDS, Served, answer, memoryd, message, serving
from memoryd import bundling


def test_serve_prints_where_everything_is(served: Served) -> None:
    assert f"API document   {served.url}/docs" in served.said
    assert f"console        {served.url}/\n" in served.said
    assert f"MCP endpoint   {served.url}/mcp" in served.said
    assert httpx.get(f"{served.url}/docs").status_code == 200
    assert httpx.get(f"{served.url}/").status_code == 200
    assert httpx.get(f"{served.url}/readyz").json()["status"] == "ready"


def test_the_line_to_try_works_as_it_stands(served: Served) -> None:
    found = re.search(r"curl .*?\n\n", served.said, re.DOTALL)
    assert found
    words = shlex.split(found[0])
    if shutil.which("curl"):
        done = subprocess.run(
            found[0], shell=True, capture_output=True, text=True, check=True, timeout=SECONDS
        )
        recorded = json.loads(done.stdout)
    else:  # what curl would send
        assert [words[0], words[2], words[4]] == ["curl", "-H", "-d"]
        name, _, value = words[3].partition(": ")
        recorded = httpx.post(words[1], content=words[5], headers={name: value}).json()

    assert recorded["event_id"].startswith("evt_")


@pytest.mark.parametrize(
    ("name", "given", "allowed"),
    [
        ("MEMORYD_PORT", "70000", "from 0 to 65535"),
        ("MEMORYD_PORT", "x", "a number >= 0"),
        ("MEMORYD_PORT", "1e3", "a number >= 0"),
        ("MEMORYD_POOL_SIZE", "0", "a number >= 1"),
        ("MEMORYD_MAX_BUNDLE_TOKENS", "199", f"a number >= {bundling.LEAST_TOKENS}"),
    ],
)
def test_a_setting_that_cannot_be_is_named(
    cli_home: Path, name: str, given: str, allowed: str
) -> None:
    done = memoryd(cli_home, "serve", **{name: given})

    assert done.returncode == 1
    assert done.stderr.startswith(f"memoryd: {name} is ")
    assert given in done.stderr and allowed in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_said_at_once(cli_home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = memoryd(cli_home, "serve", "--port", str(port))

    assert done.returncode == 1
    assert done.stderr.startswith(f"memoryd: cannot listen on 127.0.0.1 port {port}")
    assert "--port 0" in done.stderr


def test_the_log_is_json_and_holds_nothing_of_what_was_said(cli_home: Path, served: Served) -> None:
    hidden = "pineapple-on-pizza"
    with httpx.Client(base_url=served.url) as client:
        client.post("/api/v1/events", json=message(f"s-{hidden}", f"I like {hidden}"))
        client.get("/api/v1/events", params={"tag": hidden})
        client.get(f"/api/v1/events/{hidden}")
        client.get(f"/{hidden}")
        client.post("/api/v1/events", content=f'{{"{hidden}": ')
        client.post("/api/v1/events", json={hidden: hidden})
    lines = [json.loads(line) for line in served.log.read_text().splitlines()]

    assert hidden not in served.log.read_text()
    requests = [line for line in lines if line["event"] == "request"]
    assert {"ts", "level", "logger", "event", "method", "route", "status", "ms"} <= set(
        requests[-1]
    )
    assert {line["route"] for line in requests} >= {"/api/v1/events", "/api/v1/events/{event_id}"}


def postmaster_of(home: Path) -> int:
    (found,) = home.rglob("postmaster.pid")
    return int(found.read_text().split()[0])


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module")
def begun(cli_home: Path) -> tuple[Path, float]:
    """A home of its own, and the seconds that its first start took, as busy as the machine is:
    the last one out stops PostgreSQL, and here that is the daemon under test.
    """
    home = cli_home.parent / f"second-{time.monotonic_ns()}"
    started = time.monotonic()
    made = memoryd(home, "migrate")
    assert made.returncode == 0, made.stderr
    return home, time.monotonic() - started


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_start_is_quick_and_a_signal_ends_all(
    begun: tuple[Path, float], number: int
) -> None:
    home, first = begun
    session = f"s-{number}"
    with serving(home) as running:
        said = message(session, "kept")
        httpx.post(f"{running.url}/api/v1/events", json=said).raise_for_status()
        pid = postmaster_of(home)
        asked = time.monotonic()
        running.process.send_signal(number)
        code = running.process.wait(SECONDS)
        took = time.monotonic() - asked
    kept = answer(home, "events", "--session", session)

    assert code == 0
    assert not alive(pid)
    assert max(running.seconds, took) < 10 + 5 * first
    assert "Traceback" not in running.log.read_text()
    assert [event["content"]["text"] for event in kept] == ["kept"]


def test_a_connection_outlives_those_of_clients(served: Served) -> None:
    """They close theirs after five idle seconds: a request must not meet a closed one."""
    host, port = served.url.removeprefix("http://").split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=SECONDS)
    connection.request("GET", "/healthz")
    first = connection.getresponse()
    first.read()
    opened = connection.sock
    time.sleep(6)
    connection.request("GET", "/healthz")

    assert connection.getresponse().status == first.status == 200
    assert connection.sock is opened
