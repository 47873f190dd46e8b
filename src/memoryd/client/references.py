"""Calls of references: large texts that stay out of the context and one call away, and intent."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict, Unpack
from urllib.parse import quote

from memoryd.client import kept
from memoryd.client.call import Call, Moment, Session, Where, Who, Write, get, post, reading
from memoryd.client.log import V1
from memoryd.core import errors
from memoryd.references import model

REFERENCES = f"{V1}/references"
MOST_JSON = 2_000_000  # characters: even escaped they are less than a request's 8 MB


class Store(Write, total=False):
    """`key` by your choice, else made from the `description`, which is made from the content."""

    description: str
    type: str
    metadata: Mapping[str, Any]
    key: str
    media_type: str
    sensitivity: Literal["none", "low", "high"]
    ts: Moment


class Part(Where, total=False):
    """At most one of the first four: `10-20` or `-20`, `0-999`, `$.items[0].name`, a text."""

    lines: str
    bytes: str
    path: str
    find: str
    context: int
    limit: int


class SearchReferences(Session, total=False):
    limit: int
    type: str
    own: bool


class IntentAsked(TypedDict, total=False):
    """The messages before it, the newest last; the placeholders that you put among them, since no
    others are expanded; tokens for what is expanded; whether the daemon's model decides, if it
    has one.
    """

    context: Iterable[str]
    issued: Iterable[str]
    budget: int
    model: bool


def store(who: Who, content: str | bytes, /, **said: Unpack[Store]) -> Call[kept.StoredReference]:
    """Keep a large text or file out of the context: its `placeholder` stands for it."""
    if isinstance(content, str) and len(content) <= MOST_JSON:
        return post(REFERENCES, kept.StoredReference, who.write(said, content=content))
    text = isinstance(content, str)
    body = content.encode() if isinstance(content, str) else content
    params = who.write({**said, "metadata": json.dumps(dict(said.get("metadata", {})))})
    plain = "text/plain" if text else "application/octet-stream"
    headers = {"content-type": params.pop("media_type", plain)}
    read = reading(kept.StoredReference)
    path = f"{REFERENCES}/upload"
    return Call("POST", path, read, params=params, content=body, headers=headers)


def retrieve(who: Who, key: str, /, **asked: Unpack[Part]) -> Call[kept.ReferenceRead]:
    """What a key, or a placeholder as it is, stands for: the whole, or a part of it."""
    return get(_path(key), kept.ReferenceRead, who.body(asked))


def describe(who: Who, key: str, /, **asked: Unpack[Where]) -> Call[kept.DescribedReference]:
    """Ask the daemon's model, if it has one, for a better description."""
    read = reading(kept.DescribedReference)
    return Call("POST", f"{_path(key)}/describe", read, params=who.body(asked))


def search_references(
    who: Who, query: str, /, **asked: Unpack[SearchReferences]
) -> Call[tuple[kept.ReferenceFound, ...]]:
    """References by what their content says, best first, each once."""
    read, body = reading(kept.ReferencesFound), who.body(asked, query=query)
    path = f"{REFERENCES}/search"
    return Call("POST", path, lambda answer: read(answer).results, json=body)


def intent(_: Who, instruction: str, /, **asked: Unpack[IntentAsked]) -> Call[kept.Intent]:
    """Whether an instruction needs memory: skip, search or expand, and the reason."""
    body = Who().body(asked, instruction=instruction)
    return post(f"{V1}/intent", kept.Intent, body)


def _path(key: str) -> str:
    if not key:
        raise errors.Invalid(
            "it is empty: name what is asked for", field="key", limit="1 character"
        )
    return f"{REFERENCES}/{quote(model.key_of(key), safe='')}"
