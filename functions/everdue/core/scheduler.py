"""The cycle: reconcile, tick, commit; the one stateful object of the core.

Windows tile. Coverage passes a run only after it was sent or its loss is on record. One leader, fenced by the claim's
revision. What is held goes out when due, under the view of that moment. No complete view, no commit.
"""

import secrets
from collections.abc import Callable

from everdue.core.claim import ClaimStore
from everdue.core.claim_local import LocalClaimStore
from everdue.core.clock import Clock, SystemClock
from everdue.core.cycle import Cycle
from everdue.core.dispatcher import Dispatched
from everdue.core.errors import EverdueError
from everdue.core.hold import Hold
from everdue.core.leader import Leader
from everdue.core.moment import SECOND_US, seconds_to_us
from everdue.core.occurrence import Occurrence
from everdue.core.reporter import Reporter
from everdue.core.selection import Limits, Selection
from everdue.core.signals import Metrics, NoMetrics
from everdue.core.skip import SkipLog
from everdue.core.source import Source
from everdue.core.terms import Terms

Handler = Callable[[list[Occurrence]], Dispatched | None]
"""What takes occurrences in `Scheduler.run`: returns once all are settled; raising means that none counts as sent."""


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
        clock = clock if clock is not None else SystemClock()
        metrics = metrics if metrics is not None else NoMetrics()
        self._reporter = Reporter(metrics, on_error)
        tick_us = seconds_to_us(tick_seconds)
        recover_us = max(seconds_to_us(recover_seconds), 2 * tick_us)
        self._terms = Terms(
            tick_us=tick_us,
            sync_us=seconds_to_us(sync_seconds),
            lead_us=seconds_to_us(lead_seconds),
            recover_us=recover_us,
            horizon_us=max(seconds_to_us(horizon_seconds), recover_us),
            lease_us=seconds_to_us(lease_seconds),
        )
        store = store if store is not None else LocalClaimStore()
        token = token if token is not None else secrets.token_hex(8)
        leader = Leader(store, token, clock, self._terms.lease_us, self._reporter.warn)
        self.cycle = Cycle(source, leader, clock, self._terms, metrics, self._reporter, skip_log)
        self._pending: Selection | None = None
        self._running = False

    def __len__(self) -> int:
        """How many schedules are loaded. One-shots that ran do not count, nor do refused rows."""
        return len(self.cycle.roster)

    def reconcile(self, full: bool = False) -> None:
        """Converge memory to the source: one complete snapshot, or nothing.

        A failure goes to `on_error`. Without it, whatever the source raised is raised, and so is the first refusal of a
        row, once every other row is taken over. `full` asks for a snapshot where a change feed would do; every read is
        a snapshot for now.
        """
        try:
            errors = self.cycle.read_source()
        except Exception as failure:  # noqa: BLE001 - a source is the user's code; the last good view stays
            self._reporter.report(failure, "reconcile")
            return
        for error in errors:
            self._reporter.report(error, "make")

    def tick(self) -> list[Occurrence]:
        """Take or keep leadership, then select the window from the committed watermark to now plus the lead.

        Returns the occurrences, oldest first; a follower, and a process without a complete view, gets an empty list. A
        window with very much in it is cut at a moment. Nothing counts as sent until `commit`; until then the same
        window comes again.
        """
        cycle = self.cycle
        self._pending = None
        if not cycle.elect() or not cycle.view_is_fit():
            return []
        self._pending = cycle.select(cycle.now_us() + self._terms.lead_us, Limits())
        return list(self._pending.occurrences)

    def commit(self) -> bool:
        """Move the watermark past the last tick's window, once its occurrences are sent, and renew the lease.

        First puts on record what the window left out. False: nothing was pending, or somebody else took the claim; then
        nothing was written. Raises SkipLogFailed or ClaimFailed; then the next commit says all of it again.
        """
        if self._pending is not None:
            self.cycle.advance(self._pending)
            self._pending = None
        return self.cycle.close(release=False) if self.cycle.uncommitted else False

    def run(self, handler: Handler) -> None:
        """The loop: elect, reconcile on its cadence, select and hand over each moment when it falls due, commit.

        The handler gets everything that shares a moment at once, oldest moment first. It may return what the queue
        refused for good; that goes on record. If it raises, nothing of that hand-over is committed, and the exception
        ends the loop: a restart sends the same keys again. Followers poll for the claim once a tick.
        """
        self._running = True
        try:
            while self._running:
                if not self._run_once(handler) or not self._terms.lead_us or self._is_ahead():
                    self._sleep_to_next_tick()  # a held window, though, ends when the next one begins
        except (Exception, KeyboardInterrupt, SystemExit):
            self.cycle.let_go()
            raise
        self.cycle.let_go()

    def stop(self) -> None:
        """Make `run` return after the hand-over under way; what was sent is committed, the claim released with it."""
        self._running = False

    def is_current(self, occurrence: Occurrence) -> bool:
        """Whether the definition that an occurrence was selected under is still in force, as far as memory knows."""
        registered = self.cycle.roster.entries.get(occurrence.id)
        return registered is not None and registered.version == occurrence.version

    def _run_once(self, handler: Handler) -> bool:
        """One window; whether it was led to its end."""
        cycle = self.cycle
        led = False
        try:
            leads = cycle.elect() and cycle.sync_if_due()
        except EverdueError as error:
            self._reporter.report(error, "claim")
            return False
        if not leads:
            cycle.let_go()  # who can't read must not keep from leading who can
        else:
            led = Hold(cycle, handler, lambda: self._running).cover(cycle.now_us() + self._terms.lead_us)
        if cycle.uncommitted:
            try:
                led = cycle.close(release=not self._running) and led
            except EverdueError as error:
                self._reporter.report(error, "commit")  # nothing is forgotten: the next commit says it again
                return False
        return led

    def _is_ahead(self) -> bool:
        """Whether coverage reaches past now, as it does after the wall clock was set back."""
        covered_us = self.cycle.covered_us
        return covered_us is not None and covered_us > self.cycle.now_us() + 1

    def _sleep_to_next_tick(self) -> None:
        if not self._running:
            return
        pause_us = self._terms.tick_us - self.cycle.now_us() % self._terms.tick_us
        if pause_us < SECOND_US // 1_000:
            pause_us += self._terms.tick_us
        self.cycle.sleep_us(pause_us)


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
