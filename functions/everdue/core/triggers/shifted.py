"""Shifted: another trigger's occurrences, each moved by the same span."""

from collections.abc import Iterator
from typing import Any

from everdue.core.moment import MAX_US, MIN_US, SECOND_US
from everdue.core.trigger import Trigger
from everdue.core.triggers.base import born, living
from everdue.core.triggers.durations import duration_us, seconds_text
from everdue.core.triggers.wrapped import InstantWrapped, Wrapped, pick


class Shifted(Wrapped):
    """Every occurrence of another trigger, moved by exactly `seconds`, later or (negative) earlier.

    Args:
        trigger: any trigger, also one that has only `occurrences_between`.
        seconds: may be negative, zero or a fraction, counted to the microsecond.

    Raises:
        TriggerRefused: the trigger is none, or seconds is not a number.
    """

    __slots__ = ("_shift_us",)

    _shift_us: int

    def __new__(cls, trigger: Trigger, seconds: float) -> "Shifted":
        kind = pick(Shifted, _InstantShifted, trigger)
        shift = duration_us("seconds", seconds)
        key = (kind, trigger, shift)
        found = living(key)
        return found if isinstance(found, Shifted) else born(kind, key, trigger=trigger, _shift_us=shift)

    @property
    def seconds(self) -> float:
        """By how much, in seconds."""
        return self._shift_us / SECOND_US

    @property
    def shift_us(self) -> int:
        """By how much, in microseconds."""
        return self._shift_us

    def _window_us(self, start_us: int, end_us: int) -> Iterator[int]:
        shift = self._shift_us
        for due in self._inner_us(max(start_us, MIN_US) - shift, min(end_us, MAX_US + 1) - shift):
            yield due + shift

    def __repr__(self) -> str:
        return f"Shifted({self.trigger!r}, {seconds_text(self._shift_us)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Shifted, (self.trigger, self.seconds)


class _InstantShifted(InstantWrapped, Shifted):
    __slots__ = ()

    def next_us(self, at_us: int) -> int | None:
        due = self.trigger.next_us(max(at_us, MIN_US) - self._shift_us)
        if due is None or due + self._shift_us > MAX_US:
            return None
        return due + self._shift_us
