"""Calls of the log, of search and of bundles: what each sends, and what it answers."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Unpack
from urllib.parse import quote

from memoryd.client import values
from memoryd.client.call import (
    AsOf,
    Call,
    Moment,
    Pages,
    Session,
    Where,
    Who,
    Write,
    get,
    pages,
    post,
    reading,
)
from memoryd.core.model import Event, Kind, Recorded, Sensitivity

V1 = "/api/v1"


class Draft(Write, total=False):
    """An event: `actor` as `human:ada` or in full; `content` where it has more than a text."""

    content: Mapping[str, Any]
    actor: str | Mapping[str, str]
    kind: Kind
    tags: Iterable[str]
    refs: Iterable[str]
    sensitivity: Sensitivity
    ts: Moment


class BatchDraft(Draft, total=False):
    text: str


class Upload(Write, total=False):
    """`tool` makes it that tool's result; `name` is the file's."""

    media_type: str
    name: str
    tool: str
    path: str
    actor_type: Literal["human", "agent", "tool"]
    actor_id: str
    tag: Iterable[str]
    sensitivity: Sensitivity
    ts: Moment


class Events(Session, total=False):
    """Which; `limit` is the size of a page."""

    kind: str
    actor: str
    tag: str
    since: Moment
    until: Moment
    order: Literal["newest", "oldest"]
    limit: int


class SearchAsked(Session, total=False):
    limit: int
    filters: Mapping[str, Any]
    as_of: AsOf
    intent: Literal["default", "recall", "recent", "decide"]
    scoring: Mapping[str, float]
    explain: bool
    now: Moment


class BundleAsked(Session, total=False):
    max_tokens: int
    intent: str
    sections: Iterable[str]
    as_of: AsOf
    scoring: Mapping[str, float]
    format: Literal["sections", "messages"]
    provider: Literal["anthropic", "openai"]
    now: Moment


def record(who: Who, text: str | None = None, /, **said: Unpack[Draft]) -> Call[Recorded]:
    """Record what happened: a message of `human:user`, unless said otherwise. When this returns, it
    is durable and can be found.
    """
    return post(f"{V1}/events", Recorded, _draft(who, {**said, "text": text}))


def record_batch(who: Who, events: Iterable[BatchDraft], /) -> Call[tuple[Recorded, ...]]:
    """Record up to 1,000 events in one transaction: all of them, or none."""
    drafts, read = [_draft(who, one) for one in events], reading(values.Batch)
    body = {"events": drafts}
    return Call("POST", f"{V1}/events/batch", lambda answer: read(answer).events, json=body)


def _draft(who: Who, said: Mapping[str, Any]) -> dict[str, Any]:
    body = who.write(said, session_id=who.session_id, actor="human:user", kind="message")
    if "text" in body:
        body["content"] = {**body.get("content", {}), "text": body.pop("text")}
    if isinstance(body["actor"], str):
        kind, _, name = body["actor"].partition(":")
        body["actor"] = {"type": kind, "id": name or "user"}
    return body


def upload(who: Who, content: bytes, /, **said: Unpack[Upload]) -> Call[values.Uploaded]:
    """Store bytes; text in them can be searched."""
    params = who.write(said, session_id=who.session_id)
    headers = {"content-type": params.pop("media_type", "application/octet-stream")}
    read = reading(values.Uploaded)
    return Call("POST", f"{V1}/artifacts", read, params=params, content=content, headers=headers)


def events(who: Who, /, **asked: Unpack[Events]) -> Pages[Event]:
    """Every event that fits, newest first, page after page."""
    return pages(f"{V1}/events", values.EventPage, "events", who.body(asked, limit=200))


def event(who: Who, event_id: str, /, **where: Unpack[Where]) -> Call[Event]:
    return get(f"{V1}/events/{quote(event_id, safe='')}", Event, who.body(where))


def artifact(
    who: Who, artifact_id: str, /, start: int = 0, stop: int | None = None, **where: Unpack[Where]
) -> Call[bytes]:
    """The bytes, whole or from `start` to before `stop`."""
    some = {"range": f"bytes={start}-{'' if stop is None else stop - 1}"}
    return Call(
        *("GET", f"{V1}/artifacts/{quote(artifact_id, safe='')}", lambda answer: answer.content),
        params=who.body(where),
        headers=some if start or stop is not None else {},
    )


def search(who: Who, query: str, /, **asked: Unpack[SearchAsked]) -> Call[values.Search]:
    """Chunks by words and by meaning, the best first."""
    return post(f"{V1}/search", values.Search, who.body(asked, query=query))


def bundle(
    who: Who, query_text: str | None = None, /, **asked: Unpack[BundleAsked]
) -> Call[values.Bundle]:
    """What the next model call should be given, within `max_tokens`, cited."""
    body = who.body(asked, session_id=who.session_id, query_text=query_text)
    return post(f"{V1}/acb/build", values.Bundle, body)


def replay(who: Who, acb_id: str, /, **where: Unpack[Where]) -> Call[values.Bundle]:
    """A bundle as it was built, byte for byte."""
    return get(f"{V1}/acb/{quote(acb_id, safe='')}", values.Bundle, who.body(where))
