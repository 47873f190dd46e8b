"""The methods of both clients, each made once of the call that it sends.

On the sync client a method returns its answer, on the async one it is awaited: the descriptors'
types say which, so an editor and mypy know.
"""

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from memoryd.client import log, memories, references
from memoryd.client.call import Call, Pages, Who

P = ParamSpec("P")
T = TypeVar("T")


class Sync(Protocol):
    who: Who

    def send(self, call: Call[T], /) -> T: ...
    def every(self, pages: Pages[T], /) -> Iterator[T]: ...


class Async(Protocol):
    who: Who

    async def send(self, call: Call[T], /) -> T: ...
    def every(self, pages: Pages[T], /) -> AsyncIterator[T]: ...


class Method(Generic[P, T]):
    """A call, sent and answered."""

    def __init__(self, describe: Callable[Concatenate[Who, P], Call[T]]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self, client: Sync, owner: Any = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: Async, owner: Any = None) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, owner: Any = None) -> Any:
        return self if client is None else _bound(client.send, self.describe, client.who)


class Listing(Generic[P, T]):
    """A call that answers in pages, followed to its end."""

    def __init__(self, describe: Callable[Concatenate[Who, P], Pages[T]]) -> None:
        self.describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(self, client: Sync, owner: Any = None) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: Async, owner: Any = None) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Any, owner: Any = None) -> Any:
        return self if client is None else _bound(client.every, self.describe, client.who)


def _bound(send: Callable[[Any], Any], describe: Callable[..., Any], who: Who) -> Any:
    @functools.wraps(describe)
    def call(*arguments: Any, **named: Any) -> Any:
        return send(describe(who, *arguments, **named))

    return call


class Methods:
    """What a client can do; `request` is for everything else."""

    record = Method(log.record)
    record_batch = Method(log.record_batch)
    upload = Method(log.upload)
    events = Listing(log.events)
    event = Method(log.event)
    artifact = Method(log.artifact)
    search = Method(log.search)
    bundle = Method(log.bundle)
    replay = Method(log.replay)
    remember = Method(memories.remember)
    recall = Method(memories.recall)
    decisions = Listing(memories.decisions)
    decide = Method(memories.decide)
    tasks = Listing(memories.tasks)
    plan = Method(memories.plan)
    store = Method(references.store)
    retrieve = Method(references.retrieve)
    describe = Method(references.describe)
    search_references = Method(references.search_references)
    intent = Method(references.intent)
    tools = Method(memories.tools)
    call_tool = Method(memories.call_tool)
    prompt = Method(memories.prompt)
    request = Method(memories.request)
