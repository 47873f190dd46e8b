"""`memoryd import` of what was imported before: put back, renamed, broken off."""

import pytest

from desk import Desk, edit


def test_an_edit_that_was_imported_and_taken_back_since_is_a_conflict(filled: Desk) -> None:
    file = filled.only("tasks")
    edit(file, "status: open", "status: done")
    edited = file.read_bytes()
    filled.take()
    (task,) = filled.get("tasks")["tasks"]
    filled.post("tasks", task_id=task["task_id"], status="open")
    file.write_bytes(edited)
    position = filled.position()
    (step,) = filled.take()

    assert (step["action"], step["recorded"]) == ("conflict", "")
    assert step["why"].startswith("status: changed meanwhile")
    assert (filled.position(), file.read_bytes()) == (position, edited)


def test_an_edit_is_recorded_again_where_what_it_said_was_changed_back(filled: Desk) -> None:
    file = filled.only("tasks")
    edit(file, "on Friday", "on Monday")
    edited = file.read_bytes()
    filled.take()
    (task,) = filled.get("tasks")["tasks"]
    filled.post("tasks", task_id=task["task_id"], details="on Friday")
    file.write_bytes(edited)
    (step,) = filled.take()
    (now,) = filled.get("tasks")["tasks"]

    assert (step["action"], step["recorded"]) == ("change", now["task_id"])
    assert now["details"] == "on Monday"
    assert f"version: {now['event_id']}\n" in file.read_text()


@pytest.mark.parametrize(("old", "new"), [("\n", "\r\n"), ("on Friday\n", "on Friday\n\n\n")])
def test_a_file_that_an_editor_saved_its_own_way_is_exported_anew(
    filled: Desk, old: str, new: str
) -> None:
    edit(filled.only("tasks"), old, new)
    (task,) = filled.get("tasks")["tasks"]
    filled.post("tasks", task_id=task["task_id"], status="doing")
    before = filled.export()
    (step,) = filled.take()
    after = filled.export()

    assert [*before["kept"]] == after["written"][:1] == [f"tasks/{filled.only('tasks').name}"]
    assert step["why"] == "memoryd has a newer one; export again to see it"
    assert "status: doing\n" in filled.only("tasks").read_text()
    assert filled.take() == []


@pytest.mark.parametrize("imported", [True, False])
def test_a_renamed_file_stays_the_only_one_of_its_task(filled: Desk, imported: bool) -> None:
    old = filled.only("tasks")
    old.rename(old.with_name("mine.md"))
    steps = filled.take() if imported else []
    exported = filled.export()

    assert [one["action"] for one in steps] == ["same"] * imported
    assert (exported["written"], exported["removed"]) == ([f"tasks/{old.name}"], ["tasks/mine.md"])
    assert filled.only("tasks") == old
    assert filled.take() == []


def test_a_renamed_file_with_an_edit_waits_for_its_import(filled: Desk) -> None:
    mine = filled.only("tasks").rename(filled.folder / "tasks" / "mine.md")
    edit(mine, "status: open", "status: done")
    exported = filled.export()
    steps = filled.take()

    assert exported["kept"] == {"tasks/mine.md": "it was edited: import it, or delete it"}
    assert [one["action"] for one in steps] == ["change"]
    assert filled.export()["removed"] == ["tasks/mine.md"]
    assert "status: done" in filled.only("tasks").read_text()


def test_a_copy_of_a_file_is_not_removed(filled: Desk) -> None:
    copy = filled.folder / "tasks" / "copy.md"
    copy.write_bytes(filled.only("tasks").read_bytes())
    exported = filled.export()

    assert exported["removed"] == []
    assert len([*(filled.folder / "tasks").iterdir()]) == 2


@pytest.mark.parametrize("again", [True, False])
def test_files_of_an_import_that_was_killed_stay_the_only_ones(filled: Desk, again: bool) -> None:
    """The events are recorded and the files have their ids, but the list is as it was before."""
    tasks = filled.folder / "tasks"
    before = (filled.folder / ".memoryd-export.json").read_bytes()
    for name in ("Tea", "Milk"):
        (tasks / f"{name}.md").write_text(f"---\ntitle: {name}\n---\n")
    steps = filled.take()
    (filled.folder / ".memoryd-export.json").write_bytes(before)
    filled.post("tasks", task_id=steps[1]["recorded"], status="done")
    if again:
        filled.take()
    filled.export()
    filled.take()
    exported = filled.export()

    assert exported["kept"] == {}
    assert len([*tasks.iterdir()]) == len(filled.get("tasks")["tasks"]) == 3
    assert filled.take() == []
