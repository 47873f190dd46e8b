"""Specifications of secrets and of what looks like them → lines, the same for the same seed.

`{36w}` is 36 random characters of a class, `{card}` a number that passes its check; ⟦…⟧ marks the
secret in a line, ⏎ is a line break. So no live-looking key lies in the repository.
"""

import base64
import itertools
import random
import re
import string
from collections.abc import Callable
from pathlib import Path

CLASSES = {
    "d": string.digits,
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "l": string.ascii_lowercase,
    "u": string.ascii_uppercase,
    "a": string.ascii_letters,
    "w": string.ascii_letters + string.digits,
    "k": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "B": string.ascii_uppercase + "234567",
    "b": string.ascii_letters + string.digits + "+/",
    "s": string.ascii_letters + string.digits + "-_",
    "x": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
}
WORDS = (Path(__file__).parent / "lines" / "words.txt").read_text().split()
CARDS = [("4", 16), ("51", 16), ("55", 16), ("2221", 16), ("6011", 16), ("37", 15), ("3528", 16)]
IBANS = [("DE", "", 18), ("FR", "", 23), ("ES", "", 20), ("NL", "ABNA", 10), ("GB", "NWBK", 14)]
_ONE = re.compile(r"\{(\d+)([a-zA-Z])\}|\{([a-z_]+\d*)\}")


def fill(spec: str, chance: random.Random) -> tuple[str, list[str]]:
    """The line that `spec` describes, and its secrets: all of it where none is marked."""
    line = _ONE.sub(lambda match: _made(match, chance), spec).replace("⏎", "\n")
    marked = re.findall("⟦(.*?)⟧", line, re.DOTALL)
    return re.sub("[⟦⟧]", "", line), marked or [line]


def _made(match: re.Match[str], chance: random.Random) -> str:
    count, kind, name = match.groups()
    if name is None:
        return some(kind, int(count), chance)
    return NAMED[name](chance) if name in NAMED else match[0]


def some(kind: str, count: int, chance: random.Random) -> str:
    return "".join(chance.choices(CLASSES[kind], k=count))


def _with_luhn(digits: str) -> str:
    doubled = [sum(divmod(2 * int(one), 10)) for one in digits[::-2]]
    return digits + str(-(sum(doubled) + sum(map(int, digits[-2::-2]))) % 10)


def _card(chance: random.Random, kinds: list[tuple[str, int]] = CARDS) -> str:
    start, length = chance.choice(kinds)
    return _with_luhn(start + some("d", length - len(start) - 1, chance))


def _card_spaced(chance: random.Random) -> str:
    card, by = _card(chance), chance.choice(" -")
    cuts = (0, 4, 10, 15) if len(card) == 15 else (0, 4, 8, 12, 16)
    return by.join(card[start:end] for start, end in itertools.pairwise(cuts))


def _iban(chance: random.Random) -> str:
    land, letters, length = chance.choice(IBANS)
    account = letters + some("d", length, chance)
    number = int("".join(str(int(one, 36)) for one in account + land + "00"))
    iban = f"{land}{98 - number % 97:02}{account}"
    return " ".join(re.findall(".{1,4}", iban)) if chance.random() < 0.5 else iban


def _ssn(chance: random.Random) -> str:
    return f"{chance.randint(101, 665)}-{chance.randint(10, 99)}-{chance.randint(1000, 9999)}"


def _insee(chance: random.Random) -> str:
    born = f"{chance.choice('12')} {chance.randint(10, 99)} {chance.randint(1, 12):02}"
    place = f"{chance.randint(10, 95)} {some('d', 3, chance)} {some('d', 3, chance)}"
    return f"{born} {place} {97 - int((born + place).replace(' ', '')) % 97:02}"


def _dni(chance: random.Random) -> str:
    number = chance.randint(10_000_000, 99_999_999)
    return f"{number}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def _codice(chance: random.Random) -> str:
    birth = f"{chance.randint(10, 99)}{chance.choice('ABCDEHLMPRST')}{chance.randint(10, 31)}"
    return f"{some('u', 6, chance)}{birth}{some('u', 1, chance)}{some('d', 3, chance)}X"


def _nino(chance: random.Random) -> str:
    digits = " ".join(str(chance.randint(10, 99)) for _ in range(3))
    return f"{chance.choice(['AB', 'CE', 'JK', 'PR'])} {digits} {chance.choice('ABCD')}"


def _uuid(chance: random.Random) -> str:
    one = some("h", 32, chance)
    return f"{one[:8]}-{one[8:12]}-4{one[13:16]}-a{one[17:20]}-{one[20:]}"


def _jwt(chance: random.Random) -> str:
    header, body = '{"alg":"HS256"}', f'{{"sub":"{some("d", 10, chance)}","iat":1718000000}}'
    parts = [base64.urlsafe_b64encode(one.encode()).decode().rstrip("=") for one in (header, body)]
    return ".".join([*parts, some("s", 43, chance)])


def _password(chance: random.Random) -> str:
    """One as people choose it: not a word alone, since a word could be anything."""
    word, other = chance.sample(WORDS, 2)
    number = chance.randint(10, 9999)
    kinds = [
        f"{word.title()}{number}",
        f"{word.title()}{number % 100}!",
        f"{word}-{other}-{number}",
        f"{word.replace('a', '4').replace('e', '3')}{number % 10}{chance.choice('!#$%&*')}",
        f"{some('w', 11, chance)}7",
        f"{some('a', 4, chance)}{chance.choice('!@#$%^&*')}{some('w', 5, chance)}{number % 10}",
    ]
    return chance.choice(kinds)


def _groups(*ranges: tuple[int, int]) -> Callable[[random.Random], str]:
    return lambda chance: " ".join(str(chance.randint(*limits)) for limits in ranges)


NAMED: dict[str, Callable[[random.Random], str]] = {
    "card": _card,
    "card_amex": lambda chance: _card(chance, [("37", 15)]),
    "card_spaced": _card_spaced,
    "iban": _iban,
    "ssn": _ssn,
    "insee": _insee,
    "dni": _dni,
    "codice": _codice,
    "nino": _nino,
    "aadhaar": _groups((2000, 9999), (1000, 9999), (1000, 9999)),
    "sin": _groups((100, 799), (100, 999), (100, 999)),
    "uuid": _uuid,
    "ulid": lambda chance: (
        "01J" + "".join(chance.choices("0123456789ABCDEFGHJKMNPQRSTVWXYZ", k=23))
    ),
    "order": lambda chance: chance.choice("789") + some("d", 15, chance),
    "xs": lambda _: "x" * 36,
    "jwt": _jwt,
    "pw": _password,
    "words12": lambda chance: " ".join(chance.sample(WORDS, 12)),
    "words24": lambda chance: " ".join(chance.sample(WORDS, 24)),
}
