"""Requests that nobody should send: raw bodies, queries, hosts, origins, keys."""

import json
from collections.abc import AsyncIterator

import httpx
import pytest

import conftest
import make
from conftest import MakeKey
from memoryd.daemon import Daemon
from wire import EVENTS, JSON, MEBIBYTE, ONE_LINE, assert_refused, storing_nothing, tool_result


def saying(content: str) -> bytes:
    """A body with raw JSON in the place of its text."""
    return json.dumps(make.body()).replace('"We ship on Friday."', content).encode()


RAW: dict[str, tuple[bytes, int, str]] = {
    "nothing": (b"", 400, "body"),
    "half an object": (saying('"x"')[:-1], 400, "body"),
    "text after the object": (saying('"x"') + b"x", 400, "body"),
    "invalid UTF-8": (saying('"x"').replace(b"x", b"\xff"), 400, "body"),
    "UTF-16": (saying('"x"').decode().encode("utf-16"), 400, "body"),
    "a byte order mark": (b"\xef\xbb\xbf" + saying('"x"'), 400, "body"),
    "a control character": (saying('"a\nb"'), 400, "body"),
    "a lone surrogate": (saying(r'"\ud800"'), 400, "body"),
    "a lone low surrogate": (saying(r'"\udc00 x"'), 400, "body"),
    "surrogates in the wrong order": (saying(r'"\udc00\ud800"'), 400, "body"),
    "a lone surrogate in a key": (saying(r'"x", "\ud800": 1'), 400, "body"),
    "NaN": (saying('"x", "n": NaN'), 400, "body"),
    "Infinity": (saying('"x", "n": Infinity'), 400, "body"),
    "-Infinity": (saying('"x", "n": -Infinity'), 400, "body"),
    "1e999": (saying('"x", "n": 1e999'), 422, "content.n"),
    "an integer of 5,000 digits": (saying('"x", "n": ' + "9" * 5_000), 400, "body"),
    "100,000 levels of lists": (b"[" * 100_000 + b"]" * 100_000, 400, "body"),
    "100,000 levels of objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 400, "body"),
    "100,000 levels left open": (b"[" * 100_000, 400, "body"),
    "a list": (b"[1, 2]", 422, "body"),
    "a text": (b'"hello"', 422, "body"),
    "null": (b"null", 422, "body"),
    "a number": (b"7", 422, "body"),
}


@pytest.mark.parametrize("route", [EVENTS, f"{EVENTS}/batch"])
@pytest.mark.parametrize("what", RAW)
async def test_a_body_that_is_not_an_object_of_json_is_refused(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, what: str, route: str
) -> None:
    raw, status, field = RAW[what]
    if route.endswith("batch") and field == "content.n":
        raw, field = b'{"events": [' + raw + b"]}", "events.0.content.n"

    async with storing_nothing(daemon, tenant):
        answer = await client.post(route, content=raw, headers=JSON)
    assert answer.json().pop("limit", None) in (None, "1e308")
    assert_refused(answer, status, field, answer.json().get("limit"))


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
async def test_another_content_type_is_refused(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, media_type: str
) -> None:
    """A form of a foreign page can send these without asking the browser first."""
    async with storing_nothing(daemon, tenant):
        answer = await client.post(
            EVENTS, content=saying('"x"'), headers={"content-type": media_type}
        )
    assert_refused(answer, 415, "Content-Type")


@pytest.mark.parametrize("announced", [True, False])
async def test_json_over_8_mb_is_refused(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, announced: bool
) -> None:
    raw = json.dumps(tool_result(text="x" * 8 * MEBIBYTE)).encode()

    async with storing_nothing(daemon, tenant):
        answer = await client.post(EVENTS, content=raw if announced else parts(raw), headers=JSON)
    assert_refused(answer, 413, "body", "8,388,608 bytes")
    assert "/api/v1/artifacts" in answer.json()["detail"]


async def parts(raw: bytes) -> AsyncIterator[bytes]:
    """Sent in pieces, so that no length is announced."""
    for at in range(0, len(raw), 65_536):
        yield raw[at : at + 65_536]


async def test_a_key_reused_for_another_body_is_refused(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    await client.post(EVENTS, json=make.body(idempotency_key="k"))

    async with storing_nothing(daemon, tenant):
        answer = await client.post(EVENTS, json=make.body(idempotency_key="k", tags=["other"]))
    assert_refused(answer, 409, "idempotency_key")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("session_id=a%00b", "session_id"),
        ("tag=%00", "tag"),
        ("user_id=a%00", "user_id"),
        ("actor=%0a", "actor"),
        ("cursor=%00", "cursor"),
    ],
)
async def test_control_characters_in_a_query_are_refused(
    client: httpx.AsyncClient, query: str, field: str
) -> None:
    answer = await client.get(f"{EVENTS}?{query}")

    assert answer.status_code == 422
    assert answer.json()["field"] == field
    assert answer.json()["limit"]


async def test_control_characters_in_a_path_are_refused(client: httpx.AsyncClient) -> None:
    event = await client.get(f"{EVENTS}/evt_%00")
    artifact = await client.get("/api/v1/artifacts/art_%00")

    assert_refused(event, 422, "event_id", ONE_LINE)
    assert_refused(artifact, 422, "artifact_id", ONE_LINE)


async def test_a_query_that_is_not_utf8_finds_nothing(client: httpx.AsyncClient) -> None:
    answers = [
        await client.get(f"{EVENTS}?session_id=%ff%fe"),
        await client.get(f"{EVENTS}?tag=%ed%a0%80"),
    ]

    assert [answer.json() for answer in answers] == [{"events": [], "next": None}] * 2


@pytest.mark.parametrize("path", [EVENTS, f"{EVENTS}/evt_1", "/api/v1/artifacts/art_1"])
async def test_a_foreign_tenant_in_the_query_is_refused(
    client: httpx.AsyncClient, path: str
) -> None:
    answer = await client.get(path, params={"tenant_id": "someone-else"})

    assert_refused(answer, 403, "tenant_id")


ROUTES = [("GET", EVENTS), ("POST", EVENTS), ("GET", "/healthz"), ("GET", "/"), ("GET", "/docs")]


@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:7377", "localhost.evil.example", "127.0.0.1.nip.io"),
        *("localhost@evil.example", "8.8.8.8", "[2001:db8::1]", "[::1", "", "2130706433"),
    ],
)
async def test_a_foreign_host_is_refused_on_every_route(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, method: str, path: str, host: str
) -> None:
    async with storing_nothing(daemon, tenant):
        answer = await client.request(method, path, json=make.body(), headers={"host": host})
    assert_refused(answer, 421, "Host")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:7377", "127.0.0.1:1", "127.0.0.1", "[::1]:7377", "127.9.9.9"]
)
async def test_loopback_goes_by_any_of_its_names(client: httpx.AsyncClient, host: str) -> None:
    answer = await client.get(EVENTS, headers={"host": host})

    assert answer.status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        *("https://evil.example", "null", "http://localhost.evil.example", "http://8.8.8.8", ""),
        *("http://localhost@evil.example", "http://[::1", "file://", "chrome-extension://abc"),
    ],
)
async def test_a_foreign_origin_is_refused(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, origin: str
) -> None:
    async with storing_nothing(daemon, tenant):
        answer = await client.post(EVENTS, json=make.body(), headers={"origin": origin})
        upload = await client.post(
            "/api/v1/artifacts?session_id=s1", content=b"x", headers={"origin": origin}
        )
    assert_refused(answer, 403, "Origin")
    assert_refused(upload, 403, "Origin")


async def test_the_own_origin_may_ask(client: httpx.AsyncClient, url: str) -> None:
    answer = await client.post(EVENTS, json=make.body(), headers={"origin": url})

    assert answer.status_code == 201


async def test_an_unknown_key_is_refused(url: str) -> None:
    async with conftest.asking(url, "mdk_unknown") as client:
        answer = await client.get(EVENTS)

    assert_refused(answer, 401, None)
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Basic dXNlcjpwYXNz", "mdk_x", "Bearer \xff\xfe", "Bearer a b"],
)
async def test_a_malformed_authorization_is_not_taken_for_none(url: str, header: str) -> None:
    """Without the header this address serves the default tenant: a broken one must not."""
    async with conftest.asking(url) as client:
        answer = await client.get(EVENTS, headers={b"authorization": header.encode("latin-1")})

    assert_refused(answer, 401, None)


async def test_a_key_of_another_tenant_changes_nothing_here(
    url: str, daemon: Daemon, tenant: str, make_key: MakeKey
) -> None:
    async with (
        conftest.asking(url, await make_key(f"{tenant}-other")) as client,
        storing_nothing(daemon, tenant),
    ):
        answer = await client.post(EVENTS, json=make.body(tenant_id=tenant))
    assert_refused(answer, 403, "tenant_id")
