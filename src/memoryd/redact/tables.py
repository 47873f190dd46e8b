"""Tables with a column of secrets: CSV, Markdown, what database clients print, SQL's `insert`.

The word that tells stands once, in the head; the rules, which look beside a word, see only that.
"""

import re
from collections.abc import Callable, Iterator

from memoryd.redact import rules

Cell = tuple[int, int]  # start, end
Judge = Callable[[str], bool]

WIDEST = 256  # characters of a head's cell, and more
LONGEST = 4_096  # characters of a line: a longer one is no table's

# In the head, a cell of its own that says what stands below: a password, or a key or token.
_CHOSEN = (
    r"pass(?:word|wd|wort|phrase|code)?|pwd|pw|kennwort|mot de passe|mdp|contrase[nñ]a|clave|senha"
    r"|wachtwoord|has[łl]o|l[öo]senord|пароль|密[码碼]|パスワード|비밀번호"
)
_RANDOM = r"(?:api|access|secret|private)[ _-]?key|secret|token|api[ _-]?token"
_NAME = rf"(?i:{_CHOSEN}|{_RANDOM})[\"'`*]{{0,3}} {{0,40}}"
_OPEN = r" {0,40}+[\"'`*]{0,3}+"
_HEAD = re.compile(rf"[,;\t|\n]{_OPEN}(?=[pkmcswhlatпPKMCSWHLATП密パ비]){_NAME}(?=[,;\t|\r\n]|\Z)")
_FIRST = re.compile(rf"{_OPEN}{_NAME}(?=[,;\t|])")
_IS_CHOSEN = re.compile(rf"(?i){_CHOSEN}")
_IS_RANDOM = re.compile(rf"(?i){_RANDOM}")
# Beside such a column a password may be any word: the table is one of accounts.
_ACCOUNT = re.compile(
    r"(?i)(?:user|name|login|e-?mail|account|benutzer|konto|utilisateur|usuario|utente|host|url)"
)
_NAMED = re.compile(r"[^()=\[\]{}<>]{0,60}")  # what a column may be called: a call's names are none
_RULE = re.compile(r"[\s|:+=-]*\Z")  # the line under a head, or around a table
_MIXED = re.compile(r"\d|\S[!@#$%^&*~+?]|[!@#$%^&*~+?]\S")
_CELLS = {by: re.compile(rf'(?:"[^"\n]*+"|[^{re.escape(by)}\n])*+') for by in ",;\t|"}
_INSERT = re.compile(
    r"[iI](?i:nsert\s{1,4}into)\s{1,4}[\w.\"`\[\]]{1,100}\s{0,4}\(([^()]{1,1000})\)\s{0,8}"
    r"(?i:values)\s{0,8}"
)
_ROW = re.compile(r"\(((?:[^()'\r\n]|'[^'\r\n]*+'){1,4000}+)\)\s{0,8},?\s{0,8}")
_PARTS = re.compile(r"(?:'[^'\n]*+'|[^,\n])*+")


def within(given: str, low: int, high: int) -> Iterator[tuple[int, int, str]]:
    """Where each secret of a table begins and ends whose head is in `given[low:high]`, and the
    name of its kind.
    """
    at = low
    while head := (at == 0 and _FIRST.match(given)) or _next(given, at, high):
        at = head.end()
        begin, by = _begun(given, head)
        if by and (end := _end(given, begin)):
            names = [given[slice(*cell)] for cell in _cells(given, begin, end, _CELLS[by])]
            for start, stop, kind in _below(given, end + 1, _CELLS[by], names):
                at = max(at, stop)
                if kind:
                    yield start, stop, kind
    for word in ("nsert", "NSERT"):
        at = given.find(word, low, high)
        while at > 0:
            if insert := _INSERT.match(given, at - 1):
                yield from _inserted(given, insert)
            at = given.find(word, at + 1, high)


def _next(given: str, at: int, high: int) -> re.Match[str] | None:
    """The next head from `at` on, in windows: the interpreter serves nobody else meanwhile."""
    while at < high:
        seen = _HEAD.search(given, at, min(at + rules.WINDOW, high))
        if seen is None:
            at += max(rules.WINDOW - WIDEST, 1)  # one may begin where the window ends
        elif head := _HEAD.match(given, seen.start()):
            return head
        else:
            at = seen.start() + 1
    return None


def _begun(given: str, head: re.Match[str]) -> tuple[int, str]:
    """Where the line of `head` begins, and what divides its cells, if anything does."""
    first = head[0][0] if head.re is _HEAD else ""
    by = first if first in _CELLS else given[head.end() : head.end() + 1]
    if first in ("", "\n"):
        return head.start() + len(first), by if by in _CELLS else ""
    oldest = max(head.start() - LONGEST, 0)
    begin = given.rfind("\n", oldest, head.start()) + 1
    return begin, by if begin or not oldest else ""


def _end(given: str, at: int) -> int:
    """The end of the line at `at`, or 0 where it is too long."""
    end = given.find("\n", at, at + LONGEST)
    return end if end >= 0 else len(given) if len(given) - at <= LONGEST else 0


def _below(
    given: str, at: int, cell: re.Pattern[str], names: list[str]
) -> Iterator[tuple[int, int, str]]:
    """The secrets below a head, and each line's end, with no kind."""
    columns = _columns([name.strip("\"'`* \t\r") for name in names])
    while columns and at < len(given) and (end := _end(given, at)):
        cells = list(_cells(given, at, end, cell))
        if not _RULE.match(given, at, end) and len(cells) != len(names):
            return
        for column, (kind, judge) in columns.items():
            yield from _judged(given, cells[column : column + 1], kind, judge)
        yield at, end, ""
        at = end + 1


def _inserted(given: str, insert: re.Match[str]) -> Iterator[tuple[int, int, str]]:
    columns = _columns([name.strip("\"'`[] \t\r\n") for name in insert[1].split(",")], True)
    row = _ROW.match(given, insert.end()) if columns else None
    while row:
        cells = list(_cells(given, row.start(1), row.end(1), _PARTS))
        for column, (kind, judge) in columns.items():
            yield from _judged(given, cells[column : column + 1], kind, judge)
        row = _ROW.match(given, row.end())


def _cells(given: str, at: int, end: int, cell: re.Pattern[str]) -> Iterator[Cell]:
    while at <= end and (found := cell.match(given, at, end)):
        yield at, found.end()
        at = found.end() + 1


def _columns(names: list[str], quoted: bool = False) -> dict[int, tuple[str, Judge]]:
    """Which columns hold secrets, of what kind, and who judges; what is quoted may be any word."""
    if sum(map(bool, names)) < 2 - quoted or not all(_NAMED.fullmatch(name) for name in names):
        return {}
    accounts = quoted or any(_ACCOUNT.match(name) for name in names)
    found: dict[int, tuple[str, Judge]] = {}
    for at, name in enumerate(names):
        if _IS_CHOSEN.fullmatch(name):
            found[at] = ("password", _is_password if accounts else _is_mixed)
        elif _IS_RANDOM.fullmatch(name):
            found[at] = ("secret-value", lambda value: rules.passes("random", value))
    return found


def _is_password(value: str) -> bool:
    return len(value) > 2 and " " not in value and rules.passes("benign", value)


def _is_mixed(value: str) -> bool:
    return _MIXED.search(value) is not None and _is_password(value)


def _judged(
    given: str, cells: list[Cell], kind: str, judge: Judge
) -> Iterator[tuple[int, int, str]]:
    for low, high in cells:
        value = given[low:high].strip("\"'`* \t\r")
        if value and not value.startswith(rules.MARK) and judge(value):
            start = given.index(value, low, high)
            yield start, start + len(value), kind
