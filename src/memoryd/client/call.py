"""A request as a plain value: what to send, how to read the answer, whether to send it again."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, TypedDict, TypeVar

import httpx
from pydantic import TypeAdapter

from memoryd.core.model import Channel

T = TypeVar("T")
Moment = datetime | str
AsOf = datetime | int | str  # a log position or a recording time


class Where(TypedDict, total=False):
    """For whom; what is omitted is what `connect` was given, the key's own, or `default`."""

    tenant_id: str
    user_id: str
    agent_id: str
    channel: Channel


class Session(Where, total=False):
    session_id: str


class Write(Session, total=False):
    """Of every write: without an `idempotency_key` it has a fresh one, which its retries share."""

    idempotency_key: str


@dataclass(frozen=True)
class Who:
    """For whom a client asks where a call does not say."""

    session_id: str = "default"
    where: Where = field(default_factory=Where)

    def body(self, said: Mapping[str, Any], **defaults: Any) -> dict[str, Any]:
        """What is said over what is not, as JSON takes it; None is left to the daemon."""
        every = {**self.where, **defaults, **said}
        return {name: _plain(value) for name, value in every.items() if value is not None}

    def write(self, said: Mapping[str, Any], **defaults: Any) -> dict[str, Any]:
        return self.body(said, **{"idempotency_key": fresh_key(), **defaults})


def _plain(value: Any) -> Any:
    """Times as text, and what was given one by one as a list."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return value if isinstance(value, (str, bytes, int, float)) else [_plain(one) for one in value]


def fresh_key() -> str:
    """Drawn once a call, so that all its retries are one write."""
    return f"client-{uuid.uuid4().hex}"


@dataclass(frozen=True)
class Call(Generic[T]):
    method: str
    path: str
    read: Callable[[httpx.Response], T]
    params: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    content: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    again: bool = True  # it reads, or it has an idempotency key: a retry stores nothing twice

    @property
    def sent(self) -> dict[str, Any]:
        """As httpx takes it."""
        body: dict[str, Any] = {} if self.json is None else {"json": self.json}
        if self.content is not None:
            body["content"] = self.content
        return {"params": dict(self.params), "headers": dict(self.headers), **body}


@dataclass(frozen=True)
class Pages(Generic[T]):
    """A call whose answer has a page of things, and the cursor of the next one."""

    first: Call[tuple[Sequence[T], str | None]]

    def after(self, cursor: str) -> Call[tuple[Sequence[T], str | None]]:
        return replace(self.first, params={**self.first.params, "cursor": cursor})


def get(path: str, kind: type[T], params: Mapping[str, Any]) -> Call[T]:
    return Call("GET", path, reading(kind), params=params)


def post(path: str, kind: type[T], body: Any) -> Call[T]:
    """What reads, or is a write with a key of its own."""
    return Call("POST", path, reading(kind), json=body)


def pages(path: str, page: type[Any], name: str, params: Mapping[str, Any]) -> Pages[Any]:
    read = reading(page)

    def found(answer: httpx.Response) -> tuple[Sequence[Any], str | None]:
        one = read(answer)
        return getattr(one, name), one.next

    return Pages(Call("GET", path, found, params=params))


_adapters: dict[Any, TypeAdapter[Any]] = {}  # making one takes a millisecond


def reading(kind: type[T]) -> Callable[[httpx.Response], T]:
    def read(answer: httpx.Response) -> T:
        if kind not in _adapters:
            _adapters[kind] = TypeAdapter(kind)
        found: T = _adapters[kind].validate_json(answer.content)
        return found

    return read
