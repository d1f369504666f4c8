"""Clock port, and the one place where the wall clock is read and time is waited for."""

import time
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable


class Clock(Protocol):
    """What the time is, and waiting."""

    def now(self) -> datetime:
        """The wall clock, as an aware UTC datetime."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait for so many seconds; zero or less returns at once."""
        ...


@runtime_checkable
class MonotonicClock(Clock, Protocol):
    """A clock's optional second ability: a reading that no clock step moves. Cadences are measured on it."""

    def monotonic_us(self) -> int:
        """Microseconds since some fixed moment, never going back."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The wall clock, in UTC."""
        return datetime.now(UTC)

    def monotonic_us(self) -> int:
        """Microseconds that only ever grow, clock steps or not."""
        return time.monotonic_ns() // 1_000

    def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""
        if seconds > 0:
            time.sleep(seconds)
