"""`memoryd memory` as a person and a script use it."""

from pathlib import Path

import httpx

from commands import Served, answer, memoryd

USER = "remembering"  # the tests of other commands share the daemon


def lines(home: Path, served: Served, *arguments: str) -> list[str]:
    done = memoryd(home, "memory", *arguments, "--user", USER, MEMORYD_URL=served.url, COLUMNS="90")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_person_adds_corrects_undoes_and_forgets(cli_home: Path, served: Served) -> None:
    said = ("Sarah works\nin \x1b[31mPlatform", "--category", "person", "--subject", "Sarah")
    (made,) = lines(cli_home, served, "add", *said)
    memory_id = made.rpartition(" ")[2]
    (edited,) = lines(cli_home, served, "edit", memory_id, "Sarah leads Design")
    (restored,) = lines(cli_home, served, "restore", memory_id, "1")
    history = lines(cli_home, served, "history", memory_id)
    changed = lines(cli_home, served, "diff", memory_id, "2", "3")
    (listed,) = lines(cli_home, served, "list")
    (deleted,) = lines(cli_home, served, "delete", memory_id)
    nothing = lines(cli_home, served, "list")
    (back,) = lines(cli_home, served, "undelete", memory_id)
    shown = lines(cli_home, served, "show", memory_id)

    assert made.startswith("remembered as ")
    assert edited.endswith("'Sarah works in  [31mPlatform' -> 'Sarah leads Design'")
    assert restored.startswith(f"restored {memory_id} (version 3)")
    assert [one.split()[0] for one in history] == ["1", "2", "3"]
    assert "-Sarah leads Design" in changed
    assert listed.startswith(f"{memory_id}  person      [Sarah] Sarah works in")
    assert deleted.startswith("Deleted: 'Sarah works")
    assert nothing[0].startswith("nothing is remembered")
    assert back.startswith("Brought back: 'Sarah works")
    assert shown[0] == f"{memory_id}  version 3"


def test_a_script_gets_json_and_a_refusal_names_the_memory(cli_home: Path, served: Served) -> None:
    env = {"MEMORYD_URL": served.url}
    user = ("--user", f"{USER}-2")
    made = answer(cli_home, "memory", "add", "Tea at five", "--subject", "tea", *user, **env)
    found = answer(cli_home, "memory", "list", "when is tea?", *user, **env)
    refused = memoryd(
        cli_home, "memory", "add", "Tea at six", "--subject", "TEA", *user, MEMORYD_URL=served.url
    )
    missing = memoryd(cli_home, "memory", "show", "aaaaaaaa", *user, MEMORYD_URL=served.url)

    assert [one | made for one in found["memories"]] == found["memories"]
    assert refused.returncode == missing.returncode == 1
    assert made["id"] in refused.stderr
    assert "no memory 'aaaaaaaa'" in missing.stderr


def test_a_search_that_finds_nothing_says_so(cli_home: Path, served: Served) -> None:
    lines(cli_home, served, "add", "The boat is called Albatross")
    (found,) = lines(cli_home, served, "list", "albatross")
    (nothing,) = lines(cli_home, served, "list", "volcanoes")

    assert found.endswith("The boat is called Albatross")
    assert nothing == "nothing found about 'volcanoes'; try other words, or: memoryd memory list"


def test_a_fact_that_no_longer_holds_is_brought_back(cli_home: Path, served: Served) -> None:
    (made,) = lines(cli_home, served, "add", "The bus leaves at five", "--subject", "bus")
    memory_id = made.rpartition(" ")[2]
    (off,) = lines(cli_home, served, "deactivate", memory_id)
    lines(cli_home, served, "add", "The bus leaves at six", "--subject", "bus")
    refused = memoryd(
        cli_home, "memory", "activate", memory_id, "--user", USER, MEMORYD_URL=served.url
    )
    (on,) = lines(cli_home, served, "activate", memory_id, "--force")

    assert off == "No longer holds: 'The bus leaves at five'"
    assert refused.returncode == 1
    assert "a memory about 'bus' exists" in refused.stderr
    assert on == "Holds again: 'The bus leaves at five'"


def test_any_memory_is_undone_by_its_id(cli_home: Path, served: Served) -> None:
    note = post(served, "/api/v1/teams/cli/memories", content="Build is red")
    core = post(served, "/api/v1/agents/cli-scout/memories", content="I am brief")
    home = {"place_id": "h", "place_name": "Home", "notes": "by the lake"}
    post(served, f"/api/v1/users/{USER}/memory/places", **home)
    (place,) = lines(cli_home, served, "list", "--type", "place")
    for memory_id, text in (
        (note, "Build is red"),
        (core, "I am brief"),
        (place[:8], "by the lake"),
    ):
        lines(cli_home, served, "edit", memory_id, "Something else")
        lines(cli_home, served, "delete", memory_id)
        (back,) = lines(cli_home, served, "undelete", memory_id)
        (restored,) = lines(cli_home, served, "restore", memory_id, "1")
        changed = lines(cli_home, served, "diff", memory_id, "1", "2")
        history = lines(cli_home, served, "history", memory_id)
        (forth,) = lines(cli_home, served, "restore", memory_id, "2")

        assert "Something else" in back
        assert restored.endswith(f"'Something else' -> '{text}'")
        assert {f"-{text}", "+Something else"} <= set(changed)
        assert [line.split()[0] for line in history] == ["1", "2", "3"]
        assert forth.endswith(f"'{text}' -> 'Something else'")
    (listed,) = lines(cli_home, served, "list", "--type", "whiteboard", "--team", "cli")
    shown = lines(cli_home, served, "show", core)

    assert listed == f"{note}  whiteboard  Something else"
    assert {"agent     cli-scout", "Something else"} <= set(shown)


def post(served: Served, path: str, **body: str) -> str:
    answer = httpx.post(served.url + path, json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json().get("id"))
