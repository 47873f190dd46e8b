"""The master key: 32 bytes in MEMORYD_MASTER_KEY, or in a file of the home that only its owner
reads.
"""

import base64
import binascii
import logging
import os
from collections.abc import Callable
from pathlib import Path

from memoryd.core import errors
from memoryd.seal.vault import KEY_BYTES, Vault, check

log = logging.getLogger("memoryd.seal")

FILE = "master.key"
NEXT = "master.key.next"  # while keys are wrapped anew: either may be the one in use
Random = Callable[[int], bytes]
Say = Callable[[str], None]


def vault(text: str, home: Path, random: Random, say: Say) -> Vault:
    """With the key of `text`, or with the one in `home`, which is made when it is first needed."""
    if text:
        given = parse(text, "MEMORYD_MASTER_KEY")
        return Vault(lambda: [given], None, random)
    return Vault(lambda: _read(home), lambda: _make(home, random, say), random)


def parse(text: str, field: str) -> bytes:
    """32 bytes, written as 64 hexadecimal digits or in base64.

    >>> parse("ff" * 32, "x") == parse("//////////////////////////////////////////8=", "x")
    True
    """
    text = text.strip()
    try:
        raw = bytes.fromhex(text) if len(text) == 2 * KEY_BYTES else base64.b64decode(text)
    except (ValueError, binascii.Error):
        raw = b""
    if len(raw) != KEY_BYTES:
        raise errors.Invalid(
            f"{field} must be 32 bytes, written as 64 hexadecimal digits or in base64",
            field=field,
            limit="32 bytes",
        )
    return raw


def _files(home: Path) -> list[Path]:
    return [file for name in (FILE, NEXT) if (file := home / name).exists()]


def _read(home: Path) -> list[bytes]:
    """What can be read: a damaged file is as good as none, and the rest is served without it."""
    found = []
    for file in _files(home):
        try:
            found.append(parse(file.read_text(), str(file)))
        except (OSError, UnicodeDecodeError, errors.Invalid) as error:
            said = {"file": str(file), "error": type(error).__name__}
            log.warning("master_key.unreadable", extra=said)
    return found


def readable_by_others(home: Path) -> bool:
    """Whether somebody loosened the permissions of the key."""
    return any(
        (home / name).stat().st_mode & 0o077 for name in (FILE, NEXT) if (home / name).exists()
    )


def _make(home: Path, random: Random, say: Say) -> bytes:
    """The key of `home`, new unless another process was first: both then have the same one."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    file, draft = home / FILE, home / f"{FILE}.{random(8).hex()}"
    write(draft, random(KEY_BYTES))
    try:
        os.link(draft, file)  # unlike a rename, it never replaces a key that is there
        say(f"made a master key for what is `high`: {file}. Keep a copy: without it that is lost")
    except FileExistsError:
        pass  # another process made one meanwhile, or somebody put it there: that is the key
    finally:
        draft.unlink()
        _sync(home)
    found = _read(home)
    if not found:
        raise errors.Closed(f"{file} is no key that can be read: replace it by the right one")
    return found[0]


def write(file: Path, key: bytes) -> None:
    """On disk, for the owner's eyes alone, before anything relies on it."""
    number = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(number, "w") as opened:
        opened.write(key.hex() + "\n")
        opened.flush()
        os.fsync(opened.fileno())
    _sync(file.parent)


def write_next(home: Path, key: bytes) -> None:
    """Beside the one in use: either may be the database's until the commit is answered."""
    write(home / NEXT, key)


def settle(home: Path, stored: bytes | None) -> None:
    """After a change of keys, whole or broken off: the one that `stored` tells of is in use."""
    if not (home / NEXT).exists():
        return
    if stored == check(parse((home / NEXT).read_text(), NEXT)):
        (home / NEXT).replace(home / FILE)
    else:
        (home / NEXT).unlink()
    _sync(home)


def _sync(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
