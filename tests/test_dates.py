import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.search import dates

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2024, 2, 14, 15, 30, tzinfo=BERLIN)  # a Wednesday


def days(query: str, now: datetime = NOW) -> list[tuple[str, str]]:
    """The first and the last day of each span that the query names."""
    return [
        (f"{span.start:%Y-%m-%d}", f"{span.end - timedelta(days=1):%Y-%m-%d}")
        for span in dates.preferences(query, now)
    ]


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("What did I eat yesterday?", "2024-02-13", "2024-02-13"),
        ("today", "2024-02-14", "2024-02-14"),
        ("the day before yesterday", "2024-02-12", "2024-02-12"),
        ("who called last night", "2024-02-13", "2024-02-13"),
        ("plans of last week", "2024-02-05", "2024-02-11"),
        ("this week", "2024-02-12", "2024-02-18"),
        ("last month", "2024-01-01", "2024-01-31"),
        ("last year", "2023-01-01", "2023-12-31"),
        ("3 days ago", "2024-02-11", "2024-02-11"),
        ("two weeks ago", "2024-01-29", "2024-02-04"),
        ("a couple of months ago", "2023-12-01", "2023-12-31"),
        ("14 months ago", "2022-12-01", "2022-12-31"),
        ("a year ago", "2023-01-01", "2023-12-31"),
        ("in the last two weeks", "2024-01-31", "2024-02-14"),
        ("in May 2023", "2023-05-01", "2023-05-31"),
        ("May 2023", "2023-05-01", "2023-05-31"),
        ("Dec. 2022", "2022-12-01", "2022-12-31"),
        ("on 5 June 2023", "2023-06-05", "2023-06-05"),
        ("the 5th of June 2023", "2023-06-05", "2023-06-05"),
        ("June 5, 2023", "2023-06-05", "2023-06-05"),
        ("On May 7, 2023?", "2023-05-07", "2023-05-07"),
        ("2023-06-05", "2023-06-05", "2023-06-05"),
        ("at 2023-06-05T10:30:00Z", "2023-06-05", "2023-06-05"),
        ("2023/06", "2023-06-01", "2023-06-30"),
        ("What happened in 2023?", "2023-01-01", "2023-12-31"),
        ("seven days ago", "2024-02-07", "2024-02-07"),
        ("several months ago", "2023-10-01", "2023-10-31"),
        ("a fortnight ago", "2024-01-31", "2024-01-31"),
        ("last weekend", "2024-02-10", "2024-02-11"),
        ("last quarter", "2023-10-01", "2023-12-31"),
        ("in Q3 2023", "2023-07-01", "2023-09-30"),
        ("last Friday", "2024-02-09", "2024-02-09"),
        ("on Wednesday", "2024-02-07", "2024-02-07"),
        ("in the summer of 2022", "2022-06-01", "2022-08-31"),
        ("winter 2022", "2022-12-01", "2023-02-28"),
        ("last summer", "2023-06-01", "2023-08-31"),
        ("last May", "2023-05-01", "2023-05-31"),
        ("last February", "2023-02-01", "2023-02-28"),
        ("before 5 June 2023", "1900-01-01", "2023-06-04"),
        ("until June 2023", "1900-01-01", "2023-06-30"),
        ("after May 2023", "2023-06-01", "2024-02-14"),
        ("since May 2023", "2023-05-01", "2024-02-14"),
        ("since March", "2023-03-01", "2024-02-14"),
        ("between May and July 2023", "2023-05-01", "2023-07-31"),
        ("between November and February 2023", "2022-11-01", "2023-02-28"),
        ("between 2023-01-10 and 2023-02-01", "2023-01-10", "2023-02-01"),
        ("from May to July", "2023-05-01", "2023-07-31"),
    ],
)
def test_time_words_name_one_span(query: str, first: str, last: str) -> None:
    assert days(query) == [(first, last)]


@pytest.mark.parametrize("query", ["in May", "What did we plan in june?", "5 June", "in summer"])
def test_a_date_without_a_year_recurs_with_the_latest_past_one_first(query: str) -> None:
    spans = dates.preferences(query, NOW)

    assert len(spans) > 10
    assert spans[0].start.year == 2023
    assert spans[1].start.year == 2022
    assert [span.weight for span in spans[:3]] == [1.0, dates.EARLIER_WEIGHT, dates.EARLIER_WEIGHT]


def test_the_29th_of_february_recurs_only_in_leap_years() -> None:
    found = days("on february 29")

    assert found[:2] == [("2020-02-29", "2020-02-29"), ("2016-02-29", "2016-02-29")]


def test_two_dates_give_two_spans() -> None:
    found = days("Compare May 2022 with 3 June 2023")

    assert found == [("2022-05-01", "2022-05-31"), ("2023-06-03", "2023-06-03")]


@pytest.mark.parametrize(
    "query",
    [
        *("", "May I ask?", "we march on", "spring boot", "the fall of Rome", "v2023.1", "$2000"),
        *(
            "31 February 2023",
            "2023-13-45",
            "port 2023/tcp",
            "it took 3 weeks",
            "the week",
            "issue",
        ),
    ],
)
def test_words_that_are_no_date_name_no_span(query: str) -> None:
    assert days(query) == []


def test_an_unknown_anchor_gives_its_phrase_and_no_span() -> None:
    query = "Which database did we use before the migration, and since Tom's visit?"

    assert dates.preferences(query, NOW) == []
    assert dates.anchors(query, NOW) == ["before the migration", "since tom's visit"]


def test_a_date_is_not_an_anchor() -> None:
    query = "What changed after May 2023 and before the launch?"

    assert dates.anchors(query, NOW) == ["before the launch"]


def test_spans_lie_in_the_time_zone_of_now() -> None:
    late = datetime(2024, 2, 14, 23, 30, tzinfo=UTC)
    [here] = dates.preferences("today", late)
    [there] = dates.preferences("today", late.astimezone(BERLIN))

    assert here.start.isoformat() == "2024-02-14T00:00:00+00:00"
    assert there.start.isoformat() == "2024-02-15T00:00:00+01:00"


def test_a_month_with_a_clock_change_starts_and_ends_at_midnight() -> None:
    [span] = dates.preferences("March 2023", NOW)

    assert span.start.isoformat() == "2023-03-01T00:00:00+01:00"
    assert span.end.isoformat() == "2023-04-01T00:00:00+02:00"


@pytest.mark.parametrize(
    ("ts", "expected"),
    [
        (datetime(2023, 4, 30, 23, 59, 59, tzinfo=BERLIN), 0.0),
        (datetime(2023, 5, 1, tzinfo=BERLIN), 1.0),
        (datetime(2023, 5, 31, 23, 59, 59, 999_999, tzinfo=BERLIN), 1.0),
        (datetime(2023, 6, 1, tzinfo=BERLIN), dates.AFTER),
        (datetime(2023, 6, 14, 23, tzinfo=BERLIN), dates.AFTER),
        (datetime(2023, 6, 15, tzinfo=BERLIN), 0.0),
    ],
)
def test_closeness_is_one_inside_and_less_for_two_weeks_after(
    ts: datetime, expected: float
) -> None:
    spans = dates.preferences("in May 2023", NOW)

    assert dates.closeness(spans, ts) == expected


def test_nothing_after_a_before_is_close() -> None:
    spans = dates.preferences("before May 2023", NOW)

    assert dates.closeness(spans, datetime(2023, 4, 30, tzinfo=BERLIN)) == dates.WIDE_WEIGHT
    assert dates.closeness(spans, datetime(2023, 5, 1, tzinfo=BERLIN)) == 0


def test_no_spans_means_no_closeness() -> None:
    assert dates.closeness([], NOW) == 0
    assert dates.closeness_many([], np.array([0, 1])).tolist() == [0, 0]


def test_closeness_of_many_is_the_best_of_all_spans() -> None:
    spans = dates.preferences("in May 2023 or 2023", NOW)
    times = [datetime(2023, 5, 9, tzinfo=UTC), datetime(2023, 9, 1, tzinfo=UTC), NOW]
    epochs = np.array([int(ts.timestamp()) for ts in times])

    found = dates.closeness_many(spans, epochs)

    assert found.tolist() == [1.0, dates.WIDE_WEIGHT, 0.0]


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "between 2023 and ",
            "in the ",
            "1",
            "5 ",
            " ",
            "may ",
            "before ",
            "a couple of ",
            "last ",
        ),
        *("2023-", "before x-", "x", "before may ", "\u0130"),
    ],
)
def test_a_hostile_query_takes_linear_time_and_few_spans(unit: str) -> None:
    query = unit * (100_000 // len(unit))
    began = time.process_time()
    spans = dates.preferences(query, NOW)
    phrases = dates.anchors(query, NOW)

    assert time.process_time() - began < 2
    assert len(spans) <= dates.MAX_MENTIONS * dates.YEARS_BACK
    assert len(phrases) <= dates.MAX_MENTIONS


WORDS = (
    "in on the last this past before after since between and to from 3 999 a few days weeks month "
    "years ago may june 31 february 29 2023 1900 2023-02-30 summer fall of friday yesterday , ?"
)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(WORDS.split())).map(" ".join) | st.text(),
    st.datetimes(timezones=st.timezones()),
)
def test_any_query_at_any_time_gives_ordered_aware_spans(query: str, now: datetime) -> None:
    spans = dates.preferences(query, now)
    dates.anchors(query, now)
    close = dates.closeness(spans, now)

    assert all(span.start.date() <= span.end.date() for span in spans)
    assert all(span.start.tzinfo is now.tzinfo for span in spans)
    assert all(0 < span.weight <= 1 for span in spans)
    assert 0 <= close <= 1
