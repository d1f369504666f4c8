"""The cycle: reconcile, tick, commit; the one stateful object of the core.

Windows tile. Coverage passes a run only after it was sent or its loss is on record. One leader, fenced by the claim's
revision. What is held goes out when due, under the view of that moment. No complete view, no commit.
"""

import secrets
from collections.abc import Callable
from datetime import datetime

from everdue.core.claim import ClaimStore
from everdue.core.claim_local import LocalClaimStore
from everdue.core.clock import Clock, MonotonicClock, SystemClock
from everdue.core.coverage import Coverage
from everdue.core.dispatcher import Dispatched
from everdue.core.errors import Deposed, EverdueError
from everdue.core.hold import Hold
from everdue.core.lane import Bounds
from everdue.core.leader import Leader, Standing
from everdue.core.moment import SECOND_US, seconds_to_us, to_us, us_to_seconds
from everdue.core.occurrence import Occurrence
from everdue.core.roster import Roster
from everdue.core.selection import Limits, Selection
from everdue.core.signals import Metrics, NoMetrics
from everdue.core.skip import Skip, SkipLog
from everdue.core.source import Source

Handler = Callable[[list[Occurrence]], Dispatched | None]
"""What takes occurrences in `Scheduler.run`: returns once all are settled; raising means that none may count as sent."""


class Scheduler:
    """Selects what is due and keeps, in the claim, how far that is done.

    One instance is one loop. Several may share a store: that is the election.
    """

    def __init__(
        self,
        source: Source,
        store: ClaimStore | None = None,
        *,
        tick_seconds: float = 1,
        sync_seconds: float = 10,
        lead_seconds: float = 0,
        snapshot_seconds: float | None = None,
        recover_seconds: float = 300,
        horizon_seconds: float = 86_400,
        lease_seconds: float | None = None,
        token: str | None = None,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
        on_error: Callable[[Exception], None] | None = None,
        skip_log: SkipLog | None = None,
    ) -> None:
        """
        Args:
            source: where schedules come from.
            store: where the claim lives; in this process's memory unless given.
            tick_seconds: between ticks of `run`, anchored to the wall clock.
            sync_seconds: between reads of the source, on a monotonic clock.
            lead_seconds: a window reaches so far past now; `run` holds what is not yet due. 0: only what is past due.
            snapshot_seconds: between snapshots of a source with a change feed; 30 sync cadences unless given.
            recover_seconds: a run sent within this long after its moment is merely late; past it, it is missed and
                `catch_up` decides. Never less than two ticks: a run that waits for its tick is not missed.
            horizon_seconds: missed runs further back are not caught up.
            lease_seconds: how long a claim lives unrenewed: three ticks of delivery unless given, two at least.
            token: this process's name in the claim; random unless given.
            clock: the system's unless given.
            metrics: where measurements go.
            on_error: gets what fails while the rest goes on. Without it, a failed read raises, and so does
                `reconcile` for a refused row, once the others are taken over.
            skip_log: where runs that are not sent go on record before coverage passes them.

        Raises:
            ValueError: a cadence that is not positive; a negative lead, snapshot, recover or horizon; a lease shorter
                than two ticks of delivery.
        """
        if snapshot_seconds is None:
            snapshot_seconds = 30 * sync_seconds
        if lease_seconds is None:
            lease_seconds = 3 * (tick_seconds + lead_seconds)
        _check(tick_seconds, sync_seconds, lead_seconds, snapshot_seconds, recover_seconds, horizon_seconds,
               lease_seconds)  # fmt: skip
        self._source = source
        self._clock = clock if clock is not None else SystemClock()
        self._metrics = metrics if metrics is not None else NoMetrics()
        self._on_error = on_error
        self._skip_log = skip_log
        self._tick_us = seconds_to_us(tick_seconds)
        self._sync_us = seconds_to_us(sync_seconds)
        self._lead_us = seconds_to_us(lead_seconds)
        self._recover_us = max(seconds_to_us(recover_seconds), 2 * self._tick_us)
        self._horizon_us = max(seconds_to_us(horizon_seconds), self._recover_us)
        self._leader = Leader(store if store is not None else LocalClaimStore(),
                              token if token is not None else secrets.token_hex(8), self._clock,
                              seconds_to_us(lease_seconds), self._warn)  # fmt: skip
        self._roster = Roster()
        self._coverage = Coverage(self._roster)
        self._pending: Selection | None = None
        self._uncommitted = False
        self._unrecorded: list[Skip] = []
        self._must_sync = False
        self._synced_at_us: int | None = None
        self._sync_took_us = 0
        self._running = False

    def __len__(self) -> int:
        """How many schedules are loaded. One-shots that ran do not count, nor do refused rows."""
        return len(self._roster)

    def reconcile(self, full: bool = False) -> None:
        """Converge memory to the source: one complete snapshot, or nothing.

        Raises whatever the source raises, and, without `on_error`, the first refusal of a row once every other row is
        taken over. `full` asks for a snapshot where a change feed would do; this source is always read whole.
        """
        errors = self._read_source()
        for error in errors:
            self._report(error, "make")

    def tick(self) -> list[Occurrence]:
        """Take or keep leadership, then select the window from the committed watermark to now plus the lead.

        Returns the occurrences, oldest first; a follower, and a process without a complete view, gets an empty list. A
        window with very much in it is cut at a moment. Nothing counts as sent until `commit`; until then the same
        window comes again.
        """
        started_us = self._monotonic_us()
        self._pending = None
        if not self.elect() or not self._view_is_fit():
            return []
        end_us = self._now_us() + self._lead_us
        self._pending = self.select(end_us, Limits())
        self._metrics.record("tick.duration", us_to_seconds(self._monotonic_us() - started_us))
        return list(self._pending.occurrences)

    def commit(self) -> bool:
        """Move the watermark past the last tick's window, once its occurrences are sent, and renew the lease.

        First puts on record what the window left out. False: nothing was pending, or somebody else took the claim; then
        nothing was written. Raises SkipLogFailed or ClaimFailed; the window then comes again.
        """
        if self._pending is not None:
            self.advance(self._pending)
            self._pending = None
        return self.close(release=False) if self._uncommitted else False

    def run(self, handler: Handler) -> None:
        """The loop: elect, reconcile on its cadence, select and hand over each moment when it falls due, commit.

        The handler gets everything that shares a moment at once, oldest moment first. It may return what the queue
        refused for good; that goes on record. If it raises, nothing of that hand-over is committed, and the exception
        ends the loop: a restart sends the same keys again. Followers poll for the claim once a tick.
        """
        self._running = True
        try:
            while self._running:
                self._run_once(handler)
                self._sleep_to_next_tick()
        except (Exception, KeyboardInterrupt, SystemExit):
            self.let_go()
            raise
        self.let_go()

    def stop(self) -> None:
        """Make `run` return after the hand-over under way: what was sent is committed, and the claim released with it."""
        self._running = False

    def is_current(self, occurrence: Occurrence) -> bool:
        """Whether the definition that an occurrence was selected under is still in force, as far as memory knows."""
        registered = self._roster.entries.get(occurrence.id)
        return registered is not None and registered.version == occurrence.version

    def _run_once(self, handler: Handler) -> None:
        try:
            leads = self.elect() and self.sync_if_due()
        except EverdueError as error:
            self._report(error, "claim")
            return
        if leads:
            Hold(self, self._clock, handler, lambda: self._running).cover(self._now_us() + self._lead_us)
        if self._uncommitted:
            try:
                self.close(release=not self._running)
            except EverdueError as error:
                self._report(error, "commit")  # nothing is forgotten: the next commit says it again

    # What `Hold` and `invocation` drive. They are the loop's other half, kept apart for their length alone.

    @property
    def covered_us(self) -> int | None:
        """How far this process has covered: sent or on record, though not always committed yet. None: it never led."""
        return self._coverage.cursor_us

    def lease_until(self, end: datetime) -> None:
        """Let every lease from now on reach to this moment: the owner's own end, beyond which it can't be alive."""
        self._leader.lease_until_us = to_us(end)

    def elect(self) -> bool:
        """Keep, renew or take the claim; whether this process leads. Raises ClaimFailed."""
        standing = self._leader.elect(self._roster.cut_us)
        if standing is Standing.FOLLOWS:
            return False
        if standing is Standing.TOOK_OVER:
            # Whatever was pending predates somebody else's coverage.
            self._pending = None
            self._uncommitted = False
            self._unrecorded = []
            claim = self._leader.claim
            position = None if claim is None else claim.position
            self._coverage.lead(self._leader.covered_us, self._leader.synced_us, position)
            self._must_sync = True
        return True

    def confirm(self) -> bool:
        """Whether this process still leads; not when that can't be told, which is reported."""
        try:
            return self._leader.confirm()
        except EverdueError as error:
            self._report(error, "claim")
            return False

    def sync_if_due(self) -> bool:
        """Reconcile if the cadence says so, or if nothing was read since the claim was taken over.

        A failure is reported and leaves the last good view; whether there is a view that may be committed on.
        """
        if self._must_sync or self.sync_due_in_us() <= 0:
            try:
                errors = self._read_source()
            except Exception as failure:  # noqa: BLE001 - a source is the user's code; the last good view goes on
                self._report(failure, "reconcile")
            else:
                for error in errors:
                    self._warn(error, "make")  # one bad row must not end the loop, whoever listens
        return not self._must_sync and self._roster.cut_us is not None

    def sync_due_in_us(self) -> int:
        """Microseconds until the next read of the source is due; 0 or less: now."""
        if self._synced_at_us is None:
            return 0
        return self._synced_at_us + self._sync_us - self._monotonic_us()

    @property
    def sync_us(self) -> int:
        """Microseconds between reads of the source."""
        return self._sync_us

    @property
    def sync_took_us(self) -> int:
        """How long the last read of the source took."""
        return self._sync_took_us

    def next_us(self) -> int | None:
        """Nothing is due before this moment, as far as the view shows."""
        return self._coverage.next_us()

    def select(self, end_us: int, limits: Limits) -> Selection:
        """What is due before `end_us` and not covered."""
        now_us = self._now_us()
        self._metrics.record("entries", len(self))
        self._metrics.record("refused", len(self._roster.refused))
        self._metrics.record("lag", us_to_seconds(max(0, now_us - self._leader.covered_us)))
        selection = self._coverage.select(end_us, Bounds(now_us, self._recover_us, self._horizon_us), limits)
        for lane in selection.lanes:
            if lane.failure is not None and not all(member.failing for member in lane.members):
                self._warn(lane.failure, "trigger")
        return selection

    def advance(self, selection: Selection) -> None:
        """The selection was sent: its occurrences are covered, its skips go on record with the next commit."""
        self._coverage.advance(selection)
        self._unrecorded += selection.skips
        self._uncommitted = True

    def close(self, *, release: bool) -> bool:
        """Commit what is covered, skips first, and renew the lease or release it in the same write."""
        if not self._leader.holds():
            return False
        self._record_skips()
        reach_us, behind = self._coverage.committable_us(self._leader.covered_us)
        claim = self._leader.claim
        synced_us, position = self._coverage.cut_us, self._coverage.position
        if behind and claim is not None:
            synced_us, position = self._leader.synced_us, claim.position
        if not self._leader.commit(reach_us, synced_us, position, release=release):
            self._warn(Deposed("the claim was lost before the commit: its new holder covers the window again"), "lease")
            self._uncommitted = False
            return False
        self._uncommitted = False
        return True

    def let_go(self) -> None:
        """Release the claim, with whatever is covered. A failure is reported: the lease runs out by itself."""
        if not self._leader.holds():
            return
        try:
            self.close(release=True)
        except EverdueError as error:
            self._warn(error, "release")

    def refresh(self) -> None:
        """Read the source ahead of leading. A failure is reported; it is read again once this process leads."""
        try:
            for error in self._read_source():
                self._warn(error, "make")
        except Exception as failure:  # noqa: BLE001 - as in `sync_if_due`
            self._warn(failure, "reconcile")

    def sent(self, occurrences: list[Occurrence], result: Dispatched | None, handed_over_us: int) -> list[Skip]:
        """Measure a hand-over; returns what the queue refused for good, as skips."""
        rejected = () if result is None else result.rejected
        self._metrics.record("dispatch.total", len(occurrences) - len(rejected))
        for occurrence in occurrences:
            self._metrics.record("dispatch.delay", us_to_seconds(max(0, handed_over_us - to_us(occurrence.due))))
        return [_rejected(rejection.occurrence, rejection.reason) for rejection in rejected]

    def count_error(self, stage: str) -> None:
        """Count a failure that is raised, not reported."""
        self._metrics.record("error.total", 1, stage=stage)

    def _read_source(self) -> list[Exception]:
        started_us = self._monotonic_us()
        self._synced_at_us = started_us  # a failed read is tried again a cadence later, not at once
        try:
            known_us = self._leader.synced_us
            errors = self._roster.converge(self._source.snapshot(), self._source.make, self._now_us(),
                                           self._coverage.cursor_us, known_us)  # fmt: skip
        finally:
            self._sync_took_us = self._monotonic_us() - started_us
        self._must_sync = False
        self._metrics.record("reconcile.duration", us_to_seconds(self._sync_took_us))
        return errors

    def _view_is_fit(self) -> bool:
        """Whether the view is complete and no older than the one that fed the coverage taken over."""
        cut_us, known_us = self._roster.cut_us, self._leader.synced_us
        if self._must_sync and cut_us is not None and known_us is not None and cut_us < known_us:
            self.sync_if_due()
            cut_us = None if self._must_sync else self._roster.cut_us
        else:
            self._must_sync = False
        return cut_us is not None

    def _record_skips(self) -> None:
        if not self._unrecorded:
            return
        if self._skip_log is not None:
            self._skip_log.record(self._unrecorded)
        for skip in self._unrecorded:
            self._metrics.record("skip.total", max(1, skip.count), reason=skip.reason)
        self._unrecorded = []

    def _sleep_to_next_tick(self) -> None:
        now_us = self._now_us()
        cursor_us = self._coverage.cursor_us
        held = self._lead_us > 0 and self._leader.holds() and cursor_us is not None and cursor_us <= now_us
        if held or not self._running:
            return  # a held window ends when the next one begins
        pause_us = self._tick_us - now_us % self._tick_us
        if pause_us < SECOND_US // 1_000:
            pause_us += self._tick_us
        self._clock.sleep(us_to_seconds(pause_us))

    def _now_us(self) -> int:
        return to_us(self._clock.now())

    def _monotonic_us(self) -> int:
        return self._clock.monotonic_us() if isinstance(self._clock, MonotonicClock) else self._now_us()

    def _report(self, error: Exception, stage: str) -> None:
        self._warn(error, stage)
        if self._on_error is None:
            raise error

    def _warn(self, error: Exception, stage: str) -> None:
        self.count_error(stage)
        if self._on_error is not None:
            self._on_error(error)


def _rejected(occurrence: Occurrence, reason: str) -> Skip:
    due_us = to_us(occurrence.due)
    return Skip(occurrence.id, due_us, due_us + 1, 1, "rejected", reason)


def _check(tick_seconds: float, sync_seconds: float, lead_seconds: float, snapshot_seconds: float,
           recover_seconds: float, horizon_seconds: float, lease_seconds: float) -> None:  # fmt: skip
    for name, seconds in (("tick_seconds", tick_seconds), ("sync_seconds", sync_seconds)):
        if not seconds > 0:
            raise ValueError(f"{name} {seconds!r} is not positive: a cadence in seconds, such as 1")
    for name, seconds in (("lead_seconds", lead_seconds), ("snapshot_seconds", snapshot_seconds),
                          ("recover_seconds", recover_seconds), ("horizon_seconds", horizon_seconds)):  # fmt: skip
        if not seconds >= 0:
            raise ValueError(f"{name} {seconds!r} is negative: 0 or more seconds")
    least = 2 * (tick_seconds + lead_seconds)
    if not lease_seconds >= least:
        raise ValueError(f"lease_seconds {lease_seconds!r} is too short: two ticks of delivery are {least} s")
