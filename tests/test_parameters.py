"""What an address may say: every route refuses a parameter that it does not know."""

import re
from typing import Any

import httpx
import pytest

import conftest
from memories import FACTS, add, listed
from memoryd.doors import app
from wire import assert_refused

ROUTES = [
    (path, method)
    for path, methods in app.document().openapi()["paths"].items()
    for method in methods
    if path.startswith("/api/")
]


@pytest.mark.parametrize(("path", "method"), ROUTES)
async def test_an_unknown_parameter_is_refused_and_named(
    client: httpx.AsyncClient, path: str, method: str
) -> None:
    address = re.sub(r"\{[^}]*\}", "abcdefgh", path)
    more: dict[str, Any] = {} if method in ("get", "delete") else {"json": {}}
    refused = await client.request(method, address, params={"colour": "red"}, **more)

    assert_refused(refused, 422, "colour")


async def test_a_misspelt_filter_shows_what_there_is_instead_of_everything(
    client: httpx.AsyncClient,
) -> None:
    await add(client)
    refused = await client.get(FACTS, params={"catgory": "project", "x" * 999: "1"})

    assert_refused(refused, 422, "catgory")
    assert "category" in refused.json()["detail"]
    assert await listed(client, category="project") == []


async def test_a_stranger_hears_nothing_of_parameters(url: str) -> None:
    async with conftest.asking(url, "mdk_nobody") as stranger:
        refused = await stranger.get(FACTS, params={"colour": "red"})

    assert refused.status_code == 401
