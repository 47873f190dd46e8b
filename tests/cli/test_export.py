"""`memoryd export` as a person uses it: nothing of theirs is lost, nothing leaves the folder."""

from pathlib import Path

import httpx

from desk import Desk, edit


def test_an_export_is_a_file_for_each_thing_and_an_index(filled: Desk) -> None:
    (one,) = filled.get("decisions/query")["decisions"]
    (task,) = filled.get("tasks")["tasks"]
    readme = (filled.folder / "README.md").read_text()

    assert (
        filled.only("views", "rules.user.md")
        .read_text()
        .endswith("---\n# Mine\n\n- Tests first.\n")
    )
    assert filled.only("decisions").name == f"{one['decision_id']}-style.md"
    assert filled.only("tasks").name == f"{task['task_id']}-ship-it.md"
    assert filled.only("tasks").read_text() == (
        f"---\nid: {task['task_id']}\nversion: {task['event_id']}\nts: {task['ts']}\n"
        "status: open\ntitle: Ship it\nchannel: private\n---\non Friday\n"
    )
    assert f"[Ship it](tasks/{filled.only('tasks').name}) (open)" in readme
    assert "memoryd import" in readme
    assert filled.only("tasks").stat().st_mode & 0o077 == 0


def test_the_same_state_is_the_same_files(filled: Desk, tmp_path: Path) -> None:
    again = filled.export()
    other = Desk(filled.home, filled.url, tmp_path / "b", filled.user)
    other.export()

    assert (again["written"], again["removed"], again["kept"]) == ([], [], {})
    assert other.files() == filled.files()


def test_superseded_decisions_come_when_asked_for_and_go_again(filled: Desk) -> None:
    every = filled.export("--all")
    marked = [
        p for p in (filled.folder / "decisions").iterdir() if "superseded_by" in p.read_text()
    ]
    less = filled.export()

    assert len(every["written"]) == 2 and len(marked) == 1
    assert less["removed"] == [f"decisions/{marked[0].name}"]
    assert not marked[0].exists()


def test_files_that_are_not_ours_are_left_alone(filled: Desk, tmp_path: Path) -> None:
    edit(filled.only("decisions"), "spaces", "mine")
    (filled.folder / "tasks" / "notes.txt").write_text("mine")
    (filled.folder / "tasks" / "plain.md").write_text("# mine\n")
    (filled.folder / "README.md").write_text("mine")
    (task,) = filled.get("tasks")["tasks"]
    filled.post("tasks", task_id=task["task_id"], title="Renamed")
    exported = filled.export()
    steps = {one["file"]: one for one in filled.take()}

    assert {*exported["kept"]} == {"README.md", f"decisions/{filled.only('decisions').name}"}
    assert exported["removed"] == [f"tasks/{task['task_id']}-ship-it.md"]
    assert (filled.folder / "README.md").read_text() == "mine"
    assert (filled.folder / "tasks" / "notes.txt").read_text() == "mine"
    assert steps["tasks/plain.md"]["action"] == "skipped"
    assert "mine" in filled.only("decisions").read_text()


def test_an_edited_file_stays_the_only_one_of_its_task(filled: Desk) -> None:
    (task,) = filled.get("tasks")["tasks"]
    edit(filled.only("tasks"), "on Friday", "on Monday")
    filled.post("tasks", task_id=task["task_id"], title="Renamed")
    exported = filled.export()

    assert [*exported["kept"]] == [f"tasks/{filled.only('tasks').name}"]
    assert [one["action"] for one in filled.take()] == ["change"]


def test_names_that_are_stored_stay_in_the_folder(desk: Desk) -> None:
    httpx.put(
        f"{desk.url}/api/v1/views/identity.export%2F..%2F..%2Fetc", json={"text": "x"}
    ).raise_for_status()
    desk.post("tasks", title="../../etc/passwd\0"[:-1])
    desk.post("decisions", decision="x", subject='CON <>:"/\\|?*')
    desk.export()

    assert {path.parent.name for path in desk.folder.rglob("*.md")} <= {
        *("notes", "views", "decisions", "tasks")
    }
    assert desk.only("tasks").name.endswith("-etc-passwd.md")
    assert desk.only("decisions").name.endswith("-con.md")


def test_a_folder_that_is_a_link_is_not_followed(filled: Desk, tmp_path: Path) -> None:
    (filled.folder / "tasks").rename(tmp_path / "elsewhere")
    (filled.folder / "tasks").symlink_to(tmp_path / "elsewhere")
    before = {path: path.read_bytes() for path in (tmp_path / "elsewhere").iterdir()}
    filled.post("tasks", title="Another")
    asked = ["export", "--markdown", str(filled.folder), "--user", filled.user]
    for arguments in (asked, ["import", str(filled.folder)]):
        done = filled.run(*arguments)
        assert done.returncode == 1 and "tasks: it is no folder of ours" in done.stderr

    assert {path: path.read_bytes() for path in (tmp_path / "elsewhere").iterdir()} == before


def test_nothing_is_removed_through_a_folder_that_is_a_link(filled: Desk, tmp_path: Path) -> None:
    filled.export("--all")
    (filled.folder / "decisions").rename(tmp_path / "elsewhere")
    (filled.folder / "decisions").symlink_to(tmp_path / "elsewhere")
    done = filled.run("export", "--markdown", str(filled.folder), "--user", filled.user)

    assert done.returncode == 1 and "decisions: it is no folder of ours" in done.stderr
    assert len([*(tmp_path / "elsewhere").iterdir()]) == 2


def test_a_list_that_is_not_ours_removes_nothing(filled: Desk) -> None:
    outside = filled.folder.parent / "x.md"
    outside.write_text("mine")
    listed = [
        f'{{"files": {{"{path}": {{"of": "a", "sha256": "b"}}}}}}' for path in ("../x.md", outside)
    ]
    for text in ("nonsense", "[" * 100_000, *listed):
        (filled.folder / ".memoryd-export.json").write_text(text)
        done = filled.run("export", "--markdown", str(filled.folder), "--user", filled.user)
        assert done.returncode == 1
        assert ".memoryd-export.json is not what an export wrote" in done.stderr

    assert outside.read_text() == "mine"


def test_a_folder_is_of_one_reader(filled: Desk) -> None:
    done = filled.run("export", "--markdown", str(filled.folder))

    said = f"holds an export for user '{filled.user}', and this one is for the default user; "
    assert done.returncode == 1 and f"{said}choose another folder" in done.stderr
    assert len(filled.get("tasks")["tasks"]) == len([*(filled.folder / "tasks").iterdir()])


def test_a_public_reader_exports_nothing_private(filled: Desk, tmp_path: Path) -> None:
    filled.folder = tmp_path / "public"
    filled.export("--channel", "public")

    assert filled.user not in str(filled.files().keys())
    assert not any(b"Ship it" in raw or b"# Mine" in raw for raw in filled.files().values())


def test_a_folder_that_is_none_is_refused(desk: Desk) -> None:
    desk.folder.write_text("a file")
    for command in (["import"], ["export", "--markdown"]):
        done = desk.run(*command, str(desk.folder))
        assert (done.returncode != 0, done.stdout) == (True, "")
        assert "notes" in done.stderr and "Traceback" not in done.stderr
