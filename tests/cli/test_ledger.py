"""`memoryd decisions` and `memoryd tasks` as a person and a script use them."""

import hashlib
import json
import shlex
from pathlib import Path
from typing import Any

import httpx
import pytest

from commands import Served, answer, memoryd

USER = "ledger"  # the tests of other commands share the daemon


def made(served: Served, route: str, **given: Any) -> dict[str, Any]:
    """Once, though a run may set the module up twice."""
    said = {"user_id": USER, **given}
    key = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    url = f"{served.url}/api/v1/{route}"
    recorded = httpx.post(url, json={"idempotency_key": key, **said})
    assert recorded.is_success, recorded.text
    body: dict[str, Any] = recorded.json()
    return body


@pytest.fixture(scope="module")
def kept(served: Served) -> Served:
    tabs = made(served, "decisions", decision="Indent with tabs.", subject="style", refs=["evt_1"])
    made(
        *(served, "decisions"),
        decision="Indent with\nfour spaces.",
        subject="style",
        supersedes=tabs["decision_id"],
    )
    made(served, "decisions", decision="Keep it in PostgreSQL. " + "It lasts. " * 20, scope="user")
    task = made(served, "tasks", title="Ship it", details="on Friday", session_id="release")
    made(served, "tasks", title="Tea", status="doing")
    made(served, "tasks", task_id=task["task_id"], status="done")
    return served


def lines(home: Path, served: Served, *arguments: str) -> list[str]:
    done = memoryd(home, *arguments, "--user", USER, MEMORYD_URL=served.url, COLUMNS="110")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_person_reads_a_line_for_each_decision(cli_home: Path, kept: Served) -> None:
    newest, older = lines(cli_home, kept, "decisions")

    decision_id, day, minute, status, scope, text = older.split(None, 5)
    assert (decision_id[:4], len(day), len(minute)) == ("dec_", 10, 5)
    assert (status, scope, text) == ("active", "project", "style: Indent with four spaces.")
    assert "Keep it in PostgreSQL." in newest
    assert len(newest) == 110 and newest.endswith("…")


def test_a_person_reads_a_line_for_each_task(cli_home: Path, kept: Served) -> None:
    shown = [line.split(None, 3) for line in lines(cli_home, kept, "tasks")]

    assert [task_id[:4] for task_id, *_ in shown] == ["tsk_", "tsk_"]
    assert [rest.split(None, 1) for *_, rest in shown] == [
        ["done", "Ship it (on Friday)"],
        ["doing", "Tea"],
    ]


def test_a_text_puts_the_best_match_first(cli_home: Path, kept: Served) -> None:
    assert "four spaces" in lines(cli_home, kept, "decisions", "indent spaces")[0]


def test_what_is_cut_off_is_said(cli_home: Path, kept: Served) -> None:
    shown = lines(cli_home, kept, "tasks", "--limit", "1")

    assert shown[1:] == ["(there are more: raise --limit)"]


def test_json_is_the_answer_of_the_api(cli_home: Path, kept: Served) -> None:
    routes = {"decisions": "decisions/query", "tasks": "tasks"}
    for command, route in routes.items():
        shown = answer(cli_home, command, "--user", USER, MEMORYD_URL=kept.url)
        by_http = httpx.get(f"{kept.url}/api/v1/{route}", params={"user_id": USER})

        assert shown == by_http.json()


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["decisions", "--status", "superseded"], 1),
        (["decisions", "--status", "all"], 3),
        (["decisions", "--scope", "user"], 1),
        (["decisions", "--status", "all", "--ref", "evt_1"], 1),
        (["decisions", "--since", "2999-01-01T00:00:00Z"], 0),
        (["decisions", "--until", "2020-01-01T00:00:00Z"], 0),
        (["decisions", "--as-of", "0"], 0),
        (["decisions", "--as-of", "2999-01-01T00:00:00Z"], 2),
        (["decisions", "--channel", "public"], 0),
        (["tasks", "--status", "open", "--status", "doing"], 1),
        (["tasks", "--session", "release"], 1),
        (["tasks", "--as-of", "0"], 0),
        (["tasks", "--channel", "public"], 0),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else str(given),
)
def test_options_choose_what_is_shown(
    cli_home: Path, kept: Served, arguments: list[str], count: int
) -> None:
    shown = answer(cli_home, *arguments, "--user", USER, MEMORYD_URL=kept.url)

    assert len(shown[arguments[0]]) == count


@pytest.mark.parametrize("command", ["decisions", "tasks"])
def test_where_a_filter_leaves_nothing_it_says_so(
    cli_home: Path, kept: Served, command: str
) -> None:
    (said,) = lines(cli_home, kept, command, "--as-of", "0")

    assert said.startswith("no ") and "fewer options" in said


@pytest.mark.parametrize(("command", "user"), [("decisions", "o'brien"), ("tasks", "newcomer")])
def test_where_there_is_nothing_it_shows_a_line_that_records_one(
    cli_home: Path, served: Served, command: str, user: str
) -> None:
    asked = (command, "--user", user)
    said = memoryd(cli_home, *asked, MEMORYD_URL=served.url).stdout.splitlines()
    curl, url, _, kind, _, body = shlex.split(said[1])
    name, _, value = kind.partition(": ")
    recorded = httpx.post(url, content=body, headers={name: value})

    assert said[0].startswith("no ") and curl == "curl"
    assert recorded.status_code == 201, recorded.text
    assert len(answer(cli_home, *asked, MEMORYD_URL=served.url)[command]) == 1


def test_what_the_terminal_would_obey_is_not_printed(cli_home: Path, kept: Served) -> None:
    made(kept, "tasks", title="\x1b[2J clear", user_id="evil")
    shown = memoryd(cli_home, "tasks", "--user", "evil", MEMORYD_URL=kept.url).stdout

    assert "clear" in shown and "\x1b" not in shown


def test_what_the_daemon_refuses_is_one_clear_line(cli_home: Path, kept: Served) -> None:
    done = memoryd(cli_home, "tasks", "--as-of", "soon", MEMORYD_URL=kept.url)

    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1 and "as_of" in done.stderr
