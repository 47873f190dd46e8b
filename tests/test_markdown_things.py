"""What a file is called, and what a person changed in it."""

from dataclasses import replace

from memoryd.custody import markdown_things
from memoryd.custody.markdown_things import Decision, Task, View

ULID = "01M7JG0000000000000000000A"


def test_no_two_views_have_one_file() -> None:
    hashed = markdown_things.path_of(View(name="identity.Ada"))
    stolen = hashed.removeprefix("views/").removesuffix(".md")
    names = [
        "identity.ada",
        "identity.Ada",
        "identity.a/b",
        "identity.a-b",
        "identity.a\\b",
        stolen,
    ]
    names += ["identity..", "identity.../x", "identity.CON", "identity.x ", "identity.x."]
    paths = [markdown_things.path_of(View(name=name)).lower() for name in names]

    assert len({*paths}) == len(paths)
    assert paths[0] == "views/identity.ada.md"


def test_a_name_says_what_it_is_about() -> None:
    task = Task(id=f"tsk_{ULID}", title='Ship it: Größe <\\/:*?"|> ..')

    assert markdown_things.path_of(task) == f"tasks/tsk_{ULID}-ship-it-groe.md"
    assert markdown_things.path_of(replace(task, title="日本")) == f"tasks/tsk_{ULID}.md"


def test_an_edit_is_what_differs_and_is_said() -> None:
    base = Task(id=f"tsk_{ULID}", title="Ship", status="open", details="Friday", channel="team")
    decision = Decision(decision="a", subject="s", rationale=("x",), refs=("evt_1",))

    assert markdown_things.edits(base, replace(base, status="done", title=None)) == {
        "status": "done"
    }
    assert markdown_things.edits(base, replace(base, details="\nFriday \n")) == {}
    assert markdown_things.edits(decision, replace(decision, subject=None)) == {"subject": None}
    assert markdown_things.edits(View(text="a"), View(text="a\n")) == {"text": "a\n"}
    assert markdown_things.fixed(base, replace(base, channel="public")) == "channel"
    assert markdown_things.fixed(decision, replace(decision, refs=())) is None
