"""One frozen `Settings`, read from the environment once, at start.

Every field has a default and a sentence; the generated reference lists them all.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import platformdirs

from memoryd.core import errors

# The smallest numbers of settings where that is not 1; 200 is the smallest budget of a bundle.
LEAST = {"MEMORYD_PORT": 0, "MEMORYD_MORE_PROCESSES": 0, "MEMORYD_MAX_BUNDLE_TOKENS": 200}


def default_home() -> Path:
    """The platform's data folder; for root `/var/lib/memoryd`, since PostgreSQL drops to another
    user there and could not reach root's own home.
    """
    if os.name == "posix" and os.geteuid() == 0:
        return Path("/var/lib/memoryd/home")
    return Path(platformdirs.user_data_dir("memoryd", appauthor=False))


def _setting(default: Any, says: str, *, shown: bool = True) -> Any:
    return field(default=default, metadata={"says": says}, repr=shown)


@dataclass(frozen=True)
class Settings:
    home: Path = field(
        default_factory=default_home,
        metadata={"says": "Folder of the embedded PostgreSQL; default: the user's data folder."},
    )
    database_url: str = _setting("", "An outside PostgreSQL >= 15 instead of the embedded one.")
    master_key: str = _setting(
        "", "Seals what is `high`: 32 bytes, hex or base64; else in MEMORYD_HOME.", shown=False
    )
    host: str = _setting("127.0.0.1", "Address to listen on; any but loopback needs a key.")
    port: int = _setting(7377, "Port to listen on.")
    allowed_hosts: str = _setting("", "More names that a Host header may carry, by comma.")
    url: str = _setting("", "The daemon that commands talk to; default: work on MEMORYD_HOME.")
    key: str = _setting("", "The key that commands send to that daemon.", shown=False)
    max_artifact_bytes: int = _setting(100 * 1024 * 1024, "Largest artifact, in bytes.")
    max_bundle_tokens: int = _setting(65_000, "The largest budget a bundle may ask for.")
    prompt_memory_tokens: int = _setting(
        10_000, "Tokens of facts in a prompt; own memories have as many, other blocks a quarter."
    )
    reference_tokens: int = _setting(500, "Tokens past which a text is swapped for a reference.")
    chat_url: str = _setting("", "A model's API, up to `/v1`, for wording and intent; else none.")
    chat_model: str = _setting("", "The name of that model.")
    chat_key: str = _setting("", "The key that is sent to that API.", shown=False)
    audit_days: int = _setting(90, "Days for which it is kept who asked for what.")
    pool_size: int = _setting(10, "Connections to PostgreSQL, of each process.")
    more_processes: int = _setting(1, "To search and bundle beside the first, when many ask; or 0.")

    @property
    def loopback(self) -> bool:
        return self.host in {"127.0.0.1", "::1", "localhost"}


def from_environment(environ: Mapping[str, str]) -> Settings:
    """`MEMORYD_PORT=8000` sets `port`; an empty value counts as not set.

    >>> from_environment({"MEMORYD_PORT": "8000"}).port
    8000
    """
    given: dict[str, Any] = {}
    for setting in fields(Settings):
        name = f"MEMORYD_{setting.name.upper()}"
        if text := environ.get(name, ""):
            given[setting.name] = _parse(name, text, setting.type, LEAST.get(name, 1))
    return Settings(**given)


def _parse(name: str, text: str, kind: Any, least: int) -> Any:
    if kind is Path:
        return Path(text).expanduser().absolute()
    if kind is int:
        if not text.isdecimal() or len(text) > 18 or int(text) < least:
            raise errors.Invalid(f"{name} is {text!r}: it must be a number >= {least}", field=name)
        return int(text)
    return text
