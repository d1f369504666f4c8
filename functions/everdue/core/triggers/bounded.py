"""Bounded: another trigger's occurrences within `[starts_at, ends_at)`."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from everdue.core.errors import TriggerRefused
from everdue.core.moment import MAX_US, MIN_US, from_us
from everdue.core.trigger import Trigger
from everdue.core.triggers.base import born, living, moment_us
from everdue.core.triggers.wrapped import InstantWrapped, Wrapped, pick


class Bounded(Wrapped):
    """Another trigger's occurrences from `starts_at` on, itself included, and before `ends_at`, itself excluded.

    Args:
        trigger: any trigger, also one that has only `occurrences_between`.
        starts_at, ends_at: aware datetimes; None is unbounded.

    Raises:
        TriggerRefused: the trigger is none, a bound is no aware datetime, or nothing lies between them.
    """

    __slots__ = ("_ends_us", "_starts_us")

    _starts_us: int
    _ends_us: int

    def __new__(cls, trigger: Trigger, starts_at: datetime | None = None, ends_at: datetime | None = None) -> "Bounded":
        kind = pick(Bounded, _InstantBounded, trigger)
        starts = MIN_US if starts_at is None else moment_us("starts_at", starts_at)
        ends = MAX_US + 1 if ends_at is None else moment_us("ends_at", ends_at)
        if starts >= ends:
            raise TriggerRefused(
                f"ends_at {from_us(min(ends, MAX_US)).isoformat()} is not after "
                f"starts_at {from_us(starts).isoformat()}: the span is half-open, so it holds nothing"
            )
        key = (kind, trigger, starts, ends)
        found = living(key)
        if isinstance(found, Bounded):
            return found
        return born(kind, key, trigger=trigger, _starts_us=starts, _ends_us=ends)

    @property
    def starts_at(self) -> datetime | None:
        """The first moment at which it may run; None when it is unbounded."""
        return None if self._starts_us == MIN_US else from_us(self._starts_us)

    @property
    def ends_at(self) -> datetime | None:
        """The moment from which on it does not run; None when it is unbounded."""
        return None if self._ends_us > MAX_US else from_us(self._ends_us)

    def _window_us(self, start_us: int, end_us: int) -> Iterator[int]:
        return self._inner_us(max(start_us, self._starts_us), min(end_us, self._ends_us))

    def __repr__(self) -> str:
        bounds = [
            f", {name}={moment.isoformat()!r}"
            for name, moment in (("starts_at", self.starts_at), ("ends_at", self.ends_at))
            if moment is not None
        ]
        return f"Bounded({self.trigger!r}{''.join(bounds)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Bounded, (self.trigger, self.starts_at, self.ends_at)


class _InstantBounded(InstantWrapped, Bounded):
    __slots__ = ()

    def next_us(self, at_us: int) -> int | None:
        due = self.trigger.next_us(max(at_us, self._starts_us))
        return due if due is not None and due < self._ends_us else None
