"""Calls of what is remembered and decided, of tools and of the prompt, and any other."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict, Unpack
from urllib.parse import quote

import httpx

from memoryd.client import values
from memoryd.client.call import AsOf, Call, Moment, Pages, Session, Where, Who, Write, pages, post
from memoryd.client.call import reading as _reading
from memoryd.client.log import V1
from memoryd.core.model import Progress, Scope

FACTS = "/api/memory/"


class Remember(Where, total=False):
    """One of a known `subject` is refused with a 409 that names it, unless `force` keeps both."""

    category: values.Category
    subject: str
    force: bool
    source_conversation_id: str
    source_message_id: str
    ts: Moment
    idempotency_key: str


class Recall(Where, total=False):
    category: values.Category
    subject: str
    as_of: AsOf
    limit: int


class Decisions(Where, total=False):
    text: str
    status: Literal["active", "superseded", "all"]
    scope: Scope
    ref: Iterable[str]
    since: Moment
    until: Moment
    as_of: AsOf
    limit: int


class Decide(Write, total=False):
    subject: str
    scope: Scope
    rationale: Iterable[str]
    constraints: Iterable[str]
    alternatives: Iterable[str]
    consequences: Iterable[str]
    supersedes: str
    refs: Iterable[str]
    tags: Iterable[str]
    sensitivity: Literal["none", "low", "high"]


class Tasks(Session, total=False):
    status: Iterable[Progress]
    as_of: AsOf
    limit: int


class Plan(Write, total=False):
    task_id: str
    details: str
    status: Progress
    refs: Iterable[str]
    tags: Iterable[str]
    sensitivity: Literal["none", "low", "high"]


class ToolsAsked(TypedDict, total=False):
    format: Literal["openai", "anthropic", "mcp"]
    message: str
    tags: Iterable[str]
    limit: int


class ToolCall(Write, total=False):
    message_id: str


class PromptAsked(Session, total=False):
    system: str
    participants: Iterable[str]
    query: str
    facts: Literal["by_category", "by_date"]
    instructions: bool
    format: Literal["text", "anthropic", "openai"]
    now: Moment


class Request(TypedDict, total=False):
    json: Any
    params: Mapping[str, Any]
    content: bytes
    headers: Mapping[str, str]


def remember(who: Who, content: str, /, **said: Unpack[Remember]) -> Call[values.Fact]:
    """Remember a fact about a user."""
    return post(FACTS, values.Fact, who.write(said, content=content, category="context"))


def recall(
    who: Who, query: str | None = None, /, **asked: Unpack[Recall]
) -> Call[tuple[values.Fact, ...]]:
    """The facts that `query` finds, best first; without it, all that hold."""
    read, params = _reading(values.FactPage), who.body(asked, q=query)
    return Call("GET", FACTS, lambda answer: read(answer).memories, params=params)


def decisions(who: Who, /, **asked: Unpack[Decisions]) -> Pages[values.Decision]:
    """Decisions, newest first; with `text` the best match first, `limit` of them."""
    params = who.body(asked, limit=200)
    return pages(f"{V1}/decisions/query", values.DecisionPage, "decisions", params)


def decide(who: Who, decision: str, /, **said: Unpack[Decide]) -> Call[values.Decision]:
    """Record a decision; the one that it `supersedes` is active no more."""
    body = who.write(said, decision=decision, session_id=who.session_id)
    return post(f"{V1}/decisions", values.Decision, body)


def tasks(who: Who, /, **asked: Unpack[Tasks]) -> Pages[values.Task]:
    """Tasks, last changed first."""
    return pages(f"{V1}/tasks", values.TaskPage, "tasks", who.body(asked, limit=200))


def plan(who: Who, title: str | None = None, /, **said: Unpack[Plan]) -> Call[values.Task]:
    """Make a task or, with `task_id`, change what is named of one."""
    body = who.write(said, title=title, session_id=who.session_id)
    return post(f"{V1}/tasks", values.Task, body)


def tools(_: Who, /, **asked: Unpack[ToolsAsked]) -> Call[tuple[Mapping[str, Any], ...]]:
    """The tools that an agent is offered, as a provider's API takes them."""
    read, params = _reading(values.Tools), Who().body(asked)
    return Call("GET", f"{V1}/tools", lambda answer: read(answer).tools, params=params)


def call_tool(
    who: Who, name: str, arguments: Mapping[str, Any], /, **said: Unpack[ToolCall]
) -> Call[dict[str, Any]]:
    """Run a tool, and answer its result."""
    body = {**who.write(said), "arguments": dict(arguments)}
    return post(f"{V1}/tools/{quote(name, safe='')}", dict[str, Any], body)


def prompt(who: Who, /, **asked: Unpack[PromptAsked]) -> Call[values.Prompt]:
    """The system prompt of a conversation; its memories are pinned by the session's first call."""
    return post(f"{V1}/prompt", values.Prompt, who.body(asked))


def request(_: Who, method: str, path: str, /, **sent: Unpack[Request]) -> Call[httpx.Response]:
    """Any route of the API document. Retried where that is safe: what only reads, and a body with
    an `idempotency_key`.
    """
    body = sent.get("json")
    keyed = isinstance(body, Mapping) and "idempotency_key" in body
    again = method.upper() in ("GET", "HEAD") or keyed
    return Call(method.upper(), path, lambda answer: answer, **sent, again=again)
