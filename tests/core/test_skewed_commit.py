"""What a process still writes once its clock is wrong."""

from datetime import UTC, datetime, timedelta

from everdue import Interval, Occurrence, Scheduler
from everdue.testing import ManualClock, MemoryClaimStore, MemorySource

START = datetime(2026, 3, 2, 12, 0, 5, tzinfo=UTC)


class ServiceTime(ManualClock):
    """The service's time passes with the process's, whatever the wall clock of the process is set to."""

    def __init__(self, process: ManualClock) -> None:
        super().__init__(process.now())
        self._process = process

    def now(self) -> datetime:
        return START + timedelta(microseconds=self._process.monotonic_us())


def test_a_leader_whose_clock_is_set_ahead_leaves_no_lease_that_lasts_for_an_hour() -> None:
    """It commits what it sent while its clock was right. A lease renewed by the wrong one would keep everybody out."""
    clock = ManualClock(START)
    service = ServiceTime(clock)
    store = MemoryClaimStore(clock=clock, service_clock=service)
    source = MemorySource()
    source.put("a", Interval(10))
    scheduler = Scheduler(source, store, tick_seconds=5, lead_seconds=60, clock=clock, on_error=lambda error: None)
    sent: list[Occurrence] = []

    def handler(occurrences: list[Occurrence]) -> None:
        sent.extend(occurrences)
        if len(sent) == 1:
            clock.at(1, lambda: clock.step(3600))
            clock.at(3610, scheduler.stop)

    scheduler.run(handler)
    assert [one.due for one in sent] == [START.replace(second=10)]
    assert store.claim is not None
    assert store.claim.covered_until == START.replace(second=10, microsecond=1)
    assert all(claim.expires_at <= START + timedelta(minutes=10) for claim in store.writes)
