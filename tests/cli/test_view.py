"""`memoryd view` with a real editor: a script that does what a person would."""

import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from commands import DEAD_URL, Served, answer, memoryd

NAMES = iter(f"identity.agent-{number}" for number in range(100))


@pytest.fixture
def name() -> str:
    """A view that no other test edits."""
    return next(NAMES)


@pytest.fixture
def editor(tmp_path: Path) -> Path:
    """Writes what is in `text` over the file it is given, and notes what it found there."""
    script = tmp_path / "editor.sh"
    script.write_text(f'#!/bin/sh\ncat "$1" > {tmp_path}/found\ncat {tmp_path}/text > "$1"\n')
    script.chmod(0o755)
    return script


def edit(
    home: Path, served: Served, editor: Path, name: str, text: str, *more: str, **env: str
) -> subprocess.CompletedProcess[str]:
    (editor.parent / "text").write_bytes(text.encode())
    where = {"MEMORYD_URL": served.url, "TMPDIR": str(editor.parent), "VISUAL": ""}
    return memoryd(home, "view", "edit", name, *more, **{**where, "EDITOR": str(editor), **env})


def shown(served: Served, name: str) -> str:
    found = httpx.get(f"{served.url}/api/v1/views/{name}", params={"format": "markdown"})
    return found.text


def put(served: Served, name: str, text: str, **params: str) -> str:
    address = f"{served.url}/api/v1/views/{name}"
    done = httpx.put(address, json={"text": text}, params=params)
    assert done.status_code == 200, done.text
    version: str = done.json()["version"]
    return version


def test_an_editor_opens_what_holds_and_its_text_is_saved(
    cli_home: Path, served: Served, editor: Path, name: str
) -> None:
    put(served, name, "You plan.\nYou are brief.\n")
    done = edit(cli_home, served, editor, name, "You plan.\nYou are kind.\n")

    assert done.returncode == 0, done.stderr
    assert (editor.parent / "found").read_text() == "You plan.\nYou are brief.\n"
    assert "-You are brief.\n+You are kind.\n" in done.stdout
    assert re.search(rf"saved {name} as evt_\w{{26}}\n$", done.stdout)
    assert shown(served, name) == "You plan.\nYou are kind.\n"
    assert list(editor.parent.glob("*.md")) == []


def test_a_new_view_begins_empty(cli_home: Path, served: Served, editor: Path, name: str) -> None:
    done = edit(cli_home, served, editor, name, "You plan.")

    assert done.returncode == 0, done.stderr
    assert (editor.parent / "found").read_text() == ""
    assert shown(served, name) == "You plan."


def test_nothing_changed_saves_nothing(
    cli_home: Path, served: Served, editor: Path, name: str
) -> None:
    version = put(served, name, "Größe\r\nno newline at the end")
    done = edit(cli_home, served, editor, name, "Größe\r\nno newline at the end")

    assert (done.returncode, done.stdout) == (0, f"{name} is as it was\n")
    (one,) = answer(cli_home, "view", "history", name, MEMORYD_URL=served.url)
    assert one["version"] == version
    assert list(editor.parent.glob("*.md")) == []


def test_what_somebody_else_saved_meanwhile_is_not_overwritten(
    cli_home: Path, served: Served, editor: Path, name: str
) -> None:
    put(served, name, "base\n")
    other = (
        f"import httpx; httpx.put('{served.url}/api/v1/views/{name}', json={{'text': 'theirs'}})"
    )
    editor.write_text(editor.read_text() + f'{sys.executable} -c "{other}"\n')
    done = edit(cli_home, served, editor, name, "mine\n")

    assert done.returncode == 1
    (kept,) = editor.parent.glob("*.md")
    assert str(kept) in done.stderr and f"memoryd view diff {name}" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert kept.read_text() == "mine\n"
    assert shown(served, name) == "theirs"
    assert kept.stat().st_mode & 0o077 == 0


def test_two_who_begin_the_same_view_lose_nothing(
    cli_home: Path, served: Served, editor: Path, name: str
) -> None:
    other = (
        f"import httpx; httpx.put('{served.url}/api/v1/views/{name}', json={{'text': 'theirs'}})"
    )
    editor.write_text(editor.read_text() + f'{sys.executable} -c "{other}"\n')
    done = edit(cli_home, served, editor, name, "mine\n")

    assert done.returncode == 1
    assert [kept.read_text() for kept in editor.parent.glob("*.md")] == ["mine\n"]
    assert shown(served, name) == "theirs"


@pytest.mark.parametrize("text", ["a\0b", "x" * 100_001])
def test_a_text_that_is_refused_is_kept(
    cli_home: Path, served: Served, editor: Path, name: str, text: str
) -> None:
    done = edit(cli_home, served, editor, name, text)

    assert done.returncode == 1
    (kept,) = editor.parent.glob("*.md")
    assert str(kept) in done.stderr and kept.read_text() == text


@pytest.mark.parametrize("failing", ["false", "/no/such/editor"])
def test_an_editor_that_fails_saves_nothing(
    cli_home: Path, served: Served, editor: Path, name: str, failing: str
) -> None:
    put(served, name, "base")
    done = edit(cli_home, served, editor, name, "mine", EDITOR=failing)

    assert done.returncode == 1
    assert "nothing was saved" in done.stderr and len(done.stderr.splitlines()) == 1
    assert shown(served, name) == "base"
    assert list(editor.parent.glob("*.md")) == [], "nothing was edited"


def test_an_editor_that_fails_after_saving_loses_nothing(
    cli_home: Path, served: Served, editor: Path, name: str
) -> None:
    editor.write_text(editor.read_text() + "exit 3\n")
    done = edit(cli_home, served, editor, name, "mine")

    assert done.returncode == 1
    (kept,) = editor.parent.glob("*.md")
    assert kept.read_text() == "mine" and str(kept) in done.stderr


def test_bytes_that_are_no_text_are_said_to_be_none(
    cli_home: Path, served: Served, editor: Path, name: str
) -> None:
    editor.write_text('#!/bin/sh\nprintf "one\\nGr\\366\\337e" > "$1"\n')
    done = edit(cli_home, served, editor, name, "unused")

    assert done.returncode == 1
    (kept,) = editor.parent.glob("*.md")
    assert f"nothing was saved: {kept}:2: it is not UTF-8" in done.stderr
    assert "codec" not in done.stderr and kept.read_bytes() == b"one\nGr\xf6\xdfe"


@pytest.mark.parametrize(
    ("name", "channel"), [("rules.user", "public"), ("rules.project", "private")]
)
def test_a_channel_that_cannot_be_is_refused_before_the_editor_opens(
    cli_home: Path, served: Served, editor: Path, name: str, channel: str
) -> None:
    done = edit(cli_home, served, editor, name, "mine", "--channel", channel)

    assert done.returncode == 1
    assert f"{name} cannot be {channel}" in done.stderr
    assert not (editor.parent / "found").exists() and list(editor.parent.glob("*.md")) == []


@pytest.mark.parametrize("text", ["x" * 200_000, "many lines\n" * 15_000])
def test_of_a_long_text_the_beginning_is_shown(
    cli_home: Path, served: Served, editor: Path, name: str, text: str
) -> None:
    done = edit(cli_home, served, editor, name, text)

    assert done.returncode == 1 and "100,000" in done.stderr
    assert len(done.stdout) < 10_000


def test_visual_comes_before_editor(
    cli_home: Path, served: Served, editor: Path, name: str
) -> None:
    done = edit(cli_home, served, editor, name, "seen", EDITOR="false", VISUAL=str(editor))

    assert done.returncode == 0, done.stderr
    assert shown(served, name) == "seen"


def test_json_is_the_saved_document(
    cli_home: Path, served: Served, editor: Path, name: str
) -> None:
    done = edit(cli_home, served, editor, name, "You plan.", "--json")
    found = answer(cli_home, "view", "show", name, MEMORYD_URL=served.url)

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    assert found["text"] == "You plan." and found["version"] in done.stdout


def test_show_prints_a_view_or_lists_all(cli_home: Path, served: Served, name: str) -> None:
    version = put(served, name, "# You\n\tplan.\n")
    one = memoryd(cli_home, "view", "show", name, MEMORYD_URL=served.url)
    every = memoryd(cli_home, "view", "show", MEMORYD_URL=served.url)
    listed = answer(cli_home, "view", "show", MEMORYD_URL=served.url)

    assert (one.returncode, one.stdout) == (0, "# You\n    plan.\n")
    (line,) = [line for line in every.stdout.splitlines() if version in line]
    assert line.split()[:2] == [name, "public"] and line.endswith("human:default")
    assert version in {view["version"] for view in listed}


def test_history_diff_and_restore(cli_home: Path, served: Served, name: str) -> None:
    first, second = put(served, name, "one\n"), put(served, name, "two\n")
    history = memoryd(cli_home, "view", "history", name, MEMORYD_URL=served.url)
    last = memoryd(cli_home, "view", "diff", name, MEMORYD_URL=served.url)
    back = answer(cli_home, "view", "diff", name, second, first, MEMORYD_URL=served.url)
    restored = memoryd(cli_home, "view", "restore", name, first, MEMORYD_URL=served.url)
    old = memoryd(cli_home, "view", "show", name, "--version", second, MEMORYD_URL=served.url)

    versions = [re.findall(r"evt_\w+", line) for line in history.stdout.splitlines()]
    assert versions == [[second], [first]]
    assert last.stdout.endswith("@@ -1 +1 @@\n-one\n+two\n")
    assert back["diff"].endswith("@@ -1 +1 @@\n-two\n+one\n")
    assert restored.stdout.startswith(f"restored {name} as evt_")
    assert shown(served, name) == "one\n"
    assert old.stdout == "two\n"


def test_each_user_edits_his_own_rules(cli_home: Path, served: Served, editor: Path) -> None:
    done = edit(cli_home, served, editor, "rules.user", "Bob's rules.", "--user", "bob")
    own = memoryd(cli_home, "view", "show", "rules.user", "--user", "bob", MEMORYD_URL=served.url)
    other = memoryd(cli_home, "view", "show", "rules.user", "--user", "eve", MEMORYD_URL=served.url)

    assert done.returncode == 0, done.stderr
    assert own.stdout == "Bob's rules.\n"
    assert (other.returncode, other.stdout) == (1, "")


def test_what_the_terminal_would_obey_is_not_printed(
    cli_home: Path, served: Served, name: str
) -> None:
    put(served, name, "clear \x1b[2J\x07\n")
    put(served, name, "clear \x1b[2J\x07 again\n", actor_id="ada")
    for command in ("show", "diff", "history"):
        done = memoryd(cli_home, "view", command, name, MEMORYD_URL=served.url)
        assert done.returncode == 0
        assert "\x1b" not in done.stdout and "\x07" not in done.stdout


@pytest.mark.parametrize("command", ["show", "history", "diff", "edit"])
def test_a_name_that_is_none_says_which_there_are(
    cli_home: Path, served: Served, command: str
) -> None:
    done = memoryd(cli_home, "view", command, "../../etc/passwd", MEMORYD_URL=served.url)

    assert (done.returncode, done.stdout) == (1, "")
    assert "identity.<agent>, rules.project, rules.user, rules.org" in done.stderr


@pytest.mark.parametrize("command", ["show", "history", "diff"])
def test_a_view_that_is_empty_says_how_to_begin_it(
    cli_home: Path, served: Served, command: str, name: str
) -> None:
    done = memoryd(cli_home, "view", command, name, MEMORYD_URL=served.url)

    assert (done.returncode, done.stdout) == (1, "")
    assert f"try: memoryd view edit {name}" in done.stderr and "PUT" not in done.stderr


def test_without_a_daemon_it_says_so(cli_home: Path) -> None:
    done = memoryd(cli_home, "view", "show", MEMORYD_URL=DEAD_URL)

    assert done.returncode == 1
    assert "memoryd serve" in done.stderr


def test_it_works_on_the_home_without_a_daemon_of_its_own(
    cli_home: Path, served: Served, editor: Path, name: str
) -> None:
    done = edit(cli_home, served, editor, name, "You plan.", MEMORYD_URL="")

    assert done.returncode == 0, done.stderr
    assert shown(served, name) == "You plan."
