"""`memoryd search` as a person and a script use it."""

from pathlib import Path

import httpx
import pytest

from commands import Served, answer, memoryd, message
from servers import until

BAR = "█"


@pytest.fixture(scope="module")
def searched(served: Served) -> Served:
    said = [
        {**message("ship", "We ship the parrot on Friday."), "tags": ["release"]},
        {**message("tea", "The tea\nis on  the table. " + "Sugar is beside it. " * 20)},
        {**message("team", "The parrot eats nuts."), "user_id": "bob", "channel": "team"},
        {**message("own", "Bob hides the parrot."), "user_id": "bob", "channel": "private"},
    ]
    recorded = httpx.post(f"{served.url}/api/v1/events/batch", json={"events": said})
    assert recorded.status_code == 201, recorded.text
    until(lambda: httpx.get(f"{served.url}/readyz").json()["pending_vectors"] == 0)
    return served


def test_a_person_reads_a_line_for_each_result(cli_home: Path, searched: Served) -> None:
    done = memoryd(
        *(cli_home, "search", "when do we ship the parrot?", "--session", "ship"),
        MEMORYD_URL=searched.url,
        COLUMNS="100",
    )

    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()[0]
    score, day, minute, session, text = first.split(None, 4)
    assert 0 < float(score) <= 1
    assert (len(day), len(minute), session) == (10, 5, "ship")
    assert text == "ada: We ship the parrot on Friday."


def test_a_long_text_is_cut_to_the_width_of_the_terminal(cli_home: Path, searched: Served) -> None:
    done = memoryd(
        *(cli_home, "search", "tea and sugar", "--session", "tea"),
        MEMORYD_URL=searched.url,
        COLUMNS="80",
    )

    first = done.stdout.splitlines()[0]
    assert "ada: The tea is on the table." in first
    assert len(first) == 80 and first.endswith("…")


def test_explain_shows_a_bar_for_each_part(cli_home: Path, searched: Served) -> None:
    arguments = ("search", "when do we ship the parrot?", "--session", "ship", "--explain")
    done = memoryd(cli_home, *arguments, MEMORYD_URL=searched.url)

    parts = [line.split() for line in done.stdout.splitlines()[1:] if line.startswith("  ")]
    assert {part[0] for part in parts[:3]} == {"semantic", "recency", "importance"}
    assert {part[0] for part in parts} >= {"bm25", "session", "window", "speaker"}
    for part in parts:
        bar = part[2] if len(part) > 2 else ""
        assert bar == BAR * round(20 * min(abs(float(part[1])), 1))
    assert any(len(part) > 2 for part in parts)


def test_json_is_the_answer_of_the_api(cli_home: Path, searched: Served) -> None:
    found = answer(cli_home, "search", "parrot", "--limit", "1", MEMORYD_URL=searched.url)
    asked = {"query": "parrot", "limit": 1}
    by_http = httpx.post(f"{searched.url}/api/v1/search", json=asked).json()

    assert set(found) == set(by_http)
    assert len(found["results"]) == 1
    assert found["results"][0]["chunk_id"] == by_http["results"][0]["chunk_id"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--tag", "release", "--as-of", "2999-01-01T00:00:00Z"], {"ship"}),
        (["--user", "bob", "--session", "own"], {"own"}),
        (["--session", "own"], set()),
        (["--user", "bob", "--channel", "public"], set()),
        (["--tag", "release", "--agent", "nobody"], set()),
        (["--tag", "release", "--until", "2020-01-01T00:00:00Z"], set()),
        (["--tag", "release", "--as-of", "0"], set()),
        (["--kind", "message", "--intent", "recent", "--tag", "release"], {"ship"}),
    ],
    ids=" ".join,
)
def test_options_choose_what_is_searched(
    cli_home: Path, searched: Served, arguments: list[str], expected: set[str]
) -> None:
    found = answer(cli_home, "search", "parrot", *arguments, MEMORYD_URL=searched.url)

    assert {one["session_id"] for one in found["results"]} == expected


def test_nothing_found_says_what_to_do(cli_home: Path, searched: Served) -> None:
    arguments = ("search", "parrot", "--session", "nobody's")
    done = memoryd(cli_home, *arguments, MEMORYD_URL=searched.url)
    found = answer(cli_home, *arguments, MEMORYD_URL=searched.url)

    assert done.returncode == 0
    assert done.stdout.startswith("nothing was found; see what there is with: memoryd events")
    assert found["results"] == []


def test_it_works_on_the_home_without_a_daemon_of_its_own(cli_home: Path, searched: Served) -> None:
    found = answer(cli_home, "search", "when do we ship the parrot?", "--tag", "release")

    assert [one["session_id"] for one in found["results"]] == ["ship"]


def test_what_the_terminal_would_obey_is_not_printed(cli_home: Path, searched: Served) -> None:
    evil = "The xylophone \x1b[2J\x1b]0;owned\x07 clears the screen."
    recorded = httpx.post(f"{searched.url}/api/v1/events", json=message("evil", evil))
    done = memoryd(cli_home, "search", "xylophone", "--session", "evil", MEMORYD_URL=searched.url)

    assert recorded.status_code == 201
    assert "xylophone" in done.stdout
    assert "\x1b" not in done.stdout and "\x07" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["parrot", "--as-of", "soon"], "as_of"),
        (["parrot", "--since", "soon"], "filters.since"),
        ([""], "query"),
    ],
    ids=str,
)
def test_what_the_daemon_refuses_is_one_clear_line(
    cli_home: Path, searched: Served, arguments: list[str], said: str
) -> None:
    done = memoryd(cli_home, "search", *arguments, MEMORYD_URL=searched.url)

    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1 and said in done.stderr
