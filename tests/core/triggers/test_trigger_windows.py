"""Windows tile: a run lies in exactly one of two neighbouring windows, for every kind of trigger at every split."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everdue import At, Cron, EventBridge, Interval, Recurrence, Shifted
from everdue.core.moment import MAX_US, MIN_US, from_us, to_us
from everdue.core.trigger import InstantTrigger, Trigger
from everdue.core.triggers import Bounded, Excluding


class Plain:
    """A user's own trigger: only windows, no instants. Due each 7 minutes from 1970."""

    recurring = True

    def occurrences_between(self, start: datetime, end: datetime) -> list[datetime]:
        return Interval(420).occurrences_between(start, end)


SPRING = datetime(2026, 3, 29, 1, tzinfo=UTC)
CRONS = [
    Cron(expression, zone, gap=gap, fold=fold)  # type: ignore[arg-type]
    for expression in ("30 2 * * *", "*/20 * * * *", "0,30 0-4 * * *", "15 1 * * *", "0 12 29 2 *")
    for zone in ("Europe/Berlin", "Australia/Lord_Howe", "Antarctica/Troll", "Pacific/Apia", "Africa/Casablanca")
    for gap, fold in (("run", "once"), ("skip", "twice"))
]
TRIGGERS: list[Trigger] = [
    *CRONS,
    Interval(0.1),
    Interval(3600.000001, SPRING),
    At(SPRING),
    Recurrence("FREQ=DAILY;BYHOUR=2;BYMINUTE=30", "Europe/Berlin"),
    Recurrence("DTSTART:19900101T000000\nRRULE:FREQ=MINUTELY;INTERVAL=7", "Australia/Lord_Howe"),
    Recurrence("DTSTART:20260101T013000\nRRULE:FREQ=WEEKLY;BYDAY=SU,MO\nEXDATE:20260329T013000", "Europe/London"),
    EventBridge("rate(7 minutes)"),
    EventBridge("cron(0/15 1-3 * * ? *)", "America/New_York"),
    EventBridge("at(2026-03-29T02:30:00)", "Europe/Berlin"),
    Shifted(Cron("30 2 * * *", "Europe/Berlin"), -7200),
    Shifted(Cron("*/20 * * * *", "Europe/Berlin"), -0.000001),
    Shifted(Cron("*/20 * * * *", "Europe/Berlin"), 86_399.5),
    Shifted(Plain(), -61.5),
    Bounded(Cron("*/20 * * * *", "Europe/Berlin"), SPRING, SPRING + timedelta(hours=3)),
    Bounded(Plain(), SPRING - timedelta(hours=2), SPRING),
    Excluding(Cron("30 2 * * *", "Europe/Berlin"), [date(2026, 3, 29)], "Europe/Berlin"),
    Excluding(Plain(), [date(2026, 3, 29), SPRING], "Europe/Berlin"),
]
CHANGES = [  # moments at which some zone of the list changes its clocks
    SPRING,
    datetime(2026, 10, 25, 1, tzinfo=UTC),
    datetime(2026, 4, 4, 15, tzinfo=UTC),
    datetime(2026, 10, 3, 15, 30, tzinfo=UTC),
    datetime(2011, 12, 30, 10, tzinfo=UTC),
    datetime(2026, 2, 15, 2, tzinfo=UTC),
    datetime(2026, 3, 8, 7, tzinfo=UTC),
    datetime(2026, 11, 1, 6, tzinfo=UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2400, 2, 29, 12, tzinfo=UTC),
]
OFFSETS_US = st.one_of(
    st.integers(-7_200, 7_200).map(lambda second: second * 1_000_000),
    st.integers(-7_200_000_000, 7_200_000_000),
    st.integers(-60, 60).map(lambda minute: minute * 60_000_000),
)


def _small(trigger: Trigger, near: datetime, a: int, b: int, c: int) -> tuple[datetime, datetime, datetime]:
    scale = 1_000 if trigger is TRIGGERS[len(CRONS)] else 1  # ten a second need no hours
    low, middle, high = sorted(to_us(near) + offset // scale for offset in (a, b, c))
    return from_us(low), from_us(middle), from_us(high)


@settings(max_examples=1_500, deadline=None)
@given(st.sampled_from(TRIGGERS), st.sampled_from(CHANGES), OFFSETS_US, OFFSETS_US, OFFSETS_US)
def test_two_neighbouring_windows_hold_what_one_holds(trigger: Trigger, near: datetime, a: int, b: int, c: int) -> None:
    """Else a run would be lost or doubled where one tick ends and the next begins."""
    start, split, end = _small(trigger, near, a, b, c)
    whole = trigger.occurrences_between(start, end)
    assert trigger.occurrences_between(start, split) + trigger.occurrences_between(split, end) == whole
    assert whole == sorted(set(whole))
    assert all(start <= due < end and due.tzinfo is UTC for due in whole)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(TRIGGERS), st.sampled_from(CHANGES), OFFSETS_US, OFFSETS_US)
def test_a_split_exactly_at_a_run_gives_it_to_the_later_window(
    trigger: Trigger, near: datetime, a: int, b: int
) -> None:
    """The boundary that float arithmetic loses: due exactly at `end` is the next window's, always."""
    start, _, end = _small(trigger, near, a, b, b)
    whole = trigger.occurrences_between(start, end)
    for at, due in enumerate(whole[:20]):
        assert trigger.occurrences_between(start, due) == whole[:at]
        assert trigger.occurrences_between(due, end) == whole[at:]


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(TRIGGERS), st.sampled_from(CHANGES), OFFSETS_US, OFFSETS_US)
def test_instants_windows_and_iteration_agree(trigger: Trigger, near: datetime, a: int, b: int) -> None:
    """The agenda asks for instants and a backfill for windows; a difference would be a run that only one sees."""
    if not isinstance(trigger, InstantTrigger):
        return
    start, _, end = _small(trigger, near, a, b, b)
    whole = [to_us(due) for due in trigger.occurrences_between(start, end)]
    assert list(trigger.iterate_us(to_us(start), to_us(end))) == whole
    due = trigger.next_us(to_us(start))
    assert whole[:1] == ([due] if due is not None and due < to_us(end) else [])


@pytest.mark.parametrize("trigger", TRIGGERS, ids=repr)
def test_the_ends_of_time_answer_what_is_representable(trigger: Trigger) -> None:
    """A window at year 1 or 9999 comes from a typing mistake, and may raise nothing that stops the others."""
    first, last = from_us(MIN_US), from_us(MAX_US)
    short = timedelta(seconds=1) if isinstance(trigger, Interval) else timedelta(days=3)
    assert all(first <= due < first + short for due in trigger.occurrences_between(first, first + short))
    assert all(last - short <= due < last for due in trigger.occurrences_between(last - short, last))
    if isinstance(trigger, InstantTrigger):
        for at_us in (MIN_US - 10**18, MIN_US, MAX_US, MAX_US + 1, MAX_US + 10**18):
            due = trigger.next_us(at_us)
            assert due is None or max(at_us, MIN_US) <= due <= MAX_US


@pytest.mark.parametrize("trigger", TRIGGERS, ids=repr)
def test_empty_reversed_and_naive_windows(trigger: Trigger) -> None:
    """An empty or reversed window holds nothing; a naive one would hold something else on another machine."""
    assert trigger.occurrences_between(SPRING, SPRING) == []
    assert trigger.occurrences_between(SPRING + timedelta(days=1), SPRING) == []
    with pytest.raises(ValueError, match="time zone"):
        trigger.occurrences_between(SPRING.replace(tzinfo=None), SPRING)
    with pytest.raises(ValueError, match="time zone"):
        trigger.occurrences_between(SPRING, SPRING.replace(tzinfo=None))
