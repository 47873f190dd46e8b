"""The rules of the secrets filter, from `data/secrets/rules.toml`, and what they find in a text.

A rule is tried only where one of its keywords stands, so that the cost is one pass over the text,
however many rules there are; its patterns are compiled when they are first tried.
"""

import functools
import re
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib import resources
from itertools import chain, groupby
from typing import Any

Hit = tuple[int, int, int, str]  # start, end, the rule's order, its name

MARK = "[redacted:"
MARKER = re.compile(r"\[redacted:[a-z-]+\]")
BLOB = 256  # characters without a blank: what stands inside is not looked at a second time
WINDOW = 65_536  # characters looked through at once; the interpreter serves nobody else meanwhile
MARGIN = 64  # characters around a window: no keyword and no marker is longer


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule; `order` is its place in the file, and the earlier one names what two find."""

    order: int
    name: str
    what: str
    keywords: list[str]
    patterns: list[str]
    examples: list[str]
    counter: list[str]
    check: str = "filler"
    back: int = 0


@functools.cache
def rules() -> list[Rule]:
    return [Rule(order=order, **rule) for order, rule in enumerate(_data()["rule"])]


def load() -> None:
    """Compile all that is needed now, not at the first text that needs it: a fifth of a second."""
    anchors()
    for rule in rules():
        for pattern in rule.patterns:
            compiled(pattern)


@functools.cache
def compiled(pattern: str) -> re.Pattern[str]:
    """`pattern` with its parts filled in."""
    while "<<" in pattern:
        pattern = re.sub("<<(after )?(.+?)>>", _part, pattern)
    return re.compile(pattern)


def _part(match: re.Match[str]) -> str:
    part = _data()["parts"][match[2]]
    if match[1]:
        return "|".join(f"(?<={word})|(?<={word}[ _.-])" for word in part)
    return part if isinstance(part, str) else "|".join(part)


@functools.cache
def look(name: str) -> re.Pattern[str]:
    """What a value may look like, by name: see `[looks]` in the file."""
    return compiled(_data()["looks"][name])


def hits(text: str, low: int = 0, high: int | None = None) -> Iterator[Hit]:
    """Every secret that a rule finds at a keyword in `text[low:high]`; they may overlap."""
    high = len(text) if high is None else high
    done = [low] * len(anchors())  # how far each pattern of keywords has come
    for start in range(low, high, WINDOW):
        stop, base = min(start + WINDOW, high), max(start - MARGIN, 0)
        lowered = _lowered(text[base : min(stop + MARGIN, high)])
        for number, (anchor, by_keyword) in enumerate(anchors()):
            hit = anchor.search(lowered, max(done[number], start) - base)
            while hit and base + hit.start() < stop:
                at = base + hit.start()
                found, done[number] = _at(by_keyword.get(hit[0]) or by_keyword[""], text, at)
                yield from found
                hit = anchor.search(lowered, done[number] - base)


def _lowered(text: str) -> str:
    """As long as `text`: one letter grows when lowered; an escaped line end begins a word; what a
    marker says is no keyword.
    """
    lowered = text.replace("\u0130", "i").lower().replace("\\n", "\\\n").replace("\\t", "\\\t")
    return MARKER.sub(lambda marker: "-" * len(marker[0]), lowered) if MARK in text else lowered


def _at(called: list[Rule], text: str, at: int) -> tuple[list[Hit], int]:
    """What the rules find at a keyword, and where to look for the next one."""
    found, after = [], at + 1
    for rule, match in _matches(called, text, at):
        start, secret = match.start("s"), match["s"].partition(MARK)[0]
        passed = secret != "" and passes(rule.check, secret)
        if passed:
            found.append((start, start + len(secret), rule.order, rule.name))
        if passed or (len(secret) > BLOB and " " not in secret):
            after = max(after, start + len(secret))
        if passed or not secret:
            break
    return found, after


def _matches(rules: list[Rule], text: str, at: int) -> Iterator[tuple[Rule, re.Match[str]]]:
    for rule in rules:
        for pattern in rule.patterns:
            if match := compiled(pattern).match(text, max(at - rule.back, 0)):
                yield rule, match


def passes(check: str, secret: str) -> bool:
    """The last word on what a pattern found: a checksum, chance, or a look it must not have."""
    if check == "luhn":
        digits = [int(one) for one in secret if one.isdigit()][::-1]
        return sum(digits[::2] + [sum(divmod(2 * one, 10)) for one in digits[1::2]]) % 10 == 0
    if check == "iban":
        plain = "".join(one for one in secret if one.isalnum())
        return int("".join(str(int(one, 36)) for one in plain[4:] + plain[:4])) % 97 == 1
    if check == "random":
        return len(secret) > 7 and not look("public").match(secret) and _by_chance(secret)
    return look(check).search(secret) is None


def _by_chance(secret: str) -> bool:
    """Whether letters, capitals and digits change as often as in a value that nobody chose."""
    changes = len(look("changes").findall(secret))
    if 4 * changes > len(secret) or look("solid").fullmatch(secret):
        return True
    return 8 * changes > len(secret) > 11 and passes("benign", secret)


@functools.cache
def anchors() -> list[tuple[re.Pattern[str], dict[str, list[Rule]]]]:
    """Patterns that find every keyword in lower-case text, and the rules that each one calls.

    A keyword calls the rules of its beginnings, too: only the longest is found at a place. What
    the look `bare` finds calls those under ""; a keyword may be the beginning of it.
    """
    begins: dict[str, list[Rule]] = {}
    inside: dict[str, list[Rule]] = {}
    for rule in rules():
        for keyword in rule.keywords:
            where = begins if keyword[0].isalnum() else inside
            where.setdefault(keyword.removeprefix("*"), []).append(rule)
    bare = [rule for rule in rules() if not rule.keywords]
    first = f"(?<![a-z0-9])(?:{_any(begins)}|{look('bare').pattern})"
    return [
        (re.compile(first), {"": bare} | {word: _calls(begins, word) + bare for word in begins}),
        (re.compile(_any(inside)), {word: _calls(inside, word) for word in inside}),
    ]


def _calls(by_keyword: dict[str, list[Rule]], longest: str) -> list[Rule]:
    found = [many for keyword, many in by_keyword.items() if longest.startswith(keyword)]
    return sorted(chain(*found), key=lambda rule: rule.order)


def _any(words: Collection[str]) -> str:
    """A pattern for the longest of `words`, as a tree: each letter is compared once for all."""
    heads = groupby(sorted({*words} - {""}), key=lambda word: word[0])
    tree = "|".join(re.escape(head) + _any([one[1:] for one in many]) for head, many in heads)
    return f"(?:{tree}){'?' * ('' in words)}" if tree else ""


@functools.cache
def _data() -> dict[str, Any]:
    file = resources.files("memoryd").joinpath("data/secrets/rules.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))
