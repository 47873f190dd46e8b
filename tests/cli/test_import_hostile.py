"""`memoryd import` of files that nobody should import."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from desk import Desk, edit


def to_text(text: str) -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(text.encode(errors="surrogateescape"))


def to_edit(old: str, new: str) -> Callable[[Path], Any]:
    return lambda path: edit(path, old, new)


def to_link(path: Path) -> None:
    target = path.parents[1] / "outside.md"
    path.rename(target)
    path.symlink_to(target)


def to_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def to_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def to_copy(path: Path) -> None:
    path.with_name(f"{path.stem}-copy.md").write_bytes(path.read_bytes())


HOSTILE: list[tuple[Callable[[Path], Any], str]] = [
    (to_link, "symbolic link"),
    (to_pipe, "it is no file"),
    (to_folder, "it is no file"),
    (to_copy, "-copy.md, "),
    (to_text("---\n" + "x" * 5_000_000), "larger than any of ours"),
    (to_text("---\ntitle: &a x\n---\n"), ":2: anchors and aliases"),
    (to_text("---\ntitle: x\n---\n\0"), ":4: a NUL character"),
    (to_text("---\ntitle: x\n---\n\udcff"), ":4: it is not UTF-8"),
    (to_text("---\ntitle: [\n---\n"), "the front matter is no YAML"),
    (to_text("---\ntitel: x\n---\n"), ":2: titel: there is no such field"),
    (to_text("---\ndetails: x\n---\n"), ":2: details: there is no such field"),
    (to_text("---\nstatus: done\n---\n"), "title: a new task needs one"),
    (to_text("---\ntitle: x\nts: 2026-01-01T00:00:00Z\n---\n"), "ts: memoryd says it"),
    (to_edit("channel: private", "channel: public"), "channel: it cannot be changed in a file"),
    (to_edit("id: tsk_", "id: dec_"), ":2: id: 'dec_"),
    (to_edit("id: tsk_0", "id: tsk_7"), "id: there is no task"),
    (to_edit("version: evt_0", "version: evt_7"), "has no version 'evt_7"),
    (to_edit("status: open", "status: opne"), ":5: status: 'opne' is none of open, doing, done"),
]
NAMES = ["a\\b.md", "a\nb.md", os.fsdecode(b"\xff.md")]  # that no list could keep


def test_hostile_files_are_refused_by_name_and_nothing_of_them_is_kept(desk: Desk) -> None:
    for number in range(len(HOSTILE)):
        desk.post("tasks", title=f"Task {number:02}")
    desk.export()
    paths = sorted((desk.folder / "tasks").iterdir(), key=lambda path: path.stem.split("-")[-1])
    for path, (change, _) in zip(paths, HOSTILE, strict=True):
        change(path)
    for name in NAMES:
        (desk.folder / "tasks" / name).write_text("---\ntitle: x\n---\n")
    position = desk.position()
    steps = [one for one in desk.take() if one["action"] != "deleted"]
    why = {one["file"].removeprefix("tasks/"): one["why"] for one in steps}

    assert {one["action"] for one in steps} == {"refused"}
    assert len(steps) == len(HOSTILE) + len(NAMES) + 1
    for path, (_, said) in zip(paths, HOSTILE, strict=True):
        assert said in why[path.name]
    assert why["a\nb.md"] == why["a\\b.md"] == "its name is none that can be kept"
    assert desk.position() == position
