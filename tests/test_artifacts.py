"""Bytes in and out: uploads, and who may have them."""

import os
from dataclasses import replace
from typing import Any

import httpx
import pytest

import conftest
import make
from conftest import MakeKey
from memoryd.core import db
from memoryd.core.model import EXCERPT_BYTES
from memoryd.daemon import Daemon
from wire import ARTIFACTS, EVENTS, MEBIBYTE, chunked, download, upload

TEXT = "".join(f"{number}: größer ✓\n" for number in range(200_000))


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"\xff", b"x" * (MEBIBYTE - 1), os.urandom(MEBIBYTE), b"\0" * (MEBIBYTE + 1)),
        *(os.urandom(5 * MEBIBYTE), TEXT.encode()),
    ],
    ids=["none", "one", "a piece less one", "a piece", "a piece and one", "5 MiB", "text"],
)
async def test_what_is_uploaded_is_downloaded(client: httpx.AsyncClient, body: bytes) -> None:
    uploaded = await upload(client, body)
    answer = await download(client, uploaded)

    assert set(uploaded) == {"artifact_id", "event_id", "chunk_ids", "created_at"}
    assert answer.status_code == 200
    assert answer.content == body
    assert answer.headers["content-length"] == str(len(body))


async def test_an_upload_is_an_event_of_the_log(client: httpx.AsyncClient) -> None:
    given = {"name": "shot.png", "tag": ["a", "b"], "actor_id": "ada", "user_id": "default"}
    uploaded = await upload(client, b"\x89PNG\0", "image/png", **given)
    event = (await client.get(f"{EVENTS}/{uploaded['event_id']}")).json()

    assert (event["kind"], event["tags"]) == ("artifact", ["a", "b"])
    assert event["actor"] == {"type": "human", "id": "ada"}
    assert event["content"] == {
        "name": "shot.png",
        "media_type": "image/png",
        "size": 5,
        "excerpt_text": "[binary output, 5 bytes, image/png]",
        "truncated": True,
        "artifact_id": uploaded["artifact_id"],
    }


async def test_all_of_an_uploaded_text_is_chunked(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    uploaded = await upload(client, TEXT.encode(), "text/plain; charset=utf-8")

    assert len(uploaded["chunk_ids"]) > 1_000
    assert await chunked(daemon, tenant) == TEXT


async def test_with_a_tool_it_is_that_tools_result(client: httpx.AsyncClient) -> None:
    uploaded = await upload(client, TEXT.encode(), "text/plain", tool="bash", path="build.log")
    event = (await client.get(f"{EVENTS}/{uploaded['event_id']}")).json()
    content = event["content"]
    answer = await download(client, uploaded)

    assert event["kind"] == "tool_result"
    assert {name: content[name] for name in ("tool", "path", "truncated", "artifact_id")} == {
        "tool": "bash",
        "path": "build.log",
        "truncated": True,
        "artifact_id": uploaded["artifact_id"],
    }
    assert len(content["excerpt_text"].encode()) <= EXCERPT_BYTES
    assert content["line_range"] == [1, content["excerpt_text"].count("\n")]
    assert answer.content == TEXT.encode()


async def test_a_short_result_of_a_tool_lies_in_the_event_alone(client: httpx.AsyncClient) -> None:
    uploaded = await upload(client, b"ok\n", "text/plain", tool="bash")
    event = (await client.get(f"{EVENTS}/{uploaded['event_id']}")).json()

    assert uploaded["artifact_id"] is None
    assert event["content"]["excerpt_text"] == "ok\n"


async def test_an_artifact_may_come_as_json(client: httpx.AsyncClient) -> None:
    body = make.body(kind="artifact", content={"name": "a.bin", "bytes": "AAH/"})
    recorded = (await client.post(EVENTS, json=body)).json()
    event = (await client.get(f"{EVENTS}/{recorded['event_id']}")).json()
    answer = await download(client, event["content"])

    assert answer.content == b"\0\x01\xff"


async def test_a_retried_upload_stores_nothing_new(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    first = await upload(client, b"once", idempotency_key="up-1")
    again = await upload(client, b"once", idempotency_key="up-1")
    other = await client.post(
        ARTIFACTS, params={"session_id": "s1", "idempotency_key": "up-1"}, content=b"twice"
    )

    assert again == first
    assert (other.status_code, other.json()["field"]) == (409, "idempotency_key")
    async with db.tenant(daemon.pool, tenant) as conn:
        assert await conn.fetchval("select count(*) from artifacts") == 1


@pytest.mark.parametrize("announced", [True, False])
async def test_an_upload_over_the_limit_is_refused(
    daemon: Daemon, tenant: str, make_key: MakeKey, announced: bool
) -> None:
    small = replace(daemon, settings=replace(daemon.settings, max_artifact_bytes=1_000))
    async with (
        conftest.serving(small) as url,
        conftest.asking(url, await make_key(tenant)) as client,
    ):
        fits = await upload(client, b"x" * 1_000)
        body = b"x" * 1_001
        answer = await client.post(
            ARTIFACTS, params={"session_id": "s1"}, content=body if announced else _parts(body)
        )

    assert fits["artifact_id"]
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["field"], answer.json()["limit"]) == ("body", "1,000 bytes")
    assert "MEMORYD_MAX_ARTIFACT_BYTES" in answer.json()["detail"]


async def _parts(body: bytes) -> Any:
    for at in range(0, len(body), 100):
        yield body[at : at + 100]


async def test_another_tenant_finds_no_artifact(
    client: httpx.AsyncClient, url: str, tenant: str, make_key: MakeKey
) -> None:
    uploaded = await upload(client, b"ours", channel="public")
    async with conftest.asking(url, await make_key(f"{tenant}-other")) as other:
        answer = await download(other, uploaded)

    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("eyes", "status"),
    [
        ({"user_id": "ada"}, 200),
        ({"user_id": "bob"}, 404),
        ({"user_id": "ada", "channel": "team"}, 404),
        ({"user_id": "ada", "channel": "public"}, 404),
    ],
)
async def test_a_private_artifact_is_its_users_alone(
    client: httpx.AsyncClient, eyes: dict[str, str], status: int
) -> None:
    uploaded = await upload(client, b"mine", user_id="ada")
    answer = await client.get(f"{ARTIFACTS}/{uploaded['artifact_id']}", params=eyes)

    assert answer.status_code == status


async def test_nothing_of_a_secret_upload_is_kept(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    uploaded = await upload(client, b"hunter2" * 20_000, tool="pass", sensitivity="secret")

    assert (uploaded["artifact_id"], uploaded["chunk_ids"]) == (None, [])
    async with db.tenant(daemon.pool, tenant) as conn:
        assert await conn.fetchval("select count(*) from artifact_pieces") == 0


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"session_id": ""}, "session_id"),
        ({"session_id": "s1", "channel": "loud"}, "channel"),
        ({"session_id": "s1", "ts": "2024-01-01T00:00:00"}, "ts"),
        ({"session_id": "s1", "tag": ["x"] * 257}, "tag"),
        ({"session_id": "s1", "tool": "a\0b"}, "tool"),
        ({}, "session_id"),
    ],
)
async def test_an_upload_asked_for_wrongly_is_refused(
    client: httpx.AsyncClient, given: dict[str, Any], field: str
) -> None:
    answer = await client.post(ARTIFACTS, params=given, content=b"x")

    assert (answer.status_code, answer.json()["field"]) == (422, field)


async def test_a_media_type_that_is_none_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post(
        ARTIFACTS, params={"session_id": "s1"}, content=b"x", headers={"content-type": "nonsense"}
    )

    assert (answer.status_code, answer.json()["field"]) == (422, "content.media_type")


async def test_without_a_media_type_it_is_bytes(client: httpx.AsyncClient) -> None:
    request = client.build_request("POST", ARTIFACTS, params={"session_id": "s1"}, content=b"x")
    request.headers.pop("content-type", None)
    uploaded = (await client.send(request)).json()
    answer = await download(client, uploaded)

    assert answer.headers["content-type"] == "application/octet-stream"
