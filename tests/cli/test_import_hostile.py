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


MERGE = "<<<<<<< ours\non Friday\n=======\non Monday\n>>>>>>> theirs\n"
HOSTILE: list[tuple[Callable[[Path], Any], str]] = [
    (to_link, "symbolic link"),
    (to_pipe, "it is no file"),
    (to_folder, "it is no file"),
    (to_copy, "-copy.md, "),
    (to_text("---\n" + "x" * 5_000_000), "larger than any of ours: over 4,194,304 bytes"),
    (to_text("---\ntitle: &a x\n---\n"), "line 2: anchors and aliases"),
    (to_text("---\ntitle: x\n---\n\0"), "line 4: a NUL character"),
    (to_text("---\ntitle: x\n---\n\udcff"), "line 4: it is not UTF-8"),
    (to_text("---\ntitle: [\n---\n"), "the front matter is no YAML"),
    (to_text("---\ntitel: x\n---\n"), "line 2: titel: there is no such field"),
    (to_text("---\ndetails: x\n---\n"), "line 2: details: there is no such field"),
    (to_text("---\nstatus: done\n---\n"), "title: a new task needs one"),
    (to_text("---\ntitle: x\nts: 2026-01-01T00:00:00Z\n---\n"), "ts: memoryd says it"),
    (to_text(f"---\ntitle: x\n---\n{MERGE}"), "line 4: a merge begins there"),
    (to_edit("private\n---\n", f"private\n---\n{MERGE}"), "line 9: a merge begins there"),
    (to_edit("channel: private", "channel: public"), "channel: it cannot be changed in a file"),
    (to_edit("id: tsk_", "id: dec_"), "line 2: id: 'dec_"),
    (to_edit("id: tsk_0", "id: tsk_7"), "id: there is no task"),
    (to_edit("version: evt_0", "version: evt_7"), "has no version 'evt_7"),
    (to_edit("status: open", "status: opne"), "line 5: status: 'opne' is none of open, doing"),
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


def test_what_the_daemon_would_refuse_is_refused_in_the_plan(filled: Desk) -> None:
    new = {
        "tasks/long.md": f"---\ntitle: x\n---\n{'y' * 1_100_000}",
        "decisions/lost.md": "---\nsupersedes: dec_01M7JG0000000000000000000A\n---\nTea.\n",
    }
    for path, text in new.items():
        (filled.folder / path).write_text(text)
    edit(filled.only("decisions", "dec_*"), "spaces.", "spaces." + "x" * 1_100_000)
    steps = {one["file"].split("/")[1][:4]: one for one in filled.take("--dry-run")}

    assert {one["action"] for one in steps.values()} == {"refused"}
    assert steps["long"]["why"].startswith("details: 1,100,")
    assert steps["long"]["why"].endswith("bytes as JSON; a task has at most 1,048,576")
    assert steps["lost"]["why"].startswith("supersedes: there is no decision 'dec_01M7JG")
    assert steps["dec_"]["why"].startswith("decision: 1,100,")


def test_a_plan_fits_a_terminal_and_names_a_file_once(filled: Desk) -> None:
    (filled.folder / "tasks" / "long.md").write_text(f"---\ntitle: x\n---\n{'y' * 900_000}")
    (filled.folder / "tasks" / "wrong.md").write_text("---\ntitel: x\n---\n")
    done = filled.run("import", str(filled.folder), "--dry-run")
    (refused,) = [line for line in done.stdout.splitlines() if line.startswith("refused")]

    assert max(map(len, done.stdout.splitlines())) < 600
    assert "yyy…" in done.stdout
    assert refused.startswith("refused   tasks/wrong.md  line 2: titel: there is no such field")


def test_a_text_that_shows_the_marks_of_a_merge_is_edited_as_any(filled: Desk) -> None:
    filled.put(f"# Merging\n\n{MERGE}")
    filled.export()
    edit(filled.only("views", "rules.user.md"), "# Merging", "# To merge")
    (step,) = filled.take()

    assert step["action"] == "change"
