"""Interval: every so many seconds, counted from an anchor."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from everdue.core.errors import TriggerRefused
from everdue.core.moment import MAX_US, MIN_US, SECOND_US, from_us
from everdue.core.triggers.base import InstantBase, born, clip, living, moment_us
from everdue.core.triggers.durations import duration_us, seconds_text


class Interval(InstantBase):
    """Due at anchor + k * seconds for every whole k, also before the anchor. No drift: each run is a multiple.

    Args:
        seconds: the period, greater than 0; a fraction counts to the microsecond.
        anchor: an aware datetime that fixes the phase; None is the Unix epoch.

    Raises:
        TriggerRefused: the period is not a number above 0, or the anchor no aware datetime.
    """

    __slots__ = ("_anchor_us", "_period_us")

    _period_us: int
    _anchor_us: int

    def __new__(cls, seconds: float | Decimal | Fraction, anchor: datetime | None = None) -> "Interval":
        period = duration_us("seconds", seconds)
        if not 0 < period <= MAX_US - MIN_US:
            raise TriggerRefused(f"seconds {clip(seconds)} is no period: at least a microsecond, at most 9999 years")
        phase = 0 if anchor is None else moment_us("anchor", anchor) % period
        if phase > MAX_US:  # a period of thousands of years: the run before is the one that has a date
            phase -= period
        key = (cls, period, phase)
        found = living(key)
        if isinstance(found, Interval):
            return found
        return born(cls, key, _period_us=period, _anchor_us=phase)

    @property
    def seconds(self) -> float:
        """The period in seconds."""
        return self._period_us / SECOND_US

    @property
    def phase_us(self) -> int:
        """The first multiple at or after the Unix epoch, in microseconds: what is left of the anchor."""
        return self._anchor_us

    @property
    def period_us(self) -> int:
        """The period in microseconds."""
        return self._period_us

    def next_us(self, at_us: int) -> int | None:
        """The first occurrence at or after `at_us` (Unix microseconds); None beyond year 9999."""
        at_us = max(at_us, MIN_US)
        due = at_us + (self._anchor_us - at_us) % self._period_us
        return due if due <= MAX_US else None

    def iterate_us(self, start_us: int, end_us: int) -> Iterator[int]:
        """The occurrences in `[start_us, end_us)` (Unix microseconds)."""
        first = self.next_us(start_us)
        return iter(()) if first is None else iter(range(first, min(end_us, MAX_US + 1), self._period_us))

    def __repr__(self) -> str:
        anchor = f", anchor={from_us(self._anchor_us).isoformat()!r}" if self._anchor_us else ""
        return f"Interval({seconds_text(self._period_us)}{anchor})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._period_us, self._anchor_us)


def _again(period_us: int, anchor_us: int) -> Interval:
    return Interval(Fraction(period_us, SECOND_US), from_us(anchor_us))
