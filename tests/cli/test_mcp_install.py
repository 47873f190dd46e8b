"""`memoryd mcp install`: a client's configuration gets our entry, and keeps everything else."""

import json
import stat
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from commands import memoryd
from memoryd.core import errors
from memoryd.doors import mcp_install

PLACES = {
    "claude-code": (".claude.json", "mcpServers"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
}


def install(person: Path, *arguments: str, **env: str) -> CompletedProcess[str]:
    return memoryd(person / "md", "mcp", "install", *arguments, HOME=str(person), **env)


def answer(person: Path, *arguments: str, **env: str) -> dict[str, Any]:
    done = install(person, *arguments, "--json", **env)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("client", PLACES)
def test_a_client_is_told_of_memoryd(tmp_path: Path, client: str) -> None:
    place, group = PLACES[client]
    if sys.platform != "linux" and ".config" in place:
        pytest.skip("the folder has another name here")
    told = answer(tmp_path, client, "--yes")
    kept = json.loads((tmp_path / place).read_text())

    assert (told["path"], told["written"]) == (str(tmp_path / place), True)
    assert kept == {group: {"memoryd": told["entry"]}}
    assert told["entry"] == {
        "type": "stdio",
        "command": sys.executable,
        "args": ["-m", "memoryd", "mcp"],
        "env": {"MEMORYD_HOME": str(tmp_path / "md")},
    }
    assert stat.S_IMODE((tmp_path / place).stat().st_mode) == 0o600


def test_what_is_there_stays_and_a_second_time_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / ".claude.json"
    before = {"theme": "dark", "mcpServers": {"git": {"command": "git-mcp"}}, "é": [1, 2.50]}
    file.write_text(json.dumps(before, indent=4, ensure_ascii=False) + "\n")
    file.chmod(0o640)
    first = answer(tmp_path, "claude-code", "--yes")
    text = file.read_text()
    again = answer(tmp_path, "claude-code", "--yes")

    kept = json.loads(text)
    assert list(kept) == ["theme", "mcpServers", "é"]
    assert kept["mcpServers"]["git"] == {"command": "git-mcp"}
    assert text.startswith('{\n    "theme"') and '"é"' in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert (first["changed"], again["changed"], again["written"]) == (True, False, False)
    assert file.read_text() == text


def test_the_change_is_shown_and_nothing_is_written_without_a_yes(tmp_path: Path) -> None:
    unasked = install(tmp_path, "cursor")
    shown = answer(tmp_path, "cursor")

    assert unasked.returncode == 1
    assert unasked.stdout.startswith("--- /dev/null\n+++ ")
    assert '+    "memoryd": {' in unasked.stdout
    assert "there is nobody to ask; write it with --yes" in unasked.stderr
    assert (shown["written"], shown["changed"]) == (False, True)
    assert shown["diff"] == unasked.stdout
    assert not (tmp_path / ".cursor").exists()


@pytest.mark.parametrize("text", ["// mine\n{}", "{", "[]", '{"servers": []}', "\xff"])
def test_a_file_that_is_not_plain_json_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(text.encode("latin-1"))

    with pytest.raises(errors.Invalid, match=r"left as it is|cannot be read"):
        mcp_install.change("vscode", file, {})
    assert file.read_bytes() == text.encode("latin-1")


def test_a_file_that_changes_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    change = mcp_install.change("vscode", file, {"command": "memoryd"})
    file.write_text('{"servers": {"other": {}}}')

    with pytest.raises(errors.Conflict, match="changed meanwhile"):
        mcp_install.write(change)
    assert json.loads(file.read_text()) == {"servers": {"other": {}}}


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    file = tmp_path / ".claude.json"
    file.symlink_to(tmp_path / "dotfiles" / "claude.json")
    mcp_install.write(mcp_install.change("claude-code", file, {"command": "memoryd"}))

    assert file.is_symlink()
    assert json.loads((tmp_path / "dotfiles" / "claude.json").read_text())


def test_whom_it_asks_for_is_passed_on(tmp_path: Path) -> None:
    options = ("mcp", "--agent", "scout", "install", "cursor", "--project", "--json")
    done = memoryd(tmp_path / "md", *options, HOME=str(tmp_path))

    assert json.loads(done.stdout)["entry"]["args"][-2:] == ["--agent", "scout"]


def test_a_key_is_not_copied_into_the_file(tmp_path: Path) -> None:
    entry = mcp_install.entry_of(
        ["--agent", "scout"], {"MEMORYD_KEY": "mdk_secret", "MEMORYD_URL": "http://127.0.0.1:1"}
    )

    assert "mdk_secret" not in str(entry)
    assert entry["env"] == {"MEMORYD_URL": "http://127.0.0.1:1"}
    assert entry["args"][-2:] == ["--agent", "scout"]


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_each_client_has_a_place_on_each_system(tmp_path: Path, platform: str) -> None:
    places = {
        mcp_install.path_of(client, tmp_path, None, platform) for client in mcp_install.CLIENTS
    }
    folders = [
        mcp_install.path_of(client, tmp_path, tmp_path / "project", platform)
        for client in ("claude-code", "cursor", "vscode")
    ]

    assert len(places) == 4
    assert all(tmp_path / "project" in one.parents for one in folders)
    with pytest.raises(errors.Invalid, match="no configuration of a project"):
        mcp_install.path_of("claude-desktop", tmp_path, tmp_path, platform)
