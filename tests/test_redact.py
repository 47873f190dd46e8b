"""The secrets filter: every rule's examples, what must stay, and what it may cost."""

import itertools
import random
import secrets
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import secret_bench
import secret_lines
import secret_specs
from memoryd import redact
from memoryd.core import chunk
from memoryd.redact import rules

RULES = rules.rules()
EXAMPLES = [(rule, example) for rule in RULES for example in rule.examples]
COUNTERS = [(rule, counter) for rule in RULES for counter in rule.counter]


def by_rule(one: Any) -> str:
    return one.name if isinstance(one, rules.Rule) else ""


@pytest.mark.parametrize(("rule", "example"), EXAMPLES, ids=by_rule)
def test_an_example_of_every_rule_is_redacted(rule: rules.Rule, example: str) -> None:
    for seed in range(5):
        text, hidden = secret_specs.fill(example, random.Random(seed))

        clean = redact.text(text)

        assert "[redacted:" in clean
        assert [secret for secret in hidden if secret in clean] == []


@pytest.mark.parametrize(("rule", "counter"), COUNTERS, ids=by_rule)
def test_a_counter_example_of_every_rule_stays(rule: rules.Rule, counter: str) -> None:
    for seed in range(5):
        text, _ = secret_specs.fill(counter, random.Random(seed))

        assert redact.text(text) == text


@pytest.mark.parametrize("rule", RULES, ids=by_rule)
def test_a_rule_is_complete(rule: rules.Rule) -> None:
    assert rule.what and rule.examples and rule.counter
    assert [word for word in rule.keywords if word != word.lower()] == []
    assert rules.MARKER.fullmatch(f"{rules.MARK}{rule.name}]")
    for pattern in rule.patterns:
        assert "s" in rules.compiled(pattern).groupindex


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (
            "postgresql://app:{}@db.internal:5432/orders?ssl=1",
            "postgresql://app:[redacted:url-password]@db.internal:5432/orders?ssl=1",
        ),
        (
            'curl -H "Authorization: Bearer {}" https://x.y',
            'curl -H "Authorization: Bearer [redacted:auth-header]" https://x.y',
        ),
        ("the wifi password is {}, enjoy", "the wifi password is [redacted:password], enjoy"),
        ("DB_PASS={}\nDB_HOST=db", "DB_PASS=[redacted:password]\nDB_HOST=db"),
        (
            "Server=db;Password={};Encrypt=True",
            "Server=db;Password=[redacted:password];Encrypt=True",
        ),
        (
            '{{"user": "bob", "password": "{}", "n": 1}}',
            '{{"user": "bob", "password": "[redacted:password]", "n": 1}}',
        ),
        ("das Passwort lautet {}.", "das Passwort lautet [redacted:password]."),
        ("x?access_token={}&limit=5", "x?access_token=[redacted:secret-value]&limit=5"),
    ],
)
def test_what_is_left_still_reads(said: str, kept: str) -> None:
    secret = secret_specs.some("w", 18, random.Random(2))

    assert redact.text(said.format(secret)) == kept.format()


def test_a_finding_says_where() -> None:
    text = "my PIN is 4711, his is not known"

    assert redact.found(text) == [redact.Finding("pin", 10, 14)]


def test_the_more_specific_rule_names_what_two_find() -> None:
    key = "ghp_" + secret_specs.some("w", 36, random.Random(1))

    assert redact.text(f"GITHUB_TOKEN={key}") == "GITHUB_TOKEN=[redacted:github-token]"


def test_json_is_walked_with_the_names_of_its_entries() -> None:
    key = "AKIA" + secret_specs.some("B", 16, random.Random(1))

    clean = redact.value(
        {
            "user": "bob",
            "password": "hunter2",
            "api_key": "blue",
            "dbPassword": "tiger",
            key: 1,
            "list": ["fine", {"note": "the wifi password is Sommer2024!"}],
            "passwords": ["one", "two"],
            "header": {"key": "X-Api-Token", "value": "letters"},
            "secret": {"value": "so it is"},
            "pin": 4711,
            "card": 4111111111111111,
            "on": True,
            "none": None,
            "empty": {"password": "", "token": 512},
        }
    )

    assert clean == {
        "user": "bob",
        "password": "[redacted:password]",
        "api_key": "[redacted:password]",
        "dbPassword": "[redacted:password]",
        "[redacted:aws-access-key]": 1,
        "list": ["fine", {"note": "the wifi password is [redacted:password]"}],
        "passwords": ["[redacted:password]", "[redacted:password]"],
        "header": {"key": "X-Api-Token", "value": "[redacted:password]"},
        "secret": {"value": "[redacted:password]"},
        "pin": "[redacted:pin]",
        "card": "[redacted:card-number]",
        "on": True,
        "none": None,
        "empty": {"password": "", "token": 512},
    }


@pytest.mark.parametrize(
    "said",
    [
        {"password": "required"},
        {"password": "string", "token": "number", "secret": None},
        {"properties": {"password": {"type": "string", "minLength": 8}}},
        {"errors": {"password": ["This field is required."]}},
        {"password": "must be at least 8 characters"},
        {"api_key": "YOUR_API_KEY", "client_secret": "${CLIENT_SECRET}", "pwd": "********"},
        {"authorization": "Bearer", "password": True},
        {"password": "A word that you choose. Do not use one of other accounts."},
    ],
)
def test_what_json_says_about_a_secret_stays(said: dict[str, Any]) -> None:
    assert redact.value(said) == said


def test_a_sentence_under_a_telling_name_is_filtered_like_any_other() -> None:
    said = {"password": "I told you. My password is Sommer2024! and no other."}
    kept = {"password": "I told you. My password is [redacted:password] and no other."}

    assert redact.value(said) == kept
    assert redact.value(kept) == kept


def test_two_entries_under_one_marker_both_stay() -> None:
    keys = ["AKIA" + secret_specs.some("B", 16, random.Random(seed)) for seed in (1, 2)]
    marker = "[redacted:aws-access-key]"

    assert redact.value({keys[0]: 1, keys[1]: 2}) == {marker: 1, f"{marker} 1": 2}


def test_json_without_secrets_is_the_same_json() -> None:
    said = {
        "token": "the",
        "logprob": -0.25,
        "tokens": ["a", "cat"],
        "max_tokens": 4000,
        "session_id": "550e8400-e29b-41d4-a716-446655440000",
        "idempotency_key": "550e8400-e29b-41d4-a716-446655440000",
        "event_id": "evt_01JC8XQ4M0ABCDEFGHJKMNPQRS",
        "numbers": [1, 1.5, 1e22, 4111111111111112],
    }

    assert redact.value(said) == said


def test_a_chunk_boundary_hides_nothing() -> None:
    key = "ghp_" + secret_specs.some("w", 36, random.Random(1))
    for before in range(chunk.TARGET - 60, chunk.TARGET + 10):
        text = "x" * before + f" {key} and on"

        assert key[:12] not in "".join(chunk.split(redact.text(text)))


def test_lines_by_hand_reach_the_aims() -> None:
    positives = secret_bench.run("", secret_lines.by_hand("secrets"))
    later = secret_bench.run("", secret_lines.by_hand("held_out"))
    formats = secret_bench.run("", secret_lines.by_hand("formats"))
    negatives = secret_bench.run("", secret_lines.look_alikes(2, seed=7))
    harmless = secret_bench.run("", secret_lines.by_hand("benign_formats"))

    assert positives.found / positives.secrets >= 0.95
    assert later.found / later.secrets >= 0.95
    assert formats.found / formats.secrets >= 0.95
    assert harmless.false / harmless.clean <= 0.01
    assert negatives.false / negatives.clean <= 0.01


def test_labelled_lines_of_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"text": "my PIN is 4711", "secret": "4711"}\n{"text": "hello", "secret": null}\n'
    )
    (tmp_path / "b.tsv").write_text("1\tthe password is hunter22\n0\tI forgot my password\n")

    result = secret_bench.run("", list(secret_lines.labelled(tmp_path)))

    assert (result.secrets, result.found, result.clean, result.false) == (2, 2, 2, 0)


def test_the_bench_does_not_hide_the_standard_library() -> None:
    assert Path(secrets.__file__).parent == Path(sysconfig.get_path("stdlib"))


SNIPPETS = st.builds(
    lambda spec, seed: secret_specs.fill(spec, random.Random(seed))[0],
    st.sampled_from([example for _, example in EXAMPLES + COUNTERS]),
    st.integers(0, 2**32),
)
NOISE = st.text("ab1 \n\"'=:,;/\\[]{}<>|&-_.@#$%!", max_size=8) | st.text(max_size=8)
JOINTS = st.sampled_from(["", " ", "\n", ", ", '"', "=", ": ", " is ", "[redacted:password]"])
TEXTS = st.lists(st.one_of(SNIPPETS, NOISE, JOINTS), max_size=7).map("".join)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact.text(text)

    assert redact.text(once) == once
    assert redact.text(text) == once


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        TEXTS | st.integers() | st.floats(allow_nan=False) | st.booleans(),
        lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
        max_leaves=6,
    )
)
def test_redacting_json_twice_changes_nothing_more(value: Any) -> None:
    once = redact.value(value)

    assert redact.value(once) == once


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_findings_are_apart_and_in_order(text: str) -> None:
    spans = [(finding.start, finding.end) for finding in redact.found(text)]

    assert spans == sorted(spans)
    assert all(start < end <= len(text) for start, end in spans)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
