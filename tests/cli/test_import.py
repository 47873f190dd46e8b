"""`memoryd import` as a person uses it, with real files on a real daemon."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from commands import SECONDS, environ
from desk import Desk, edit


def test_edits_come_back_as_events(filled: Desk) -> None:
    (old,) = filled.get("decisions/query")["decisions"]
    edit(filled.only("views", "rules.user.md"), "Tests first.", "Tests first. Größe ✓")
    edit(filled.only("decisions"), "with spaces.", "with four spaces.")
    edit(filled.only("decisions"), "- diffs\n", "- diffs\n- everybody does\n")
    edit(filled.only("tasks"), "status: open", "status: doing")
    edit(filled.only("tasks"), "on Friday", "on Monday")
    steps = filled.take()
    (new,) = filled.get("decisions/query")["decisions"]
    (task,) = filled.get("tasks")["tasks"]
    event = filled.get(f"events/{new['event_id']}")
    bundle = filled.post("acb/build", session_id="s", agent_id="a", query_text="indent", intent="x")

    assert [one["action"] for one in steps] == ["change"] * 3
    assert steps[0]["fields"] == ["decision", "rationale"]
    assert filled.get("views/rules.user")["text"] == "# Mine\n\n- Tests first. Größe ✓\n"
    assert (new["decision"], new["rationale"]) == (
        "Indent with four spaces.",
        ["diffs", "everybody does"],
    )
    kept = ("subject", "refs", "channel", "session_id")
    assert [new[name] for name in kept] == [old[name] for name in kept]
    assert new["supersedes"] == old["decision_id"]
    assert event["actor"] == {"type": "human", "id": filled.user}
    assert (task["status"], task["details"], task["title"]) == ("doing", "on Monday", "Ship it")
    assert "four spaces" in str(bundle) and "Tests first. Größe ✓" in str(bundle)


def test_an_edit_keeps_the_agent_the_tags_and_the_refs(filled: Desk) -> None:
    said = {"agent_id": "planner", "refs": ["evt_1"]}
    filled.post("decisions", decision="Deploy on Monday.", tags=["alpha"], **said)
    made = filled.post("tasks", title="Plan it", **said)
    filled.export()
    edit(filled.only("decisions", "*-deploy-*"), "Monday", "Tuesday")
    edit(filled.only("tasks", "*-plan-it.md"), "status: open", "status: done")
    filled.take()
    (decision,) = filled.get("decisions/query", text="Tuesday", limit=1)["decisions"]
    task = filled.get(f"tasks/{made['task_id']}")
    event = filled.get(f"events/{decision['event_id']}")

    assert (decision["decision"], task["status"]) == ("Deploy on Tuesday.", "done")
    assert [one[name] for one in (decision, task) for name in said] == ["planner", ["evt_1"]] * 2
    assert (event["tags"], event["agent_id"]) == (["alpha"], "planner")


def test_importing_twice_changes_nothing(filled: Desk) -> None:
    edit(filled.only("decisions"), "with spaces.", "with four spaces.")
    edit(filled.only("tasks"), "status: open", "status: done")
    edit(filled.only("views", "rules.user.md"), "Tests", "Proofs")
    assert len(filled.take()) == 3
    position, files = filled.position(), filled.files()

    assert filled.take() == []
    assert (filled.position(), filled.files()) == (position, files)
    exported = filled.export()
    assert exported["kept"] == {}
    assert filled.take() == []


def test_a_secret_in_a_file_is_redacted_and_importing_it_again_changes_nothing(
    filled: Desk,
) -> None:
    said = "the wifi password is Sommer2024!"
    edit(filled.only("decisions"), "with spaces.", f"with spaces; {said}")
    edit(filled.only("tasks"), "on Friday", said)
    edit(filled.only("views", "rules.user.md"), "Tests first.", said)
    steps = filled.take()
    position = filled.position()
    again = filled.take()

    assert [one["action"] for one in steps] == ["change"] * 3
    assert again == []
    assert filled.position() == position
    stored = [filled.get(path) for path in ("decisions/query", "tasks", "views/rules.user")]
    assert str(stored).count("the wifi password is [redacted:password]") == 3


def test_an_import_that_broke_off_is_taken_up_again(filled: Desk) -> None:
    """The events are recorded, but the files and the list are as they were before."""
    (filled.folder / "tasks" / "tea.md").write_text("---\ntitle: Tea\n---\nGreen.\n")
    edit(filled.only("decisions"), "with spaces.", "with four spaces.")
    edit(filled.only("tasks", "tsk*"), "status: open", "status: done")
    edit(filled.only("views", "rules.user.md"), "Tests", "Proofs")
    before = {
        path: (path.read_bytes(), path.stat())
        for path in filled.folder.rglob("*")
        if path.is_file()
    }
    filled.take()
    position = filled.position()
    for path, (raw, found) in before.items():
        path.write_bytes(raw)
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    filled.take()

    assert filled.position() == position
    assert filled.take() == []
    assert len(filled.get("tasks")["tasks"]) == 2


def test_a_dry_run_stores_nothing_and_shows_the_plan(filled: Desk) -> None:
    edit(filled.only("tasks"), "status: open", "status: done")
    (filled.folder / "decisions" / "new.md").write_text("---\n---\nUse \x1b[2Jtea.\n")
    position, files = filled.position(), filled.files()
    done = filled.run("import", str(filled.folder), "--dry-run")

    assert done.returncode == 0, done.stderr
    assert "-status: open\n    +status: done\n" in done.stdout
    assert "create    decisions/new.md" in done.stdout and "+Use  [2Jtea." in done.stdout
    assert done.stdout.endswith("change: 1, create: 1\n")
    assert (filled.position(), filled.files()) == (position, files)


def test_without_a_person_to_ask_it_needs_a_yes(filled: Desk) -> None:
    edit(filled.only("tasks"), "status: open", "status: done")
    for more in ([], ["--json"]):
        done = filled.run("import", str(filled.folder), *more)
        assert done.returncode == 1
        assert "--yes" in done.stderr
    (task,) = filled.get("tasks")["tasks"]
    assert task["status"] == "open"


@pytest.fixture
def asking(filled: Desk) -> Iterator[Callable[[str], tuple[str, str, int]]]:
    """An import that waits for a person on a terminal, and what it says to their answer."""
    edit(filled.only("views", "rules.user.md"), "Tests", "Proofs")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "memoryd", "import", str(filled.folder)],
        env=environ(filled.home, MEMORYD_URL=filled.url),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    asked = b""
    while not asked.endswith(b"?") and (letter := process.stderr.read(1)):
        asked += letter

    def say(line: str) -> tuple[str, str, int]:
        os.write(ours, line.encode())
        out, _ = process.communicate(timeout=SECONDS)
        return asked.decode(), out.decode(), process.returncode

    yield say
    process.kill()
    process.wait()
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize(("said", "text"), [("n\n", "Tests first."), ("y\n", "Proofs first.")])
def test_a_person_on_a_terminal_is_asked(
    filled: Desk, asking: Callable[[str], tuple[str, str, int]], said: str, text: str
) -> None:
    asked, out, code = asking(said)

    assert (asked, code) == ("Record 1 change?", 0)
    assert "+- Proofs first." in out
    assert text in filled.get("views/rules.user")["text"]


def test_what_another_saves_while_a_person_decides_is_not_overwritten(
    filled: Desk, asking: Callable[[str], tuple[str, str, int]]
) -> None:
    filled.put("theirs\n")
    _, out, code = asking("y\n")

    assert code == 1
    assert "conflict views/rules.user.md: text: rules.user was edited meanwhile" in out
    assert filled.get("views/rules.user")["text"] == "theirs\n"
    assert "Proofs" in filled.only("views", "rules.user.md").read_text()


def test_something_new_gets_its_id_written_into_its_file(filled: Desk) -> None:
    new = {
        "tasks/tea.md": "---\ntitle: 'Tea: green'\nstatus: doing\nchannel: private\n---\n\n",
        "decisions/x.md": "---\nsubject: tea\n---\n\nDrink tea.\n\n## Rationale\n\n- it is good\n",
        "views/planner.md": "---\nname: identity.export/planner\n---\nYou plan.",
    }
    for path, text in new.items():
        (filled.folder / path).write_text(text)
    steps = filled.take()
    exported = filled.export()

    assert {one["file"]: one["action"] for one in steps} == dict.fromkeys(new, "create")
    task = filled.get(f"tasks/{steps[1]['recorded']}")
    assert (task["title"], task["status"], task["channel"]) == ("Tea: green", "doing", "private")
    decision = filled.get(f"decisions/{steps[0]['recorded']}")
    assert (decision["decision"], decision["rationale"]) == ("Drink tea.", ["it is good"])
    assert filled.get("views/identity.export%2Fplanner")["text"] == "You plan."
    assert {*exported["removed"]} == {*new} and len(exported["written"]) == 4
    assert filled.take() == []


def test_an_equal_file_of_another_day_is_another_task(filled: Desk) -> None:
    for _ in range(2):
        (filled.folder / "tasks" / "tea.md").write_text("---\ntitle: Tea\n---\n")
        filled.take()
        filled.export()

    assert [one["title"] for one in filled.get("tasks")["tasks"]].count("Tea") == 2


def test_a_deleted_file_deletes_nothing(filled: Desk) -> None:
    filled.only("tasks").unlink()
    (step,) = filled.take()

    assert step["action"] == "deleted" and "nothing is deleted" in step["why"]
    assert len(filled.get("tasks")["tasks"]) == 1
    assert len(filled.export()["written"]) == 1


def test_what_others_changed_meanwhile_is_a_conflict(filled: Desk) -> None:
    edit(filled.only("views", "rules.user.md"), "Tests", "Mine")
    edit(filled.only("decisions"), "spaces", "mine")
    edit(filled.only("tasks"), "Ship it", "Ship mine")
    (old,) = filled.get("decisions/query")["decisions"]
    (task,) = filled.get("tasks")["tasks"]
    filled.put("theirs\n")
    theirs = filled.post("decisions", decision="Theirs.", supersedes=old["decision_id"])
    filled.post("tasks", task_id=task["task_id"], title="Ship theirs")
    position, files = filled.position(), filled.files()
    decided, view_step, task_step = sorted(filled.take(), key=lambda one: str(one["fields"]))

    assert {decided["action"], view_step["action"], task_step["action"]} == {"conflict"}
    assert theirs["decision_id"] in decided["why"]
    assert (filled.position(), filled.files()) == (position, files)
    assert {*filled.export()["kept"]} >= {f"tasks/{filled.only('tasks').name}"}


def test_edits_of_different_fields_of_a_task_are_both_kept(filled: Desk) -> None:
    (task,) = filled.get("tasks")["tasks"]
    edit(filled.only("tasks"), "on Friday", "on Monday")
    filled.post("tasks", task_id=task["task_id"], status="doing")
    (step,) = filled.take()
    (now,) = filled.get("tasks")["tasks"]

    assert (step["action"], step["fields"]) == ("change", ["details"])
    assert (now["status"], now["details"]) == ("doing", "on Monday")


def test_what_changed_since_the_export_is_not_taken_back(filled: Desk) -> None:
    (task,) = filled.get("tasks")["tasks"]
    filled.post("tasks", task_id=task["task_id"], status="done")
    (filled.folder / ".memoryd-export.json").unlink()
    steps = filled.take("--user", filled.user)

    assert [one["why"] for one in steps if one["why"]] == [
        "memoryd has a newer one; export again to see it"
    ]
    assert filled.get("tasks")["tasks"][0]["status"] == "done"


def test_it_works_on_the_home_without_a_url(filled: Desk) -> None:
    edit(filled.only("tasks"), "status: open", "status: done")
    done = filled.run("import", str(filled.folder), "--yes", MEMORYD_URL="")

    assert done.returncode == 0, done.stderr
    assert filled.get("tasks")["tasks"][0]["status"] == "done"
