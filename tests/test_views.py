"""Editable texts over HTTP: edit, history, differences, restore, two editors, who sees what."""

import asyncio
from typing import Any

import httpx
import pytest

import conftest
import make
from conftest import MakeKey
from memoryd.core import db, group, ids
from memoryd.core.model import Reader
from memoryd.custody import rebuild
from memoryd.daemon import Daemon, now
from memoryd.ledger import texts
from wire import EVENTS, VIEWS, assert_problem, count, listed, storing_nothing, write_view

RULES = f"{VIEWS}/rules.project"


async def versions(client: httpx.AsyncClient, name: str, **params: Any) -> list[dict[str, Any]]:
    answer = await client.get(f"{VIEWS}/{name}/history", params=params)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["versions"]
    return found


async def test_a_text_is_read_back_as_it_was_written(client: httpx.AsyncClient) -> None:
    text = "# Rules\r\n\n- Größe ✓ <|endoftext|>\n\ttabs, trailing blanks  \n"
    written = await write_view(client, "rules.project", text)
    found = (await client.get(RULES)).json()

    assert found == written
    assert (found["name"], found["text"], found["size"]) == ("rules.project", text, len(text))
    assert found["version"].startswith("evt_")
    assert found["actor"] == {"type": "human", "id": "default"}
    assert found["channel"] == "public"


async def test_every_edit_is_an_event(client: httpx.AsyncClient) -> None:
    first = await write_view(client, "identity.planner", "You plan.")
    second = await write_view(
        client, "identity.planner", "You plan well.", actor_type="agent", actor_id="critic"
    )
    event = (await client.get(f"{EVENTS}/{second['version']}")).json()

    assert [one["kind"] for one in await listed(client)] == ["view", "view"]
    assert event["actor"] == {"type": "agent", "id": "critic"}
    assert event["content"] == {
        "name": "identity.planner",
        "owner": "",
        "text": "You plan well.",
        "replaces": first["version"],
    }


async def test_views_are_listed_by_name_without_their_texts(client: httpx.AsyncClient) -> None:
    for name in ("rules.user", "identity.b", "rules.org", "identity.a/b c", "rules.project"):
        await write_view(client, name, f"text of {name}")
    found = (await client.get(VIEWS)).json()["views"]

    assert [one["name"] for one in found] == sorted(
        ["rules.user", "identity.b", "rules.org", "identity.a/b c", "rules.project"]
    )
    assert all("text" not in one and one["size"] > 10 for one in found)


async def test_history_is_newest_first_and_has_pages(client: httpx.AsyncClient) -> None:
    made = [await write_view(client, "rules.org", f"rule {n}") for n in range(5)]
    await write_view(client, "rules.project", "another")
    pages = []
    cursor = None
    for _ in range(3):
        params = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = (await client.get(f"{VIEWS}/rules.org/history", params=params)).json()
        pages.append([one["version"] for one in page["versions"]])
        cursor = page["next"]

    expected = [one["version"] for one in made][::-1]
    assert pages == [expected[:2], expected[2:4], expected[4:]]
    assert cursor is None
    (newest, *_) = await versions(client, "rules.org")
    assert newest == {name: value for name, value in made[-1].items() if name != "text"}


async def test_an_earlier_version_can_be_read(client: httpx.AsyncClient) -> None:
    first = await write_view(client, "rules.project", "one")
    await write_view(client, "rules.project", "two")
    found = await client.get(RULES, params={"version": first["version"], "format": "markdown"})

    assert found.text == "one"
    assert found.headers["etag"] == f'"{first["version"]}"'


async def test_a_diff_is_of_the_last_edit_unless_said(client: httpx.AsyncClient) -> None:
    made = [
        await write_view(client, "rules.project", text)
        for text in ("a\nb\nc\n", "a\nB\nc\n", "a\nB\nc")
    ]
    one, two, three = (version["version"] for version in made)
    last = (await client.get(f"{RULES}/diff")).text
    whole = (await client.get(f"{RULES}/diff", params={"from": one})).text
    earlier = (await client.get(f"{RULES}/diff", params={"to": two})).text
    first = (await client.get(f"{RULES}/diff", params={"to": one})).text
    same = await client.get(f"{RULES}/diff", params={"from": two, "to": two})

    head = f"--- rules.project {one}\n+++ rules.project {two}\n@@ -1,3 +1,3 @@\n"
    assert earlier == head + " a\n-b\n+B\n c\n"
    assert last.endswith(" a\n B\n-c\n+c\n\\ No newline at end of file\n")
    assert f"--- rules.project {one}\n+++ rules.project {three}\n" in whole
    assert "-b\n-c\n+B\n+c\n\\ No" in whole
    assert first == f"--- /dev/null\n+++ rules.project {one}\n@@ -0,0 +1,3 @@\n+a\n+b\n+c\n"
    assert (same.status_code, same.text) == (200, "")


async def test_a_restored_text_is_a_new_version(client: httpx.AsyncClient) -> None:
    first = await write_view(client, "rules.project", "one")
    await write_view(client, "rules.project", "two")
    answer = await client.post(f"{RULES}/restore", json={"version": first["version"]})
    event = (await client.get(f"{EVENTS}/{answer.json()['version']}")).json()

    assert (answer.status_code, answer.json()["text"]) == (200, "one")
    assert len(await versions(client, "rules.project")) == 3
    assert (await client.get(RULES)).json() == answer.json()
    assert event["refs"] == [first["version"]]


async def test_restoring_what_holds_stores_nothing(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    first = await write_view(client, "rules.project", "one")
    async with storing_nothing(daemon, tenant):
        answer = await client.post(f"{RULES}/restore", json={"version": first["version"]})

    assert answer.json() == first


async def test_the_same_text_again_stores_nothing(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    first = await write_view(client, "rules.project", "one")
    async with storing_nothing(daemon, tenant):
        again = await write_view(client, "rules.project", "one")
        guarded = await client.put(RULES, json={"text": "one", "version": "evt_older"})

    assert again == first == guarded.json()


async def test_the_same_text_from_many_at_once_is_stored_once(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    saved = await asyncio.gather(
        *(write_view(client, "rules.project", "the one text") for _ in range(8))
    )

    assert len({one["version"] for one in saved}) == 1
    assert await count(daemon, tenant) == 1


async def test_of_two_editors_at_once_one_is_told(client: httpx.AsyncClient) -> None:
    """Eight people edit the same version: one saves, and nobody's text replaces another's."""
    base = (await write_view(client, "rules.project", "base"))["version"]
    answers = await asyncio.gather(
        *(client.put(RULES, json={"text": f"editor {n}", "version": base}) for n in range(8))
    )

    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] + [409] * 7
    (saved,) = [answer.json() for answer in answers if answer.status_code == 200]
    assert (await client.get(RULES)).json() == saved
    assert len(await versions(client, "rules.project")) == 2
    for answer in answers:
        if answer.status_code == 409:
            assert "edited meanwhile" in assert_problem(answer, 409, "version")["detail"]


async def test_without_a_guard_every_writer_is_served_and_kept(client: httpx.AsyncClient) -> None:
    await asyncio.gather(*(write_view(client, "rules.project", f"text {n}") for n in range(12)))

    assert len(await versions(client, "rules.project")) == 12


@pytest.mark.parametrize("mark", ['"{}"', "{}", 'W/"{}"'])
async def test_markdown_is_guarded_by_its_etag(client: httpx.AsyncClient, mark: str) -> None:
    first = await write_view(client, "rules.project", "one")
    headers = {"content-type": "text/markdown", "if-match": mark.format(first["version"])}
    taken = await client.put(RULES, content="two", headers=headers)
    refused = await client.put(RULES, content="three", headers=headers)

    assert taken.status_code == 200
    assert taken.headers["etag"] == f'"{taken.json()["version"]}"'
    assert_problem(refused, 409, "version")


async def test_a_new_text_can_be_guarded_too(client: httpx.AsyncClient) -> None:
    headers = {"content-type": "text/plain", "if-none-match": "*"}
    taken = await client.put(RULES, content="one", headers=headers)
    refused = await client.put(RULES, content="two", headers=headers)

    assert taken.status_code == 200
    assert_problem(refused, 409, "version")


async def test_a_text_may_be_emptied(client: httpx.AsyncClient) -> None:
    await write_view(client, "rules.project", "one")
    emptied = await write_view(client, "rules.project", "")

    assert (emptied["text"], emptied["size"]) == ("", 0)


async def test_what_was_never_written_is_not_found(client: httpx.AsyncClient) -> None:
    await write_view(client, "rules.org", "there")
    asked = [
        await client.get(RULES),
        await client.get(f"{RULES}/history"),
        await client.get(f"{RULES}/diff"),
        await client.get(f"{VIEWS}/rules.org", params={"version": "evt_none"}),
        await client.get(f"{VIEWS}/rules.org/diff", params={"from": "evt_none"}),
        await client.post(f"{VIEWS}/rules.org/restore", json={"version": "evt_none"}),
    ]

    for answer in asked:
        assert_problem(answer, 404)


async def test_a_version_of_another_view_is_not_one_of_this(client: httpx.AsyncClient) -> None:
    other = await write_view(client, "rules.org", "there")
    await write_view(client, "rules.project", "here")
    answer = await client.post(f"{RULES}/restore", json={"version": other["version"]})

    assert_problem(answer, 404)


async def test_a_reader_key_writes_nothing(url: str, tenant: str, make_key: MakeKey) -> None:
    async with conftest.asking(url, await make_key(tenant, role="reader")) as reader:
        written = await reader.put(RULES, json={"text": "mine"})
        restored = await reader.post(f"{RULES}/restore", json={"version": "evt_1"})

    assert_problem(written, 403)
    assert_problem(restored, 403)


async def test_versions_hold_as_of_a_position_and_survive_a_rebuild(database: db.Target) -> None:
    pool = await db.open_pool(database, 2)
    commit = group.GroupCommit(pool, now)
    content = {"name": "rules.project", "owner": "", "text": "one"}
    first = make.write("a", kind="view", channel="public", content=content)
    cited = make.write("a", kind="summary", content={"about": "s1", "text": "sum"}, refs=("evt_x",))
    second = make.write("a", kind="view", channel="public", content={**content, "text": "two"})
    for write in (first, cited, second):
        await commit.commit("a", [write])
    (outcome,) = await rebuild.rebuild(database, lambda *_: None)
    async with db.tenant(pool, "a") as conn:
        reader = Reader(tenant_id="a")
        found = [await texts.view(conn, reader, "rules.project", as_of=at) for at in range(4)]
        (summary,) = await texts.summaries(conn, reader, "s1")
    await pool.close()

    assert outcome.equal
    assert (outcome.rows["view_texts"], outcome.rows["summaries"]) == (2, 1)
    assert [one and one.text for one in found] == [None, "one", "one", "two"]
    assert summary.summary_id == ids.same("sum", cited.event.event_id)
    assert summary.stale
