"""The file that `memoryd view edit` gives to the editor."""

from pathlib import Path

import httpx

from commands import Served, memoryd

NAME = "identity.of-one-line"


def edit(home: Path, served: Served, folder: Path, script: str) -> str:
    editor = folder / "editor.sh"
    editor.write_text(f"#!/bin/sh\n{script}\n")
    editor.chmod(0o755)
    env = {"MEMORYD_URL": served.url, "TMPDIR": str(folder), "VISUAL": "", "EDITOR": str(editor)}
    done = memoryd(home, "view", "edit", NAME, **env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_put_behind_the_last_line_is_a_line(
    cli_home: Path, served: Served, tmp_path: Path
) -> None:
    """Though the text that holds has no end of its last line."""
    address = f"{served.url}/api/v1/views/{NAME}"
    httpx.put(address, json={"text": "You plan."}).raise_for_status()
    edit(cli_home, served, tmp_path, 'echo "You are brief." >> "$1"')
    after = httpx.get(address, params={"format": "markdown"}).text
    again = edit(cli_home, served, tmp_path, ":")

    assert after == "You plan.\nYou are brief."
    assert again == f"{NAME} is as it was\n"
