"""What the tests of references share: the route, a log like those of real tools, and calls."""

from typing import Any

import httpx

from memories import ask

REFERENCES = "/api/v1/references"
LOG = "".join(
    [f"npm http fetch GET 200 https://registry.test/package-{n} {n}ms\n" for n in range(1, 421)]
    + ["npm ERR! code ELIFECYCLE\n", "npm ERR! left-pad@9.9.9 postinstall failed\n"]
    + [f"npm timing stage-{n} Completed\n" for n in range(1, 79)]
)


async def store(client: httpx.AsyncClient, content: str = LOG, **given: Any) -> dict[str, Any]:
    return await ask(client, "POST", REFERENCES, 201, json={"content": content, **given})


async def read(client: httpx.AsyncClient, key: str, **params: Any) -> dict[str, Any]:
    return await ask(client, "GET", f"{REFERENCES}/{key}", params=params)


async def search(client: httpx.AsyncClient, query: str, **given: Any) -> list[dict[str, Any]]:
    body = {"query": query, **given}
    found: list[dict[str, Any]] = (await ask(client, "POST", f"{REFERENCES}/search", json=body))[
        "results"
    ]
    return found
