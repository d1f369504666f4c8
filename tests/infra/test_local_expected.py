"""The demo's own arithmetic, by hand: a check that can't fail would prove nothing."""

import pytest
from infra.local.expected import MICRO, Series, judge, key
from infra.local.watch import percentile


def seconds(*moments: int) -> set[str]:
    """Keys of the schedule `s`."""
    return {key("s", moment * MICRO) for moment in moments}


def test_an_interval_lies_on_its_phase_inside_its_life() -> None:
    """Due at the start belongs, due at the end does not."""
    series = Series("s", 5 * MICRO, 2 * MICRO, start_us=7 * MICRO, end_us=22 * MICRO)
    assert series.keys(0, 100 * MICRO) == seconds(7, 12, 17)
    assert series.keys(8 * MICRO, 17 * MICRO) == seconds(12)


def test_a_one_shot_lies_at_its_moment() -> None:
    """Once, or not at all."""
    series = Series("s", 0, 9 * MICRO, start_us=1)
    assert series.keys(0, 10 * MICRO) == seconds(9)
    assert series.keys(0, 9 * MICRO) == set()


def test_an_ended_definition_is_tolerated_until_it_was_seen_and_no_longer() -> None:
    """Otherwise a scheduler that never notices a delete would pass."""
    series = Series("s", 5 * MICRO, 0, start_us=0, end_us=10 * MICRO, seen_us=6 * MICRO)
    assert series.tolerated() == seconds(10, 15)


@pytest.mark.parametrize(
    ("received", "fault"),
    [
        ([(0, "a"), (5, "b")], None),
        ([(0, "a")], "missing"),
        ([(0, "a"), (5, "b"), (5, "c")], "doubled"),
        ([(0, "a"), (5, "b"), (7, "c")], "unexpected"),
    ],
)
def test_each_kind_of_fault_is_found(received: list[tuple[int, str]], fault: str | None) -> None:
    """One that goes unfound would make the demo's summary a decoration."""
    series = [Series("s", 5 * MICRO, 0, start_us=0)]
    pairs = [(key("s", moment * MICRO), message) for moment, message in received]
    verdict = judge(series, ["s"], pairs, 0, 10 * MICRO)
    assert verdict.holds == (fault is None)
    assert [word for word in ("missing", "doubled", "unexpected") if getattr(verdict, word)] == [fault] * bool(fault)


def test_a_schedule_of_the_users_own_is_not_judged() -> None:
    """Nobody told the demo when it is due."""
    assert judge([], ["s"], [(key("mine", 3), "a")], 0, 10).holds


def test_a_paused_schedule_that_runs_is_a_fault() -> None:
    """It has an id and no series."""
    assert judge([], ["s"], [(key("s", 3), "a")], 0, 10).unexpected


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.001, 1)])
def test_percentiles_of_a_hundred_are_themselves(share: float, value: int) -> None:
    """Off by one, p99 would be the maximum or hide it."""
    assert percentile([float(number) for number in range(1, 101)], share) == value
