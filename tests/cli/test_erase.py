"""`memoryd erase`: asks, erases, proves, and may be killed at any moment."""

import json
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from commands import Served, answer, environ, memoryd, message

WORD = "zanzibarquux"


def fill(url: str, user: str, events: int = 30) -> None:
    said = [
        {**message("s1", f"My {WORD}{user} is number {at}."), "user_id": user}
        for at in range(events)
    ]
    done = httpx.post(f"{url}/api/v1/events/batch", json={"events": said})
    assert done.status_code == 201, done.text


def left(url: str, user: str) -> int:
    asked = f"user_id={user}&limit=200"
    found = httpx.get(f"{url}/api/v1/events?{asked}").json()["events"]
    return sum(event["user_id"] == user for event in found)


def test_a_user_is_erased_and_proven_gone(cli_home: Path, served: Served) -> None:
    fill(served.url, "erase-1")
    tried = answer(cli_home, "erase", "--user", "erase-1", "--dry-run")
    before = left(served.url, "erase-1")
    done = answer(cli_home, "erase", "--user", "erase-1", "--verify", "--yes", "--reason", "asked")
    again = memoryd(cli_home, "erase", done["erasure_id"], "--verify", "--user", "erase-1")

    assert (before, left(served.url, "erase-1")) == (30, 0)
    # What was asked meanwhile is in the audit too.
    assert tried["rows"] | {"audit": 0} == done["rows"] | {"audit": 0}
    assert done["report"]["clean"] and done["report"]["raw"] and done["swept"]["wal"]
    assert done["report"]["words"] > 0 and done["report"]["positions"] == 30
    assert again.returncode == 0, again.stderr
    assert "nothing is left" in again.stdout


def test_it_says_what_went_and_where_it_looked(cli_home: Path, served: Served) -> None:
    fill(served.url, "erase-2")
    done = memoryd(cli_home, "erase", "--user", "erase-2", "--verify", "--yes")

    assert done.returncode == 0, done.stderr
    assert "erased: 30 events" in done.stdout
    assert "tables written anew; the write-ahead log's old files are gone" in done.stdout
    assert "nothing is left" in done.stdout
    assert "tables written anew" in done.stderr  # how far it is


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "name what to erase"),
        (("--user", "a", "--session", "b"), "name one thing"),
        (("--user", ""), "--user must be one line"),
        (("--user", "erase-3"), "there is nobody to ask"),
        (("evt_1", "--verify"), "there is no erasure 'evt_1'"),
        (("evt_1",), "add --verify"),
    ],
)
def test_it_refuses_what_is_not_clear(
    cli_home: Path, served: Served, arguments: tuple[str, ...], says: str
) -> None:
    done = memoryd(cli_home, "erase", *arguments)

    assert done.returncode == 1
    assert says in done.stderr


@pytest.mark.parametrize("more", [("--yes",), ("--dry-run",), ("--yes", "--verify", "--json")])
def test_a_name_that_is_not_there_is_said_to_be_none(
    cli_home: Path, served: Served, more: tuple[str, ...]
) -> None:
    done = memoryd(cli_home, "erase", "--user", "nobody-here", *more)

    assert done.returncode == 1
    assert '"events":0' in done.stdout.replace(" ", "") or "no such user here" in done.stdout


def test_killed_at_any_moment_it_is_finished_by_running_it_again(
    cli_home: Path, served: Served
) -> None:
    killed = []
    for number, seconds in enumerate((0.9, 1.1, 1.3, 1.6)):
        user = f"erase-k{number}"
        fill(served.url, user, 200)
        process = subprocess.Popen(
            [sys.executable, "-m", "memoryd", "erase", "--user", user, "--yes"],
            env=environ(cli_home),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(seconds)
        process.kill()
        killed.append(process.wait())
        done = memoryd(cli_home, "erase", "--user", user, "--yes", "--verify", "--json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)["report"]

        assert report["clean"], report
        assert left(served.url, user) == 0
    listed = httpx.get(f"{served.url}/api/v1/erasures", params={"limit": 200}).json()["erasures"]

    assert -9 in killed
    assert all(one["swept_at"] for one in listed)


def test_scrub_looks_through_the_log_and_says_where(cli_home: Path, served: Served) -> None:
    fill(served.url, "scrub-1", 3)
    found = answer(cli_home, "scrub", "--dry-run")
    done = memoryd(cli_home, "scrub", "--tenant", "default")

    assert [one["events"] for one in found if one["tenant_id"] == "default"] == [[]]
    assert done.returncode == 0, done.stderr
    assert "default: 0 events and 0 questions were scrubbed" in done.stdout
