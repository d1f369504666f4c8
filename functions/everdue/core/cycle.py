"""What one process does with its claim and its view: elect, sync, select, advance, close.

`Scheduler` says in which order.
"""

from everdue.core.clock import Clock, MonotonicClock
from everdue.core.coverage import Coverage
from everdue.core.dispatcher import Dispatched
from everdue.core.errors import Deposed, EverdueError
from everdue.core.lane import Bounds
from everdue.core.leader import Leader, Standing
from everdue.core.leadership import SKEW_US_MAX
from everdue.core.moment import to_us, us_to_seconds
from everdue.core.occurrence import Occurrence
from everdue.core.reporter import Reporter
from everdue.core.roster import Roster
from everdue.core.selection import Limits, Selection
from everdue.core.signals import Metrics
from everdue.core.skip import Skip, SkipLog
from everdue.core.source import Source
from everdue.core.terms import Terms

FRESH_US = 500_000
"""How long the store's word on who leads lasts: one answer serves the moments that follow closely."""

ASK_AGAIN_US = 200_000


class Cycle:
    """One process's leadership, view and coverage, kept together: a change of leader voids what was in flight.

    Attributes:
        roster: the view.
        terms: the durations.
        reporter: where failures go.
        uncommitted: something was covered since the last commit.
    """

    def __init__(self, source: Source, leader: Leader, clock: Clock, terms: Terms, metrics: Metrics, reporter: Reporter,
                 skip_log: SkipLog | None) -> None:  # fmt: skip
        self._source = source
        self._leader = leader
        self._clock = clock
        self._monotonic = clock if isinstance(clock, MonotonicClock) else None
        self._metrics = metrics
        self._skip_log = skip_log
        self._unrecorded: list[Skip] = []
        self._must_sync = False
        self._synced_at_us: int | None = None
        self._sync_took_us = 0
        self._confirmed_us = 0
        self._noted_us: tuple[int, int] | None = None
        self._end_monotonic_us: int | None = None
        self.terms = terms
        self.reporter = reporter
        self.roster = Roster()
        self._coverage = Coverage(self.roster)
        self.uncommitted = False

    @property
    def covered_us(self) -> int | None:
        """How far this process has covered: sent or on record, though not always committed yet. None: it never led."""
        return self._coverage.cursor_us

    @property
    def lag_us(self) -> int:
        """How far the committed watermark is behind now."""
        return max(0, self.now_us() - self._leader.covered_us)

    def end_at(self, end_monotonic_us: int) -> None:
        """Let every lease from now on reach to this process's own end, beyond which it can't be alive.

        On the monotonic clock: a wall clock that is set right meanwhile would leave a lease that lasts for hours.
        """
        self._end_monotonic_us = end_monotonic_us

    def left_us(self) -> int:
        """Microseconds to this process's own end. Raises ValueError where it was not told."""
        if self._end_monotonic_us is None:
            raise ValueError("this process was not told its end: call end_at first")
        return self._end_monotonic_us - self.monotonic_us()

    def distrust_view(self) -> None:
        """Have the source read before anything is selected."""
        self._must_sync = True

    def elect(self) -> bool:
        """Keep, renew or take the claim; whether this process leads. Raises ClaimFailed."""
        self._set_lease()
        standing = self._leader.elect(self.roster.cut_us)
        self._note_clock()
        if standing is Standing.FOLLOWS:
            return False
        self._confirmed_us = self.monotonic_us()
        if standing is Standing.TOOK_OVER:
            # Whatever was pending predates somebody else's coverage.
            self.uncommitted = False
            self._unrecorded = []
            claim = self._leader.claim
            position = None if claim is None else claim.position
            self._coverage.lead(self._leader.covered_us, self._leader.synced_us, position)
            self._must_sync = True
        return True

    def confirm(self) -> bool | None:
        """Whether this process still leads, as the store says; None when it did not answer, which is reported."""
        try:
            self._set_lease()
            confirmed = self._leader.confirm()
        except EverdueError as error:
            self.reporter.report(error, "confirm")
            return None
        self._note_clock()
        if confirmed:
            self._confirmed_us = self.monotonic_us()
        return confirmed

    def is_sure(self) -> bool:
        """Whether this process leads, asking the store unless it said so a moment ago.

        A store that does not answer is asked again as long as the lease is safe: nobody can have taken the claim.
        """
        if self.monotonic_us() - self._confirmed_us <= FRESH_US and not self.clock_stepped():
            return True
        confirmed = self.confirm()
        while confirmed is None and self._leader.lease_left_us() > SKEW_US_MAX + ASK_AGAIN_US:
            self.sleep_us(ASK_AGAIN_US)
            confirmed = self.confirm()
        return bool(confirmed)

    def clock_stepped(self) -> bool:
        """Whether the wall clock moved since the store last answered in a way that no passing of time explains."""
        return abs(self.now_us() - self._true_now_us()) > SKEW_US_MAX

    def sync_if_due(self, within_us: int = 0) -> bool:
        """Reconcile if the cadence says so within this time, or if nothing was read since the claim was taken over.

        A failure is reported and leaves the last good view; whether there is a view that may be committed on.
        """
        if self._must_sync or self.sync_due_in_us() <= within_us:
            if self.clock_stepped():
                self.confirm()  # asks the service what the time is
            try:
                errors = self.read_source()
            except Exception as failure:  # noqa: BLE001 - a source is the user's code; the last good view goes on
                self.reporter.report(failure, "reconcile")
            else:
                for error in errors:
                    self.reporter.warn(error, "make")  # one bad row must not end the loop, whoever listens
        return not self._must_sync and self.roster.cut_us is not None

    def sync_due_in_us(self) -> int:
        """Microseconds until the next read of the source is due; 0 or less: now."""
        if self._synced_at_us is None:
            return 0
        return self._synced_at_us + self.terms.sync_us - self.monotonic_us()

    @property
    def sync_took_us(self) -> int:
        """How long the last read of the source took."""
        return self._sync_took_us

    def next_us(self) -> int | None:
        """Nothing is due before this moment, as far as the view shows."""
        return self._coverage.next_us()

    def select(self, end_us: int, limits: Limits) -> Selection:
        """What is due before `end_us` and not covered."""
        started_us = self.monotonic_us()
        now_us = self.now_us()
        self._metrics.record("entries", len(self.roster))
        self._metrics.record("refused", len(self.roster.refused))
        self._metrics.record("lag", us_to_seconds(self.lag_us))
        selection = self._coverage.select(end_us, Bounds(now_us, self.terms.recover_us, self.terms.horizon_us), limits)
        for lane in selection.lanes:
            if lane.failure is not None and not all(member.failing for member in lane.members):
                self.reporter.warn(lane.failure, "trigger")
        self._metrics.record("tick.duration", us_to_seconds(self.monotonic_us() - started_us))
        return selection

    def advance(self, selection: Selection) -> None:
        """The selection was sent: its occurrences are covered, its skips go on record with the next commit."""
        self._coverage.advance(selection)
        self._unrecorded += selection.skips
        self.uncommitted = True

    def close(self, *, release: bool) -> bool:
        """Commit what is covered, skips first, and renew the lease or release it in the same write.

        A process whose clock turned wrong releases in any case: a lease by such a clock may last for hours.
        """
        if not self._leader.holds():
            return False
        release = release or self.clock_stepped() or self._leader.skew() is not None
        self._record_skips()
        reach_us, behind = self._coverage.committable_us(self._leader.covered_us)
        claim = self._leader.claim
        synced_us, position = self._coverage.cut_us, self._coverage.position
        if behind and claim is not None:
            synced_us, position = self._leader.synced_us, claim.position
        self._set_lease()
        if self._leader.commit(reach_us, synced_us, position, release=release):
            self._confirmed_us = self.monotonic_us()
        else:
            deposed = Deposed("the claim was lost before the commit: its new holder covers the window again")
            self.reporter.warn(deposed, "lease")
            self.uncommitted = False
            return False
        self._coverage.committed(reach_us)
        self.uncommitted = False
        return True

    def let_go(self) -> None:
        """Release the claim, with whatever is covered. A failure is reported: the lease runs out by itself."""
        if not self._leader.holds():
            return
        try:
            self.close(release=True)
        except EverdueError as error:
            self.reporter.warn(error, "release")

    def refresh(self) -> None:
        """Read the source ahead of leading. A failure is reported; it is read again once this process leads."""
        try:
            for error in self.read_source():
                self.reporter.warn(error, "make")
        except Exception as failure:  # noqa: BLE001 - as in `sync_if_due`
            self.reporter.warn(failure, "reconcile")

    def sent(self, occurrences: list[Occurrence], result: Dispatched | None, handed_over_us: int) -> list[Skip]:
        """Measure a hand-over; returns what the queue refused for good, as skips."""
        rejected = () if result is None else result.rejected
        self._metrics.record("dispatch.total", len(occurrences) - len(rejected))
        for occurrence in occurrences:
            self._metrics.record("dispatch.delay", us_to_seconds(max(0, handed_over_us - to_us(occurrence.due))))
        return [_rejected(rejection.occurrence, rejection.reason) for rejection in rejected]

    def read_source(self) -> list[Exception]:
        """Converge the view to the source; why rows were newly refused.

        Raises whatever the source raises, and ClockSkewed: a view dated by a wrong clock would move what is owed.
        """
        started_us = self.monotonic_us()
        self._synced_at_us = started_us  # a failed read is tried again a cadence later, not at once
        skewed = self._leader.skew()
        if skewed is not None:
            raise skewed
        try:
            # Before the first page, by the earliest clock: what took effect before the cut will count as known.
            cut_us = min(self.now_us(), self._true_now_us()) - max(0, self._leader.skew_us)
            diff = self.roster.read(self._source.snapshot(), self._source.make)
            # After the last page, by the latest clock: what is gone was gone by then.
            seen_us = max(cut_us, min(self.now_us(), self._true_now_us()) - min(0, self._leader.skew_us))
            errors = self.roster.converge(diff, cut_us, seen_us, self._coverage.cursor_us, self._leader.synced_us)
        finally:
            self._sync_took_us = self.monotonic_us() - started_us
        self._must_sync = False
        self._metrics.record("reconcile.duration", us_to_seconds(self._sync_took_us))
        return errors

    def view_is_fit(self) -> bool:
        """Whether the view is complete and no older than the one that fed the coverage taken over."""
        cut_us, known_us = self.roster.cut_us, self._leader.synced_us
        if self._must_sync and cut_us is not None and known_us is not None and cut_us < known_us:
            self.sync_if_due()
            cut_us = None if self._must_sync else self.roster.cut_us
        else:
            self._must_sync = False
        return cut_us is not None

    def _record_skips(self) -> None:
        if not self._unrecorded:
            return
        # A trigger that goes on failing says so at every look; the last word says it all.
        skips = list({(skip.id, skip.start_us, skip.reason): skip for skip in self._unrecorded}.values())
        if self._skip_log is not None:
            self._skip_log.record(skips)
        for skip in skips:
            self._metrics.record("skip.total", max(1, skip.count), reason=skip.reason)
        self._unrecorded = []

    def _set_lease(self) -> None:
        if self._end_monotonic_us is not None:
            self._leader.lease_until_us = self.now_us() + self.left_us()

    def _note_clock(self) -> None:
        if self._leader.trusted:
            self._noted_us = (self.now_us(), self.monotonic_us())

    def _true_now_us(self) -> int:
        """The time as of the store's last answer, plus what passed since on the monotonic clock."""
        if self._noted_us is None:
            return self.now_us()
        wall_us, monotonic_us = self._noted_us
        return wall_us + self.monotonic_us() - monotonic_us

    def now_us(self) -> int:
        """The wall clock."""
        return to_us(self._clock.now())

    def monotonic_us(self) -> int:
        """A reading for cadences, which no clock step moves where the clock can tell."""
        return self.now_us() if self._monotonic is None else self._monotonic.monotonic_us()

    def sleep_us(self, duration_us: int) -> None:
        """Wait; zero or less returns at once."""
        if duration_us > 0:
            self._clock.sleep(us_to_seconds(duration_us))


def _rejected(occurrence: Occurrence, reason: str) -> Skip:
    due_us = to_us(occurrence.due)
    return Skip(occurrence.id, due_us, due_us + 1, 1, "rejected", reason)
