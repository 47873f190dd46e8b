"""The API document and the daemon say the same, and every page loads from the daemon alone."""

import asyncio
import queue
import re
import secrets
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS
from schemathesis.config import GenerationConfig

import conftest
import make
from memoryd import daemon as composition
from memoryd.core import db
from memoryd.custody import keys
from memoryd.daemon import Daemon
from memoryd.doors import app, logs

EXAMPLES = 6  # for each operation
Case = schemathesis.Case[Any]
PROBLEM = "application/problem+json"


@pytest.fixture(scope="module")
def open_url(daemon: Daemon) -> Iterator[str]:
    """A daemon that asks for keys, with a loop in a thread of its own: schemathesis blocks ours."""
    asked = conftest.outside(daemon.target, host="0.0.0.0")
    found: queue.Queue[tuple[asyncio.AbstractEventLoop, asyncio.Event, str]] = queue.Queue()

    async def serve() -> None:
        stop = asyncio.Event()
        async with (
            composition.running(asked, print, work=False) as running,
            conftest.serving(running) as url,
        ):
            found.put((asyncio.get_running_loop(), stop, url))
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    loop, stop, url = found.get(timeout=120)
    yield url
    loop.call_soon_threadsafe(stop.set)
    thread.join()


@pytest.fixture(scope="module")
async def known(daemon: Daemon) -> None:
    """Lets `WithKey` send a key of a tenant that is there for this alone."""
    async with db.tenant(daemon.pool, "openapi") as conn:
        _, WithKey.key = await keys.create(
            conn, tenant_id="openapi", role="agent", secret=secrets.token_urlsafe(32), now=make.NOW
        )


operations = schemathesis.openapi.from_dict(app.document().openapi())
operations.config.generation = GenerationConfig(deterministic=True, max_examples=EXAMPLES)


@operations.auth()
class WithKey:
    key = ""

    def get(self, _: Case, __: schemathesis.AuthContext) -> str:
        return self.key

    def set(self, case: Case, data: str, _: schemathesis.AuthContext) -> None:
        case.headers["Authorization"] = f"Bearer {data}"


# What a content must hold depends on its kind, and a time on the clock: no schema says so. The
# framework names the methods of the first route that has the path, not of all of them.
NARROWER: list[Any] = [
    CHECKS.get_one("positive_data_acceptance"),
    CHECKS.get_one("allow_header_conformance"),
]


@operations.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_every_answer_is_as_the_document_says(case: Case, open_url: str, known: None) -> None:
    case.call_and_validate(base_url=open_url, excluded_checks=NARROWER)


async def test_every_refusal_is_documented_as_a_problem(url: str) -> None:
    async with conftest.asking(url) as client:
        document = (await client.get("/openapi.json")).json()

    documented = {
        (path, method, status): set(answer["content"])
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        for status, answer in operation["responses"].items()
        if path.startswith("/api/") and status >= "400"
    }
    assert len(documented) >= 30
    assert set(map(frozenset, documented.values())) == {frozenset({PROBLEM})}
    for path, methods in document["paths"].items():
        for method in methods:
            if path.startswith("/api/"):
                statuses = {status for at, how, status in documented if (at, how) == (path, method)}
                assert {"401", "403", "421", "422", "503"} <= statuses


async def test_the_document_names_only_what_it_defines(url: str) -> None:
    async with conftest.asking(url) as client:
        answer = await client.get("/openapi.json")

    named = set(re.findall(r'"#/components/schemas/([^"]+)"', answer.text))
    assert named == set(answer.json()["components"]["schemas"])


async def test_an_error_of_ours_is_a_problem_too_and_its_words_are_not_logged(
    daemon: Daemon, caplog: pytest.LogCaptureFixture
) -> None:
    gate = app.build(daemon)

    async def broken() -> None:
        raise RuntimeError("hunter2")

    gate._app.add_api_route("/broken", broken)  # type: ignore[attr-defined]
    transport = httpx.ASGITransport(gate)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        answer = await client.get("/broken")

    assert answer.status_code == 500
    assert answer.headers["content-type"] == PROBLEM
    assert answer.json()["status"] == 500
    assert "hunter2" not in answer.text
    (line,) = [one for one in caplog.records if one.getMessage() == "request.failed"]
    assert vars(line)["error"] == "RuntimeError"
    assert "broken" in vars(line)["at"][-1]
    assert "hunter2" not in logs.JsonLines().format(line)


PAGES = ["/", "/docs"]


@pytest.mark.parametrize("page", PAGES)
async def test_a_page_loads_everything_from_the_daemon(url: str, page: str) -> None:
    async with conftest.asking(url) as client:
        html = await client.get(page)
        loads = re.findall(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="([^"]+)"', html.text)
        loaded = [await client.get(load) for load in loads]

    assert html.status_code == 200
    assert html.headers["content-type"].startswith("text/html")
    assert len(loads) >= 2
    assert [load for load in loads if not load.startswith("/") or load.startswith("//")] == []
    assert [answer.status_code for answer in loaded] == [200] * len(loads)
    for answer in (html, *loaded):
        assert_loads_nothing_from_outside(answer)


def assert_loads_nothing_from_outside(answer: httpx.Response) -> None:
    """In what we wrote, no address at all; in the bundle, whose addresses the policy keeps
    unreachable, no style sheet that loads one.
    """
    if "vendor" not in answer.url.path:
        assert re.findall(r"(?:https?:)?//[\w.-]+\.\w+", answer.text) == []
    if answer.headers["content-type"].startswith("text/css"):
        assert re.findall(r"@import|url\(\s*[\"']?(?:https?:)?//", answer.text) == []


@pytest.mark.parametrize("page", PAGES)
async def test_a_page_may_reach_nothing_but_the_daemon(url: str, page: str) -> None:
    async with conftest.asking(url) as client:
        headers = (await client.get(page)).headers

    policy = dict(
        part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "script-src" not in policy and "connect-src" not in policy
    assert headers["x-content-type-options"] == "nosniff"
