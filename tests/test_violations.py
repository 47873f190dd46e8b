"""What a refusal says: words that a person understands, and no regular expressions."""

import re
from typing import Any

import httpx
import pytest

import conftest
import make
from memoryd import violations
from memoryd.tools import catalog
from wire import EVENTS, JSON, TASKS, VIEWS

BUILD, SEARCH = "/api/v1/acb/build", "/api/v1/search"
LEAKS = re.compile(r"pattern|keyword argument|Tuple|instance of|Value error|Input should|\\S|\^\[")


async def told(answer: httpx.Response, status: int = 422) -> str:
    assert answer.status_code == status, answer.text
    said: str = answer.json()["detail"]
    assert not LEAKS.search(said), said
    return said


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        (EVENTS, make.body(content={"text": " \n"}), "a message needs it so: it must not be blank"),
        ("/api/v1/decisions", {"decision": " "}, "decision: it must not be blank"),
        (TASKS, {"title": ""}, "title: it must not be blank"),
        (TASKS, {}, "a new task needs a `title`; a change, a `task_id` and what is to change"),
        (BUILD, [], "body: it must be a JSON object"),
        (BUILD, {}, "session_id: it is missing (The conversation it is for)"),
        (
            *(BUILD, {"session_id": "s", "sections": []}),
            "sections: it must have at least 1 item",
        ),
        (EVENTS, make.body(tags=["a\nb"]), "tags.0: it must be one line"),
        (EVENTS, make.body(actor=[]), "actor: it must be a JSON object"),
        (EVENTS, make.body(ts="2026"), "ts: write the time out, as 2026-05-01T12:00:00Z"),
        (SEARCH, {"query": 7}, "query: it must be a text"),
        (SEARCH, {"query": "x", "limit": 0}, "limit: it must be greater than or equal to 1"),
        (
            *(BUILD, {"session_id": "s", "scoring": {"alpha": True, "beta": 0, "gamma": 0}}),
            "scoring.alpha: it must be a number from 0 to 10",
        ),
        (SEARCH, {"query": ""}, "query: it must have at least 1 character"),
    ],
    ids=str,
)
async def test_a_refusal_is_in_words(
    client: httpx.AsyncClient, path: str, body: Any, said: str
) -> None:
    detail = await told(await client.post(path, json=body))

    assert detail.startswith(said)


@pytest.mark.parametrize(
    ("path", "body", "field", "known"),
    [
        (SEARCH, {"query": "x", "limits": 3}, "limits", ["query", "limit", "filters"]),
        (EVENTS, make.body(sesion_id="x"), "sesion_id", ["actor", "session_id", "kind"]),
        (EVENTS, make.body(actor={"type": "tool", "id": "x", "n": 1}), "actor.n", ["id", "type"]),
        (f"{EVENTS}/batch", {"events": [make.body(tag="x")]}, "events.0.tag", ["tags", "ts"]),
    ],
    ids=str,
)
async def test_an_unknown_field_is_told_which_there_are(
    client: httpx.AsyncClient, path: str, body: Any, field: str, known: list[str]
) -> None:
    answer = await client.post(path, json=body)
    said = await told(answer)

    assert answer.json()["field"] == field
    assert said.startswith(f"{field}: there is no such field here; there are: ")
    assert set(known) <= set(said.partition("there are: ")[2].split(", "))


@pytest.mark.parametrize("path", [EVENTS, TASKS, f"{VIEWS}/rules.org/history", "/api/v1/handoffs"])
async def test_a_cursor_is_said_to_be_the_next_of_a_page(
    client: httpx.AsyncClient, path: str
) -> None:
    answer = await client.get(path, params={"cursor": "x"})

    assert await told(answer) == "cursor: it must be the `next` of the page before"
    assert answer.json()["limit"].startswith("^[0-9]"), "for programs"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "the body is empty; send a JSON object"),
        (b'{"query": ', "it ends too early (line 1, column 10)"),
        (b"{query: 1}", "a name must stand in double quotes (line 1, column 2)"),
        (b'{"query": "x",\n}', "a comma stands before the end (line 2, column 1)"),
        (b'{"query" 1}', "expected `:` (line 1, column 10)"),
        (b'{"query": "\xff"}', "it is not UTF-8"),
    ],
    ids=str,
)
async def test_json_that_cannot_be_read_says_where(
    client: httpx.AsyncClient, body: bytes, said: str
) -> None:
    answer = await client.post(SEARCH, content=body, headers=JSON)

    assert said in await told(answer, 400)


async def test_without_a_key_nobody_is_told_of_his_key(url: str) -> None:
    async with conftest.asking(url) as client:
        answers = [
            await client.get(EVENTS, params={"tenant_id": "other"}),
            await client.post(EVENTS, json=make.body(tenant_id="other")),
        ]

    for answer in answers:
        said = await told(answer, 403)
        assert "without a key there is the tenant 'default' alone" in said
        assert "memoryd keys create" in said and "this key" not in said


async def test_a_view_that_is_there_is_said_to_be_there(client: httpx.AsyncClient) -> None:
    address = f"{VIEWS}/rules.org"
    await client.put(address, json={"text": "one"})
    new = {"if-none-match": "*"}
    answer = await client.put(address, json={"text": "two"}, headers=new)

    assert "rules.org has a text already" in await told(answer, 409)
    assert answer.json()["field"] == "version"


async def test_a_tool_hears_it_in_words(client: httpx.AsyncClient) -> None:
    asked = {"arguments": {"contents": "x"}}
    answer = await client.post("/api/v1/tools/save_to_core", json=asked)

    assert "it is missing" in await told(answer)


def patterns(schema: Any) -> set[str]:
    """All that stand in a JSON Schema."""
    if isinstance(schema, dict):
        own = {schema["pattern"]} if isinstance(schema.get("pattern"), str) else set()
        return own.union(*(patterns(inner) for inner in schema.values()))
    return set().union(*map(patterns, schema)) if isinstance(schema, list) else set()


async def test_every_regular_expression_of_the_api_has_words(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    found = patterns(document["paths"]) | patterns(document["components"])
    found |= patterns([tool.input_schema for tool in catalog.TOOLS.tools])
    by_hand = {one for one in found if one.startswith(r"^(rules\.")}  # views say it themselves

    assert found - by_hand - set(violations.PATTERNS) == set()
