"""Downloads: ranges, tags, and headers that keep a stored page from running."""

import httpx
import pytest

from wire import ARTIFACTS, MEBIBYTE, download, upload

LONG = bytes(range(256)) * (3 * MEBIBYTE // 256) + b"the end"  # three pieces and a bit


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=0-99", 0, 100),
        ("bytes=-7", len(LONG) - 7, len(LONG)),
        (f"bytes={MEBIBYTE - 5}-{MEBIBYTE + 4}", MEBIBYTE - 5, MEBIBYTE + 5),
        (f"bytes={MEBIBYTE}-{2 * MEBIBYTE - 1}", MEBIBYTE, 2 * MEBIBYTE),
        (f"bytes=5-{3 * MEBIBYTE}", 5, 3 * MEBIBYTE + 1),
        (f"bytes={3 * MEBIBYTE}-", 3 * MEBIBYTE, len(LONG)),
        ("bytes=0-", 0, len(LONG)),
        ("bytes=100-999999999999", 100, len(LONG)),
        ("bytes=-999999999999", 0, len(LONG)),
    ],
)
async def test_a_range_is_those_bytes(
    client: httpx.AsyncClient, asked: str, start: int, stop: int
) -> None:
    uploaded = await upload(client, LONG)
    answer = await download(client, uploaded, range=asked)

    assert answer.status_code == 206
    assert answer.content == LONG[start:stop]
    assert answer.headers["content-length"] == str(stop - start)
    assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/{len(LONG)}"


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999-"])
async def test_a_range_beyond_the_end_is_refused(client: httpx.AsyncClient, asked: str) -> None:
    uploaded = await upload(client, b"0123456789")
    answer = await download(client, uploaded, range=asked)

    assert answer.status_code == 416
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["content-range"] == "bytes */10"
    assert (answer.json()["field"], answer.json()["limit"]) == ("Range", "10 bytes")


@pytest.mark.parametrize(
    "asked",
    ["bytes", "bytes=", "bytes=a-b", "lines=1-2", "bytes=5-2", "bytes=0-1,3-4", "bytes=--1", "x"],
)
async def test_a_range_of_another_form_is_the_whole(client: httpx.AsyncClient, asked: str) -> None:
    uploaded = await upload(client, b"0123456789")
    answer = await download(client, uploaded, range=asked)

    assert (answer.status_code, answer.content) == (200, b"0123456789")
    assert "content-range" not in answer.headers


async def test_no_range_of_nothing_can_be_had(client: httpx.AsyncClient) -> None:
    uploaded = await upload(client, b"")
    answer = await download(client, uploaded, range="bytes=0-")

    assert answer.status_code == 416


async def test_a_range_of_what_is_no_longer_the_same_is_the_whole(
    client: httpx.AsyncClient,
) -> None:
    uploaded = await upload(client, b"0123456789")
    tag = (await download(client, uploaded)).headers["etag"]
    same = await download(client, uploaded, **{"range": "bytes=0-1", "if-range": tag})
    other = await download(client, uploaded, **{"range": "bytes=0-1", "if-range": '"old"'})

    assert (same.status_code, same.content) == (206, b"01")
    assert (other.status_code, other.content) == (200, b"0123456789")


async def test_the_tag_says_whether_two_artifacts_are_the_same(client: httpx.AsyncClient) -> None:
    answers = [await download(client, await upload(client, body)) for body in (b"a", b"a", b"b")]

    tags = [answer.headers["etag"] for answer in answers]
    assert tags[0] == tags[1] != tags[2]
    assert tags[0].startswith('"') and tags[0].endswith('"')


async def test_a_stored_page_cannot_run_as_ours(client: httpx.AsyncClient) -> None:
    uploaded = await upload(client, b"<script>alert(1)</script>", "text/html")
    answer = await download(client, uploaded)

    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["content-disposition"] == "attachment"
    assert answer.headers["content-security-policy"] == "sandbox"
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_head_answers_as_get_without_the_bytes(client: httpx.AsyncClient) -> None:
    uploaded = await upload(client, LONG, "image/png")
    head = await client.head(f"{ARTIFACTS}/{uploaded['artifact_id']}")
    get = await download(client, uploaded)

    names = ("content-length", "content-type", "etag", "accept-ranges", "content-disposition")
    assert (head.status_code, head.content) == (200, b"")
    assert [head.headers[name] for name in names] == [get.headers[name] for name in names]


async def test_head_of_what_is_not_there_is_not_found(client: httpx.AsyncClient) -> None:
    answer = await client.head(f"{ARTIFACTS}/art_none")

    assert answer.status_code == 404
