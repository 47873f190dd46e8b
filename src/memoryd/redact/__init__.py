"""Secrets in a text → `[redacted:<rule>]` in their place, so that the sentence still reads.

What a secret is, the rules say (`rules.py`, `data/secrets/rules.toml`). A text is filtered whole,
before it is cut into chunks, so that no boundary can hide a secret. Where a function takes `seen`,
it adds the names of the rules that found something.
"""

import functools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from memoryd.core import errors
from memoryd.redact import base64_texts, disguised, rules, tables
from memoryd.redact.rules import MARK

PASSES = 8  # a redaction can lay bare what it overlapped; two are the rule, the rest is a margin
NEAR = 600  # characters around the redactions, where the next pass looks again


@dataclass(frozen=True)
class Finding:
    """`text[start:end]` is what the rule calls a secret."""

    rule: str
    start: int
    end: int


def text(given: str, seen: set[str] | None = None) -> str:
    """`given` without its secrets; redacting the result again changes nothing.

    >>> text("the wifi password is Sommer2024! and it works")
    'the wifi password is [redacted:password] and it works'
    """
    low, rest = 0, 0
    for _ in range(PASSES):
        at, parts = 0, []
        findings = found(given, low, len(given) - rest)
        if seen is not None:
            seen.update(finding.rule for finding in findings)
        for finding in findings:
            parts += [given[at : finding.start], f"{MARK}{finding.rule}]"]
            at = finding.end
        if not findings:
            break
        low, rest = max(findings[0].start - NEAR, 0), max(len(given) - at - NEAR, 0)
        given = "".join([*parts, given[at:]])
    return given


def value(given: Any, name: str = "", seen: set[str] | None = None) -> Any:
    """JSON without its secrets, the names of its entries too; `name` is what `given` is called.

    >>> value({"user": "bob", "password": "hunter2", "note": "token_count = 512"})
    {'user': 'bob', 'password': '[redacted:password]', 'note': 'token_count = 512'}
    """
    if isinstance(given, dict):
        said = given.get("name", given.get("key"))  # {"key": "token", "value": "…"}
        called = text(said) if isinstance(said, str) and "value" in given else name
        kept: dict[str, Any] = {}
        for key, inner in given.items():
            clean = text(key, seen)
            clean = f"{clean} {len(kept)}" if clean in kept else clean  # two keys, one marker
            kept[clean] = value(inner, called if key == "value" else clean, seen)
        return kept
    if isinstance(given, list | tuple):
        whole = len(given) > 1 and all(isinstance(inner, str) for inner in given)
        return [value(inner, name, seen) for inner in (_lines(given, seen) if whole else given)]
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return given
    return _entry(given, name, seen)


def _lines(given: Sequence[str], seen: set[str] | None) -> list[str]:
    """Without the secrets that show when the entries are read together, as a notebook's lines."""
    kept = list(given)
    ends = list(accumulate(len(line) + 1 for line in given))
    for finding in reversed(found("\n".join(given))):
        first, last = bisect_right(ends, finding.start), bisect_right(ends, finding.end - 1)
        for at in range(first, last + 1):
            begin, line = ends[at] - len(given[at]) - 1, kept[at]
            low, high = max(finding.start - begin, 0), finding.end - begin
            kept[at] = f"{line[:low]}{MARK}{finding.rule}]{line[high:]}"
        if seen is not None:
            seen.add(finding.rule)
    return kept


def _entry(given: str | float, name: str, seen: set[str] | None) -> str | float:
    if isinstance(given, str) and given and rules.look("telling").search(name) and _meant(given):
        if seen is not None:
            seen.add("password")
        return f"{MARK}password]"
    clean = text(f"{name}: {given}", seen).removeprefix(f"{name}: ")
    return given if clean == str(given) else clean


def _meant(given: str) -> bool:
    """Whether it is a secret and not a type, a placeholder or a sentence about one."""
    return rules.passes("benign", rules.MARKER.sub("hidden", given))


def masked(given: str, seen: set[str]) -> str:
    """`given` with its secrets overwritten, so that it keeps its length."""
    for _ in range(PASSES):
        at, parts = 0, []
        for finding in found(given):
            seen.add(finding.rule)
            parts += [given[at : finding.start], _mask(finding)]
            at = finding.end
        clean = "".join([*parts, given[at:]])
        if clean == given:
            break
        given = clean
    return given


def _mask(finding: Finding) -> str:
    size, mark = finding.end - finding.start, f"{MARK}{finding.rule}]"
    return mark[:size].ljust(size, "*") if size >= len(MARK) else "*" * size


def refuse(**handles: str | None) -> None:
    """Refuse what names a thing and holds a secret: it could not be found under a marker."""
    for field, given in handles.items():
        if given is not None:
            _check(field, given)


@functools.lru_cache(maxsize=4_096)  # most names come again; what is refused is not kept
def _check(field: str, given: str) -> None:
    if findings := found(given):
        raise errors.Invalid(
            f"it looks like a secret ({findings[0].rule}), and secrets are not stored; choose "
            "another value",
            field=field,
        )


def found(given: str, low: int = 0, high: int | None = None) -> list[Finding]:
    """The secrets of one pass, in order and apart; of those that overlap, the first rule names.

    Their keywords are looked for in `given[low:high]`.
    """
    kept: list[rules.Hit] = []
    hits = [*_plain(given, low, high), *_encoded(given, low, high), *_as_it_looks(given, low, high)]
    for start, end, order, name in sorted(hits):
        if kept and start < kept[-1][1]:
            first, last, rank, said = kept.pop()
            kept.append((first, max(last, end), *min((rank, said), (order, name))))
        else:
            kept.append((start, end, order, name))
    return [Finding(name, start, end) for start, end, _, name in kept]


def _plain(given: str, low: int, high: int | None) -> Iterator[rules.Hit]:
    yield from rules.hits(given, low, high)
    for start, end, name in tables.within(given, low, len(given) if high is None else high):
        yield start, end, len(rules.rules()), name


def _as_it_looks(given: str, low: int, high: int | None) -> Iterator[rules.Hit]:
    """What shows when letters that look like others, and invisible ones, are read as they look."""
    high = len(given) if high is None else high
    for start in range(low, high, rules.WINDOW):
        read = disguised.read(given, start, min(start + rules.WINDOW + rules.MARGIN, high))
        for begin, end, order, name in _plain(read.looks, 0, None) if read else ():
            if read and (first := read.place(begin)) in read.near:
                yield first, read.place(end - 1) + 1, order, name


def _encoded(given: str, low: int, high: int | None) -> Iterator[rules.Hit]:
    """What is text in base64 and holds a secret, whole: the rest of it can hardly be read."""
    for start, end, plain in base64_texts.within(given, low, len(given) if high is None else high):
        findings = found(plain)
        if findings:
            yield start, end, len(rules.rules()), findings[0].rule
