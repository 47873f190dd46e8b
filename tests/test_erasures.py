"""The HTTP door of erasures: who may, what is refused, what is answered and what is listed."""

from collections.abc import AsyncIterator

import httpx
import pytest

from conftest import MakeKey, asking
from memoryd.custody import erase_act
from wire import (
    DECISIONS,
    EVENTS,
    SUMMARIES,
    assert_problem,
    assert_refused,
    decide,
    found,
    listed,
    plan,
    post,
    texts,
    upload,
)

ERASURES = "/api/v1/erasures"
BUILD = "/api/v1/acb/build"


@pytest.fixture
async def admin(url: str, tenant: str, make_key: MakeKey) -> AsyncIterator[httpx.AsyncClient]:
    async with asking(url, await make_key(tenant, role="admin")) as connected:
        yield connected


async def erase(admin: httpx.AsyncClient, status: int = 201, **body: object) -> dict[str, object]:
    """Without a sweep, which is tested where the database is the test's own."""
    answer = await admin.post(ERASURES, json={"sweep": False, **body})
    assert answer.status_code == status, answer.text
    done: dict[str, object] = answer.json()
    return done


async def test_an_erased_user_is_found_nowhere(admin: httpx.AsyncClient) -> None:
    said = await post(admin, user_id="ada", content={"text": "The heliotrope is mine."})
    await post(admin, user_id="bob", content={"text": "Bob stays."})
    done = await erase(admin, user_id="ada", reason="she asked")
    hits = await admin.post("/api/v1/search", json={"query": "heliotrope", "user_id": "ada"})
    gone = await admin.get(f"{EVENTS}/{said['event_id']}", params={"user_id": "ada"})

    assert (done["what"], done["events"], done["reason"]) == ("user", 1, "she asked")
    assert str(done["by"]).startswith("key_")
    assert hits.json()["results"] == []
    assert_problem(gone, 404)
    assert await texts(admin, user_id="bob") == ["Bob stays."]


async def test_erasures_are_listed_without_names(admin: httpx.AsyncClient) -> None:
    for user in ("ada", "bob", "eve"):
        await post(admin, user_id=user)
        await erase(admin, user_id=user)
    first = (await admin.get(ERASURES, params={"limit": 2})).json()
    rest = (await admin.get(ERASURES, params={"limit": 2, "cursor": first["next"]})).json()
    known = [*first["erasures"], *rest["erasures"]]

    assert rest["next"] is None
    assert len(known) == 3
    assert "ada" not in str(known)
    assert known[2]["fingerprint"] == erase_act.fingerprint(known[2]["erasure_id"], "ada")
    assert await listed(admin, user_id="ada") == []


async def test_a_bundle_that_showed_what_was_erased_is_gone(admin: httpx.AsyncClient) -> None:
    said = await post(admin, content={"text": "The heliotrope is mine."}, channel="team")
    asked = {"session_id": "s1", "channel": "team"}
    shown = (await admin.post(BUILD, json=asked)).json()["acb_id"]
    other = (await admin.post(BUILD, json={**asked, "session_id": "other"})).json()
    await erase(admin, event_id=said["event_id"])
    answer = await admin.get(f"/api/v1/acb/{shown}")

    assert "erased" in assert_problem(answer, 410)["detail"]
    assert (await admin.get(f"/api/v1/acb/{other['acb_id']}")).json() == other


async def test_a_bundle_whose_rows_an_erasure_changed_is_gone(admin: httpx.AsyncClient) -> None:
    task = await plan(admin, title="Ship it", channel="team", user_id="bob")
    other = await plan(admin, title="Rest", channel="team", user_id="bob", session_id="s2")
    change = {"task_id": task["task_id"], "channel": "team"}
    await plan(admin, **change, user_id="ada", title="Sink it")
    await plan(admin, **change, user_id="bob", status="doing")
    asked = {"session_id": "s1", "channel": "team", "sections": ["task_state"]}
    shown = (await admin.post(BUILD, json=asked)).json()
    await erase(admin, user_id="ada")
    now = (await admin.post(BUILD, json=asked)).json()

    assert "Sink it" in str(shown["sections"]) and other["task_id"] in str(shown["sections"])
    assert_problem(await admin.get(f"/api/v1/acb/{shown['acb_id']}"), 410)
    assert "Ship it" in str(now["sections"]) and "Sink it" not in str(now["sections"])


async def test_a_question_goes_with_its_user_and_its_session(admin: httpx.AsyncClient) -> None:
    ask = {"session_id": "s1", "query_text": "where is the heliotrope?"}
    by_user = (await admin.post(BUILD, json={**ask, "user_id": "ada"})).json()["acb_id"]
    by_session = (await admin.post(BUILD, json={**ask, "session_id": "s2"})).json()["acb_id"]
    stays = (await admin.post(BUILD, json=ask)).json()["acb_id"]
    done = await erase(admin, user_id="ada")
    await erase(admin, session_id="s2")
    statuses = [
        (await admin.get(f"/api/v1/acb/{one}")).status_code for one in (by_user, by_session, stays)
    ]

    assert done["events"] == 0 and done["rows"]["receipts"] == 1  # type: ignore[index]
    assert statuses == [410, 410, 200]


async def test_what_an_erased_decision_replaced_holds_again(admin: httpx.AsyncClient) -> None:
    old = await decide(admin, decision="Tabs.", channel="team", user_id="bob")
    new = await decide(
        admin, decision="Spaces.", channel="team", user_id="ada", supersedes=old["decision_id"]
    )
    await erase(admin, user_id="ada")
    again = await found(admin, old["decision_id"], channel="team")

    assert_problem(await admin.get(f"{DECISIONS}/{new['decision_id']}"), 404)
    assert again["status"] == "active"


async def test_nothing_new_may_refer_to_what_was_erased(admin: httpx.AsyncClient) -> None:
    said = await post(admin, channel="team")
    task = await plan(admin, channel="team", user_id="ada")
    old = await decide(admin, channel="team", user_id="ada")
    await erase(admin, event_id=said["event_id"])
    await erase(admin, user_id="ada")
    summary = {"session_id": "s1", "text": "They ship.", "cites": [said["event_id"]]}
    change = {"task_id": task["task_id"], "status": "done", "channel": "team"}
    replacing = {"decision": "No.", "supersedes": old["decision_id"], "channel": "team"}

    assert_problem(await admin.post(SUMMARIES, json=summary), 422, "cites.0")
    assert (await admin.post("/api/v1/tasks", json=change)).status_code in (404, 422)
    assert (await admin.post(DECISIONS, json=replacing)).status_code in (404, 422)


async def test_an_erased_key_records_anew(admin: httpx.AsyncClient) -> None:
    first = await post(admin, user_id="ada", idempotency_key="k")
    await erase(admin, user_id="ada")
    again = await post(admin, user_id="ada", idempotency_key="k")

    assert again["event_id"] != first["event_id"]


async def test_an_erased_artifact_has_no_bytes(admin: httpx.AsyncClient) -> None:
    kept = await upload(admin, b"\xff\x00" * 9_000, user_id="ada", session_id="s9")
    await erase(admin, session_id="s9")
    answer = await admin.get(f"/api/v1/artifacts/{kept['artifact_id']}", params={"user_id": "ada"})

    assert_problem(answer, 404)


async def test_a_dry_run_answers_what_would_go(admin: httpx.AsyncClient) -> None:
    await post(admin, user_id="ada")
    tried = await erase(admin, 200, user_id="ada", dry_run=True)
    left = await texts(admin, user_id="ada")
    done = await erase(admin, user_id="ada")
    for answer in (tried, done):
        del answer["rows"]["audit"]  # these very requests are noted there, a second later

    assert (tried["erasure_id"], tried["rows"]) == (None, done["rows"])
    assert left == ["We ship on Friday."]


async def test_there_may_be_nothing_to_erase(admin: httpx.AsyncClient) -> None:
    done = await erase(admin, 200, user_id="nobody")
    answer = await admin.post(ERASURES, json={"event_id": "evt_1"})

    assert (done["erasure_id"], done["events"]) == (None, 0)
    assert_problem(answer, 404, "event_id")
    assert (await admin.get(ERASURES)).json()["erasures"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"),
        ({"user_id": "ada", "session_id": "s1"}, "body"),
        ({"user_id": ""}, "user_id"),
        ({"user_id": "ada", "memory_id": "abcdefgh"}, "body"),
        ({"user_id": "ada", "colour": "red"}, "colour"),
        ({"user_id": "ada", "dry_run": "yes"}, "dry_run"),
    ],
)
async def test_one_thing_must_be_named(
    admin: httpx.AsyncClient, body: dict[str, object], field: str
) -> None:
    answer = await admin.post(ERASURES, json=body)

    assert_problem(answer, 422, field)


async def test_only_an_admin_of_the_tenant_erases(
    url: str, tenant: str, admin: httpx.AsyncClient, make_key: MakeKey
) -> None:
    body = {"user_id": "ada"}
    for role in ("agent", "reader"):
        async with asking(url, await make_key(tenant, role=role)) as other:
            assert_refused(await other.post(ERASURES, json=body), 403, None)
            assert_refused(await other.get(ERASURES), 403, None)
    pinned = await make_key(tenant, role="admin", user_id="bob")
    async with asking(url, pinned) as other:
        assert_refused(await other.post(ERASURES, json=body), 403, "user_id")

    assert_refused(await admin.post(ERASURES, json={"tenant": "another"}), 403, "tenant")
    elsewhere = {**body, "tenant_id": "another"}
    assert_refused(await admin.post(ERASURES, json=elsewhere), 403, "tenant_id")


async def test_a_tenant_erases_itself_and_its_keys(admin: httpx.AsyncClient, tenant: str) -> None:
    await post(admin)
    done = await erase(admin, tenant=tenant)
    answer = await admin.get(EVENTS)

    assert done["rows"]["keys"] == 1  # type: ignore[index]
    assert_problem(answer, 401)
