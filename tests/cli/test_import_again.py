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
