"""The roster's memory of refused rows: shown until mended, and not a moment longer."""

from datetime import UTC, datetime

from everdue import Cron, Interval, Scheduler
from everdue.testing import ManualClock, MemoryMetrics, MemorySource

START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def refused(metrics: MemoryMetrics) -> float:
    return metrics.values("refused")[-1]


def test_an_edit_that_is_refused_and_taken_back_is_refused_no_more() -> None:
    """Otherwise the alarm goes on ringing for an item that is as good as ever, and people learn to ignore it."""
    clock, source, metrics = ManualClock(START), MemorySource(), MemoryMetrics()
    good = source.put("a", Interval(60), version="1")
    scheduler = Scheduler(source, clock=clock, metrics=metrics, on_error=lambda error: None)
    scheduler.reconcile()
    scheduler.tick()
    assert refused(metrics) == 0
    source.put("a", Interval(30), version="2")
    source.refuse("a", ValueError("no such rule"))
    scheduler.reconcile()
    scheduler.tick()
    assert refused(metrics) == 1
    source.accept("a")
    source.put("a", good.data, version="1")
    scheduler.reconcile()
    scheduler.tick()
    assert refused(metrics) == 0


def test_a_refused_edit_leaves_the_last_good_definition_in_force() -> None:
    """A typo in an edit must not stop what ran well for years."""
    clock, source = ManualClock(START), MemorySource()
    source.put("a", Cron("* * * * *"))
    scheduler = Scheduler(source, clock=clock, on_error=lambda error: None)
    scheduler.reconcile()
    scheduler.tick()
    scheduler.commit()
    source.put("a", Cron("0 4 * * *"))
    source.refuse("a", ValueError("no such rule"))
    clock.advance(90)
    scheduler.reconcile()
    assert [one.due for one in scheduler.tick()] == [START, START.replace(minute=1)]
    assert len(scheduler) == 1
