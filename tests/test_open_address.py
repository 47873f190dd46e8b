"""An address that others can reach is served with keys, or not at all."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import conftest
import make
from conftest import MakeKey
from memoryd import daemon as composition
from memoryd.core import db, errors
from memoryd.core.config import Settings
from memoryd.custody import keys
from memoryd.daemon import Daemon
from memoryd.doors import app
from wire import EVENTS


def opened(daemon: Daemon) -> Daemon:
    """As if it listened on every address; the tests' own socket is loopback's all the same."""
    return replace(daemon, settings=replace(daemon.settings, host="0.0.0.0"))


def api_routes() -> list[tuple[str, str]]:
    paths = app.document().openapi()["paths"]
    return [
        (method, path.replace("{memory_id}", "a1b2c3d4").replace("{", "").replace("}", ""))
        for path, methods in paths.items()
        for method in methods
        if path.startswith("/api/")
    ]


async def test_an_open_address_answers_nobody_without_a_key(
    daemon: Daemon, tenant: str, make_key: MakeKey
) -> None:
    async with (
        conftest.serving(opened(daemon)) as url,
        conftest.asking(url) as anonymous,
        conftest.asking(url, await make_key(tenant)) as known,
    ):
        answers = [await anonymous.request(method, path) for method, path in api_routes()]
        with_key = await known.post(EVENTS, json=make.body())
        alive = await anonymous.get("/healthz")

    assert len(answers) >= 6
    assert [str(one.request.url) for one in answers if one.status_code != 401] == []
    assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}
    assert with_key.status_code == 201
    assert alive.status_code == 200


async def test_on_an_open_address_a_page_of_another_address_may_not_ask(
    daemon: Daemon, tenant: str, make_key: MakeKey
) -> None:
    async with (
        conftest.serving(opened(daemon)) as url,
        conftest.asking(url, await make_key(tenant)) as client,
    ):
        own = await client.get(EVENTS, headers={"host": "10.0.0.5", "origin": "http://10.0.0.5"})
        other = await client.get(EVENTS, headers={"host": "10.0.0.5", "origin": "http://6.6.6.6"})
        named = await client.get(EVENTS, headers={"host": "evil.example"})

    assert own.status_code == 200
    assert (other.status_code, other.json()["field"]) == (403, "Origin")
    assert (named.status_code, named.json()["field"]) == (421, "Host")


async def test_a_host_may_be_allowed_by_name(
    daemon: Daemon, tenant: str, make_key: MakeKey
) -> None:
    allowed = replace(
        daemon.settings, host="0.0.0.0", allowed_hosts="Memory.example, other.example"
    )
    async with (
        conftest.serving(replace(daemon, settings=allowed)) as url,
        conftest.asking(url, await make_key(tenant)) as client,
    ):
        answers = [
            await client.get(EVENTS, headers={"host": name, "origin": f"https://{name}"})
            for name in ("memory.example:7377", "other.example", "third.example")
        ]

    assert [answer.status_code for answer in answers] == [200, 200, 421]


async def test_an_open_address_without_any_key_is_not_served(database: db.Target) -> None:
    settings = Settings(database_url=conftest.dsn(database), host="0.0.0.0")
    async with composition.running(settings, print) as daemon:
        with pytest.raises(errors.Forbidden, match="memoryd keys create"):
            await composition.check_open_address(daemon)
        async with db.tenant(daemon.pool, "t") as conn:
            key, _ = await keys.create(
                conn, tenant_id="t", role="agent", secret="x" * 43, now=make.NOW
            )
        await composition.check_open_address(daemon)
        async with db.tenant(daemon.pool, "t") as conn:
            await keys.revoke(conn, "t", key.key_id, make.NOW)

        with pytest.raises(errors.Forbidden, match="memoryd keys create"):
            await composition.check_open_address(daemon)


def test_the_command_refuses_an_open_address_without_a_key(
    database: db.Target, tmp_path: Path
) -> None:
    """It binds, and listens only once it has found a key: here nobody could ever connect."""
    environ = {
        **{name: text for name, text in os.environ.items() if not name.startswith("MEMORYD_")},
        "MEMORYD_DATABASE_URL": conftest.dsn(database),
        "MEMORYD_HOME": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-m", "memoryd", "serve", "--host", "0.0.0.0", "--port", "0"],
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("memoryd: refusing to listen on 0.0.0.0 without a key")
    assert "memoryd keys create --tenant default --role agent" in done.stderr
    assert len(done.stderr.splitlines()) == 1
