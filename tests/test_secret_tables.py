"""Secrets in the columns of tables, and behind letters that are not what they seem."""

import pytest

from memoryd import redact
from memoryd.redact import disguised

MARK = "[redacted:password]"


@pytest.mark.parametrize(
    "table",
    [
        "user,password\nkim,{0}\nada,{1}\n",
        "user;passwort\r\nkim;{0}\r\nada;{1}\r\n",
        "user\tpassword\nkim\t{0}\nada\t{1}",
        '"name","url","password","note"\n"a, b","https://x.y","{0}",""\n"c","d","{1}","e"\n',
        "| user | password |\n|---|:---:|\n| kim | `{0}` |\n| ada | {1} |\n\nand so on",
        "password | user\n---------+------\n{0} | kim\n{1} | ada",
        "+------+------+\n| user | pwd  |\n+------+------+\n| kim  | {0} |\n| ada  | {1} |",
        "INSERT INTO users (name, password) VALUES ('kim', '{0}'), ('a, b', '{1}');",
        "insert into t(passwd,id)\nvalues ('{0}', 1),\n('{1}', 2)",
        "so it is,\nsays he:\nuser,password\nkim,{0}\nada,{1}\n",
    ],
)
def test_a_column_of_passwords_is_redacted(table: str) -> None:
    said, kept = table.format("swordfish", "hunter2x"), table.format(MARK, MARK)

    assert redact.text(said) == kept
    assert redact.text(kept) == kept


@pytest.mark.parametrize(
    "table",
    [
        "| Field | Type | Note |\n|---|---|---|\n| password | string | The password |",
        "| Password | Result |\n|---|---|\n| Supported | Yes |\n| n/a | No |",
        "user,password\nkim,********\nada,",
        "token,count\nthe,4711\nof,1234",
        "[\n 'password',\n 'x509',\n 'uint8',\n]",
        "connect(user, password, host,\n    hunter2x, swordfish1, y)",
        "INSERT INTO users (name, password) VALUES ($1, $2)",
    ],
)
def test_a_table_about_passwords_stays(table: str) -> None:
    assert redact.text(table) == table


def test_a_key_is_found_in_its_column() -> None:
    said = "name,api_key\nweather,Zk3bQ9xW7rT2mN5vL8pD\nmaps,none\n"

    assert redact.text(said) == "name,api_key\nweather,[redacted:secret-value]\nmaps,none\n"


LOOKS = ["p\u0430ssword", "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44", "pass\u00adword"]


@pytest.mark.parametrize("word", [*LOOKS, "p\u200bass\u200bword", "\U0001d5fdassword"])
def test_a_word_is_read_as_it_looks(word: str) -> None:
    said = f"Привет! the {word} is hunter2x, ok?"

    assert redact.text(said) == f"Привет! the {word} is {MARK}, ok?"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("\x1b[1mpassword\x1b[0m: hunter2x\x1b[0m", "\x1b[1mpassword\x1b[0m: {0}\x1b[0m"),
        ("x?to=password%3Dhunter2x%26n%3D1", "x?to=password%3D{0}%26n%3D1"),
        ('{{"p\\u0061ssword": "hunter2x"}}', '{{"p\\u0061ssword": "{0}"}}'),
        ("p&#97;ssword: hunter2x now", "p&#97;ssword: {0} now"),
        ("https%3A//kim%3Ahunter2x%40host/", "https%3A//kim%3A[redacted:url-password]%40host/"),
    ],
)
def test_codes_of_letters_are_read_as_letters(said: str, kept: str) -> None:
    assert redact.text(said.replace("{{", "{").replace("}}", "}")) == kept.format(MARK)


@pytest.mark.parametrize("said", ["пароль забыт", "naïve Ω is not O", "Ærø — ½ ∞", "a\u200d👩"])
def test_other_alphabets_are_not_read_twice(said: str) -> None:
    assert disguised.read(said, 0, len(said)) is None
