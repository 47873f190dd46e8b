"""A configured model words proposals, over real HTTP; where it fails, the other words stay."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

import conftest
from memories import FACTS, add, ask, listed
from memoryd import completion
from memoryd.core.config import Settings
from memoryd.daemon import Daemon
from memoryd.memories import wording
from wire import assert_refused, storing_nothing

PROPOSALS = "/api/v1/memories/proposals"
TEA, TEAS = "The user likes green tea", "User likes green teas."
BETTER = "The user likes green tea."


class Model:
    """A server that speaks chat completions, as far as this asks for them."""

    def __init__(self, reply: bytes, status: int = 200, wait: float = 0) -> None:
        self.reply, self.status, self.wait = reply, status, wait
        self.asked: list[dict[str, Any]] = []
        self.heads: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lower = head.lower()
        size = int(lower.partition("content-length: ")[2].partition("\r\n")[0])
        self.heads.append(head)
        self.asked.append(json.loads(await reader.readexactly(size)))
        await asyncio.sleep(self.wait)
        top = f"HTTP/1.1 {self.status} X\r\ncontent-length: {len(self.reply)}\r\n"
        writer.write(f"{top}location: http://127.0.0.1:1/\r\nconnection: close\r\n\r\n".encode())
        writer.write(self.reply)
        writer.close()


def said(text: Any) -> bytes:
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()


@asynccontextmanager
async def answering(model: Model) -> AsyncIterator[str]:
    server = await asyncio.start_server(model.serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    server.close()


@asynccontextmanager
async def served_with(daemon: Daemon, **given: Any) -> AsyncIterator[httpx.AsyncClient]:
    """The shared daemon's pool behind a door of its own settings."""
    settings = replace(daemon.settings, **given)
    async with conftest.serving(replace(daemon, settings=settings)) as url:
        yield conftest.asking(url)


async def two_teas(client: httpx.AsyncClient) -> None:
    for text in (TEA, TEAS):
        await add(client, content=text, category="preference", subject=None)


async def proposed(
    daemon: Daemon, key: str, url: str, *, model: str = "small", secret: str = "s3"
) -> Any:
    given = {"chat_url": url, "chat_model": model, "chat_key": secret}
    async with served_with(daemon, **given) as client:
        client.headers["authorization"] = key
        return await ask(client, "GET", PROPOSALS, params={"wording": True})


async def test_a_model_words_a_proposal_and_a_person_applies_its_words(
    client: httpx.AsyncClient, daemon: Daemon
) -> None:
    await two_teas(client)
    model = Model(said(f"  {BETTER}\n"))
    async with answering(model) as url:
        found = await proposed(daemon, client.headers["authorization"], url)
    (one,) = found["proposals"]
    path = f"{PROPOSALS}/{one['id']}"
    done = await ask(client, "POST", f"{path}/apply", json={"text": one["text"]})
    after = await listed(client)
    await ask(client, "POST", f"{path}/undo")

    assert (one["text"], one["worded_by"], found["wording"]) == (
        BETTER,
        "small",
        "1 worded by small",
    )
    assert (len(done["memory_ids"]), after) == (2, [BETTER])
    assert await listed(client) == [TEA, TEAS]
    assert model.heads[0].startswith("POST /v1/chat/completions ")
    assert "authorization: bearer s3" in model.heads[0].lower()
    assert model.asked[0]["model"] == "small"
    assert model.asked[0]["messages"][1]["content"] == f"- {TEA}\n- {TEAS}"


FAILURES = [
    (Model(b"no json"), "the model's answer is no chat completion"),
    (Model(b'{"choices": []}'), "the model's answer is no chat completion"),
    (Model(said(None)), "the model's answer is empty"),
    (Model(said("  ")), "the model's answer is empty"),
    (Model(said("tea")), "the model's wording does not do: it has 3 characters"),
    (Model(said("x" * 501)), "the model's wording does not do: it has 501 characters"),
    (Model(said("y"), 500), "the model's API answered 500"),
    (Model(said("y"), 302), "the model's API answered 302"),
    (Model(b" " * (completion.MOST_BYTES + 1)), "has more than 1,048,576 bytes"),
]


@pytest.mark.parametrize(("model", "why"), FAILURES)
async def test_where_the_model_fails_the_other_wording_stays_and_the_answer_says_so(
    client: httpx.AsyncClient, daemon: Daemon, model: Model, why: str
) -> None:
    await two_teas(client)
    async with answering(model) as url:
        found = await proposed(daemon, client.headers["authorization"], url)

    (one,) = found["proposals"]
    assert (one["text"], one["worded_by"]) == (TEAS, None)
    assert found["wording"].startswith("0 worded by small; for 1 the wording without a model stays")
    assert why in found["wording"]
    assert "s3" not in found["wording"]


async def test_a_model_that_is_not_there_or_too_slow_is_not_waited_for(
    client: httpx.AsyncClient, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    await two_teas(client)
    key = client.headers["authorization"]
    gone = await proposed(daemon, key, "http://127.0.0.1:1/v1")
    monkeypatch.setattr(wording, "SECONDS", 0.2)
    async with answering(Model(said(BETTER), wait=5)) as url:
        slow = await proposed(daemon, key, url)

    assert "the model cannot be asked (ConnectError)" in gone["wording"]
    assert "the model took longer than" in slow["wording"]
    assert [one["text"] for one in slow["proposals"]] == [TEAS]


async def test_without_a_model_nothing_is_sent_and_the_answer_says_what_to_set(
    client: httpx.AsyncClient, daemon: Daemon
) -> None:
    await two_teas(client)
    unset = await ask(client, "GET", PROPOSALS, params={"wording": True})
    plain = await ask(client, "GET", PROPOSALS)
    wrong = await proposed(daemon, client.headers["authorization"], "file:///etc/passwd")

    missing = "no model is configured: set MEMORYD_CHAT_URL and MEMORYD_CHAT_MODEL"
    assert unset == plain | {"wording": missing}
    assert plain["wording"] is None
    assert wrong["wording"] == "MEMORYD_CHAT_URL must begin with http:// or https://"


async def test_a_model_is_asked_only_when_it_is_asked_for(
    client: httpx.AsyncClient, daemon: Daemon
) -> None:
    await two_teas(client)
    model = Model(said(BETTER))
    async with answering(model) as url, served_with(daemon, chat_url=url, chat_model="m") as own:
        own.headers["authorization"] = client.headers["authorization"]
        await ask(own, "GET", PROPOSALS)

    assert model.asked == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": "tea"}, "text"),
        ({"text": "x" * 501}, "text"),
        ({"text": "  "}, "text"),
        ({"text": "The password is Sommer2024!"}, "text"),
        ({"words": "other"}, "words"),
    ],
)
async def test_a_wording_keeps_to_the_limits_of_what_it_makes(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, body: dict[str, str], field: str
) -> None:
    await two_teas(client)
    (one,) = (await ask(client, "GET", PROPOSALS))["proposals"]
    async with storing_nothing(daemon, tenant):
        refused = await client.post(f"{PROPOSALS}/{one['id']}/apply", json=body)

    assert_refused(refused, 422, field, refused.json().get("limit"))


async def test_what_is_retired_gets_no_text(client: httpx.AsyncClient) -> None:
    made = await add(client)
    asked = {"now": "2027-06-01T00:00:00Z"}
    (one,) = (await ask(client, "GET", PROPOSALS, params=asked))["proposals"]
    path = f"{PROPOSALS}/{one['id']}/apply"
    refused = await client.post(path, params=asked, json={"text": "Sarah is gone"})

    assert one["kind"] == "retire"
    assert_refused(refused, 422, "text")
    assert (await ask(client, "GET", FACTS + made["id"]))["is_active"]


def test_a_key_is_never_shown() -> None:
    settings = Settings(chat_url="http://x/v1", chat_model="m", chat_key="s3cret")

    assert "s3cret" not in repr(settings)
    assert "s3cret" not in repr(completion.configured(settings))
