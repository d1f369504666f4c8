"""A clock that stands still until it is moved."""

import heapq
from collections.abc import Callable
from datetime import UTC, datetime

from everdue.core.moment import SECOND_US, from_us, seconds_to_us, to_us

DEFAULT_START = datetime(2026, 1, 1, tzinfo=UTC)


class ManualClock:
    """A `MonotonicClock` that moves only when it is told to, or slept on.

    Args:
        start: what the wall clock shows first, aware. Without one, 2026-01-01 00:00 UTC.
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._wall_us = to_us(DEFAULT_START if start is None else start)
        self._monotonic_us = 0
        self._hooks: list[tuple[int, int, Callable[[], object]]] = []
        self._hook_count = 0
        self.slept: list[float] = []
        """Every sleep asked for, in seconds."""

    def now(self) -> datetime:
        """The wall clock, as an aware UTC datetime."""
        return from_us(self._wall_us)

    def monotonic_us(self) -> int:
        """Microseconds that passed since the start; no step of the wall clock moves it."""
        return self._monotonic_us

    def sleep(self, seconds: float) -> None:
        """Advance by so many seconds, at once; zero or less does nothing."""
        self.slept.append(seconds)
        if seconds > 0:
            self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Let so many seconds pass, on both clocks; hooks on the way run at their moments.

        Negative seconds step the wall clock back, as NTP would, while the monotonic clock stays where it is.
        """
        us = seconds_to_us(seconds)
        if us < 0:
            self._wall_us += us
            return
        # The target is kept as a distance on the monotonic clock: a hook may itself step the wall clock or advance.
        target = self._monotonic_us + us
        while self._hooks and self._hooks[0][0] <= self._wall_us + max(0, target - self._monotonic_us):
            moment, _, callback = heapq.heappop(self._hooks)
            self._pass(max(0, moment - self._wall_us))
            callback()
        self._pass(max(0, target - self._monotonic_us))

    def step(self, seconds: float) -> None:
        """Move the wall clock alone, forward or back, as an operator or NTP would. No hook runs before time passes."""
        self._wall_us += seconds_to_us(seconds)

    def at(self, moment: datetime | float, callback: Callable[[], object]) -> None:
        """Run `callback` when the wall clock reaches a moment: an aware datetime, or seconds from now.

        It runs once, inside the `advance` or `sleep` that gets there, with the clock showing that moment.
        """
        us = to_us(moment) if isinstance(moment, datetime) else self._wall_us + round(moment * SECOND_US)
        self._hook_count += 1  # keeps hooks of one moment in the order in which they were set
        heapq.heappush(self._hooks, (us, self._hook_count, callback))

    def _pass(self, us: int) -> None:
        self._wall_us += us
        self._monotonic_us += us
