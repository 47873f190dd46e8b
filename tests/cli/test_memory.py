"""`memoryd memory` as a person and a script use it."""

from pathlib import Path

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

    assert found["memories"] == [made]
    assert refused.returncode == missing.returncode == 1
    assert made["id"] in refused.stderr
    assert "no memory 'aaaaaaaa'" in missing.stderr
