"""At: one moment."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from everdue.core.clock import SystemClock
from everdue.core.errors import TriggerRefused
from everdue.core.moment import MAX_US, MIN_US, from_us, to_us
from everdue.core.triggers.base import InstantBase, born, clip, living, moment_us
from everdue.core.triggers.durations import duration_us


class At(InstantBase):
    """Due once. A one-shot is never dropped by age: in the past when it is written, it runs at once.

    Args:
        moment: an aware datetime.

    Raises:
        TriggerRefused: the moment is no aware datetime.
    """

    __slots__ = ("_moment_us",)

    _moment_us: int

    def __new__(cls, moment: datetime) -> "At":
        us = moment_us("moment", moment)
        key = (cls, us)
        found = living(key)
        return found if isinstance(found, At) else born(cls, key, _moment_us=us)

    @classmethod
    def after(cls, seconds: float, start: datetime | None = None) -> "At":
        """Once, so many seconds after `start`, an aware datetime; None is now, by the machine's clock.

        Raises:
            TriggerRefused: not a number of seconds, or the moment lies outside years 1 to 9999.
        """
        us = to_us(SystemClock().now()) if start is None else moment_us("start", start)
        us += duration_us("seconds", seconds)
        if not MIN_US <= us <= MAX_US:
            raise TriggerRefused(f"seconds {clip(seconds)} leads out of years 1 to 9999")
        return cls(from_us(us))

    @property
    def recurring(self) -> bool:
        """False: there is one run."""
        return False

    @property
    def moment(self) -> datetime:
        """When it is due, in UTC."""
        return from_us(self._moment_us)

    def next_us(self, at_us: int) -> int | None:
        """The moment (Unix microseconds) when it is at or after `at_us`, else None."""
        return self._moment_us if at_us <= self._moment_us else None

    def iterate_us(self, start_us: int, end_us: int) -> Iterator[int]:
        """The moment, when it lies in `[start_us, end_us)` (Unix microseconds)."""
        if start_us <= self._moment_us < end_us:
            yield self._moment_us

    def __repr__(self) -> str:
        return f"At({self.moment.isoformat()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return At, (self.moment,)
