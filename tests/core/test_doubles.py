"""The shipped doubles: users build their own tests on them, so they have some of their own."""

from datetime import UTC, datetime, timedelta

import pytest

from everdue.core.claim import Claim
from everdue.core.errors import ClaimFailed, DispatchFailed, SourceFailed
from everdue.core.occurrence import Occurrence
from everdue.core.skip import Skip
from everdue.core.triggers import Interval
from everdue.testing import (
    ManualClock,
    MemoryClaimStore,
    MemoryDispatcher,
    MemoryMetrics,
    MemorySkipLog,
    MemorySource,
)

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def later(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_the_clock_stands_still() -> None:
    """A test that takes a second takes it from nobody."""
    clock = ManualClock(NOON)
    assert clock.now() == clock.now() == NOON
    clock.advance(1.5)
    assert clock.now() == later(1.5)
    clock.sleep(2)
    assert (clock.now(), clock.monotonic_us(), clock.slept) == (later(3.5), 3_500_000, [2])


def test_only_the_wall_clock_can_go_back() -> None:
    """As NTP moves it (W8): the monotonic reading never does."""
    clock = ManualClock(NOON)
    clock.advance(10)
    clock.advance(-3_600)
    assert (clock.now(), clock.monotonic_us()) == (later(-3_590), 10_000_000)
    clock.step(7_200)
    assert (clock.now(), clock.monotonic_us()) == (later(3_610), 10_000_000)


def test_hooks_run_at_their_moments_on_the_way() -> None:
    """What happens while something sleeps: an edit, a crash, a rival."""
    clock = ManualClock(NOON)
    seen: list[tuple[str, datetime]] = []
    clock.at(later(5), lambda: seen.append(("second", clock.now())))
    clock.at(2, lambda: seen.append(("first", clock.now())))
    clock.at(later(5), lambda: clock.at(1, lambda: seen.append(("third", clock.now()))))
    clock.at(later(60), lambda: seen.append(("never", clock.now())))
    clock.sleep(10)
    assert seen == [("first", later(2)), ("second", later(5)), ("third", later(6))]
    assert clock.now() == later(10)
    assert clock.monotonic_us() == 10_000_000


def test_a_hook_may_step_the_clock() -> None:
    """The sleep still lasts as long as it was asked for; only the wall clock shows something else."""
    clock = ManualClock(NOON)
    clock.at(5, lambda: clock.step(-3_600))
    clock.sleep(10)
    assert clock.monotonic_us() == 10_000_000
    assert clock.now() == later(10 - 3_600)


def test_a_clock_refuses_a_naive_start() -> None:
    """It would mean another moment on another machine."""
    with pytest.raises(ValueError, match="time zone"):
        ManualClock(datetime(2026, 12, 1))  # noqa: DTZ001


def test_each_put_is_a_new_version_unless_it_says_otherwise() -> None:
    """An edit is an edit; a test of "nothing changed" names the version."""
    source = MemorySource()
    first = source.put("a", Interval(60))
    assert source.put("a", Interval(60)).version != first.version
    source.put("a", Interval(90), version="same")
    source.put("a", Interval(90), version="same")
    assert [row.version for row in source.snapshot()] == ["same"]
    source.pause("a")
    assert [(row.version, row.active) for row in source.snapshot()] == [("same", False)]
    source.resume("a")
    assert [row.active for row in source.snapshot()] == [True]
    source.remove("a")
    source.remove("a")
    assert len(source) == 0


def test_a_snapshot_fails_where_it_is_told_to() -> None:
    """Before the first row, in the middle, or behind the last."""
    source = MemorySource()
    for name in ("a", "b"):
        source.put(name, Interval(60))
    for after in (0, 1, 2, 7):
        source.fail_snapshot(after)
        seen = []
        with pytest.raises(SourceFailed):
            seen.extend(row.id for row in source.snapshot())
    assert [row.id for row in source.snapshot()] == ["a", "b"]


def test_a_lost_answer_can_be_played() -> None:
    """The write happened, and the writer does not know."""
    store = MemoryClaimStore()
    store.fail("swap", written=True)
    with pytest.raises(ClaimFailed):
        store.swap(None, Claim("a", NOON))
    assert store.load() == Claim("a", NOON, revision=1)
    store.fail("swap")
    with pytest.raises(ClaimFailed):
        store.swap(store.load(), Claim("b", NOON))
    assert store.load() == Claim("a", NOON, revision=1)
    store.fail("load")
    with pytest.raises(ClaimFailed):
        store.load()


def test_skew_is_the_difference_of_two_clocks() -> None:
    """Only where both are given: one alone says nothing."""
    mine, theirs = ManualClock(NOON), ManualClock(later(-3))
    assert MemoryClaimStore(clock=mine).skew_us() is None
    assert MemoryClaimStore(clock=mine, service_clock=theirs).skew_us() == 3_000_000


def test_a_dispatcher_fails_and_refuses_as_told() -> None:
    """A failure after some were accepted leaves those accepted, as a queue does."""
    clock = ManualClock(NOON)
    dispatcher = MemoryDispatcher(clock=clock, deduplicate=True)
    runs = [Occurrence(name, NOON) for name in ("a", "b", "c")]
    dispatcher.fail(after=1)
    with pytest.raises(DispatchFailed):
        dispatcher.dispatch(runs)
    assert dispatcher.keys == [runs[0].key]
    dispatcher.refuse("b", "too big")
    clock.advance(1)
    done = dispatcher.dispatch(runs)
    assert (done.accepted, [each.reason for each in done.rejected]) == (2, ["too big"])
    assert dispatcher.keys == [runs[0].key, runs[2].key]
    assert [sent.moment for sent in dispatcher.sent] == [NOON, later(1)]
    assert dispatcher.swallowed == [runs[0]]
    dispatcher.accept("b")
    assert dispatcher.dispatch(runs[1:2]).accepted == 1


def test_skips_and_measurements_can_be_asked_for() -> None:
    """By schedule; by name and dimension."""
    log = MemorySkipLog()
    log.record([Skip("a", 1, 2, 1, "missed"), Skip("b", 1, 2, 1, "paused")])
    assert log.of("a") == [Skip("a", 1, 2, 1, "missed")]
    metrics = MemoryMetrics()
    metrics.record("error.total", 1, stage="read")
    metrics.record("error.total", 2, stage="send")
    assert metrics.total("error.total") == 3
    assert metrics.values("error.total", stage="send") == [2]
    assert (metrics.last("error.total"), metrics.last("lag")) == (2, None)
