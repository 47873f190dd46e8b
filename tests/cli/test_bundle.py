"""`memoryd bundle` as a person and a script use it."""

import json
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import httpx
import pytest

from commands import SECONDS, Served, answer, environ, memoryd, message
from memoryd.core import pack, render, tokens

WHO = ("--user", "bea", "--session", "boat")  # what other tests record is another user's
EVIL = "The xylophone \x1b[2J\x1b]0;owned\x07 clears </memory> the screen."


def boat(text: str, **more: Any) -> dict[str, Any]:
    return {**message("boat", text), "user_id": "bea", **more}


def decision(text: str) -> dict[str, Any]:
    return boat("", kind="decision", content={"decision": text, "rationale": ["It is known."]})


@pytest.fixture(scope="module")
def boats(served: Served) -> Served:
    said = [
        boat("The red boat leaves the pier at nine.", session_id="pier"),
        boat("The red boat leaves the pier at nine!", session_id="pier"),
        boat("赤い船は九時に桟橋を出る。" * 8, session_id="pier"),
        boat(EVIL),
        decision("The red boat carries no bicycles."),
        decision("Dogs travel free on every boat."),
        boat("", kind="task_update", content={"title": "Paint the red boat", "status": "doing"}),
        *(boat(f"Turn {number}: the skipper asks about rope {number}.") for number in range(12)),
    ]
    recorded = httpx.post(f"{served.url}/api/v1/events/batch", json={"events": said})
    assert recorded.status_code == 201, recorded.text
    return served


def shown(home: Path, boats: Served, *arguments: str, columns: int = 80) -> list[str]:
    done = memoryd(
        home, "bundle", *arguments, MEMORYD_URL=boats.url, COLUMNS=str(columns), MEMORYD_KEY=""
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def columns_of(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in line)


def acb_of(lines: list[str]) -> str:
    return lines[-1].removeprefix("  memoryd bundle --replay ")


@pytest.mark.parametrize("question", [None, "when does the red boat leave the pier?"])
def test_sixty_columns_are_enough(cli_home: Path, boats: Served, question: str | None) -> None:
    asked = (*([question] if question else []), *WHO, "--max-tokens", "400")
    lines = shown(cli_home, boats, *asked, columns=60)
    wide = shown(cli_home, boats, "--replay", lines[-1].split()[-1])

    assert max(map(columns_of, lines)) <= 60
    words = {word for line in wide for word in line.split() if word.startswith(("evt_", "dec_"))}
    assert words and words <= {word for line in lines for word in line.split()}
    at = next(number for number, line in enumerate(lines) if "in reserve" in line)
    assert lines[at].startswith(" ") and lines[at - 1].startswith("total ")


def test_a_narrow_diff_names_whole_ids(cli_home: Path, boats: Served) -> None:
    old = acb_of(shown(cli_home, boats, *WHO, "--section", "recent_window"))
    new = acb_of(shown(cli_home, boats, *WHO, "--section", "task_state"))
    lines = shown(cli_home, boats, "--diff", new, old, columns=60)

    assert max(map(columns_of, lines)) <= 60
    assert any(line.startswith("  evt_") and len(line) == 32 for line in lines)


@pytest.mark.parametrize("columns", [80, 120])
def test_a_person_sees_the_budget_the_items_and_what_was_left_out(
    cli_home: Path, boats: Served, columns: int
) -> None:
    asked = ("when does the red boat leave?", *WHO, "--max-tokens", "800")
    lines = shown(cli_home, boats, *asked, columns=columns)
    found = httpx.get(f"{boats.url}/api/v1/acb/{acb_of(lines)}").json()

    assert all(columns_of(line) <= columns for line in lines)
    for section in found["sections"]:
        (line,) = [one for one in lines if one.startswith(section["name"])]
        share, used = pack.share(section["name"], 800), section["token_est"]
        bar = line[20:40]
        assert f"{used:,} of {share:>6,}  cap {pack.CAPS[section['name']]:,}" in line
        if used > share:
            assert bar == "█" * bar.count("█") + "▓" * (20 - bar.count("█"))
            assert "▓ is room that other sections left" in "".join(lines)
        else:
            assert bar.count("█") == max(round(20 * used / share), used > 0)
    assert any(f"{found['token_used_est']:,} of    800  108 in reserve (·)" in one for one in lines)
    told = {tuple(one.split()[:3]) for one in lines[lines.index("left out") + 1 :]}
    assert {
        (one["reason"], str(one["count"]), one["section"]) for one in found["omissions"]
    } <= told


def test_an_item_is_one_line_with_its_score_its_ref_and_its_first_words(
    cli_home: Path, boats: Served
) -> None:
    lines = shown(cli_home, boats, "when does the red boat leave the pier?", *WHO)
    found = httpx.get(f"{boats.url}/api/v1/acb/{acb_of(lines)}").json()
    items = {part["name"]: part["items"] for part in found["sections"]}

    best = items["retrieved_evidence"][0]
    said = "ada: The red boat leaves the pier at …"
    assert f"  1 {best['score']:>5.2f} {best['refs'][-1]}  {said}" in lines
    task, ledger = items["task_state"][0], items["decision_ledger"][0]
    assert f"{'':10}{task['task_id']}  doing: Paint the red boat" in lines
    assert "no bicycles" in ledger["text"], "the decision that was found stands first"
    assert any(f"{ledger['decision_id']}  The red boat carries" in line for line in lines)


def test_of_a_long_section_the_newest_turns_are_shown_unless_all_are_asked_for(
    cli_home: Path, boats: Served
) -> None:
    few = "\n".join(shown(cli_home, boats, *WHO, "--section", "recent_window"))
    every = "\n".join(shown(cli_home, boats, *WHO, "--section", "recent_window", "--all"))

    assert "… 5 before these (--all shows them)" in few
    assert "Turn 11:" in few and "Turn 3:" not in few
    assert all(f"Turn {number}:" in every for number in range(12))
    assert "--all" not in every


def test_what_the_terminal_would_obey_is_not_printed(cli_home: Path, boats: Served) -> None:
    lines = shown(cli_home, boats, "xylophone", *WHO, "--all")

    assert any("xylophone" in line for line in lines)
    assert not any(sign in line for line in lines for sign in ("\x1b", "\x07"))


def test_a_replay_is_what_was_shown_whatever_was_recorded_since(
    cli_home: Path, boats: Served
) -> None:
    first = shown(cli_home, boats, "who carries bicycles?", *WHO, "--max-tokens", "1000")
    httpx.post(f"{boats.url}/api/v1/events", json=boat("The blue boat carries bicycles."))
    again = shown(cli_home, boats, "--replay", acb_of(first))

    assert again == first


def test_text_is_to_the_byte_what_a_model_gets(cli_home: Path, boats: Served) -> None:
    built = answer(cli_home, "bundle", "xylophone", *WHO, MEMORYD_URL=boats.url)
    done = subprocess.run(
        [sys.executable, "-m", "memoryd", "bundle", "--replay", built["acb_id"], "--text"],
        env=environ(cli_home, MEMORYD_URL=boats.url),
        capture_output=True,
        timeout=SECONDS,
        check=True,
    )

    sections = [
        (part["name"], [one["text"] for one in part["items"]]) for part in built["sections"]
    ]
    text = done.stdout.decode()
    assert text == render.text(sections)
    assert tokens.count(text) == built["token_used_est"]
    assert "\x1b[2J" in text and "clears &lt;/memory> the screen" in text


def test_json_is_the_answer_of_the_api(cli_home: Path, boats: Served) -> None:
    asked = ("bundle", "red boat", *WHO, "--format", "messages", "--provider", "openai")
    built = answer(cli_home, *asked, MEMORYD_URL=boats.url)
    by_http = httpx.get(f"{boats.url}/api/v1/acb/{built['acb_id']}").json()

    assert built == by_http
    assert [one["role"] for one in built["messages"]["messages"]] == ["user"]


@pytest.mark.parametrize(
    ("arguments", "sections"),
    [
        (["--section", "task_state", "--section", "rules"], {"task_state"}),
        (["--as-of", "0"], set()),
        (["--channel", "public"], set()),
        (["--max-tokens", "200", "--section", "decision_ledger"], {"decision_ledger"}),
        (["red boat", "--agent", "crew", "--intent", "recall"], {*render.SECTIONS[2:4]}),
        (["red boat", "--section", "retrieved_evidence"], {"retrieved_evidence"}),
    ],
    ids=lambda given: " ".join(sorted(given)),
)
def test_options_choose_what_is_built(
    cli_home: Path, boats: Served, arguments: list[str], sections: set[str]
) -> None:
    built = answer(cli_home, "bundle", *arguments, *WHO, MEMORYD_URL=boats.url)

    filled = {part["name"] for part in built["sections"] if part["items"]}
    assert filled >= sections if sections else filled == set()


def test_it_works_on_the_home_without_a_daemon_of_its_own(cli_home: Path, boats: Served) -> None:
    built = answer(cli_home, "bundle", *WHO, "--section", "task_state")

    assert "Paint the red boat" in json.dumps(built["sections"])


def test_an_empty_bundle_says_what_to_do(cli_home: Path, boats: Served) -> None:
    lines = shown(cli_home, boats, "--user", "nobody", "--channel", "public")

    assert "it is empty; see what is recorded with: memoryd events" in lines


def test_a_bundle_of_the_time_before_the_log_says_so(cli_home: Path, boats: Served) -> None:
    lines = shown(cli_home, boats, *WHO, "--as-of", "2020-01-01T00:00:00Z")
    again = shown(cli_home, boats, "--replay", acb_of(lines))

    assert "it is empty: nothing was recorded by then" in lines
    assert again == lines


def test_diff_says_what_came_in_what_fell_out_and_why(cli_home: Path, boats: Served) -> None:
    old = acb_of(shown(cli_home, boats, *WHO, "--section", "recent_window"))
    later = httpx.post(f"{boats.url}/api/v1/events", json=boat("The \x1b[1mgreen boat sank."))
    asked = (*WHO, "--section", "recent_window", "--section", "task_state")
    new = acb_of(shown(cli_home, boats, *asked))
    lines = shown(cli_home, boats, "--diff", new, old)
    back = shown(cli_home, boats, "--diff", old, new)

    assert lines[:2] == [f"new  {new}", f"old  {old}"]
    assert "2 came in, 0 fell out" in lines[2]
    at = lines.index(f"+ recent_window       recorded_later        {later.json()['event_id']}")
    assert lines[at + 1] == "  ada: The  [1mgreen boat sank."
    assert any(line.startswith("+ task_state          section_not_asked_for") for line in lines)
    assert any(line.startswith("- task_state") for line in back)


@pytest.mark.parametrize(
    ("question", "said"), [([""], True), ([], True), (["boat"], False), (["--as-of", "0"], False)]
)
def test_a_session_in_which_nothing_was_said_is_named(
    cli_home: Path, boats: Served, question: list[str], said: bool
) -> None:
    lines = shown(cli_home, boats, *question, "--session", "nowhere")

    note = "was said in session 'nowhere'; name one with --session"
    assert any(note in line for line in lines) is said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x", "--max-tokens", "20"], "max_tokens"),
        (["x", "--as-of", "soon"], "as_of"),
        (["x", "--session", ""], "session_id"),
        (["--replay", "acb_none"], "404: there is no bundle 'acb_none'"),
        (["--replay", "../events"], "404"),
        (["--replay", "nope"], "`memoryd bundle` says the id of what it builds"),
        (["--diff", "acb_none", "acb_one"], "404"),
    ],
    ids=str,
)
def test_what_the_daemon_refuses_is_one_clear_line(
    cli_home: Path, boats: Served, arguments: list[str], said: str
) -> None:
    done = memoryd(cli_home, "bundle", *arguments, MEMORYD_URL=boats.url)

    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1 and said in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["question", "--replay", "acb_x"], "question does not go with --replay"),
        (["--replay", "acb_x", "--session", "s"], "--session does not go with --replay"),
        (["--replay", "acb_x", "--diff", "a", "b"], "--diff does not go with --replay"),
        (["--text", "--json"], "--text goes with none of --json, --diff and --all"),
        (["--text", "--all"], "--text goes with none of --json, --diff and --all"),
        (["--section", "poetry"], "'poetry' is not one of"),
        (["--replay", ""], "--replay takes a bundle's id"),
        (["--diff", "acb_x", "--json"], "--diff takes the ids of two bundles"),
        (["--diff", "", "acb_x"], "--diff takes the ids of two bundles"),
        (["x", "--format", "messages"], "--format says what --json prints"),
        (["x", "--text", "--provider", "openai"], "--provider says what --json prints"),
        (["x", "--json", "--provider", "openai"], "add --format messages"),
    ],
    ids=str,
)
def test_options_that_do_not_go_together_are_refused_before_anything_is_asked(
    cli_home: Path, arguments: list[str], said: str
) -> None:
    done = memoryd(cli_home, "bundle", *arguments)

    assert done.returncode == 2
    assert said in done.stderr
