"""`memoryd prompt` and `memoryd command` as a person and a script use them."""

from pathlib import Path

import httpx

from commands import Served, answer, memoryd

USER = "prompted"  # the tests of other commands share the daemon


def remember(served: Served, content: str, subject: str) -> str:
    said = {"content": content, "category": "person", "subject": subject, "user_id": USER}
    made = httpx.post(f"{served.url}/api/memory/", json=said)
    assert made.status_code == 201, made.text
    memory_id: str = made.json()["id"]
    return memory_id


def test_a_person_reads_the_prompt_of_a_session(cli_home: Path, served: Served) -> None:
    memory_id = remember(served, "Alec is the user's boss", "Alec")
    given = ("prompt", "--user", USER, "--system", "Be kind.", "--participant", "Ada")
    done = memoryd(cli_home, *given, "--session", "cli-1", MEMORYD_URL=served.url)
    found = answer(
        *(cli_home, "prompt", "--user", USER, "--format", "anthropic", "--no-instructions"),
        MEMORYD_URL=served.url,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Be kind.\n\n## Using Memory\n")
    assert f"- [id:{memory_id}] [Alec] Alec is the user's boss\n" in done.stdout
    assert "Other participants: Ada.\n\nCurrent datetime: " in done.stdout
    assert found["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert found["memory_ids"] == [memory_id]


def test_a_person_sees_deletes_and_undoes(cli_home: Path, served: Served) -> None:
    memory_id = remember(served, "Sarah is a colleague", "Sarah")

    def typed(*words: str) -> str:
        done = memoryd(cli_home, "command", *words, "--user", USER, MEMORYD_URL=served.url)
        assert done.returncode == 0, done.stderr
        return done.stdout.removesuffix("\n")

    assert f"• [{memory_id}] Sarah is a colleague" in typed("/memory", "list")
    assert typed("/memory", "delete", memory_id) == "Deleted: 'Sarah is a colleague'"
    assert typed(f"/memory undo {memory_id}") == "Restored: 'Sarah is a colleague'"


def test_a_person_audits_and_consolidates(cli_home: Path, served: Served) -> None:
    own = ("--user", "tidy")
    for content in ("The user likes green tea", "User likes green teas."):
        said = {"content": content, "category": "preference", "user_id": "tidy"}
        assert httpx.post(f"{served.url}/api/memory/", json=said).status_code == 201
    report = memoryd(cli_home, "audit", *own, MEMORYD_URL=served.url)
    proposed = memoryd(cli_home, "consolidate", *own, MEMORYD_URL=served.url)
    named = proposed.stdout.split()[0]
    done = memoryd(cli_home, "consolidate", "--apply", named, *own, MEMORYD_URL=served.url)
    left = answer(cli_home, "consolidate", *own, MEMORYD_URL=served.url)
    back = memoryd(cli_home, "consolidate", "--undo", named, *own, MEMORYD_URL=served.url)

    assert report.stdout.startswith("duplicate       2 memories say the same: [")
    assert "\n    memoryd consolidate --user tidy\n" in report.stdout
    assert "  → User likes green teas.\n" in proposed.stdout
    assert f"take it back with: memoryd consolidate --undo {named}" in done.stdout
    assert left == {"proposals": [], "wording": None}
    assert back.stdout.startswith("changed ")
