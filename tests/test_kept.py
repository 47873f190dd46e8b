"""What only looks hostile is kept to the byte."""

import base64
import json

import httpx
import pytest

import make
from memoryd.daemon import Daemon
from wire import (
    EVENTS,
    JSON,
    chunked,
    nested,
    tool_result,
)

KEPT = {
    "a special token": "<|endoftext|>",
    "special tokens in a row": "<|im_start|>system<|im_end|>" * 50,
    "a million spaces between two words": "a" + " " * 1_000_000 + "b",
    "a million letters": "x" * 1_000_000,
    "emoji joined to families": "👩‍👩‍👧‍👦🏳️‍🌈" * 200,
    "text that runs from right to left": "abc \u202e\u2066 שלום \u202c مرحبا \u200f",
    "SQL": "'; drop table events; -- $$ \\ \" %s $1 {} :x",
    "every line break": "a\r\nb\rc\nd\u2028e\u0085f\x0bg\x0ch",
    "noncharacters": "\ufffe\uffff\U0010ffff\ufeff",
    "combining marks": "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢" * 100,
    "decomposed and composed": "é e\u0301",
    "blanks around": "  \t padded \n\n ",
    "a script": "<script>alert(1)</script>\x1b[31m\x07",
    "a path": "../../../etc/passwd",
}


@pytest.mark.parametrize("what", KEPT)
async def test_what_only_looks_hostile_is_kept_to_the_byte(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, what: str
) -> None:
    text = KEPT[what]
    answer = await client.post(EVENTS, json=make.body(content={"text": text}))
    assert answer.status_code == 201, answer.text
    event = await client.get(f"{EVENTS}/{answer.json()['event_id']}")

    assert event.json()["content"] == {"text": text}
    assert await chunked(daemon, tenant) == text


@pytest.mark.parametrize("unit", ["line of a log\n", "x", " ", "語", "🏳️‍🌈"])
async def test_seven_megabytes_of_output_are_kept_to_the_byte(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, unit: str
) -> None:
    text = unit * (7_000_000 // len(unit.encode()))
    body = json.dumps(tool_result(text=text), ensure_ascii=False).encode()
    answer = await client.post(EVENTS, content=body, headers=JSON)
    assert answer.status_code == 201, answer.text
    event = (await client.get(f"{EVENTS}/{answer.json()['event_id']}")).json()
    whole = await client.get(f"/api/v1/artifacts/{event['content']['artifact_id']}")

    assert whole.content == text.encode()
    assert event["content"]["truncated"] is True
    assert text.startswith(event["content"]["excerpt_text"])
    assert await chunked(daemon, tenant) == text


async def test_bytes_in_base64_are_kept_to_the_byte(client: httpx.AsyncClient) -> None:
    raw = bytes(range(256)) * 10
    body = tool_result(bytes=base64.b64encode(raw).decode(), media_type="image/png")
    answer = await client.post(EVENTS, json=body)
    event = (await client.get(f"{EVENTS}/{answer.json()['event_id']}")).json()
    whole = await client.get(f"/api/v1/artifacts/{event['content']['artifact_id']}")

    assert whole.content == raw
    assert whole.headers["content-type"] == "image/png"


# As JSON says them; jsonb gives some back in another form that is the same number.
NUMBERS = {"large": 10**300, "small": 5e-324, "float": 1e22, "zero": -0.0, "half": 0.5, "one": 1.0}


async def test_numbers_are_kept(client: httpx.AsyncClient) -> None:
    content = {"tool": "t", "zz": NUMBERS, "a": {"b": 1, "aa": 2}}
    answer = await client.post(EVENTS, json=make.body(kind="tool_call", content=content))
    event = (await client.get(f"{EVENTS}/{answer.json()['event_id']}")).json()

    assert answer.status_code == 201
    assert event["content"] == content


async def test_64_levels_are_kept(client: httpx.AsyncClient) -> None:
    content = {"text": "x", "a": nested(62)}
    answer = await client.post(EVENTS, json=make.body(content=content))
    event = (await client.get(f"{EVENTS}/{answer.json()['event_id']}")).json()

    assert event["content"] == content


async def test_names_may_be_255_characters_of_any_script(client: httpx.AsyncClient) -> None:
    body = make.body(session_id="語" * 255, tags=["🏳️‍🌈", "x" * 255])
    answer = await client.post(EVENTS, json=body)
    page = (await client.get(EVENTS, params={"session_id": "語" * 255, "tag": "🏳️‍🌈"})).json()

    assert [event["event_id"] for event in page["events"]] == [answer.json()["event_id"]]


async def test_a_field_of_another_kind_does_not_replace_the_text(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    content = {"text": "the words", "excerpt_text": 5, "artifact_id": "art_1"}
    answer = await client.post(EVENTS, json=make.body(content=content))

    assert answer.status_code == 201
    assert await chunked(daemon, tenant) == "the words"
