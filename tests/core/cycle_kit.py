"""What the tests of the cycle share: moments of one day, and small readers of results.

Nothing here selects or decides: every expected value stands in the test, made by plain arithmetic.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from everdue.core.claim import Claim
from everdue.core.occurrence import Occurrence
from everdue.core.scheduler import Scheduler
from everdue.testing import ManualClock, MemoryClaimStore, MemorySkipLog

DAY = datetime(2026, 3, 2, tzinfo=UTC)
"""A Monday. Every moment of these tests lies on it unless it says otherwise."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Crash(BaseException):
    """The process dies here: nothing in the code under test may catch it and carry on."""


def at(text: str) -> datetime:
    """The moment of the day written as `HH:MM`, `HH:MM:SS` or `HH:MM:SS.ffffff`."""
    hours, minutes, *rest = text.split(":")
    seconds, _, fraction = (rest[0] if rest else "0").partition(".")
    micros = int(fraction.ljust(6, "0")) if fraction else 0
    return DAY + timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds), microseconds=micros)


def us(moment: datetime) -> int:
    """Unix microseconds, by integer arithmetic."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def hms(moment: datetime) -> str:
    """`12:00:30`, and `12:00:30.250000` where there is a fraction."""
    return moment.strftime("%H:%M:%S.%f" if moment.microsecond else "%H:%M:%S")


def dues(occurrences: Iterable[Occurrence], schedule: str | None = None) -> list[str]:
    """The dues, in the order given, of all or of one schedule."""
    return [hms(one.due) for one in occurrences if schedule in (None, one.id)]


def runs(occurrences: Iterable[Occurrence]) -> list[str]:
    """`id@due` of each, in the order given."""
    return [f"{one.id}@{hms(one.due)}" for one in occurrences]


def minutes(first: str, last: str) -> list[str]:
    """Every whole minute from `first` to `last`, both included, as `HH:MM:00`."""
    count = (at(last) - at(first)) // timedelta(minutes=1)
    return [hms(at(first) + timedelta(minutes=k)) for k in range(count + 1)]


class Endless(BaseException):
    """The loop under test does not end; nothing in it may catch this and go on."""


class LimitedClock(ManualClock):
    """A manual clock that ends a loop which would never end by itself."""

    def __init__(self, start: datetime, *, limit_seconds: float = 6 * 3600) -> None:
        super().__init__(start)
        self._limit = start + timedelta(seconds=limit_seconds)
        self._reads = 0

    def now(self) -> datetime:
        """The time, unless it is asked for again and again and never passes."""
        self._reads += 1
        if self._reads > 200_000:
            raise Endless(f"the loop spins at {super().now()}")
        return super().now()

    def sleep(self, seconds: float) -> None:
        """Sleep, unless the test has lasted too long."""
        if seconds > 0.0001:
            self._reads = 0
        super().sleep(seconds)
        if self.now() > self._limit or len(self.slept) > 200_000:
            raise Endless(f"still running at {self.now()}")


def build(source: Any, clock: ManualClock, store: Any = None, **options: Any) -> Scheduler:
    """A scheduler over these, with the defaults of the class for everything that is not given."""
    return Scheduler(source, store if store is not None else MemoryClaimStore(), clock=clock, **options)


def started(source: Any, clock: ManualClock, store: Any = None, **options: Any) -> Scheduler:
    """A scheduler that has read its source, leads, and has committed coverage up to now."""
    scheduler = build(source, clock, store, **options)
    scheduler.reconcile()
    scheduler.tick()
    scheduler.commit()
    return scheduler


def cycle(scheduler: Scheduler) -> list[Occurrence]:
    """One tick, committed."""
    occurrences = scheduler.tick()
    scheduler.commit()
    return occurrences


def sync(scheduler: Scheduler) -> list[Occurrence]:
    """One sync and one tick, committed."""
    scheduler.reconcile()
    return cycle(scheduler)


def held(store: Any) -> Claim:
    """The claim, which must exist."""
    claim = store.load()
    assert claim is not None
    return claim


def watermark(store: Any) -> datetime:
    """The committed coverage, which must exist."""
    covered = held(store).covered_until
    assert covered is not None
    return covered


def skipped(log: MemorySkipLog, id: str, reason: str) -> int:  # noqa: A002
    """How many runs of one schedule are on record for one reason."""
    return sum(skip.count for skip in log.of(id) if skip.reason == reason)


def on_record(log: MemorySkipLog, id: str, due: datetime, reason: str | None = None) -> bool:  # noqa: A002
    """Whether a record of this schedule spans this moment."""
    return any(s.start_us <= us(due) < s.end_us and reason in (None, s.reason) for s in log.of(id))
