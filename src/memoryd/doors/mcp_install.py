"""The configuration of MCP clients: where it lies, and what it says of memoryd.

Only our own entry is changed. A file that is not plain JSON (comments, say) is left to its owner.
"""

import json
import os
import re
import stat
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from memoryd.core import errors
from memoryd.doors import differences

Client = Literal["claude-code", "claude-desktop", "cursor", "vscode"]
CLIENTS: tuple[Client, ...] = ("claude-code", "claude-desktop", "cursor", "vscode")
NAME = "memoryd"
# What leads the command to the same memories; a key is a secret, and not written to a file.
PASSED_ON = ("MEMORYD_HOME", "MEMORYD_URL", "MEMORYD_DATABASE_URL")


@dataclass(frozen=True)
class Change:
    """A file before and after."""

    path: Path
    before: str | None  # None where there is no file
    after: str
    entry: Mapping[str, Any]

    @property
    def needed(self) -> bool:
        return self.before != self.after

    @property
    def diff(self) -> str:
        old = str(self.path) if self.before is not None else "/dev/null"
        return differences.unified(self.before or "", self.after, old, str(self.path))


def path_of(client: Client, home: Path, project: Path | None, platform: str) -> Path:
    """The client's file: of this `project`, or of the user."""
    if project is not None:
        within = {"claude-code": ".mcp.json", "cursor": ".cursor/mcp.json"}
        within["vscode"] = ".vscode/mcp.json"
        if client not in within:
            raise errors.Invalid(f"{client} has no configuration of a project", field="--project")
        return project / within[client]
    if client == "claude-code":
        return home / ".claude.json"
    if client == "cursor":
        return home / ".cursor" / "mcp.json"
    applications = {"darwin": "Library/Application Support", "win32": "AppData/Roaming"}
    folder = home / applications.get(platform, ".config")
    if client == "vscode":
        return folder / "Code" / "User" / "mcp.json"
    return folder / "Claude" / "claude_desktop_config.json"


def entry_of(arguments: list[str], environ: Mapping[str, str]) -> dict[str, Any]:
    """How the client starts us: by the interpreter that runs now, so that no PATH matters."""
    passed = {name: environ[name] for name in PASSED_ON if environ.get(name)}
    return {
        "type": "stdio",
        "command": sys.executable,
        "args": ["-m", "memoryd", "mcp", *arguments],
        **({"env": passed} if passed else {}),
    }


def change(client: Client, path: Path, entry: Mapping[str, Any]) -> Change:
    """What is to be written; everything else in the file stays as it is."""
    before = _read(path)
    found = _parse(path, before) if before and before.strip() else {}
    group = "servers" if client == "vscode" else "mcpServers"
    servers = found.get(group, {})
    if not isinstance(servers, dict):
        raise _not_ours(path, f"its {group!r} is not an object", entry)
    if servers.get(NAME) == entry and before is not None:
        return Change(path, before, before, entry)
    made = {**found, group: {**servers, NAME: dict(entry)}}
    after = json.dumps(made, indent=_indent(before or ""), ensure_ascii=False) + "\n"
    return Change(path, before, after, entry)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise errors.Invalid(f"{path} cannot be read: {error}", field="path") from error


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _not_ours(path, str(error), None) from error
    if not isinstance(found, dict):
        raise _not_ours(path, "it is not an object", None)
    return found


def _not_ours(path: Path, why: str, entry: Mapping[str, Any] | None) -> errors.Invalid:
    add = f": {json.dumps({NAME: entry})}" if entry else ""
    return errors.Invalid(
        f"{path} is not plain JSON ({why}), and is left as it is; add memoryd there by hand{add}",
        field="path",
    )


def _indent(text: str) -> int | str:
    """As the file has it; two spaces where it says nothing."""
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return found[1] if found else 2


def write(change: Change) -> None:
    """All or nothing: the new file takes the old one's place, and its permissions."""
    target = change.path.resolve()  # of a symbolic link, what it points to
    if _read(change.path) != change.before:
        raise errors.Conflict(f"{change.path} was changed meanwhile; look again")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600
        descriptor, made = tempfile.mkstemp(dir=target.parent, prefix=".memoryd-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(change.after)
        Path(made).chmod(mode)
        Path(made).replace(target)
    except OSError as error:
        raise errors.Invalid(f"{change.path} cannot be written: {error}", field="path") from error
