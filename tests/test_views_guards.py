"""Guards against lost edits: one that says nothing, or two that differ, are refused."""

import json

import httpx
import pytest

from wire import JSON, VIEWS, assert_refused, write_view

RULES = f"{VIEWS}/rules.project"
YAML = {"content-type": "application/yaml"}
LENGTH = "1 to 255 characters"

EMPTY = {
    "a version of nothing": ({"text": "new", "version": ""}, {}, "version"),
    "a blank version": ({"text": "new", "version": " "}, {}, "version"),
    "a quoted blank": ({"text": "new", "version": '" "'}, {}, "version"),
    "a long version": ({"text": "new", "version": "e" * 256}, {}, "version"),
    "an If-Match of nothing": ({"text": "new"}, {"if-match": ""}, "If-Match"),
    "an empty ETag": ({"text": "new"}, {"if-match": '""'}, "If-Match"),
    "a long If-Match": ({"text": "new"}, {"if-match": f'"{"e" * 256}"'}, "If-Match"),
}


@pytest.mark.parametrize("what", EMPTY)
async def test_a_guard_that_names_no_version_is_refused(
    client: httpx.AsyncClient, what: str
) -> None:
    body, headers, field = EMPTY[what]
    written = await write_view(client, "rules.project", "old")
    answer = await client.put(RULES, content=json.dumps(body), headers={**JSON, **headers})

    assert_refused(answer, 422, field, LENGTH)
    assert (await client.get(RULES)).json() == written


async def test_a_quoted_nothing_in_yaml_is_a_guard_that_names_no_version(
    client: httpx.AsyncClient,
) -> None:
    await write_view(client, "rules.project", "old")
    answer = await client.put(RULES, content=b"text: new\nversion: ''\n", headers=YAML)

    assert_refused(answer, 422, "version", LENGTH)


async def test_if_none_match_takes_nothing_but_a_star(client: httpx.AsyncClient) -> None:
    written = await write_view(client, "rules.project", "old")
    for said in ("evt_1", written["version"], ""):
        headers = {**JSON, "if-none-match": said}
        answer = await client.put(RULES, content=b'{"text": "new"}', headers=headers)

        assert_refused(answer, 422, "If-None-Match", "*")


async def test_two_guards_that_differ_are_refused_and_two_that_agree_are_one(
    client: httpx.AsyncClient,
) -> None:
    first = await write_view(client, "rules.project", "old")
    headers = {"if-match": f'"{first["version"]}"'}
    body = {"text": "new", "version": "evt_1"}
    refused = await client.put(RULES, json=body, headers=headers)
    kept = (await client.get(RULES)).json()
    body = {"text": "new", "version": first["version"]}
    taken = await client.put(RULES, json=body, headers=headers)

    assert_refused(refused, 422, "version", None)
    assert kept == first
    assert (taken.status_code, taken.json()["text"]) == (200, "new")


async def test_any_version_beside_one_is_that_one(client: httpx.AsyncClient) -> None:
    await write_view(client, "rules.project", "old")
    headers, body = {"if-match": "*"}, {"text": "new"}
    stale = await client.put(RULES, json={**body, "version": "evt_1"}, headers=headers)
    taken = await client.put(RULES, json=body, headers=headers)

    assert_refused(stale, 409, "version")
    assert taken.status_code == 200
