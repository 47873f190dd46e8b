"""Keys: roles, pins, revocation, and what is served without one."""

import secrets

import httpx
import pytest

import conftest
import make
from conftest import MakeKey
from memoryd.core import db, errors
from memoryd.core.model import Key
from memoryd.custody import keys
from memoryd.daemon import Daemon
from wire import ARTIFACTS, EVENTS


async def created(conn: db.Conn, tenant: str, **given: str) -> tuple[Key, str]:
    values = {"role": "agent", "secret": secrets.token_urlsafe(32), **given}
    return await keys.create(conn, tenant_id=tenant, now=make.NOW, **values)  # type: ignore[arg-type]


async def attempts(client: httpx.AsyncClient) -> list[int]:
    """Every write that the API has."""
    return [
        (await client.post(EVENTS, json=make.body())).status_code,
        (await client.post(f"{EVENTS}/batch", json={"events": [make.body()]})).status_code,
        (await client.post(ARTIFACTS, params={"session_id": "s"}, content=b"x")).status_code,
    ]


@pytest.mark.parametrize(("role", "status"), [("reader", 403), ("agent", 201), ("admin", 201)])
async def test_a_reader_reads_and_an_agent_also_writes(
    url: str, tenant: str, make_key: MakeKey, role: str, status: int
) -> None:
    async with conftest.asking(url, await make_key(tenant, role=role)) as client:
        written = await attempts(client)
        read = await client.get(EVENTS)

    assert written == [status] * 3
    assert read.status_code == 200
    assert len(read.json()["events"]) == (0 if role == "reader" else 3)


async def test_a_refused_reader_is_told_what_to_use(
    url: str, tenant: str, make_key: MakeKey
) -> None:
    async with conftest.asking(url, await make_key(tenant, role="reader")) as client:
        answer = await client.post(EVENTS, json=make.body())

    assert answer.headers["content-type"] == "application/problem+json"
    assert "agent" in answer.json()["detail"]


PINS = [("user_id", "ada"), ("agent_id", "planner"), ("channel", "team")]


@pytest.mark.parametrize(("name", "value"), PINS)
async def test_a_pin_fills_in_what_a_call_omits(
    url: str, tenant: str, make_key: MakeKey, name: str, value: str
) -> None:
    async with conftest.asking(url, await make_key(tenant, **{name: value})) as client:
        omitted = (await client.post(EVENTS, json=make.body())).json()
        said = await client.post(EVENTS, json=make.body(**{name: value}))
        event = await client.get(f"{EVENTS}/{omitted['event_id']}")

    assert said.status_code == 201
    assert event.json()[name] == value


@pytest.mark.parametrize(("name", "value"), PINS)
async def test_a_pin_forbids_another_value_everywhere(
    url: str, tenant: str, make_key: MakeKey, name: str, value: str
) -> None:
    other = {name: "public" if name == "channel" else "somebody"}
    async with conftest.asking(url, await make_key(tenant, **{name: value})) as client:
        answers = [
            await client.post(EVENTS, json=make.body(**other)),
            await client.post(ARTIFACTS, params={"session_id": "s", **other}, content=b"x"),
            await client.get(EVENTS, params=other),
            await client.get(f"{EVENTS}/evt_1", params=other),
            await client.get(f"{ARTIFACTS}/art_1", params=other),
        ]

    assert [(answer.status_code, answer.json()["field"]) for answer in answers] == [(403, name)] * 5


async def test_a_pinned_user_sees_its_own_private_rows_alone(
    client: httpx.AsyncClient, url: str, tenant: str, make_key: MakeKey
) -> None:
    for user in ("ada", "bob"):
        await client.post(EVENTS, json=make.body(user_id=user, content={"text": user}))
    async with conftest.asking(url, await make_key(tenant, user_id="ada")) as ada:
        found = (await ada.get(EVENTS)).json()["events"]

    assert [event["content"]["text"] for event in found] == ["ada"]


async def test_a_key_of_the_public_channel_sees_public_rows_alone(
    client: httpx.AsyncClient, url: str, tenant: str, make_key: MakeKey
) -> None:
    for channel in ("public", "team", "private"):
        await client.post(EVENTS, json=make.body(channel=channel))
    async with conftest.asking(url, await make_key(tenant, channel="public")) as public:
        found = (await public.get(EVENTS)).json()["events"]

    assert [event["channel"] for event in found] == ["public"]


async def test_a_revoked_key_stops_working_with_the_next_request(
    url: str, daemon: Daemon, tenant: str
) -> None:
    async with db.tenant(daemon.pool, tenant) as conn:
        key, text = await created(conn, tenant)
    async with conftest.asking(url, text) as client:
        before = await client.get(EVENTS)
        async with db.tenant(daemon.pool, tenant) as conn:
            await keys.revoke(conn, tenant, key.key_id, make.NOW)
        after = [(await client.get(EVENTS)).status_code, *await attempts(client)]

    assert before.status_code == 200
    assert after == [401] * 4


async def test_revoking_again_changes_nothing(conn: db.Conn, tenant: str) -> None:
    key, _ = await created(conn, tenant)
    first = await keys.revoke(conn, tenant, key.key_id, make.NOW)
    again = await keys.revoke(conn, tenant, key.key_id, make.NOW.replace(year=2030))

    assert again == first


async def test_a_key_of_another_tenant_cannot_be_revoked(
    conn: db.Conn, daemon: Daemon, tenant: str
) -> None:
    async with db.tenant(daemon.pool, f"{tenant}-other") as other:
        key, _ = await created(other, f"{tenant}-other")

    with pytest.raises(errors.NotFound, match=key.key_id):
        await keys.revoke(conn, tenant, key.key_id, make.NOW)


async def test_the_list_names_the_keys_of_one_tenant(conn: db.Conn, tenant: str) -> None:
    made = [(await created(conn, tenant, role=role))[0] for role in ("reader", "admin")]
    found = await keys.listing(conn, tenant)

    assert sorted(found, key=str) == sorted(made, key=str)


async def test_the_key_itself_is_nowhere_in_the_database(conn: db.Conn, tenant: str) -> None:
    secret = secrets.token_urlsafe(32)
    key, text = await created(conn, tenant, secret=secret)
    row = await conn.fetchval("select to_jsonb(k)::text from keys k")

    assert text == f"mdk_{secret}"
    assert key.key_id in row
    hidden = [secret, text, secret.encode().hex(), text.encode().hex()]
    assert [form for form in hidden if form in row] == []
    assert secret not in repr(key)


@pytest.mark.parametrize("name", ["tenant_id", "user_id", "agent_id"])
@pytest.mark.parametrize("value", ["", "a\nb", "a\0b", "x" * 256])
async def test_a_key_pins_only_what_an_event_could_carry(
    conn: db.Conn, tenant: str, name: str, value: str
) -> None:
    given = {"tenant_id": tenant, name: value}

    with pytest.raises(errors.Invalid, match=name):
        await created(conn, given.pop("tenant_id"), **given)


async def test_loopback_without_a_key_serves_the_default_tenant(url: str, daemon: Daemon) -> None:
    async with conftest.asking(url) as anonymous:
        recorded = await anonymous.post(EVENTS, json=make.body(session_id="anonymous"))
        found = await anonymous.get(f"{EVENTS}/{recorded.json()['event_id']}")

    assert recorded.status_code == 201
    assert found.json()["tenant_id"] == "default"


async def test_loopback_without_a_key_serves_no_other_tenant(
    client: httpx.AsyncClient, url: str, tenant: str
) -> None:
    theirs = (await client.post(EVENTS, json=make.body(channel="public"))).json()["event_id"]
    async with conftest.asking(url) as anonymous:
        refused = [
            await anonymous.post(EVENTS, json=make.body(tenant_id=tenant)),
            await anonymous.get(EVENTS, params={"tenant_id": tenant}),
            await anonymous.get(f"{EVENTS}/{theirs}", params={"tenant_id": tenant}),
            await anonymous.post(
                ARTIFACTS, params={"session_id": "s", "tenant_id": tenant}, content=b"x"
            ),
        ]
        unseen = await anonymous.get(f"{EVENTS}/{theirs}")

    assert [(one.status_code, one.json()["field"]) for one in refused] == [(403, "tenant_id")] * 4
    assert unseen.status_code == 404
