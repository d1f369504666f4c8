"""Durations, moments and digests: the small grammars inside the grammar."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from boto3.dynamodb.types import Binary
from hypothesis import given
from hypothesis import strategies as st

from everdue.core.grammar import active_from, digest
from everdue.core.grammar.duration import duration_text, duration_us
from everdue.core.grammar.moments import value_us

ANY = {"least_us": -(10**18), "most_us": 10**18}


@pytest.mark.parametrize(
    ("value", "us"),
    [
        ("45s", 45_000_000),
        ("15m", 900_000_000),
        ("1h30m", 5_400_000_000),
        ("1d", 86_400_000_000),
        ("1w", 604_800_000_000),
        ("1w2d3h4m5s", 788_645_000_000),
        ("90m", 5_400_000_000),
        ("1.5s", 1_500_000),
        ("0.000001s", 1),
        ("1h0.25s", 3_600_250_000),
        ("0s", 0),
        ("-1h30m", -5_400_000_000),
        ("+5s", 5_000_000),
        (" 5s ", 5_000_000),
        ("60", 60_000_000),
        ("-60", -60_000_000),
        ("1.5", 1_500_000),
        (Decimal(60), 60_000_000),
        (Decimal("0.000001"), 1),
        (Decimal("1E+2"), 100_000_000),
        (Decimal("1.10"), 1_100_000),
        (Decimal("0E-90"), 0),
        (60, 60_000_000),
        (0.1, 100_000),
        (1e-6, 1),
    ],
)
def test_a_duration_is_exact(value: Any, us: int) -> None:
    """On integers: a float would put the millionth run of an interval a microsecond off."""
    assert duration_us({"every": value}, "every", **ANY) == us


@given(st.integers(min_value=-(10**15), max_value=10**15))
def test_a_duration_that_is_written_reads_back(us: int) -> None:
    """`everdue get` shows what `everdue put` takes."""
    assert duration_us({"every": duration_text(us)}, "every", **ANY) == us


def test_an_absent_duration_is_none() -> None:
    """Not zero: defaults differ."""
    assert duration_us({}, "every", least_us=0) is None


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-12-01T09:00:00Z", "2026-12-01T09:00:00+00:00"),
        ("2026-12-01t09:00:00z", "2026-12-01T09:00:00+00:00"),
        ("2026-12-01T09:00:00.000001+05:30", "2026-12-01T03:30:00.000001+00:00"),
        ("2026-12-01T09:00-0500", "2026-12-01T14:00:00+00:00"),
        ("2026-12-01T09:00+01", "2026-12-01T08:00:00+00:00"),
        ("2026-12-01T09:00", "2026-12-01T08:00:00+00:00"),
        ("2026-12-01 09:00:30,5", "2026-12-01T08:00:30.500000+00:00"),
        ("2026-07-01", "2026-06-30T22:00:00+00:00"),
        ("2026-03-29T02:30", "2026-03-29T01:00:00+00:00"),  # skipped: the first moment after the gap
        ("2026-03-29T01:59:59.999999", "2026-03-29T00:59:59.999999+00:00"),
        ("2026-03-29T03:00", "2026-03-29T01:00:00+00:00"),
        ("2026-10-25T02:30", "2026-10-25T00:30:00+00:00"),  # happens twice: the first
        ("1796115600", "2026-12-01T09:00:00+00:00"),
        ("1796115600.000001", "2026-12-01T09:00:00.000001+00:00"),
        (Decimal(0), "1970-01-01T00:00:00+00:00"),
        (Decimal("-0.000001"), "1969-12-31T23:59:59.999999+00:00"),
        (Decimal("1796115600.000001"), "2026-12-01T09:00:00.000001+00:00"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999+00:00"),
    ],
)
def test_a_moment_is_exact_and_local_to_the_zone_where_it_has_no_offset(value: Any, moment: str) -> None:
    """In Berlin; a naive moment never depends on the machine that reads it."""
    expected = datetime.fromisoformat(moment) - datetime(1970, 1, 1, tzinfo=UTC)
    us = value_us(value, "at", ZoneInfo("Europe/Berlin"))
    assert us == expected.days * 86_400_000_000 + expected.seconds * 1_000_000 + expected.microseconds


@pytest.mark.parametrize(
    ("zone", "skipped", "after"),
    [
        ("America/New_York", "2026-03-08T02:30", "2026-03-08T07:00:00+00:00"),
        ("Australia/Lord_Howe", "2026-10-04T02:10", "2026-10-03T15:30:00+00:00"),  # half an hour
        ("Pacific/Apia", "2011-12-30T12:00", "2011-12-30T10:00:00+00:00"),  # a whole day
        ("America/Sao_Paulo", "2018-11-04T00:00", "2018-11-04T03:00:00+00:00"),  # at midnight
    ],
)
def test_a_skipped_moment_is_the_first_after_the_gap(zone: str, skipped: str, after: str) -> None:
    """Whatever the gap's length and hour."""
    expected = datetime.fromisoformat(after).timestamp()
    assert value_us(skipped, "at", ZoneInfo(zone)) == round(expected * 1_000_000)


def test_active_from_is_read_without_the_rest() -> None:
    """The source needs it for every row, also for one whose rule is refused."""
    item = {"id": "a", "cron": "nonsense", "active_from": "2026-12-01T09:00", "timezone": "Europe/Berlin"}
    assert active_from(item) == 1_796_112_000_000_000
    assert active_from({"id": "a"}) is None


BASE = {"id": "a", "every": Decimal(60), "payload": {"x": [Decimal("1.5"), "s", None, True]}}


@pytest.mark.parametrize(
    "change",
    [
        {"every": Decimal(61)},
        {"every": "60"},
        {"payload": {"x": [Decimal("1.5"), "s", None, False]}},
        {"payload": {"x": ["1.5", "s", None, True]}},
        {"payload": {"y": [Decimal("1.5"), "s", None, True]}},
        {"payload": {"x": [Decimal("1.5"), "s", None]}},
        {"payload": {"x": [Decimal("1.5"), "s", True, None]}},
        {"timezone": "UTC"},
        {"spread": Decimal(0)},
        {"exclude": {"2026-12-25"}},
        {"version": Decimal(2)},
        {"active_from": "2026-12-01"},
        {"overlap": "skip"},
        {"catch_up": "all"},
        {"recover": Decimal(1)},
        {"stale_after": Decimal(1)},
        {"enabld": True},
    ],
    ids=str,
)
def test_an_edit_of_when_or_what_changes_the_digest(change: dict[str, Any]) -> None:
    """Also where the writer left its own version as it was (W14b)."""
    assert digest({**BASE, "version": Decimal(1)}) != digest({**BASE, "version": Decimal(1), **change})


@pytest.mark.parametrize(
    "change", [{"description": "x"}, {"tags": {"a": "b"}}, {"on_done": "keep"}, {"enabled": False}], ids=str
)
def test_words_for_people_and_the_switch_do_not_change_the_digest(change: dict[str, Any]) -> None:
    """Rule 9: an edit of a description moves nothing. The switch travels beside the version."""
    assert digest(BASE) == digest({**BASE, **change})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}),
        ({Decimal("1"), Decimal("20")}, {Decimal("20.0"), Decimal("1.00")}),
        ({"x", "y", "z"}, {"z", "y", "x"}),
        (Decimal("1.50"), Decimal("1.5")),
        (Decimal("1E+2"), Decimal("100")),
        (Decimal("0.0"), Decimal("-0E+5")),
        (Decimal(7), 7),
        (1.5, Decimal("1.5")),
        (Binary(b"x"), b"x"),
    ],
    ids=repr,
)
def test_the_same_value_written_otherwise_has_the_same_digest(one: Any, other: Any) -> None:
    """DynamoDB keeps no order of keys and sets, and writes numbers its own way; each read would be an edit."""
    assert digest({"payload": one}) == digest({"payload": other})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", Decimal(1)),
        (True, Decimal(1)),
        (None, ""),
        (["a", "b"], ["ab"]),
        (["a", ["b"]], [["a"], "b"]),
        ({"a": "b"}, ["a", "b"]),
        ({"a"}, ["a"]),
        (b"a", "a"),
        ([], {}),
        (Decimal(10), Decimal(1)),
        (Decimal("0.1"), Decimal(1)),
        ("S1:a", "a"),
        (Decimal(-1), Decimal(1)),
        (Decimal("12345678901234567890123456789012345678"), Decimal("12345678901234567890123456789012345679")),
    ],
    ids=repr,
)
def test_different_values_never_share_a_digest(one: Any, other: Any) -> None:
    """Type and length are part of it; an edit from one to the other is an edit."""
    assert digest({"payload": one}) != digest({"payload": other})


def test_a_set_is_digested_in_one_order() -> None:
    """Python's order of strings differs from process to process: each restart would be an edit. By hand, as below."""
    assert digest({"payload": set("hgfedcba")}) == "e47b4beba394aee5ed3dd373924594ca"


def test_a_digest_is_the_same_in_every_version() -> None:
    """It is the version of every schedule whose writer keeps none: were it to change with the code, each deployment
    would be an edit of all schedules. SHA-256, by hand, of `S5:everyN6e1;S2:idS1:a`, the first 32 digits."""
    assert digest({"id": "a", "every": Decimal(60)}) == "4f43c3ae33b4f3e927277fecc4793971"
