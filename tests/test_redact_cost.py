"""What the secrets filter may cost: linear in length, whatever the text."""

import random
import time

import pytest

import secret_specs
from memoryd import redact
from memoryd.redact import rules
from test_redact import RULES, by_rule

WORST = [
    *(
        "a",
        "0",
        " ",
        "\n",
        '"',
        "'",
        "\\",
        "-",
        "=",
        "://",
        "eyJ",
        "eyJa-",
        "AKIA",
        "ghp_",
        "xoxb-",
    ),
    *("-----BEGIN ", "-----BEGIN RSA PRIVATE KEY-----", "password is ", "password=", 'password="'),
    *("the password ", "PASSWORD_", "token=", "token ", "api_key=", "key", "secret", "pin is "),
    *("4111 ", "1 ", "DE44 ", "[redacted:password]", "seed phrase abandon ", "://a:b@", "a,", "a="),
    *("/api/webhooks/1/password=", "Authorization: Bearer ", "密码", "login is a/", "is the "),
    *(
        "a,password\n",
        ",password",
        "|password|\n",
        'password,"',
        "('a',",
        "insert into a(pwd) values ",
    ),
    *("p\u0430ss", "p\u00ad", "\U0001d429", "${PASS", "${PASSWORD:-", "curl -u a:", "パスワードは"),
]


def seconds(text: str) -> float:
    start = time.thread_time()
    redact.text(text)
    return time.thread_time() - start


@pytest.mark.parametrize("unit", WORST)
def test_the_worst_texts_cost_in_proportion_to_their_length(unit: str) -> None:
    text = unit * (64_000 // len(unit))

    tries = (seconds(text + text) < 3 * seconds(text) + 0.05 for _ in range(2))

    assert any(tries), "the second is for what disturbed the first"


@pytest.mark.parametrize("unit", ["a", "0", " ", '"', "://", "eyJ", "-----BEGIN ", "password is "])
def test_a_megabyte_of_the_worst_is_done_in_seconds(unit: str) -> None:
    assert seconds(unit * (1_000_000 // len(unit))) < 20  # far off: it takes two at most


@pytest.mark.parametrize("rule", RULES, ids=by_rule)
def test_no_rule_can_be_made_to_blow_up(rule: rules.Rule) -> None:
    """Examples, whole and cut, with what a pattern does not expect behind them, over and over."""
    chance = random.Random(3)
    for example in [*rule.examples, *rule.keywords]:
        text = secret_specs.fill(example, chance)[0]
        for unit in (text, text + "!", text[:-1] + "=\x00", text[len(text) // 2 :] + "/a "):
            assert seconds((unit * 4_000)[:4_000]) < 1  # far off: the slowest takes 50 ms
