"""One answer of a model, over any API that speaks OpenAI's chat completions; off unless configured.

Nothing is sent anywhere but to the address that the operator set, and only when a call asks for it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

from memoryd.core.config import Settings

MOST_BYTES = 1024 * 1024  # of an answer; a sentence has some hundred
SECONDS = 20.0  # for one answer: a person waits for it


class Failed(Exception):  # it is told, not raised at a client
    """The model gave no answer that can be used, and why."""


@dataclass(frozen=True)
class Model:
    """Where a model answers, and by which name."""

    url: str
    name: str
    key: str = field(repr=False, default="")


def configured(settings: Settings) -> Model:
    """The operator's model; `Failed` says which setting is missing."""
    needed = {"MEMORYD_CHAT_URL": settings.chat_url, "MEMORYD_CHAT_MODEL": settings.chat_model}
    if missing := [name for name, given in needed.items() if not given]:
        raise Failed(f"no model is configured: set {' and '.join(missing)}")
    if urlsplit(settings.chat_url).scheme not in ("http", "https"):
        raise Failed("MEMORYD_CHAT_URL must begin with http:// or https://")
    return Model(settings.chat_url.rstrip("/"), settings.chat_model, settings.chat_key)


async def complete(
    client: httpx.AsyncClient,
    model: Model,
    messages: Sequence[Mapping[str, str]],
    *,
    max_tokens: int,
) -> str:
    """The model's answer to `messages`, without white space around it."""
    body = {
        "model": model.name,
        "messages": list(messages),
        "max_tokens": max_tokens,
        "temperature": 0,
    }
    headers = {"authorization": f"Bearer {model.key}"} if model.key else {}
    try:
        address = f"{model.url}/chat/completions"
        async with client.stream("POST", address, json=body, headers=headers) as answer:
            said = await _bounded(answer)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Failed(f"the model cannot be asked ({type(error).__name__})") from error
    if answer.status_code != httpx.codes.OK:
        raise Failed(f"the model's API answered {answer.status_code}")
    return _content(said)


def connect() -> httpx.AsyncClient:
    """Follows no redirect: the key is for the configured address alone."""
    return httpx.AsyncClient(timeout=SECONDS, follow_redirects=False)


async def _bounded(answer: httpx.Response) -> bytes:
    read = bytearray()
    async for part in answer.aiter_bytes():
        read += part
        if len(read) > MOST_BYTES:
            raise Failed(f"the model's answer has more than {MOST_BYTES:,} bytes")
    return bytes(read)


def _content(body: bytes) -> str:
    try:
        said: Any = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError) as error:
        raise Failed("the model's answer is no chat completion") from error
    if not isinstance(said, str) or not said.strip():
        raise Failed("the model's answer is empty")
    return said.strip()
