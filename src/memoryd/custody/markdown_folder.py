"""A folder of exported files, with a list of what was written there, so that nothing else is lost.

A file is replaced or removed only while it has the bytes that were written; links are not followed.
"""

import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints, TypeAdapter, ValidationError

from memoryd.core import errors
from memoryd.custody import markdown
from memoryd.custody.markdown import MAX_BYTES
from memoryd.custody.markdown_things import KINDS, key_of

LIST = ".memoryd-export.json"
LIST_BYTES = 64 * 1024 * 1024  # some 300,000 files
README = "README.md"

_PLACE = rf"(README\.md|({'|'.join(KINDS)})/[^/\\\x00-\x1f\x7f]+\.md)"
Place = Annotated[str, StringConstraints(pattern=f"^{_PLACE}$")]


@dataclass(frozen=True)
class Written:
    """What a file is of, and what it had in it when it was written."""

    of: str
    sha256: str


@dataclass(frozen=True)
class Listed:
    """What was exported, and through whose eyes."""

    eyes: dict[str, str] = field(default_factory=dict)
    files: dict[Place, Written] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """A file as it was found."""

    path: str
    raw: bytes
    modified: int  # nanoseconds


@dataclass
class Synced:
    """What an export did; `kept` says why a file was left as it is."""

    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)


_listed = TypeAdapter(Listed)


def listed(root: Path) -> Listed:
    """What was written to this folder; nothing where it is new."""
    source = read(root, LIST, LIST_BYTES)
    if source is None:
        return Listed()
    try:
        return _listed.validate_json(source.raw)
    except ValidationError as error:
        raise errors.Invalid(
            f"{root / LIST} is not what an export wrote; delete it, and export to another folder"
        ) from error


def save(root: Path, now: Listed) -> None:
    ordered = Listed(now.eyes, dict(sorted(now.files.items())))
    raw = _listed.dump_json(ordered, indent=1) + b"\n"
    source = read(root, LIST, LIST_BYTES)
    if source is None or source.raw != raw:
        write(root, LIST, raw)


def nameable(path: str) -> bool:
    """Whether every system can name the file, and the list too."""
    known = re.fullmatch(_PLACE, path)
    return bool(known) and not any("\ud800" <= letter <= "\udfff" for letter in path)


def writable(root: Path, path: str) -> bool:
    return os.access((root / path).parent, os.W_OK)


def digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def paths(root: Path) -> list[str]:
    """The files of things, in order; not those that are hidden, nor what lies deeper."""
    found = []
    for folder in KINDS:
        _check_folder(root, folder)
        if (root / folder).is_dir():
            names = [one.name for one in _inside(root / folder)]
            shown = [n for n in sorted(names) if n.endswith(".md") and not n.startswith(".")]
            found += [f"{folder}/{name}" for name in shown]
    return found


def _inside(folder: Path) -> list[Path]:
    try:
        return [*folder.iterdir()]
    except OSError as error:
        raise errors.Invalid(f"{folder.name}: it cannot be read: {error.strerror}") from error


def read(root: Path, path: str, most: int = MAX_BYTES) -> Source | None:
    """The file, if there is one; a link, a pipe or a huge file is refused."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    if (root / path).is_symlink():
        raise errors.Invalid(f"{path}: it is a symbolic link, and is not followed")
    try:
        number = os.open(root / path, flags | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise errors.Invalid(f"{path}: it cannot be read: {error.strerror}") from error
    found = os.fstat(number)
    if not stat.S_ISREG(found.st_mode):
        os.close(number)
        raise errors.Invalid(f"{path}: it is no file")
    with os.fdopen(number, "rb") as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise errors.Invalid(f"{path}: it is larger than any of ours: over {most:,} bytes")
    return Source(path, raw, found.st_mtime_ns)


def write(root: Path, path: str, raw: bytes) -> None:
    """All of it or nothing; what was private to its owner stays so."""
    target = root / path
    _check_folder(root, path.partition("/")[0] if "/" in path else "")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(target.lstat().st_mode) if target.is_file() else 0o600
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".", delete=False) as file:
            file.write(raw)
        Path(file.name).chmod(mode)
        Path(file.name).replace(target)
    except OSError as error:
        raise errors.Invalid(f"{path}: it cannot be written: {error.strerror}") from error


def rewrite(root: Path, source: Source, raw: bytes) -> bool:
    """Put `raw` in place of what was read, unless somebody saved the file since."""
    now = read(root, source.path)
    if now is None or now.raw != source.raw:
        return False
    if now.raw != raw:
        write(root, source.path, raw)
    return True


def sync(root: Path, eyes: Mapping[str, str], files: Mapping[str, tuple[str, str]]) -> Synced:
    """Make the folder show `files`: what each is of, and its text, by its path."""
    before = listed(root)
    if before.files and before.eyes != eyes:
        raise errors.Invalid(
            f"{root} holds an export for {_shown(before.eyes)}, and this one is for "
            f"{_shown(eyes)}; choose another folder"
        )
    after = Listed(dict(eyes), {**before.files, **_moved(root, before, files)})
    done = Synced()
    edited = {one.of: path for path, one in after.files.items() if _is_edited(root, after, path)}
    try:
        for path, (of, text) in files.items():
            # A second file of one thing beside the edited one would leave both refused.
            if edited.get(of, path) == path:
                _sync_one(root, after, path, Written(of, digest(text.encode())), text, done)
        for path in [path for path in after.files if path not in files]:
            _remove(root, after, path, done)
    finally:
        save(root, after)
    return done


def _moved(root: Path, before: Listed, files: Mapping[str, tuple[str, str]]) -> dict[str, Written]:
    """Files of ours that are not where they are listed: somebody renamed them, or what wrote them
    was killed before it wrote the list. A copy beside a listed file is none of ours.
    """
    there = {one.of for path, one in before.files.items() if os.path.lexists(root / path)}
    shown = {of: digest(text.encode()) for of, text in files.values()}
    known = {**shown, **{one.of: one.sha256 for one in before.files.values()}}
    unlisted = {path: _of(root, path) for path in paths(root) if path not in before.files}
    return {
        path: Written(of, known[of])
        for path, of in unlisted.items()
        if of in known and of not in there
    }


def _of(root: Path, path: str) -> str:
    """What a file says that it is of; nothing where it says it wrong or is none of ours."""
    try:
        source = read(root, path) if nameable(path) else None
        if source is None:
            return ""
        kind = KINDS[path.partition("/")[0]]
        return key_of(markdown.parse(kind, markdown.decode(source.raw, path), path))
    except errors.Invalid:
        return ""


def _sync_one(root: Path, after: Listed, path: str, new: Written, text: str, done: Synced) -> None:
    """Write one file, unless a person's edit would be lost."""
    try:
        found = read(root, path)
    except errors.Invalid as error:
        done.kept[path] = error.detail.removeprefix(f"{path}: ")
        return
    if found is not None and digest(found.raw) == new.sha256:
        done.unchanged.append(path)
    elif found is not None and path not in after.files:
        done.kept[path] = "it was there before, and is not ours"
        return
    elif found is not None and digest(found.raw) != after.files[path].sha256:
        done.kept[path] = "it was edited: import it, or delete it"
        return
    else:
        write(root, path, text.encode())
        done.written.append(path)
    after.files[path] = new


def _remove(root: Path, after: Listed, path: str, done: Synced) -> None:
    """Take away what is there no more, or elsewhere now, if nobody edited it."""
    if _is_edited(root, after, path):
        done.kept[path] = "it was edited: import it, or delete it"
        return
    if (root / path).exists():
        (root / path).unlink()
        done.removed.append(path)
    del after.files[path]


def _is_edited(root: Path, after: Listed, path: str) -> bool:
    try:
        found = read(root, path)
    except errors.Invalid:
        return True  # a link or a folder is nothing that we wrote
    return found is not None and digest(found.raw) != after.files[path].sha256


def _check_folder(root: Path, folder: str) -> None:
    place = root / folder
    if folder and (place.is_symlink() or (place.exists() and not place.is_dir())):
        raise errors.Invalid(f"{folder}: it is no folder of ours, but a link or a file")


def _shown(eyes: Mapping[str, str]) -> str:
    named = (f"{name.removesuffix('_id')} {value!r}" for name, value in sorted(eyes.items()))
    return ", ".join(named) or "the default user"
