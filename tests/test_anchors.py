"""What a question is relative to, and scripts that the model cannot read."""

from datetime import UTC, datetime

import httpx
import pytest

import make
import wire
from memoryd.daemon import Daemon

JANUARY, MARCH, JUNE = "2026-01-10", "2026-03-05", "2026-06-20"
SAID = [
    *((f"2026-02-{day:02}", f"Day {day}: the cat slept on the printer.") for day in range(1, 20)),
    (JANUARY, "The orders database was slow again."),
    (MARCH, "The migration is done, all went well."),
    (JUNE, "The orders database was slow again."),
]


@pytest.fixture
async def history(client: httpx.AsyncClient) -> None:
    events = [
        make.body(content={"text": text}, ts=f"{day}T12:00:00Z", session_id=day)
        for day, text in SAID
    ]
    answer = await client.post("/api/v1/events/batch", json={"events": events})
    assert answer.status_code == 201


async def found(client: httpx.AsyncClient, query: str) -> list[str]:
    asked = {"query": query, "explain": True, "now": "2026-07-01T00:00:00Z"}
    answer = await client.post("/api/v1/search", json=asked)
    return [one["session_id"] for one in answer.json()["results"] if "orders" in one["text"]]


@pytest.mark.parametrize("embedded", [False, True])
async def test_before_and_after_an_event_of_the_log(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, history: None, embedded: bool
) -> None:
    if embedded:
        await wire.embedded(daemon, tenant)
    before = await found(client, "was the orders database slow before the migration?")
    after = await found(client, "was the orders database slow after the migration?")
    since = await found(client, "was the orders database slow since the migration?")

    assert before == [JANUARY, JUNE]
    assert after == since == [JUNE, JANUARY]


async def test_what_is_hidden_anchors_nothing(client: httpx.AsyncClient, history: None) -> None:
    """A later migration of another user must not move the time for this one."""
    body = make.body(
        content={"text": "Migration, migration, the migration!"},
        ts="2025-01-01T00:00:00Z",
        user_id="bob",
    )
    asked = {"query": "the orders database before the migration", "explain": True}
    asked["now"] = datetime(2026, 7, 1, tzinfo=UTC).isoformat()
    one = await client.post("/api/v1/search", json=asked)
    await client.post("/api/v1/events", json=body)
    two = await client.post("/api/v1/search", json=asked)

    assert one.json()["results"] == two.json()["results"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("กรุงเทพ", "เราพบกันที่กรุงเทพเมื่อวานนี้"),
        ("बैठक सोमवार", "बैठक सोमवार को होगी"),
        ("회의 월요일", "회의는 월요일 입니다. 회의 월요일"),
        ("встреча в понедельник", "Наша встреча будет в понедельник"),
    ],
)
async def test_words_decide_where_the_model_cannot_read(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str, query: str, text: str
) -> None:
    others = ["बिल्ली सो रही है", "แมวนอนหลับ", "고양이가 잔다", "Кошка спит", "The cat sleeps."]
    events = [make.body(content={"text": said}) for said in [*others, text]]
    await client.post("/api/v1/events/batch", json={"events": events})
    await wire.embedded(daemon, tenant)
    answer = await client.post("/api/v1/search", json={"query": query})

    assert answer.json()["results"][0]["text"] == text
