"""A view as Markdown, YAML and JSON, and whatever else may be sent as one."""

import json
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import yaml
from fastapi.exceptions import RequestValidationError
from hypothesis import given
from hypothesis import strategies as st

import make
from memoryd.core import errors
from memoryd.core.model import Actor
from memoryd.daemon import Daemon
from memoryd.doors import differences, formats
from memoryd.ledger import texts
from wire import MEBIBYTE, VIEWS, assert_problem, storing_nothing, write_view

RULES = f"{VIEWS}/rules.project"
MARKDOWN, YAML = "text/markdown", "application/yaml"
ALLOWED = "identity.<agent>, rules.project, rules.user, rules.org"
BOMB = "a: &a [x, x]\nb: &b [*a, *a]\ntext: [*b, *b]\n"


async def send(
    client: httpx.AsyncClient, body: str | bytes, kind: str, **headers: str
) -> httpx.Response:
    return await client.put(RULES, content=body, headers={"content-type": kind, **headers})


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({"format": "markdown"}, MARKDOWN),
        ({"format": "yaml"}, YAML),
        ({"format": "json"}, "application/json"),
        ({"accept": "text/markdown"}, MARKDOWN),
        ({"accept": "text/plain"}, MARKDOWN),
        ({"accept": "application/json;q=0.5, application/x-yaml"}, YAML),
        ({"accept": "text/html, */*"}, "application/json"),
        ({"accept": ";;q=,,q=x;q=9"}, "application/json"),
        ({"accept": "text/markdown", "format": "yaml"}, YAML),
        ({}, "application/json"),
    ],
    ids=str,
)
async def test_the_query_or_the_accept_header_picks_the_format(
    client: httpx.AsyncClient, asked: dict[str, str], kind: str
) -> None:
    await write_view(client, "rules.project", "# Rules\n")
    headers = {"accept": asked.get("accept", "*/*")}
    params = {"format": asked["format"]} if "format" in asked else {}
    answer = await client.get(RULES, params=params, headers=headers)

    assert answer.headers["content-type"].partition(";")[0] == kind
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "# Rules" in answer.text


@pytest.mark.parametrize(
    "kind", [MARKDOWN, "text/plain", "text/markdown; charset=UTF-8", "TEXT/Markdown"]
)
async def test_markdown_is_the_bare_text(client: httpx.AsyncClient, kind: str) -> None:
    text = "# Größe\r\n\n- {not: yaml}\n"
    written = await send(client, text.encode(), kind)
    read = await client.get(RULES, params={"format": "markdown"})

    assert written.json()["text"] == text
    assert read.content == text.encode()


async def test_yaml_is_legible_and_comes_back_with_its_version(client: httpx.AsyncClient) -> None:
    first = await write_view(client, "rules.project", "# Rules\n\n- no: 1\n- yes\n")
    document = (await client.get(RULES, params={"format": "yaml"})).text
    taken = await send(client, document.replace("no: 1", "maybe: 2"), YAML)
    refused = await send(client, document.replace("no: 1", "never: 3"), YAML)

    assert f"version: {first['version']}\n" in document
    assert document.endswith("text: |\n  # Rules\n\n  - no: 1\n  - yes\n")
    assert taken.json()["text"] == "# Rules\n\n- maybe: 2\n- yes\n"
    assert_problem(refused, 409, "version")


@pytest.mark.parametrize("version", ["version: null\n", "version: ~\n", "version:\n", ""])
async def test_yaml_without_a_version_overwrites(client: httpx.AsyncClient, version: str) -> None:
    await write_view(client, "rules.project", "one")
    written = await send(client, f"{version}text: no\n", YAML)

    assert written.json()["text"] == "no"


async def test_the_json_document_goes_back_as_it_came(client: httpx.AsyncClient) -> None:
    first = await write_view(client, "rules.project", "one")
    taken = await client.put(RULES, json={**first, "text": "two"})
    refused = await client.put(RULES, json={**first, "text": "three"})

    assert taken.json()["text"] == "two"
    assert_problem(refused, 409, "version")


def text_of(text: str) -> texts.Text:
    return texts.Text(
        name="rules.project",
        version="evt_1",
        position=1,
        ts=make.NOW,
        channel="public",
        actor=Actor(type="human", id="null"),
        size=len(text),
        text=text,
    )


@given(text=st.text(st.characters(exclude_characters="\0"), max_size=60))
def test_every_text_survives_every_format(text: str) -> None:
    for name, kind in formats.MEDIA_TYPES.items():
        assert formats.parse(kind, formats.render(text_of(text), name)).text == text


LINES = st.lists(st.sampled_from(["", " ", "a", "- b", "\t", "# c: d", "...", "---", "|", "\r"]))


@given(text=LINES.map("\n".join))
def test_every_text_of_lines_survives_yaml_and_other_readers(text: str) -> None:
    document = formats.render(text_of(text), "yaml")

    assert formats.parse(YAML, document).text == text
    assert yaml.safe_load(document)["text"] == text
    assert yaml.safe_load(document)["actor"]["id"] == "null"


@given(
    kind=st.sampled_from([MARKDOWN, YAML, "application/json"]),
    body=st.binary(max_size=60) | st.text(st.sampled_from("text:|>-&*!{}[]'\"\\#%@ \n\t~?,1é")),
)
def test_whatever_is_sent_is_a_view_or_refused(kind: str, body: str | bytes) -> None:
    with suppress(errors.MemorydError, RequestValidationError):
        sent = formats.parse(kind, body.encode() if isinstance(body, str) else body)
        assert isinstance(sent.text, str)


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (BOMB, 400, "body"),
        ("text: &a x\nname: *a\n", 400, "body"),
        ("&a [*a]", 400, "body"),
        ("[" * 100_000, 400, "body"),
        ("- " * 50_000, 400, "body"),
        ("".join(f"k{n}: v\n" for n in range(1_000)), 400, "body"),
        ("text: [a]", 422, "text"),
        ("text: {a: b}", 422, "text"),
        ("text: !!python/object/apply:os.system [echo hi]", 422, "text"),
        ("just a string", 400, "body"),
        ("text: a\n---\ntext: b", 400, "body"),
        ("text: 'open", 400, "body"),
        ("text: a\nvillain: b", 422, "villain"),
        ("? [a]\n: b\ntext: c", 400, "body"),
        ('text: "\\ud800"', 422, "text"),
        ('text: "a\\0b"', 422, "text"),
        (b"text: a\0b", 400, "body"),
        (b"text: \xff\xfe", 400, "body"),
        ("name: rules.org\ntext: a", 422, "name"),
        ("channel: secret\ntext: a", 422, "channel"),
        ("", 400, "body"),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_what_is_no_view_in_yaml_is_refused(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, body: Any, status: int, field: str
) -> None:
    async with storing_nothing(daemon, tenant):
        answer = await send(client, body, YAML)

    assert_problem(answer, status, field)


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b'{"text": "a\\u0000b"}', 422, "text"),
        (b'{"text": "\\ud800"}', 400, "body"),
        (b'{"text": 1}', 422, "text"),
        (b'{"version": "evt_1"}', 422, "text"),
        (b'{"text": "a", "txet": "b"}', 422, "txet"),
        (b'["a"]', 422, "body"),
        (b"{", 400, "body"),
        (b'{"text": "a", "name": "rules.org"}', 422, "name"),
        (b"{" + b",".join(b'"k%d": 1' % n for n in range(1_000)) + b"}", 422, "body"),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_what_is_no_view_in_json_is_refused(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, body: bytes, status: int, field: str
) -> None:
    async with storing_nothing(daemon, tenant):
        answer = await send(client, body, "application/json")

    assert_problem(answer, status, field)


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [(b"a\0b", 422, "text"), (b"\xed\xa0\x80", 400, "body"), (b"\xff", 400, "body")],
)
async def test_what_is_no_text_is_refused(
    client: httpx.AsyncClient, body: bytes, status: int, field: str
) -> None:
    assert_problem(await send(client, body, MARKDOWN), status, field)


@pytest.mark.parametrize(
    "kind",
    ["", "text/html", "application/xml", "multipart/form-data", "text/markdown; charset=latin-1"],
)
async def test_another_content_type_is_refused(client: httpx.AsyncClient, kind: str) -> None:
    problem = assert_problem(await send(client, "x", kind), 415, "Content-Type")

    assert "text/markdown" in problem["detail"] and "application/yaml" in problem["detail"]


@pytest.mark.parametrize("kind", [MARKDOWN, YAML, "application/json"])
async def test_a_body_of_ten_megabytes_is_refused_unread(
    client: httpx.AsyncClient, kind: str
) -> None:
    problem = assert_problem(await send(client, b"x" * 10 * MEBIBYTE, kind), 413, "body")

    assert problem["limit"] == "1,216,384 bytes"


async def test_a_hundred_thousand_characters_are_taken_and_no_more(
    client: httpx.AsyncClient,
) -> None:
    longest = "🦜" * 100_000
    taken = await client.put(RULES, json={"text": longest})
    escaped = await send(client, json.dumps({"text": longest[1:]}), "application/json")
    refused = await send(client, longest + "x", MARKDOWN)

    assert taken.json()["size"] == 100_000
    assert escaped.json()["size"] == 99_999
    assert assert_problem(refused, 413, "text")["limit"] == "100,000 characters"


@pytest.mark.parametrize(
    "name",
    [
        *("rules", "rules.", "rules.team", "rules.project ", "Rules.project", "identity."),
        *("identity", "memory.x", "../../etc/passwd", "..%2f", "rules.project/../rules.org"),
        *("identity.a\tb", "identity.a\0b", "identity." + "x" * 256, ""),
    ],
    ids=repr,
)
async def test_there_are_no_other_names(client: httpx.AsyncClient, name: str) -> None:
    address = f"{VIEWS}/{quote(name, safe='')}"
    answers = [
        await client.get(address),
        await client.put(address, json={"text": "x"}),
        await client.get(f"{address}/history"),
        await client.post(f"{address}/restore", json={"version": "evt_1"}),
    ]

    for answer in answers:
        problem = assert_problem(answer, 422, "name")
        assert problem["limit"] == ALLOWED and ALLOWED in problem["detail"]


@pytest.mark.parametrize(
    "agent", ["planner", "acme/planner", "../../etc", "ä ✓", "a.b", "x" * 255, "%2e%2e", "history"]
)
async def test_an_agent_of_any_name_has_an_identity(client: httpx.AsyncClient, agent: str) -> None:
    written = await write_view(client, f"identity.{agent}", "You are it.")
    found = await client.get(f"{VIEWS}/{quote(f'identity.{agent}', safe='')}/history")

    assert written["name"] == f"identity.{agent}"
    assert [one["version"] for one in found.json()["versions"]] == [written["version"]]


@pytest.mark.parametrize("after", ["history", "diff", "restore"])
async def test_what_follows_a_name_takes_no_text(client: httpx.AsyncClient, after: str) -> None:
    answer = await client.put(f"{RULES}/{after}", json={"text": "x"})

    assert_problem(answer, 405)
    assert answer.headers["allow"]


def test_long_texts_are_compared_as_a_whole() -> None:
    old = "".join(f"line {n}\n" for n in range(5_000))
    new = old.replace("line 7\n", "").replace("line 9\n", "LINE 9\n")
    lines = differences.unified(old, new, "a", "b").splitlines()

    assert lines == ["--- a", "+++ b", "@@ -8,3 +8,2 @@", *lines[3:]]
    assert lines[3:] == ["-line 7", "-line 8", "-line 9", "+line 8", "+LINE 9"]
    assert differences.unified(old, old, "a", "b") == ""
