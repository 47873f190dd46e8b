"""Which daemon, and which home, a command works on."""

import json
import time
from pathlib import Path

import pytest

from commands import DEAD_URL, SECONDS, Served, answer, memoryd, serving
from memoryd.doors import serving as addresses

FOR_GOOD = (
    *("erase --session s1 --verify --yes", "erase --session s1", "erase ers_1 --verify"),
    *("seal rotate", "seal rewrap", "scrub"),
)


@pytest.fixture
def own(cli_home: Path) -> Path:
    """A home that no other test serves."""
    return cli_home.parent / f"own-{time.monotonic_ns()}"


@pytest.mark.parametrize("command", FOR_GOOD)
def test_what_cannot_be_undone_refuses_the_address_of_another_home_s_daemon(
    own: Path, served: Served, command: str
) -> None:
    done = memoryd(own, *command.split(), MEMORYD_URL=served.url)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"memoryd: this command works on MEMORYD_HOME ({own}), and ")
    assert f"MEMORYD_URL names {served.url}, " in done.stderr
    assert "unset MEMORYD_URL" in done.stderr
    assert not own.exists()


def test_what_harms_nothing_says_that_it_works_on_the_home(own: Path, served: Served) -> None:
    """Its daemon may be one that does not announce itself, as on an open address."""
    key = ("keys", "create", "--tenant", "default", "--role", "agent", "--json")
    done = memoryd(own, *key, MEMORYD_URL=served.url)

    assert done.returncode == 0
    assert json.loads(done.stdout)["role"] == "agent"
    said = f"this command works on MEMORYD_HOME ({own}), and MEMORYD_URL names {served.url}, "
    assert said in done.stderr


def test_a_database_that_is_named_is_the_one_that_is_meant(own: Path, served: Served) -> None:
    outside = {"MEMORYD_URL": served.url, "MEMORYD_DATABASE_URL": "postgresql://nowhere/x"}
    done = memoryd(own, "scrub", **outside)

    assert done.returncode == 1
    assert "PostgreSQL cannot be reached" in done.stderr
    assert "MEMORYD_URL" not in done.stderr


@pytest.mark.parametrize("ending", ["", "/"])
def test_what_works_on_the_home_takes_the_address_of_its_own_daemon(
    cli_home: Path, served: Served, ending: str
) -> None:
    url = served.url.replace("127.0.0.1", "localhost") + ending

    assert answer(cli_home, "migrate", MEMORYD_URL=url)["schema_version"] >= 1


def test_the_self_test_finds_no_leak_in_a_daemon_of_another_home(own: Path, served: Served) -> None:
    port = served.url.rpartition(":")[2]
    done = memoryd(own, "doctor", "--isolation", MEMORYD_PORT=port)

    assert done.returncode == 0, done.stdout
    assert f"through the daemon at {served.url}" in done.stderr
    assert "that is a daemon of another home: through one in here" in done.stderr
    assert "LEAK" not in done.stdout and "nothing is left behind" in done.stdout


def test_an_address_where_nothing_answers_is_said_to_come_from_the_environment(own: Path) -> None:
    named = memoryd(own, "events", MEMORYD_URL=DEAD_URL)
    found = memoryd(own, "status", MEMORYD_PORT="9")

    assert f"no daemon answers at {DEAD_URL}" in named.stderr
    assert "unset MEMORYD_URL, which names it, or start" in named.stderr
    assert "MEMORYD_URL" not in found.stderr and "start one with: memoryd serve" in found.stderr


def test_of_two_daemons_on_a_home_the_one_that_is_left_is_found(own: Path) -> None:
    with serving(own) as first, serving(own) as second:
        both = list(addresses.every(own))
        first.process.terminate()
        first.process.wait(SECONDS)
        found = answer(own, "status")

        assert both == [first.url, second.url]
        assert (found["url"], found["status"]) == (second.url, "ready")
    assert addresses.find(own) is None


def test_a_program_is_told_that_nothing_answers(own: Path) -> None:
    done = memoryd(own, "status", "--json", MEMORYD_URL=DEAD_URL)
    said = json.loads(done.stdout)

    assert done.returncode == 1
    assert (said["url"], said["status"]) == (DEAD_URL, "unavailable")
    assert "no daemon answers" in said["detail"]
