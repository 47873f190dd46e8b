"""`memoryd references` as a person and a script use it."""

from pathlib import Path

import httpx

from commands import Served, answer, memoryd
from stored import LOG, REFERENCES

USER = "storing"  # the tests of other commands share the daemon


def test_a_person_sees_what_left_the_context(cli_home: Path, served: Served) -> None:
    def lines(*arguments: str) -> list[str]:
        given = ("references", *arguments, "--user", USER)
        done = memoryd(cli_home, *given, MEMORYD_URL=served.url, COLUMNS="200")
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    nothing = lines("list")
    body = {"content": LOG, "key": "cli-log", "user_id": USER}
    placeholder = httpx.post(f"{served.url}{REFERENCES}", json=body).json()["placeholder"]
    coloured = {"content": "\x1b[31mred\n", "key": "red", "user_id": USER}
    httpx.post(f"{served.url}{REFERENCES}", json=coloured)
    listed = lines("list")
    found = lines("show", placeholder, "--find", "left-pad")
    described = lines("describe", "cli-log")
    undone = lines("describe", "cli-log", "--undo")

    assert nothing[0].startswith("nothing is stored")
    assert [placeholder in one for one in listed] == [False, True]
    assert found[0] == "[lines 420-424 of 500]" and len(found) == 6
    assert lines("show", "red") == [" [31mred"]
    assert described[0] == undone[0] == placeholder
    assert described[1].endswith("set MEMORYD_CHAT_URL and MEMORYD_CHAT_MODEL")


def test_a_script_gets_json_and_a_refusal_names_the_key(cli_home: Path, served: Served) -> None:
    env = {"MEMORYD_URL": served.url}
    page = answer(cli_home, "references", "list", "--user", "nobody", **env)
    refused = memoryd(cli_home, "references", "show", "none", MEMORYD_URL=served.url)

    assert page == {"references": [], "next": None}
    assert refused.returncode == 1
    assert "404: there is no reference 'none' that you may see (key)" in refused.stderr
