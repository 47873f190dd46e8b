"""The commands as a person and a script use them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import httpx
import pytest

from commands import DEAD_URL, LONG, SECONDS, Served, answer, environ, memoryd, message
from memoryd.doors import cli


def commands() -> list[list[str]]:
    cli.main.list_commands(click.Context(cli.main))  # which loads them
    groups = {name: one for name, one in cli.main.commands.items() if isinstance(one, click.Group)}
    plain = [[name] for name in cli.main.commands if name not in groups]
    every = plain + [[name] for name in groups]
    return every + [[name, inner] for name, group in groups.items() for inner in group.commands]


def test_the_commands_are_the_ones_of_the_reference() -> None:
    assert {" ".join(command) for command in commands()} >= {
        *("serve", "status", "doctor", "migrate", "rebuild", "record", "events"),
        *("keys create", "keys list", "keys revoke"),
    }


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_the_help_of_a_command_has_an_example(command: list[str]) -> None:
    context = click.Context(cli.main, info_name="memoryd")
    found: click.Command = cli.main
    for name in command:
        assert isinstance(found, click.Group)
        found = found.commands[name]

    assert f"Example: memoryd {' '.join(command)}" in found.get_help(context)


def test_help_is_printed_by_the_program(cli_home: Path) -> None:
    done = memoryd(cli_home, "--help")

    assert done.returncode == 0
    assert "memoryd serve" in done.stdout and "memoryd record" in done.stdout


def test_status_without_a_daemon_says_what_to_do(cli_home: Path) -> None:
    done = memoryd(cli_home, "status", MEMORYD_URL=DEAD_URL)

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"memoryd: no daemon answers at {DEAD_URL}")
    assert "memoryd serve" in done.stderr


def test_record_and_events_work_on_the_home(cli_home: Path, served: Served) -> None:
    plain = ["record", "Größe ✓ of the release", "--session", "cli", "--tag", "topic:x"]
    recorded = answer(cli_home, *plain, "--actor", "agent:planner")
    shown = memoryd(cli_home, "events", "--session", "cli")
    listed = answer(cli_home, "events", "--session", "cli")

    assert set(recorded) == {"event_id", "chunk_ids", "created_at"}
    assert [one["event_id"] for one in listed] == [recorded["event_id"]]
    assert listed[0]["actor"] == {"type": "agent", "id": "planner"}
    assert listed[0]["tags"] == ["topic:x"]
    assert "agent:planner" in shown.stdout and "Größe ✓ of the release" in shown.stdout


def test_record_reads_standard_input(cli_home: Path, served: Served) -> None:
    done = memoryd(
        *(cli_home, "record", "-", "--session", "stdin", "--json"),
        stdin="two\nlines\n",
        MEMORYD_URL=served.url,
    )
    listed = answer(cli_home, "events", "--session", "stdin", MEMORYD_URL=served.url)

    assert done.returncode == 0
    assert listed[0]["content"] == {"text": "two\nlines\n"}


def test_what_the_daemon_refuses_is_one_clear_line(cli_home: Path, served: Served) -> None:
    blank = memoryd(cli_home, "record", "  ", MEMORYD_URL=served.url)
    actor = memoryd(cli_home, "record", "x", "--actor", "cat:tom", MEMORYD_URL=served.url)
    key = memoryd(cli_home, "events", MEMORYD_URL=served.url, MEMORYD_KEY="mdk_wrong")

    for done, word in ((blank, "content.text"), (actor, "actor.type"), (key, "401")):
        assert done.returncode == 1
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        assert done.stderr.startswith("memoryd: ") and word in done.stderr


@pytest.mark.parametrize("remote", [True, False])
def test_follow_shows_what_another_process_records(
    cli_home: Path, served: Served, remote: bool
) -> None:
    session = f"follow-{remote}"
    first = httpx.post(f"{served.url}/api/v1/events", json=message(session, "first"))
    following = subprocess.Popen(
        [sys.executable, "-m", "memoryd", "events", "--session", session, "--follow", "--json"],
        env=environ(cli_home, **({"MEMORYD_URL": served.url} if remote else {})),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert following.stdout is not None
    try:
        lines = [json.loads(following.stdout.readline())]
        for text in ("second", "third"):
            httpx.post(f"{served.url}/api/v1/events", json=message(session, text))
        lines += [json.loads(following.stdout.readline()) for _ in range(2)]
    finally:
        following.kill()
        following.wait()

    assert first.status_code == 201
    assert [line["content"]["text"] for line in lines] == ["first", "second", "third"]


def test_a_key_is_made_listed_and_revoked(cli_home: Path, served: Served) -> None:
    made = answer(
        cli_home, *("keys", "create", "--tenant", "acme", "--role", "agent", "--user", "ada")
    )
    bearer = {"authorization": f"Bearer {made['key']}"}
    works = httpx.get(f"{served.url}/api/v1/events", headers=bearer)
    by_command = answer(cli_home, "events", MEMORYD_URL=served.url, MEMORYD_KEY=made["key"])
    listed = answer(cli_home, "keys", "list", "--tenant", "acme")
    revoked = answer(cli_home, "keys", "revoke", made["key_id"], "--tenant", "acme")
    after = httpx.get(f"{served.url}/api/v1/events", headers=bearer)

    assert made["key"].startswith("mdk_")
    assert {name: made[name] for name in ("tenant_id", "role", "user_id", "agent_id")} == {
        "tenant_id": "acme",
        "role": "agent",
        "user_id": "ada",
        "agent_id": None,
    }
    assert (works.status_code, by_command) == (200, [])
    assert [key["key_id"] for key in listed] == [made["key_id"]]
    assert "key" not in listed[0]
    assert revoked["revoked_at"]
    assert after.status_code == 401


def test_a_key_that_is_not_there_cannot_be_revoked(cli_home: Path, served: Served) -> None:
    done = memoryd(cli_home, "keys", "revoke", "key_none")

    assert done.returncode == 1
    assert "key_none" in done.stderr


def test_a_tenant_without_a_name_gets_no_key(cli_home: Path, served: Served) -> None:
    done = memoryd(cli_home, "keys", "create", "--tenant", "", "--role", "agent")

    assert done.returncode == 1
    assert done.stderr.startswith("memoryd: tenant_id is ''")


def test_migrate_says_the_version(cli_home: Path, served: Served) -> None:
    assert answer(cli_home, "migrate")["schema_version"] >= 1


def test_rebuild_proves_the_views_equal(cli_home: Path, served: Served) -> None:
    call = {"tool": "t", "zz": {"b": 1e22, "aa": -0.0}, "a": [{"z": 1, "y": 2.0}]}
    odd = [
        {**message("r", "x"), "kind": "tool_call", "content": call},
        {**message("r", "x"), "kind": "decision", "content": {"decision": "Go.", "text": "why"}},
        {
            **message("r", "x"),
            "kind": "tool_result",
            "content": {"tool": "t", "text": LONG},
        },
        {**message("r", "x"), "content": {"text": "said", "excerpt_text": "not this"}},
        {**message("r", "x"), "sensitivity": "secret"},
    ]
    recorded = httpx.post(f"{served.url}/api/v1/events/batch", json={"events": odd})
    outcomes = answer(cli_home, "rebuild")
    shown = memoryd(cli_home, "rebuild")

    assert recorded.status_code == 201
    default = {one["tenant_id"]: one for one in outcomes}["default"]
    assert default["events"] >= 5
    assert default["differed"] == dict.fromkeys(default["differed"], 0)
    assert default["rows"]["chunks"] >= 5
    assert shown.returncode == 0 and "equal" in shown.stdout
    assert re.search(r"^default +\d+/\d+ events$", shown.stderr, re.MULTILINE)
    assert "\r" not in shown.stderr, "no bar is drawn in a file"


def test_doctor_finds_nothing_wrong(cli_home: Path, served: Served) -> None:
    done = memoryd(cli_home, "doctor")
    checks = answer(cli_home, "doctor")

    assert done.returncode == 0, done.stdout
    assert "FAIL" not in done.stdout
    assert {check["name"] for check in checks} >= {
        *("versions", "server", "schema", "row security", "disk", "append-only"),
    }
    assert all(check["ok"] for check in checks)


def test_status_of_a_running_daemon(cli_home: Path, served: Served) -> None:
    found = answer(cli_home, "status", MEMORYD_URL=served.url)
    port = served.url.rpartition(":")[2]
    by_port = memoryd(cli_home, "status", MEMORYD_PORT=port, MEMORYD_HOST="0.0.0.0")

    assert (found["url"], found["status"]) == (served.url, "ready")
    assert by_port.returncode == 0, by_port.stderr


def test_status_finds_the_daemon_of_the_home_on_whatever_port(
    cli_home: Path, served: Served
) -> None:
    found = answer(cli_home, "status")

    assert (found["url"], found["status"]) == (served.url, "ready")


@pytest.mark.parametrize("address", ["not a url", "http://[bad", "ftp://127.0.0.1"])
def test_an_address_that_cannot_be_is_said(cli_home: Path, address: str) -> None:
    done = memoryd(cli_home, "events", MEMORYD_URL=address)

    assert done.returncode == 1
    assert done.stderr.startswith("memoryd: ")
    assert "Traceback" not in done.stderr


def test_broken_arguments_and_addresses_end_in_one_line(tmp_path: Path) -> None:
    for arguments, env in (
        (["search", "\udcff"], {}),
        (["search", "x"], {"MEMORYD_URL": "http://[::1"}),
        (["search", "x"], {"MEMORYD_POOL_SIZE": "0"}),
    ):
        done = memoryd(tmp_path, *arguments, **env)

        assert done.returncode == 1
        assert done.stderr.startswith("memoryd: ")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_without_standard_files_it_works_all_the_same(
    cli_home: Path, served: Served, closed: str
) -> None:
    """In process: there the loop opens what would be taken for them."""
    session = f"closed {closed}"
    line = f'exec "$1" -m memoryd record "$2" --session "$3" {closed}'
    texts = ["-", "z"] if closed == "<&-" else ["z"]
    done = [
        subprocess.run(
            ["/bin/sh", "-c", line, "sh", sys.executable, text, session],
            env=environ(cli_home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        for text in texts
    ]
    listed = answer(cli_home, "events", "--session", session)

    assert done[-1].returncode == 0, done[-1].stderr
    assert [event["content"]["text"] for event in listed] == ["z"]
    assert "Traceback" not in done[0].stderr
