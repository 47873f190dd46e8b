"""Time words in a query to soft preferences: which spans of time it speaks of, relative to `now`.

Nothing here removes a candidate: a span lifts what lies in it. English only, but an ISO date works
in any language.

>>> from datetime import UTC
>>> [span] = preferences("What did we decide in May 2023?", datetime(2024, 2, 1, tzinfo=UTC))
>>> str(span.start), str(span.end), span.words
('2023-05-01 00:00:00+00:00', '2023-06-01 00:00:00+00:00', 'in may 2023')
"""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

GRACE = timedelta(days=14)  # people speak of a thing for about two weeks after it happened
AFTER = 0.7  # closeness within the grace, as the recipe measured it
WIDE = timedelta(days=100)  # longer than a season or a quarter: a year, "since March"
WIDE_WEIGHT = 0.5  # so much lies in a wide span that lying in it says less
EARLIER_WEIGHT = 0.8  # "in May" means the last one, but may mean an earlier one
YEARS_BACK = 20  # how many of those there are: one span a year, the latest first
MAX_MENTIONS = 16  # of dates, or of anchors, in one query; a question has one or two

_EARLIEST = date(1900, 1, 1)  # of "before": no earlier year is understood
_DAY = timedelta(days=1)
_UNITS = {"day": _DAY, "week": 7 * _DAY, "month": 30 * _DAY, "year": 365 * _DAY}
_UNITS |= {"fortnight": 14 * _DAY, "weekend": 7 * _DAY, "quarter": 91 * _DAY}
_UNIT = f"(?:{'|'.join(_UNITS)})"
_MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # the northern ones
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "couple of": 2, "a couple of": 2, "three": 3}
_NUMBERS |= {"few": 3, "a few": 3, "several": 4, "this": 0, "last": 1, "past": 1}
_NUMBERS |= {"four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_NUMBERS |= {"eleven": 11, "twelve": 12}
_NAMED = {"today": "this day", "yesterday": "last day", "last night": "last day"}
_NAMED |= {"this morning": "this day", "day before yesterday": "two day"}

_LEAD = "in|on|of|by|during|the|and|to|last|this|before|after|since|until|between|from"
_MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_SEASON = f"(?:{'|'.join(_SEASONS)}|q[1-4])"
_YEAR = r"(?:19|20)\d\d"
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)?"
_COUNT = rf"(?:\d{{1,3}}|{'|'.join(_NUMBERS)}) {_UNIT}s?"
_MENTION = re.compile(
    rf"(?<![\w.:/#$-])(?P<lead>(?:(?:{_LEAD}) ){{0,3}})(?:"
    rf"(?P<iso>{_YEAR}[-/]\d\d?(?:[-/]\d\d?)?)(?:t[\d:.+z-]{{1,30}})?"
    rf"|(?P<ago>{'|'.join(_NAMED)}|(?:last|this|past) {_UNIT}|{_COUNT}(?= ago))"
    rf"|(?:last|past) (?P<trailing>{_COUNT})|(?P<weekday>{'|'.join(_WEEKDAYS)})"
    rf"|(?P<month>(?:{_ORDINAL} (?:of )?)?{_MONTH}\b\.?(?: {_ORDINAL}(?![\d:]))?(?:,? {_YEAR})?)"
    rf"|(?P<season>{_SEASON}(?: (?:of )?{_YEAR})?)|(?P<year>{_YEAR})"
    r")(?![\w%]|[-.:/]\w)"
)
# Words that are seldom a date when they stand alone: "may", "march on", "spring", "the fall of".
_VAGUE = re.compile(rf"\w{{3}}\.?|march|{_SEASON}")
_RELATION = "(?:before|after|since|until|during)"
_ANCHOR = re.compile(rf"\b{_RELATION}(?: (?!{_RELATION} |and )[\w'-]+){{1,6}}")

_Range = tuple[date, date]  # the first day, and the day after the last


@dataclass(frozen=True, slots=True)
class Span:
    """A time a query speaks of: from `start`, up to but not including `end`."""

    start: datetime
    end: datetime
    weight: float
    words: str
    grace: timedelta = GRACE  # how long after `end` a text still counts as near


class _Mention(NamedTuple):
    at: range
    words: str
    lead: set[str]
    ranges: list[_Range]  # the latest first; several where the words name no year


def preferences(query: str, now: datetime) -> list[Span]:
    """The spans of time that `query` names, in the time zone of `now`, which must carry one.

    A day, month or season without a year gives its latest past occurrence at full weight and those
    of the years before at `EARLIER_WEIGHT`. "Before" and "since" give one span, up to a date or
    from it until today.
    """
    spans: list[Span] = []
    for mention in _joined(_mentions(_plain(query), now.date())):
        for nth, (start, end) in enumerate(_bounded(mention, now.date())):
            weight = WIDE_WEIGHT if end - start > WIDE else EARLIER_WEIGHT if nth else 1.0
            grace = timedelta(0) if start == _EARLIEST else GRACE
            first, last = (datetime.combine(day, time.min, now.tzinfo) for day in (start, end))
            spans.append(Span(first, last, weight, mention.words, grace))
    return spans


def anchors(query: str, now: datetime) -> list[str]:
    """Phrases that place a query in time by something other than a date: "before the migration".

    When that was, the log knows: `anchored` makes a span of it.
    """
    text = _plain(query)
    dated = [mention.at for mention in _mentions(text, now.date())]
    found = islice(_ANCHOR.finditer(text), MAX_MENTIONS)
    return [match[0] for match in found if not any(match.start() in at for at in dated)]


def anchored(phrase: str, moment: datetime, now: datetime) -> Span:
    """The span that `phrase` means, if what it speaks of was at `moment`.

    >>> from datetime import UTC
    >>> done = datetime(2024, 3, 1, tzinfo=UTC)
    >>> str(anchored("before the migration", done, done).end)
    '2024-03-01 00:00:00+00:00'
    """
    relation = phrase.partition(" ")[0]
    if relation == "during":
        return Span(moment - _DAY, moment + _DAY, 1.0, phrase)
    if relation in ("before", "until"):
        first = datetime.combine(_EARLIEST, time.min, now.tzinfo)
        return Span(first, moment, WIDE_WEIGHT, phrase, timedelta(0))
    return Span(moment, max(moment, now) + _DAY, WIDE_WEIGHT, phrase)


def closeness(spans: Sequence[Span], ts: datetime) -> float:
    """1 inside a span, `AFTER` in the grace after it, else 0; times its weight; the best of all."""
    return float(closeness_many(spans, np.array([math.floor(ts.timestamp())]))[0])


def closeness_many(spans: Sequence[Span], epochs: NDArray[np.int64]) -> NDArray[np.float64]:
    """`closeness` of many times at once, given as whole seconds since 1970 UTC."""
    best = np.zeros(epochs.shape)
    for span in spans:
        start, end = span.start.timestamp(), span.end.timestamp()
        near = (epochs >= start) & (epochs < end + span.grace.total_seconds())
        np.maximum(best, span.weight * near * np.where(epochs < end, 1.0, AFTER), out=best)
    return best


def _plain(query: str) -> str:
    return " ".join(query.lower().split())


def _mentions(text: str, today: date) -> list[_Mention]:
    return [
        _Mention(range(*match.span()), match[0], lead, ranges)
        for match in islice(_MENTION.finditer(text), MAX_MENTIONS)
        if (kind := match.lastgroup)
        and (ranges := _ranges(kind, match[kind], lead := {*match["lead"].split()}, today))
    ]


def _joined(mentions: list[_Mention]) -> Iterator[_Mention]:
    """The mentions, with each "between A" and the "and B" right after it made one."""
    while mentions:
        first, *mentions = mentions
        if (
            mentions
            and mentions[0].at.start == first.at.stop + 1
            and first.lead & {"between", "from"}
            and mentions[0].lead & {"and", "to"}
        ):
            last, *mentions = mentions
            start, end = last.ranges[0]
            # "between May and July 2023": the first takes its year from the second.
            start = next((day for day, _ in first.ranges if day <= start), start)
            first = _Mention(first.at, f"{first.words} {last.words}", set(), [(start, end)])
        yield first


def _bounded(mention: _Mention, today: date) -> list[_Range]:
    start, end = mention.ranges[0]
    if mention.lead & {"before", "until"}:
        end = start if "before" in mention.lead else end
        return [(min(_EARLIEST, end), end)]
    if mention.lead & {"after", "since"}:
        start = end if "after" in mention.lead else start
        return [(start, max(start, today + _DAY))]
    return mention.ranges


def _ranges(kind: str, words: str, lead: set[str], today: date) -> list[_Range]:
    """What the words mean; nothing where they are no date after all: "may", 31 February."""
    if kind in {"month", "season"}:
        return _yearly(words, lead, today)
    try:
        return [_absolute(words) if kind in {"iso", "year"} else _relative(kind, words, today)]
    except (ValueError, OverflowError):
        return []


def _yearly(words: str, lead: set[str], today: date) -> list[_Range]:
    named = [int(year) for year in re.findall(_YEAR, words)]
    if not named and _VAGUE.fullmatch(words) and not lead - {"the"}:
        return []
    found: list[_Range] = []
    for year in named or range(today.year, max(0, today.year - YEARS_BACK), -1):
        with suppress(ValueError):  # 29 February is not in every year
            found.append(_in_year(words, year))
    over = [dates for dates in found if dates["last" in lead] <= today]
    return found if named else over[:1] if lead & {"last", "this"} else over


def _in_year(words: str, year: int) -> _Range:
    name = re.findall(rf"{_MONTH}\b|{_SEASON}", words)[0]
    if name in _SEASONS or name[0] == "q":
        return _months(year, _SEASONS.get(name) or 3 * int(name[1]) - 2, 3)
    day = re.findall(r"\b\d{1,2}(?!\d)", words)
    month = _MONTHS.index(name[:3]) // 3 + 1
    return _days(date(year, month, int(day[0])), 1) if day else _months(year, month, 1)


def _absolute(words: str) -> _Range:
    year, *rest = (int(number) for number in re.split("[-/]", words))
    if not rest:
        return _months(year, 1, 12)
    return _days(date(year, *rest), 1) if len(rest) > 1 else _months(year, rest[0], 1)


def _relative(kind: str, words: str, today: date) -> _Range:
    if kind == "weekday":
        back = (today.weekday() - _WEEKDAYS.index(words) - 1) % 7 + 1
        return _days(today - back * _DAY, 1)
    number, unit = _NAMED.get(words, words).rstrip("s").rsplit(" ", 1)
    back = _NUMBERS[number] if number in _NUMBERS else int(number)
    if kind == "trailing":
        return today - back * _UNITS[unit], today + _DAY
    monday = today - (today.weekday() + 7 * back) * _DAY
    if unit in ("day", "fortnight"):
        return _days(today - back * _UNITS[unit], 1)
    if unit in ("week", "weekend"):
        return _days(monday, 7) if unit == "week" else _days(monday + 5 * _DAY, 2)
    if unit == "quarter":
        return _months(today.year, (today.month - 1) // 3 * 3 + 1 - 3 * back, 3)
    return (
        _months(today.year - back, 1, 12)
        if unit == "year"
        else _months(today.year, today.month - back, 1)
    )


def _months(year: int, month: int, count: int) -> _Range:
    first = year * 12 + month - 1
    last = first + count
    return date(first // 12, first % 12 + 1, 1), date(last // 12, last % 12 + 1, 1)


def _days(first: date, count: int) -> _Range:
    return first, first + count * _DAY
