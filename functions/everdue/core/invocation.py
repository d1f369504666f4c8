"""One invocation of a function that is started once a minute: wait for the claim, cover the minute, hand over.

The trigger may fire anywhere inside its minute, late, twice or not at all. So an invocation covers past the next minute
boundary, releases the claim in the committing write, leaves a waiting successor room to take it, and, while none does,
takes it again for short windows until its own deadline nears.
"""

from dataclasses import dataclass
from datetime import datetime

from everdue.core.errors import ClaimFailed, ClaimMalformed, ClaimTooNew, EverdueError
from everdue.core.hold import Hold
from everdue.core.leadership import SKEW_US_MAX
from everdue.core.moment import SECOND_US, from_us, to_us, us_to_seconds
from everdue.core.scheduler import Handler, Scheduler

MINUTE_US = 60 * SECOND_US

MARGIN_US = 2_300_000
"""An invocation covers so far past the minute boundary. It ends between whole seconds: most runs are due on one, so
that handing over falls where nothing does."""

AGAIN_US = 3 * SECOND_US
"""How long the claim is taken again while no successor came."""

ROOM_US = 400_000
"""How long the claim stays free for a successor, who looks four times as often."""

POLL_US = 100_000

RESERVE_US = 3 * SECOND_US
"""Before the deadline: time for the last hand-over and the commit."""

RETRY_US, RETRY_US_MAX = SECOND_US, 10 * SECOND_US
"""Between reads of a source that fails: at first, and at most."""

UNREAD_US = 2 * SECOND_US
"""The source was read so shortly before the claim is let go. What is written later and has no stamp is new to whoever
comes next only if they had read before."""

PATIENCE_US = 500_000
"""How far a hand-over is put off for a run that would fall into it."""


@dataclass(slots=True)
class Summary:
    """What an invocation did.

    Attributes:
        leader: whether it ever led.
        start, end: the span it covered; None while it did not lead.
        dispatched, skipped: occurrences sent, and runs left out on record.
        schedules: how many are loaded.
        handed_over: it left because a successor took the claim.
        waited_seconds: from its start until it first led.
    """

    leader: bool = False
    start: datetime | None = None
    end: datetime | None = None
    dispatched: int = 0
    skipped: int = 0
    schedules: int = 0
    handed_over: bool = False
    waited_seconds: float = 0.0


class Invocation:
    """Runs one invocation on a scheduler that may have served others before it."""

    def __init__(self, scheduler: Scheduler, handler: Handler, *, lead_seconds: float, deadline: datetime) -> None:
        """
        Args:
            scheduler: with this process's memory.
            handler: the dispatcher's.
            lead_seconds: 0 selects what is already due and ends; otherwise the furthest that one window may reach.
            deadline: when this invocation is killed.
        """
        self._scheduler = scheduler
        self._cycle = scheduler.cycle
        self._handler = handler
        self._lead_us = round(lead_seconds * SECOND_US)
        # A lease that ended with a heartbeat would outlive or precede its owner; this one ends with it.
        left_us = to_us(deadline) - self._cycle.now_us()
        self._cycle.end_at(self._cycle.monotonic_us() + left_us + SKEW_US_MAX)
        self._unasked: ClaimFailed | None = None
        self._summary = Summary()

    def run(self) -> Summary:
        """Lead once the claim is free, cover, and hand over.

        A claim that can't be read for a while is waited for. Raises what the handler raises, SkipLogFailed, ClaimFailed
        from a commit, and at once ClaimTooNew and ClaimMalformed, which no waiting cures.
        """
        started_us = self._cycle.now_us()
        # The process may have been frozen for hours, and its monotonic clock with it: what it remembers is only a hint.
        self._cycle.distrust_view()
        if self._elected() or (self._read_ahead() and self._wait_for_claim()):
            self._summary.waited_seconds = us_to_seconds(self._cycle.now_us() - started_us)
            self._lead()
        self._summary.schedules = len(self._scheduler)
        return self._summary

    def _lead(self) -> None:
        until_us = self._first_end_us()
        while True:
            if not self._cover(until_us) or not self._lead_us:
                return
            if self._left_us() <= ROOM_US:
                return
            self._cycle.sleep_us(ROOM_US)
            elected = self._elected()
            while elected is None and self._left_us() > ROOM_US:
                self._cycle.sleep_us(POLL_US)
                elected = self._elected()
            if not elected:
                self._summary.handed_over = elected is False
                return
            until_us = self._cycle.now_us() + min(AGAIN_US - ROOM_US, self._left_us())

    def _cover(self, until_us: int) -> bool:
        """Cover one window and release the claim with its commit; whether this invocation led to its end."""
        try:
            if not self._read():
                return False
            hold = Hold(self._cycle, self._handler, lambda: True, together=True)
            if self._summary.start is None and self._cycle.covered_us is not None:
                self._summary.start = from_us(self._cycle.covered_us)
            self._summary.leader = True
            led = hold.cover(until_us) and self._read_once_more(hold) and self._await_a_gap(hold)
            self._summary.dispatched += hold.dispatched
            self._summary.skipped += hold.skipped
            led = self._close() and led
        except Exception:
            self._cycle.let_go()
            raise
        if led and self._cycle.covered_us is not None:
            self._summary.end = from_us(self._cycle.covered_us)
        return led

    def _read(self) -> bool:
        """Get a view that may be committed on, however often that takes; False when time is up.

        Between tries the claim is free: another process may be able to read.
        """
        pause_us = RETRY_US
        while not self._cycle.sync_if_due():
            self._cycle.let_go()
            if self._left_us() <= pause_us:
                return False
            self._cycle.sleep_us(pause_us)
            pause_us = min(2 * pause_us, RETRY_US_MAX)
            if not self._wait_for_claim():
                return False
        return True

    def _close(self) -> bool:
        try:
            return self._cycle.close(release=True)
        except EverdueError:
            self._cycle.reporter.count("commit")
            raise

    def _read_once_more(self, hold: Hold) -> bool:
        """Read before letting go what a successor that knows nothing of the past could not tell from old."""
        if not self._lead_us:
            return True
        self._cycle.sync_if_due(self._cycle.terms.sync_us - UNREAD_US)
        return hold.cover(self._cycle.now_us())

    def _await_a_gap(self, hold: Hold) -> bool:
        """Put the hand-over off while a run falls due in the room that it leaves."""
        give_up_us = self._cycle.now_us() + min(PATIENCE_US, self._left_us())
        while self._lead_us:
            next_us = self._cycle.next_us()
            if next_us is None or next_us > self._cycle.now_us() + ROOM_US or next_us >= give_up_us:
                return True
            if not hold.cover(next_us + 1):
                return False
        return True

    def _read_ahead(self) -> bool:
        """Whoever has to wait for the claim reads meanwhile, so that little is left to read once it is free."""
        self._cycle.refresh()
        return True

    def _wait_for_claim(self) -> bool:
        while not self._elected():
            if self._left_us() <= POLL_US:
                if self._unasked is not None:
                    raise self._unasked  # an invocation that could not even ask must be seen to have failed
                return False
            self._cycle.sleep_us(POLL_US)
        return True

    def _elected(self) -> bool | None:
        """Whether this invocation leads now; None where the claim could not be asked, which is reported once."""
        try:
            elected = self._cycle.elect()
        except (ClaimMalformed, ClaimTooNew):
            self._cycle.reporter.count("claim")
            raise
        except ClaimFailed as error:
            if self._unasked is None:
                self._cycle.reporter.warn(error, "election")
            self._unasked = error
            return None
        self._unasked = None
        return elected

    def _first_end_us(self) -> int:
        now_us = self._cycle.now_us()
        if not self._lead_us:
            return now_us
        boundary_us = now_us - now_us % MINUTE_US + MINUTE_US
        return min(boundary_us + MARGIN_US, now_us + self._lead_us + MARGIN_US, now_us + self._left_us())

    def _left_us(self) -> int:
        """How long this invocation may still hold a window open."""
        return self._cycle.left_us() - SKEW_US_MAX - RESERVE_US
