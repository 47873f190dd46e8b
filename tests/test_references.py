"""References over HTTP: stored, retrieved whole and in parts, found, taken out of use."""

import asyncio
import base64
from typing import Any

import httpx

import make
import stored
import wire
from memories import ask
from memoryd.core import tokens
from memoryd.references import model
from stored import LOG, REFERENCES, read, search, store

NPM = {"command": "npm install", "exit_status": 1}


async def test_a_stored_log_leaves_a_placeholder_and_comes_back_byte_for_byte(
    client: httpx.AsyncClient,
) -> None:
    made = await store(client, metadata=NPM, session_id="s1", agent_id="coder")
    whole = await read(client, made["key"])

    assert whole["content"] == LOG
    assert made["placeholder"] == (
        f"[MemoryRef: {made['key']} - npm install, exit 1, 2 error lines: npm ERR! code ELIFECYCLE"
        f" - {made['token_count']} tokens]"
    )
    assert abs(made["token_count"] - tokens.count(LOG)) < 30
    assert made["key"].startswith("npm-install-exit-1-2-error-lines-")
    assert made["metadata"] == NPM
    assert (made["type"], made["session_id"], made["agent_id"], made["user_id"]) == (
        *("command_output", "s1", "coder", "default"),
    )
    assert whole["part"] == {
        "kind": "whole",
        "first": 0,
        "last": len(LOG) - 1,
        "total": len(LOG),
        "unit": "bytes",
    }


async def test_parts_say_which_part_of_what_total_they_are(client: httpx.AsyncClient) -> None:
    key = (await store(client))["key"]
    lines = await read(client, key, lines="421-422")
    some = await read(client, key, bytes="0-8")
    last = await read(client, key, lines="-1")
    found = await read(client, key, find="LEFT-PAD", context=1)

    assert lines["content"] == (
        "npm ERR! code ELIFECYCLE\nnpm ERR! left-pad@9.9.9 postinstall failed\n"
    )
    assert lines["part"] == {
        "kind": "lines",
        "first": 421,
        "last": 422,
        "total": 500,
        "unit": "lines",
    }
    assert (some["content"], some["part"]["total"]) == ("npm http ", len(LOG))
    assert (last["content"], last["part"]["first"]) == ("npm timing stage-78 Completed\n", 500)
    assert found["content"].startswith("[lines 421-423 of 500]\nnpm ERR! code")
    assert (found["part"]["total"], found["part"]["first"]) == (1, 422)


async def test_a_path_reads_a_place_in_json(client: httpx.AsyncClient) -> None:
    body = '{"items": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}], "total": 2}'
    made = await store(client, body, type="api_response")
    one = await read(client, made["key"], path="$.items[-1].name")
    each = await read(client, made["key"], path="$.items[*].id")
    missing = await client.get(f"{REFERENCES}/{made['key']}", params={"path": "$.item"})

    assert made["description"] == "JSON object of 2: items, total"
    assert (one["content"], one["part"]["kind"]) == ("Bob", "path")
    assert each["content"] == "[\n  1,\n  2\n]"
    problem = wire.assert_problem(missing, 404, "path")
    assert "'items', 'total'" in problem["detail"]


async def test_what_is_stored_is_found_by_the_very_next_search(client: httpx.AsyncClient) -> None:
    made = await store(client, metadata=NPM)
    await store(client, "Quarterly figures of the cheese department.", type="file")
    first, *_ = await search(client, "why did left-pad fail to install", limit=3)

    assert (first["key"], first["placeholder"]) == (made["key"], made["placeholder"])
    assert "left-pad@9.9.9" in first["text"]
    assert await search(client, "cheese figures", type="file") != []


async def test_a_key_of_ones_own_is_taken_once(client: httpx.AsyncClient) -> None:
    first = await store(client, key="build.log")
    again = await store(client, key="build.log", description="said anew")
    other = await client.post(REFERENCES, json={"content": "other", "key": "build.log"})
    foreign = await store(client, "other", key="build.log", user_id="bob")

    assert (first["existed"], again["existed"]) == (False, True)
    assert again["event_id"] == first["event_id"]
    assert again["description"] == first["description"]
    wire.assert_problem(other, 409, "key")
    assert foreign["key"] == "build.log"
    assert (await read(client, "build.log", user_id="bob"))["content"] == "other"
    assert (await read(client, "build.log"))["content"] == LOG


async def test_two_who_store_one_key_at_once_share_it_or_one_is_refused(
    client: httpx.AsyncClient,
) -> None:
    same = await asyncio.gather(*(store(client, key="same") for _ in range(8)))
    both = await asyncio.gather(
        *(client.post(REFERENCES, json={"content": f"text {n}", "key": "rival"}) for n in range(8))
    )

    assert len({one["event_id"] for one in same}) == 1
    assert sorted(one.status_code for one in both) == [201, *[409] * 7]
    [won] = [one.json() for one in both if one.status_code == 201]
    texts = {f"text {n}" for n in range(8)}
    assert (await read(client, "rival"))["content"] in texts
    assert (await read(client, "rival"))["event_id"] == won["event_id"]


async def test_a_retry_stores_nothing_new(client: httpx.AsyncClient) -> None:
    first = await store(client, idempotency_key="once")
    again = await store(client, idempotency_key="once")
    other = await client.post(REFERENCES, json={"content": "x", "idempotency_key": "once"})

    assert again["key"] == first["key"]
    assert (first["existed"], again["existed"]) == (False, True)
    wire.assert_problem(other, 409, "idempotency_key")
    assert len((await ask(client, "GET", REFERENCES))["references"]) == 1


async def test_out_of_use_it_is_neither_listed_nor_found_and_still_answers(
    client: httpx.AsyncClient,
) -> None:
    key = (await store(client))["key"]
    gone = await ask(client, "POST", f"{REFERENCES}/{key}/deactivate")
    listed = await ask(client, "GET", REFERENCES)
    every = await ask(client, "GET", REFERENCES, params={"include_inactive": True})
    found = await search(client, "left-pad")
    still = await read(client, key, lines="1")
    back = await ask(client, "DELETE", f"{REFERENCES}/{key}/deactivate")

    assert (gone["is_active"], still["is_active"], back["is_active"]) == (False, False, True)
    assert listed["references"] == found == []
    assert [one["key"] for one in every["references"]] == [key]
    assert [one["key"] for one in await search(client, "left-pad")] == [key]


async def test_storing_it_again_puts_it_into_use_again(client: httpx.AsyncClient) -> None:
    await store(client, key="k")
    await ask(client, "POST", f"{REFERENCES}/k/deactivate")
    again = await store(client, key="k")

    assert (again["existed"], again["is_active"]) == (True, True)
    assert (await read(client, "k"))["is_active"]


async def test_pages_list_each_once_newest_first(client: httpx.AsyncClient) -> None:
    made = [(await store(client, f"text {n}"))["key"] for n in range(5)]
    pages = [page async for page in wire.pages(client, REFERENCES, limit=2)]

    assert [one["key"] for page in pages for one in page["references"]] == made[::-1]


async def test_bytes_that_are_no_text_come_back_as_they_were(client: httpx.AsyncClient) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20
    sent = {"bytes": base64.b64encode(picture).decode(), "metadata": {"path": "plot.png"}}
    made = await ask(client, "POST", REFERENCES, 201, json=sent)
    whole = await read(client, made["key"])
    some = await read(client, made["key"], bytes="0-7")
    lines = await client.get(f"{REFERENCES}/{made['key']}", params={"lines": "1-2"})
    raw = await client.get(f"{REFERENCES}/{made['key']}/raw")

    assert made["description"] == "plot.png, PNG image, 5,128 bytes"
    assert (made["binary"], whole["content"]) == (True, None)
    assert base64.b64decode(whole["bytes"]) == raw.content == picture
    assert base64.b64decode(some["bytes"]) == picture[:8]
    wire.assert_problem(lines, 422, "lines")


async def test_a_large_output_is_uploaded_and_streamed_back(client: httpx.AsyncClient) -> None:
    body = LOG.encode() * 400  # 11 MB, more than a request in JSON
    params = {"key": "big", "metadata": '{"command": "make all"}'}
    sent = await client.post(f"{REFERENCES}/upload", params=params, content=body)
    made = sent.json()
    whole = await client.get(f"{REFERENCES}/big")
    raw = await client.get(f"{REFERENCES}/big/raw")
    tail = await client.get(f"{REFERENCES}/big/raw", headers={"range": "bytes=-30"})

    assert sent.status_code == 201, sent.text
    assert made["description"].startswith("make all, over 74 error lines")
    assert raw.content == body
    assert (tail.status_code, tail.content) == (206, body[-30:])
    assert (await read(client, "big", lines="200000"))["content"].endswith("Completed\n")
    problem = wire.assert_problem(whole, 413, "key")
    assert problem["limit"] == "8,388,608 bytes"


async def test_every_placeholder_of_a_bundle_can_be_followed(client: httpx.AsyncClient) -> None:
    result = wire.tool_result(text=LOG, path="install.log")
    await ask(client, "POST", wire.EVENTS, 201, json=result)
    await store(client, LOG.upper(), session_id="s1")
    asked = {"session_id": "s1", "max_tokens": 5_000, "format": "sections"}
    bundle = await ask(client, "POST", "/api/v1/acb/build", json=asked)
    keys = model.keys_in(str(bundle))

    assert len(keys) == 2
    whole = [(await read(client, key))["content"] for key in keys]
    assert sorted(whole) == sorted([LOG, LOG.upper()])


async def test_the_tools_store_retrieve_and_search(client: httpx.AsyncClient) -> None:
    async def call(name: str, **arguments: Any) -> dict[str, Any]:
        body = {"arguments": arguments, "session_id": "s1", "agent_id": "coder"}
        return await ask(client, "POST", f"/api/v1/tools/{name}", json=body)

    made = await call("store_memory", content=LOG, metadata=NPM)
    some = await call("retrieve_memory", memory_key=made["placeholder"], find="left-pad")
    whole = await call("retrieve_memory", memory_key=made["memory_key"])
    [found] = (await call("search_memory", query="left-pad postinstall"))["results"]
    body = {"arguments": {"memory_key": "none"}}
    unknown = await client.post("/api/v1/tools/retrieve_memory", json=body)

    wire.assert_refused(unknown, 404, "memory_key")
    assert made["placeholder"].startswith("[MemoryRef: npm-install-")
    assert "left-pad@9.9.9" in some["content"] and some["part"]["total"] == 1
    assert whole["content"] == LOG
    assert found["placeholder"] == made["placeholder"]


async def test_anyone_may_ask_for_an_event_by_its_id(client: httpx.AsyncClient) -> None:
    said = await wire.post(client, content={"text": "one\ntwo\nthree"})
    body = make.body(kind="tool_result", content={"tool": "bash", "text": "a\nb\n"})
    short = await ask(client, "POST", wire.EVENTS, 201, json=body)

    assert (await read(client, said["event_id"], lines="2"))["content"] == "two\n"
    assert (await read(client, short["event_id"]))["content"] == "a\nb\n"
    raw = await client.get(f"{stored.REFERENCES}/{short['event_id']}/raw")
    assert raw.text == "a\nb\n"


async def test_a_text_is_swapped_only_when_it_is_too_long(client: httpx.AsyncClient) -> None:
    async def swap(text: str, **given: Any) -> dict[str, Any]:
        return await ask(client, "POST", f"{REFERENCES}/swap", json={"text": text, **given})

    short, long = await swap("all fine\n"), await swap(LOG, metadata=NPM, session_id="s1")
    forced = await swap("all fine, and more than that\n", threshold=2)

    assert short == {"text": "all fine\n", "swapped": False, "reference": None}
    assert long["swapped"] and long["text"] == long["reference"]["placeholder"]
    assert forced["swapped"]
    assert (await read(client, long["reference"]["key"]))["content"] == LOG
    assert len((await ask(client, "GET", REFERENCES))["references"]) == 2


async def test_an_empty_output_stays_and_a_blank_description_is_made(
    client: httpx.AsyncClient,
) -> None:
    stays = await ask(client, "POST", f"{REFERENCES}/swap", json={"text": ""})
    made = await store(client, "# A plan\n\nFirst things first.", description=" \n")

    assert (stays["text"], stays["swapped"]) == ("", False)
    assert made["description"] == "A plan"
