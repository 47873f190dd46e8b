"""Memories as files: what a user, an agent and a team keep, exported, edited and taken back."""

from typing import Any

import httpx
import pytest

from desk import Desk, edit


@pytest.fixture
def kept(desk: Desk) -> Desk:
    """A fact and a place of the user, and a core memory of an agent of the same name."""
    remember(desk, "Ada prefers short answers.", category="preference", subject="Ada")
    place = {"place_id": "p1", "place_name": "North pier", "notes": "The ferry leaves here."}
    desk.post(f"users/{desk.user}/memory/places", **place)
    core = {"content": "I answer in lists.\nBriefly.", "memory_type": "core"}
    desk.post(f"agents/{desk.user}/memories", **core, agent_id=desk.user)
    desk.export("--agent", desk.user)
    return desk


def remember(desk: Desk, content: str, **more: Any) -> dict[str, Any]:
    body = {"user_id": desk.user, "content": content, **more}
    done = httpx.post(f"{desk.url}/api/memory/", json=body)
    assert done.is_success, done.text
    found: dict[str, Any] = done.json()
    return found


def facts(desk: Desk) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = desk.get("memories", type="fact")["memories"]
    return found


def test_memories_are_exported_as_files_that_say_what_they_are(kept: Desk) -> None:
    (fact,) = facts(kept)
    readme = (kept.folder / "README.md").read_text()

    assert kept.only("memories", "*-ada.md").read_text() == (
        f"---\nid: {fact['id']}\nversion: 1\nts: {fact['created_at']}\ntype: fact\n"
        "category: preference\nsubject: Ada\n---\nAda prefers short answers.\n"
    )
    assert "place_id: p1\n---\nThe ferry leaves here.\n" in (
        kept.only("memories", "*-north-pier.md").read_text()
    )
    assert "I answer in lists.\nBriefly.\n" in (
        kept.only("memories", "*-i-answer-in-lists-briefly.md").read_text()
    )
    assert f"[Ada prefers short answers.](memories/{fact['id']}-ada.md) (preference)" in readme


def test_edited_memories_come_back_as_versions(kept: Desk) -> None:
    (fact,) = facts(kept)
    edit(kept.only("memories", "*-ada.md"), "short", "long")
    edit(kept.only("memories", "*-north-pier.md"), "leaves", "lands")
    edit(kept.only("memories", "*-i-answer*"), "Briefly.", "At length.")
    steps = kept.take()
    position, files = kept.position(), kept.files()
    versions = kept.get(f"memories/{fact['id']}/versions")["versions"]
    event = kept.get(f"events/{versions[-1]['event_id']}")

    assert [(one["action"], one["fields"]) for one in steps] == [("change", ["content"])] * 3
    assert [one["content"] for one in versions] == [
        "Ada prefers short answers.",
        "Ada prefers long answers.",
    ]
    assert event["actor"] == {"type": "human", "id": kept.user}
    (place,) = kept.get("memories", type="place")["memories"]
    (core,) = kept.get("memories", type="core", agent_id=kept.user)["memories"]
    assert place["content"] == "The ferry lands here."
    assert core["content"] == "I answer in lists.\nAt length."
    assert (kept.take(), kept.position(), kept.files()) == ([], position, files)
    assert kept.export("--agent", kept.user)["kept"] == {}


def test_two_memories_may_be_edited_to_say_the_same(kept: Desk) -> None:
    remember(kept, "Ben prefers short answers.", category="preference")
    kept.export("--agent", kept.user)
    for path in (kept.folder / "memories").glob("*.md"):
        if "short answers" in path.read_text():
            edit(path, path.read_text().split("---\n")[2], "They prefer tables.\n")
    steps = kept.take()

    assert [one["action"] for one in steps] == ["change"] * 2
    assert [one["content"] for one in facts(kept)] == ["They prefer tables."] * 2


def test_a_new_file_is_a_new_fact_with_its_id_written_into_it(kept: Desk) -> None:
    new = kept.folder / "memories" / "tea.md"
    new.write_text("---\ncategory: preference\nsubject: tea\n---\nGreen tea, no sugar.\n")
    (step,) = kept.take()
    (fact,) = [one for one in facts(kept) if one["subject"] == "tea"]

    assert (step["action"], step["recorded"]) == ("create", fact["id"])
    assert fact["content"] == "Green tea, no sugar."
    assert f"id: {fact['id']}\nversion: 1\n" in new.read_text()
    assert kept.take() == []


def test_a_memory_that_others_changed_or_deleted_is_a_conflict(kept: Desk) -> None:
    (fact,) = facts(kept)
    (place,) = kept.get("memories", type="place")["memories"]
    address = f"{kept.url}/api/v1/memories"
    asked = {"params": {"user_id": kept.user}}
    said = {"content": "Ada prefers tables."}
    httpx.put(f"{address}/{fact['id']}", json=said, **asked).raise_for_status()  # type: ignore[arg-type]
    httpx.delete(f"{address}/{place['id']}", **asked).raise_for_status()  # type: ignore[arg-type]
    edit(kept.only("memories", "*-ada.md"), "short", "long")
    edit(kept.only("memories", "*-north-pier.md"), "leaves", "lands")
    changed, deleted = sorted(kept.take(), key=lambda one: one["why"])

    assert (changed["action"], deleted["action"]) == ("conflict", "conflict")
    assert "changed meanwhile" in changed["why"] and "given up meanwhile" in deleted["why"]
    assert facts(kept)[0]["content"] == "Ada prefers tables."


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("---\n---\nNo category.\n", "category: a new fact needs one"),
        ("---\ncategory: preference\ntype: core\n---\nI am.\n", "type: a new memory in a file"),
        ("---\ncategory: gossip\n---\nNo such thing.\n", "category"),
        ("---\ncategory: person\n---\nBob\n", "content: it has 3 characters"),
        ("---\ncategory: person\nid: short\n---\nBob is here.\n", "id"),
        ("---\ncategory: person\nsubject: ada\n---\nAda is here.\n", "Ada"),
    ],
)
def test_a_fact_that_cannot_be_kept_is_refused_by_its_field(
    kept: Desk, said: str, why: str
) -> None:
    (kept.folder / "memories" / "new.md").write_text(said)
    (step,) = kept.take()

    assert step["action"] in ("refused", "conflict")
    assert why in step["why"]
    assert len(facts(kept)) == 1


def test_another_channel_exports_nothing_that_is_private(kept: Desk) -> None:
    public = Desk(kept.home, kept.url, kept.folder.parent / "public", kept.user)
    public.export("--agent", kept.user, "--channel", "public")

    assert not [path for path in public.files() if path.startswith("memories/")]
