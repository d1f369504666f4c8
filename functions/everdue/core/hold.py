"""Holding a window open: every moment goes out when it falls due, under the view of that moment.

Nothing is selected ahead of its time. A list made when the window opened would have to be amended for every schedule
that is cancelled, edited or added while it waits; asking again at the moment itself needs no amendment.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from operator import attrgetter

from everdue.core.cycle import Cycle
from everdue.core.dispatcher import Dispatched
from everdue.core.occurrence import Occurrence
from everdue.core.selection import Limits, Selection

AHEAD_US = 150_000
"""Leadership is confirmed this long before a held moment, so that the moment itself need not wait for the answer."""

PROGRESS_US = 15_000_000
"""A crash repeats what was sent since the last commit: so much of it at most, once the backlog is gone."""

LIMITS = Limits(runs=2_000, skips=100_000, runs_of_one=1_000)
"""One hand-over's worth of backlog: between two of them coverage is committed, which confirms leadership too."""


class Hold:
    """One window, held open by a leader."""

    def __init__(self, cycle: Cycle, handler: Callable[[list[Occurrence]], Dispatched | None],
                 keep_on: Callable[[], bool], *, together: bool = False) -> None:  # fmt: skip
        """
        Args:
            cycle: a leader's.
            handler: takes the occurrences.
            keep_on: asked after every hand-over and every wait.
            together: hand over what is past due in large batches, in order, not moment by moment.
        """
        self._cycle = cycle
        self._handler = handler
        self._keep_on = keep_on
        self._together = together
        self.dispatched = 0
        self.skipped = 0

    def cover(self, until_us: int) -> bool:
        """Cover up to `until_us`: returns when that moment has come, or it may not keep on.

        False: leadership is lost, and what was sent since the last commit is the new leader's to cover again. Raises
        what the handler raises, with everything handed over before it covered.
        """
        while True:
            if self._cycle.clock_stepped():  # what "until" means has changed: the caller opens another window
                return bool(self._cycle.confirm())
            end_us = min(until_us, self._cycle.now_us() + 1)
            selection = self._cycle.select(end_us, LIMITS)
            if not self._hand_over(selection):
                return False
            self._cycle.advance(selection)
            self.skipped += sum(skip.count for skip in selection.skips)
            if not self._keep_on() or (end_us >= until_us and not selection.more):
                return True
            if (
                selection.more or (selection.occurrences and self._cycle.lag_us > PROGRESS_US)
            ) and not self._cycle.close(release=False):
                return False
            if not selection.more:
                self._wait(until_us)
                if not self._keep_on():
                    return True

    def _hand_over(self, selection: Selection) -> bool:
        """Send a selection; False as soon as leadership is lost. What a clock that is wrong calls missed counts too."""
        if selection.skips and not self._cycle.is_sure():
            return False
        for batch in self._batches(selection.occurrences):
            if not self._cycle.is_sure():
                return False
            handed_over_us = self._cycle.now_us()
            try:
                result = self._handler(batch)
            except Exception:
                self._cycle.reporter.count("dispatch")
                raise
            self.dispatched += len(batch)
            selection.skips += self._cycle.sent(batch, result, handed_over_us)
        return True

    def _batches(self, occurrences: list[Occurrence]) -> Iterator[list[Occurrence]]:
        if self._together:
            for start in range(0, len(occurrences), LIMITS.runs):
                yield occurrences[start : start + LIMITS.runs]
        else:
            for _, batch in groupby(occurrences, key=attrgetter("due")):
                yield list(batch)

    def _wait(self, until_us: int) -> None:
        """Wait for whatever comes first: a run, the next sync, or the window's end."""
        next_us = self._cycle.next_us()
        wake_us = until_us if next_us is None else min(next_us, until_us)
        left_us = wake_us - self._cycle.now_us()
        sync_us = self._cycle.sync_due_in_us()
        # A read that would end after the next run is due waits for it, though not for ever.
        if sync_us <= 0 and (left_us > self._cycle.sync_took_us or -sync_us > self._cycle.terms.sync_us):
            self._cycle.sync_if_due()
            return
        if 0 < sync_us < left_us:
            self._cycle.sleep_us(sync_us)
            return
        if left_us > AHEAD_US:
            self._cycle.sleep_us(left_us - AHEAD_US)
        if next_us is not None and next_us <= until_us:
            self._cycle.is_sure()
        # Never longer than was left before: a clock that was set back meanwhile must not make it hours.
        self._cycle.sleep_us(min(wake_us - self._cycle.now_us(), left_us, AHEAD_US))
