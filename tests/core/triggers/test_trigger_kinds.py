"""What each kind promises beyond tiling: exact arithmetic, clear refusals, values that can be shared."""

import copy
import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from everdue import At, Cron, EventBridge, Interval, Recurrence, Shifted
from everdue.core.errors import TriggerRefused
from everdue.core.moment import from_us, to_us
from everdue.core.trigger import InstantTrigger, Trigger
from everdue.core.triggers import Bounded, Excluding

NOW = datetime(2026, 12, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


class OnlyWindows:
    """A user's own trigger, due each hour."""

    recurring = True

    def occurrences_between(self, start: datetime, end: datetime) -> list[datetime]:
        return Interval(3600).occurrences_between(start, end)


MAKERS: list[Callable[[], Trigger]] = [
    lambda: Cron("0 4  * * MON", "Europe/Berlin", fold="twice"),
    lambda: Interval(0.25, NOW),
    lambda: At(NOW),
    lambda: Recurrence("FREQ=DAILY", "Europe/Berlin"),
    lambda: EventBridge("rate(5 minutes)"),
    lambda: EventBridge("cron(0 10 ? * MON-FRI *)", "Europe/Berlin"),
    lambda: Shifted(Cron("0 4 * * *"), -1.5),
    lambda: Bounded(Cron("0 4 * * *"), NOW, NOW + HOUR),
    lambda: Excluding(Cron("0 4 * * *"), [date(2026, 12, 25), NOW], "Europe/Berlin"),
]


@pytest.mark.parametrize("make", MAKERS)
def test_equal_triggers_are_one_object_and_survive_copying(make: Callable[[], Trigger]) -> None:
    """A hundred thousand schedules over a few rules must hold a few triggers, also after a pickle or a copy."""
    one, other = make(), make()
    assert one is other
    assert one == other
    assert hash(one) == hash(other)
    assert pickle.loads(pickle.dumps(one)) is one  # noqa: S301 - our own bytes
    assert copy.deepcopy(one) is one
    assert copy.copy(one) is one
    assert type(one).__name__.lstrip("_").removeprefix("Instant") in repr(one)
    assert isinstance(one, InstantTrigger)


@pytest.mark.parametrize("make", MAKERS)
def test_triggers_can_not_be_changed(make: Callable[[], Trigger]) -> None:
    """One that is shared and changed would move other people's schedules."""
    trigger = make()
    with pytest.raises(AttributeError):
        trigger.timezone = "UTC"  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        trigger.anything = 1  # type: ignore[attr-defined]
    assert not hasattr(trigger, "__dict__")


def test_different_triggers_differ() -> None:
    """Schedules are grouped by equal trigger; two that only look alike must stay apart."""
    distinct: list[Trigger] = [
        Cron("0 4 * * *"),
        Cron("0 4 * * *", "Europe/Berlin"),
        Cron("0 4 * * *", gap="skip"),
        Cron("0 4 * * *", fold="twice"),
        Interval(60),
        Interval(60, NOW + timedelta(seconds=1)),
        Shifted(Interval(60), 1),
        Shifted(Interval(60), -1),
        Bounded(Interval(60), NOW),
        Bounded(Interval(60), None, NOW),
        Excluding(Interval(60), [date(2026, 12, 1)]),
        Excluding(Interval(60), [NOW]),
    ]
    assert len(set(distinct)) == len(distinct)
    assert Interval(60) == Interval(60.0, datetime(1990, 1, 1, tzinfo=UTC)), "whole minutes all the same"


def test_an_interval_does_not_drift_in_a_thousand_million_periods() -> None:
    """0.1 s is no binary fraction: a float sum is a second off after some days, a product after some years."""
    anchor = datetime(1990, 5, 17, 3, 4, 5, 678901, tzinfo=UTC)
    for seconds in (0.1, 0.000001, 1.000001, Fraction(1, 8), Decimal("0.3"), 86_400.5):
        period = timedelta(microseconds=round(Fraction(str(seconds)) * 1_000_000))
        periods = 10**9 if period < timedelta(minutes=2) else 10**5
        due = anchor + periods * period
        assert Interval(seconds, anchor).next_us(to_us(due) - 1 + (period == timedelta(microseconds=1))) == to_us(due)


@pytest.mark.parametrize("seconds", [0, -1, 1e-9, float("nan"), float("inf"), "60", None, True, 10**40, Decimal("NaN")])
def test_what_is_no_period_is_refused(seconds: object) -> None:
    """A period of zero never ends, and one of NaN is never equal to anything."""
    with pytest.raises(TriggerRefused, match="seconds"):
        Interval(seconds)  # type: ignore[arg-type]


def test_at_runs_once_and_says_so() -> None:
    """One-shots end with their run and are never dropped by age: `recurring` is how the scheduler knows."""
    trigger = At(NOW)
    assert not trigger.recurring
    assert trigger.occurrences_between(NOW, NOW + HOUR) == [NOW]
    assert trigger.occurrences_between(NOW - HOUR, NOW) == []
    assert At.after(1.5, NOW) == At(NOW + timedelta(seconds=1.5))
    assert At.after(0).moment <= datetime.now(UTC)
    assert not Shifted(trigger, 5).recurring
    assert not EventBridge("at(2026-12-01T00:00:00)").recurring
    for wrong in (NOW.replace(tzinfo=None), "2026-12-01", None, 5):
        with pytest.raises(TriggerRefused, match="moment"):
            At(wrong)  # type: ignore[arg-type]
    with pytest.raises(TriggerRefused, match="9999"):
        At.after(4 * 10**11, NOW)


def test_wrappers_work_around_a_users_own_trigger() -> None:
    """It may know windows only. Then the wrapper claims no more: an instant would mean a search without end."""
    start, end = NOW, NOW + 3 * HOUR
    shifted = Shifted(OnlyWindows(), -1800)
    assert shifted.occurrences_between(start, end) == [NOW + HOUR * half for half in (0.5, 1.5, 2.5)]
    assert Bounded(OnlyWindows(), NOW + HOUR).occurrences_between(start, end) == [NOW + HOUR, NOW + 2 * HOUR]
    assert Excluding(OnlyWindows(), [NOW + HOUR]).occurrences_between(start, end) == [NOW, NOW + 2 * HOUR]
    for trigger in (shifted, Bounded(OnlyWindows()), Excluding(OnlyWindows(), [])):
        assert isinstance(trigger, Trigger)
        assert not isinstance(trigger, InstantTrigger)
    with pytest.raises(TriggerRefused, match="trigger"):
        Shifted("daily", 5)  # type: ignore[arg-type]


def test_an_excluded_date_is_a_local_day() -> None:
    """25 December in Auckland is over when it begins in London; the schedule's zone says which is meant."""
    trigger = Excluding(Interval(3600), [date(2026, 12, 25)], "Pacific/Auckland")
    start = datetime(2026, 12, 24, 9, tzinfo=UTC)
    found = trigger.occurrences_between(start, start + 28 * HOUR)
    # Auckland is 13 hours ahead: its 25th is from 11:00 on the 24th to 11:00 on the 25th, UTC.
    assert found == [start, start + HOUR, start + 26 * HOUR, start + 27 * HOUR]
    assert trigger.next_us(to_us(start + 2 * HOUR)) == to_us(start + 26 * HOUR)
    daily = Excluding(Interval(0.000001), [date(2026, 12, 25)])
    assert from_us(daily.next_us(to_us(datetime(2026, 12, 25, 5, tzinfo=UTC))) or 0) == datetime(
        2026, 12, 26, tzinfo=UTC
    )


def test_bounds_are_half_open() -> None:
    """As everywhere: the first moment belongs, the last does not."""
    trigger = Bounded(Interval(3600), NOW, NOW + 2 * HOUR)
    assert trigger.occurrences_between(NOW - HOUR, NOW + 5 * HOUR) == [NOW, NOW + HOUR]
    assert trigger.next_us(to_us(NOW) - 1) == to_us(NOW)
    assert trigger.next_us(to_us(NOW + HOUR) + 1) is None
    with pytest.raises(TriggerRefused, match="ends_at"):
        Bounded(Interval(60), NOW, NOW)


FACTS = [
    ("rate(1 minute)", "UTC", ["2026-12-01T00:00", "2026-12-01T00:01"]),
    ("rate(12 hours)", "UTC", ["2026-12-01T00:00", "2026-12-01T12:00"]),
    ("cron(0 10 ? * MON-FRI *)", "Europe/Berlin", ["2026-12-01T09:00", "2026-12-02T09:00"]),
    ("cron(15 12 * * ? *)", "UTC", ["2026-12-01T12:15", "2026-12-02T12:15"]),
    ("cron(0 8 1 * ? *)", "UTC", ["2026-12-01T08:00", "2027-01-01T08:00"]),
    ("cron(1/10 * * * ? *)", "UTC", ["2026-12-01T00:01", "2026-12-01T00:11", "2026-12-01T00:21"]),
    ("cron(0 0 ? * 1 *)", "UTC", ["2026-12-06T00:00", "2026-12-13T00:00"]),  # 1 is Sunday
    ("cron(0 0 ? * 3#2 *)", "UTC", ["2026-12-08T00:00", "2027-01-12T00:00"]),  # second Tuesday
    ("cron(0 0 ? * 6L *)", "UTC", ["2026-12-25T00:00", "2027-01-29T00:00"]),  # last Friday
    ("cron(0 0 ? * L *)", "UTC", ["2026-12-05T00:00", "2026-12-12T00:00"]),  # last day of the week
    ("cron(0 0 3W * ? *)", "UTC", ["2026-12-03T00:00", "2027-01-04T00:00"]),
    ("cron(0 0 L * ? 2027-2028)", "UTC", ["2027-01-31T00:00", "2027-02-28T00:00"]),
    ("cron(30 2 * * ? *)", "Europe/Berlin", ["2026-12-01T01:30"]),
    ("at(2027-01-31T09:00:00)", "America/New_York", ["2027-01-31T14:00"]),
]


@pytest.mark.parametrize(("expression", "zone", "expected"), FACTS)
def test_eventbridge_means_what_its_guide_says(expression: str, zone: str, expected: list[str]) -> None:
    """Weekdays count from Sunday = 1 there, and a step may stand after a value: read as cron, both would be wrong."""
    trigger, at_us = EventBridge(expression, zone), to_us(NOW)
    for text in expected:
        due = trigger.next_us(at_us)
        assert due is not None
        assert from_us(due) == datetime.fromisoformat(f"{text}+00:00")
        at_us = due + 1


REFUSED: list[object] = [
    *("rate(1 minutes)", "rate(5 minute)", "rate(0 minutes)", "rate(-1 days)", "rate(1.5 hours)", "rate(5 seconds)"),
    *("rate()", "cron(0 10 * * *)", "cron(0 10 * * * *)", "cron(0 10 ? * ? *)", "cron(0 10 1 * MON *)"),
    *("cron(0 10 ? * 0 *)", "cron(0 10 ? * 8 *)", "cron(0 10 ? * 3#1,6#3 *)", "cron(0 10 ? * 2/2 *)"),
    *("cron(0 10 * * ? 1969)", "cron(0 10 * * ? 2200)", "cron(0 0 30 2 ? *)", "cron(0 0 29 2 ? 2027)"),
    *("cron(60 10 * * ? *)", "at(2027-02-29T00:00:00)", "at(2027-01-01)", "at(2027-01-01T00:00:00Z)", "at(now)"),
    *("", "every day", "CRON(0 10 * * ? *)", None, 5),
]


def test_eventbridge_skips_in_spring_and_runs_once_in_autumn() -> None:
    """The clock rule that AWS documents, which is neither the default here nor Vixie's."""
    spring, autumn = datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 10, 24, 12, tzinfo=UTC)
    daily = EventBridge("cron(30 2 * * ? *)", "Europe/Berlin")
    assert daily.occurrences_between(spring, spring + 24 * HOUR) == []
    assert daily.occurrences_between(autumn, autumn + 24 * HOUR) == [datetime(2026, 10, 25, 0, 30, tzinfo=UTC)]
    often = EventBridge("cron(0/30 * * * ? *)", "Europe/Berlin")
    assert len(often.occurrences_between(autumn, autumn + 24 * HOUR)) == 46


@pytest.mark.parametrize("expression", REFUSED)
def test_what_eventbridge_would_refuse_is_refused(expression: object) -> None:
    """An imported schedule must be as it was there, or be seen to be none."""
    with pytest.raises(TriggerRefused):
        EventBridge(expression)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("expression", "cron"),
    [
        ("cron(0 10 ? * MON-FRI *)", "0 10 ? * MON-FRI"),
        ("cron(0/15 * ? * 2-6 *)", "0-59/15 0-23 ? * 1-5"),
        ("cron(0 0 ? * 6L *)", "0 0 ? * 5L"),
        ("cron(0 0 ? * 3#2 *)", "0 0 ? * 2#2"),
        ("cron(0 0 1/7 3/3 ? *)", "0 0 1-31/7 3-12/3 ?"),
        ("cron(0 0 ? * L *)", "0 0 ? * 6"),
    ],
)
def test_an_equal_five_field_cron_runs_at_the_same_moments(expression: str, cron: str) -> None:
    """People who move away from the dialect must not move their runs, across both changes of the clocks."""
    trigger = EventBridge(expression, "Europe/Berlin")
    made = trigger.to_cron()
    assert made == Cron(cron, "Europe/Berlin", gap="skip")
    start = datetime(2026, 1, 1, tzinfo=UTC)
    assert made.occurrences_between(start, start + 8760 * HOUR) == trigger.occurrences_between(
        start, start + 8760 * HOUR
    )
    assert EventBridge("rate(1 day)").to_cron() is None
    assert EventBridge("cron(0 0 1 1 ? 2027)").to_cron() is None


def test_a_leap_day_waits_eight_years_across_2100_and_a_fifth_monday_forty() -> None:
    """The whole 400-year cycle decides what never matches; eight years ahead would refuse both."""
    leap = Cron("0 12 29 2 *")
    assert leap.next_us(to_us(datetime(2096, 3, 1, tzinfo=UTC))) == to_us(datetime(2104, 2, 29, 12, tzinfo=UTC))
    monday = Cron("0 0 ? 2 MON#5")
    assert monday.next_us(to_us(NOW)) == to_us(datetime(2044, 2, 29, tzinfo=UTC))
    for never in ("0 0 30W 2 *", "0 0 31 2,4,6,9,11 *", "0 0 L-30 2,4 *", "0 0 31W 2-2 ?"):
        with pytest.raises(TriggerRefused, match="never matches"):
            Cron(never)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("61 * * * *", ["minute", "61", "0-59"]),
        ("* * * jan-fab *", ["month", "JAN-FAB", "JAN-DEC"]),
        ("5/15 * * * *", ["minute", "5/15", "5-59/15"]),
        ("* * * * L", ["day of week", "'L'", "FRIL"]),
        ("0 0 * *", ["4 fields", "five"]),
        ("@every 5m", ["@every 5m", "@hourly"]),
        ("0 22-6 * * *", ["hour", "22-23,0-6"]),
        ("* L * * *", ["hour", "day fields"]),
    ],
)
def test_a_refusal_names_the_field_the_value_and_what_is_allowed(expression: str, said: list[str]) -> None:
    """The message is all that its writer gets; it has to be enough to mend the item."""
    with pytest.raises(TriggerRefused) as refusal:
        Cron(expression)
    for part in said:
        assert part in str(refusal.value)


def test_a_week_may_be_written_as_ending_on_sunday() -> None:
    """FRI-SUN is how people say it, though Sunday is 0 where the numbers begin."""
    start = datetime(2026, 12, 1, tzinfo=UTC)
    expected = Cron("0 0 * * 0,5,6").occurrences_between(start, start + 700 * HOUR)
    assert Cron("0 0 * * FRI-SUN").occurrences_between(start, start + 700 * HOUR) == expected


@pytest.mark.parametrize("setting", [{"gap": "later"}, {"fold": "never"}, {"gap": None}, {"fold": ["once"]}])
def test_an_unknown_clock_setting_is_refused(setting: dict[str, object]) -> None:
    """A misspelt setting that falls back to a default is found out in March."""
    with pytest.raises(TriggerRefused, match="is none of"):
        Cron("0 4 * * *", **setting)  # type: ignore[arg-type]
