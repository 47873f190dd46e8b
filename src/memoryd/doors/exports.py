"""Views, decisions, tasks and memories from the API, as the things that files are of."""

from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import quote

import httpx

from memoryd.core import errors
from memoryd.custody.markdown_things import SECTIONS, Decision, Memory, Task, Thing, View
from memoryd.doors import reach
from memoryd.memories.change import ANY

PAGE = 200  # of decisions or tasks: the most that the API gives at once


async def everything(
    client: httpx.AsyncClient, eyes: Mapping[str, str], superseded: bool
) -> list[Thing]:
    """All that the reader sees, and of memories what still holds."""
    found: list[Thing] = [one async for one in _views(client, eyes)]
    status = "all" if superseded else "active"
    decided = _pages(client, "decisions", "/api/v1/decisions/query", {**eyes, "status": status})
    found += [decision(one) async for one in decided]
    found += [task(one) async for one in _pages(client, "tasks", "/api/v1/tasks", eyes)]
    for kind in ANY:
        found += [one async for one in _memories(client, eyes, kind)]
    return found


async def _memories(
    client: httpx.AsyncClient, eyes: Mapping[str, str], kind: str
) -> AsyncIterator[Memory]:
    asked = {**eyes, "type": kind, "include_evicted": "true"}
    try:
        async for one in _pages(client, "memories", "/api/v1/memories", asked):
            yield memory(one)
    except errors.Forbidden:  # what an agent keeps is private, and this reader is elsewhere
        return


async def _views(client: httpx.AsyncClient, eyes: Mapping[str, str]) -> AsyncIterator[View]:
    listed = await reach.call(client, "GET", "/api/v1/views", params=dict(eyes))
    for one in listed["views"]:
        try:
            yield view(await reach.call(client, "GET", **view_at(one["name"], eyes)))
        except errors.NotFound:  # it moved to a channel that the reader does not see
            continue


async def _pages(
    client: httpx.AsyncClient, name: str, path: str, asked: Mapping[str, str]
) -> AsyncIterator[dict[str, Any]]:
    params: dict[str, Any] = {**asked, "limit": PAGE}
    while True:
        page = await reach.call(client, "GET", path, params=params)
        for one in page[name]:
            yield one
        if page["next"] is None:
            return
        params["cursor"] = page["next"]


def view_at(name: str, eyes: Mapping[str, str], **more: str) -> dict[str, Any]:
    """Where a view is read."""
    path = f"/api/v1/views/{quote(name, safe='')}"
    return {"path": path, "params": {**eyes, "format": "json", **more}}


def view(found: Mapping[str, Any]) -> View:
    said = {name: found[name] for name in ("name", "version", "ts", "channel", "text")}
    return View(**said)


def decision(found: Mapping[str, Any]) -> Decision:
    names = ("status", "ts", "scope", "subject", "channel", "supersedes", "superseded_by")
    said: dict[str, Any] = {name: found[name] for name in (*names, "decision")}
    said |= {name: tuple(found[name]) for name in ("refs", *SECTIONS)}
    return Decision(id=found["decision_id"], sensitivity=_sensitivity(found), **said)


def task(found: Mapping[str, Any]) -> Task:
    names = ("ts", "status", "title", "channel", "details")
    return Task(
        id=found["task_id"],
        version=found["event_id"],
        sensitivity=_sensitivity(found),
        **{name: found[name] for name in names},
    )


def memory(found: Mapping[str, Any]) -> Memory:
    """Also from the answer to a new fact, which leaves out that it is one."""
    names = ("category", "subject", "place_id")
    return Memory(
        id=found["id"],
        version=str(found["version"]),
        ts=found["created_at"],
        type=found.get("type", "fact"),
        content=found["content"],
        **{name: found.get(name) for name in names},
    )


async def memory_as(
    client: httpx.AsyncClient, eyes: Mapping[str, str], thing: Memory
) -> tuple[Memory, Memory, dict[str, Any]]:
    """The version that a file is of, what holds now, and what the API says of that."""
    path = f"/api/v1/memories/{thing.id}"
    found = await reach.call(client, "GET", path, params=dict(eyes))
    had = await reach.call(client, "GET", f"{path}/versions", params=dict(eyes))
    for one in had["versions"]:
        if str(one["version"]) == thing.version:
            said = {name: one[name] for name in ("version", "type", "subject", "content")}
            return memory({**found, **said}), memory(found), found
    raise errors.Invalid(
        f"{thing.id} has no version {thing.version!r}; export it again", field="version"
    )


def _sensitivity(found: Mapping[str, Any]) -> str | None:
    """A file says it where there is any."""
    return None if found["sensitivity"] == "none" else found["sensitivity"]
