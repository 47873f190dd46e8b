"""A person with a folder of exported files, and the daemon they are of."""

import json
import subprocess
from pathlib import Path
from typing import Any

import httpx
from click.testing import CliRunner

from commands import memoryd
from memoryd.doors import cli_export, cli_import


class Desk:
    """A person with a folder of exported files."""

    def __init__(self, home: Path, url: str, folder: Path, user: str) -> None:
        self.home, self.url, self.folder, self.user = home, url, folder, user

    def run(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return memoryd(self.home, *arguments, **{"MEMORYD_URL": self.url, **env})

    def export(self, *more: str) -> dict[str, Any]:
        """In this process, which saves a second; what it says goes over HTTP as ever."""
        asked = ["--markdown", str(self.folder), "--user", self.user, "--json", *more]
        done = CliRunner().invoke(cli_export.export, asked, env={"MEMORYD_URL": self.url})
        assert done.exit_code == 0, done.output
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def take(self, *more: str) -> list[dict[str, Any]]:
        """The steps of an import, without asking."""
        asked = [str(self.folder), "--yes", "--json", *more]
        done = CliRunner().invoke(cli_import.import_, asked, env={"MEMORYD_URL": self.url})
        assert done.stdout, done.output
        steps: list[dict[str, Any]] = json.loads(done.stdout)["steps"]
        failed = any(one["action"] in ("conflict", "refused") for one in steps)
        assert done.exit_code == failed, done.output
        return steps

    def get(self, path: str, **params: Any) -> dict[str, Any]:
        asked = {"user_id": self.user, **params}
        found: dict[str, Any] = httpx.get(f"{self.url}/api/v1/{path}", params=asked).json()
        return found

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        done = httpx.post(f"{self.url}/api/v1/{path}", json={"user_id": self.user, **body})
        assert done.is_success, done.text
        found: dict[str, Any] = done.json()
        return found

    def put(self, text: str, name: str = "rules.user") -> str:
        address = f"{self.url}/api/v1/views/{name}"
        done = httpx.put(address, json={"text": text}, params={"user_id": self.user})
        assert done.is_success, done.text
        version: str = done.json()["version"]
        return version

    def only(self, folder: str, like: str = "*.md") -> Path:
        (found,) = (self.folder / folder).glob(like)
        return found

    def position(self) -> int:
        position: int = self.get("tasks")["position"]
        return position

    def files(self) -> dict[str, bytes]:
        found = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_bytes().decode()
    assert old in text
    path.write_bytes(text.replace(old, new).encode())
