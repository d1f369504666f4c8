"""A claim store in memory, with lost answers on request."""

from dataclasses import replace
from typing import Literal

from everdue.core.claim import Claim, Milestone
from everdue.core.clock import Clock
from everdue.core.errors import ClaimFailed
from everdue.core.moment import to_us


class MemoryClaimStore:
    """A `ClaimStore` and `MilestoneStore`, and a `ServiceClock` where both clocks are given.

    Share one between two schedulers to let them compete.

    Args:
        clock: the clock of the process that uses the store.
        service_clock: the clock of the service behind it; the difference is what `skew_us` says.

    Attributes:
        claim: what is stored now. `milestone` likewise.
        writes: every claim that was stored, in order.
    """

    def __init__(self, *, clock: Clock | None = None, service_clock: Clock | None = None) -> None:
        self.claim: Claim | None = None
        self.milestone: Milestone | None = None
        self.writes: list[Claim] = []
        self._clock = clock
        self._service_clock = service_clock
        self._failing: list[tuple[Literal["load", "swap"], Exception, bool]] = []

    def load(self) -> Claim | None:
        """The stored claim."""
        self._fail("load")
        return self.claim

    def swap(self, expected: Claim | None, next: Claim) -> bool:  # noqa: A002 - the port's fixed name
        """Store `next` if the stored revision is `expected`'s; the revision is raised by one, whatever `next` says."""
        failure = self._take("swap")
        if failure is not None and not failure[1]:
            raise failure[0]
        read = None if expected is None else expected.revision
        stored = None if self.claim is None else self.claim.revision
        won = read == stored
        if won:
            self.claim = replace(next, revision=(read or 0) + 1)
            self.writes.append(self.claim)
        if failure is not None:
            raise failure[0]
        return won

    def load_milestone(self) -> Milestone | None:
        """The stored milestone."""
        return self.milestone

    def save_milestone(self, milestone: Milestone) -> None:
        """Replace the milestone."""
        self.milestone = milestone

    def skew_us(self) -> int | None:
        """How far `clock` is ahead of `service_clock`, exactly; None unless both are given."""
        if self._clock is None or self._service_clock is None:
            return None
        return to_us(self._clock.now()) - to_us(self._service_clock.now())

    def lose(self) -> None:
        """Delete the claim, as a table that was replaced would; the milestone stays."""
        self.claim = None

    def fail(self, what: Literal["load", "swap"], *, error: Exception | None = None, written: bool = False) -> None:
        """Let the next `load` or `swap` raise `error` (a ClaimFailed); `written`: after the write happened."""
        self._failing.append((what, error or ClaimFailed("the claim store is down"), written))

    def _take(self, what: str) -> tuple[Exception, bool] | None:
        for index, (operation, error, written) in enumerate(self._failing):
            if operation == what:
                del self._failing[index]
                return error, written
        return None

    def _fail(self, what: str) -> None:
        failure = self._take(what)
        if failure is not None:
            raise failure[0]
