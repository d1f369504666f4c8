"""Excluding: another trigger's occurrences without those on given local dates or at given moments."""

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import Any

from everdue.core.errors import TriggerRefused
from everdue.core.moment import MAX_US, MIN_US, SECOND_US, from_us
from everdue.core.trigger import Trigger
from everdue.core.triggers.base import born, clip, living, moment_us
from everdue.core.triggers.wrapped import InstantWrapped, Wrapped, pick
from everdue.core.triggers.zone import Zone, zone
from everdue.core.triggers.zone_footer import DAY_S, UNIX_DAY


class Excluding(Wrapped):
    """Another trigger's occurrences without the excluded ones.

    Args:
        trigger: any trigger, also one that has only `occurrences_between`.
        exclude: dates, on which nothing runs from one local midnight to the next, and aware datetimes, the exact
            moments that do not run.
        timezone: IANA name of the zone whose dates are meant. What counts is the local date of the run itself,
            so a run that a gap moved past midnight belongs to the day it moved to.

    Raises:
        TriggerRefused: the trigger is none, an element is neither, or there is no such zone.
    """

    __slots__ = ("_days", "_moments_us", "_zone", "timezone")

    _days: frozenset[int]
    _moments_us: frozenset[int]
    _zone: Zone
    timezone: str

    def __new__(cls, trigger: Trigger, exclude: Iterable[date | datetime], timezone: str = "UTC") -> "Excluding":
        kind = pick(Excluding, _InstantExcluding, trigger)
        place = zone(timezone)
        if isinstance(exclude, str) or not isinstance(exclude, Iterable):
            raise TriggerRefused(f"exclude {clip(exclude)} is not a list of dates and aware datetimes")
        days, moments = set(), set()
        for element in exclude:
            if isinstance(element, datetime):
                moments.add(moment_us("exclude", element))
            elif isinstance(element, date):
                days.add(element.toordinal() - UNIX_DAY)
            else:
                raise TriggerRefused(f"exclude {clip(element)} is neither a date nor an aware datetime")
        key = (kind, trigger, frozenset(days), frozenset(moments), place.name)
        found = living(key)
        if isinstance(found, Excluding):
            return found
        return born(kind, key, trigger=trigger, _days=key[2], _moments_us=key[3], _zone=place, timezone=place.name)

    @property
    def exclude(self) -> tuple[date | datetime, ...]:
        """The excluded dates, ascending, then the excluded moments, ascending, in UTC."""
        dates = [date.fromordinal(day + UNIX_DAY) for day in sorted(self._days)]
        return (*dates, *(from_us(moment) for moment in sorted(self._moments_us)))

    def excluded(self, due_us: int) -> bool:
        """Whether a run at this moment (Unix microseconds) is left out."""
        if due_us in self._moments_us:
            return True
        second = due_us // SECOND_US
        return bool(self._days) and (second + self._zone.span_at(second).offset) // DAY_S in self._days

    def _window_us(self, start_us: int, end_us: int) -> Iterator[int]:
        return (due for due in self._inner_us(start_us, end_us) if not self.excluded(due))

    def __repr__(self) -> str:
        zone_text = "" if self.timezone == "UTC" else f", {self.timezone!r}"
        return f"Excluding({self.trigger!r}, {[element.isoformat() for element in self.exclude]}{zone_text})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Excluding, (self.trigger, self.exclude, self.timezone)


class _InstantExcluding(InstantWrapped, Excluding):
    __slots__ = ()

    def next_us(self, at_us: int) -> int | None:
        due = self.trigger.next_us(max(at_us, MIN_US))
        while due is not None and self.excluded(due):
            due = self.trigger.next_us(self._past_us(due))
        return due

    def _past_us(self, due_us: int) -> int:
        """The next moment worth asking about: the end of the excluded day rather than each of its seconds."""
        if due_us in self._moments_us:
            return due_us + 1
        second = due_us // SECOND_US
        span = self._zone.span_at(second)
        midnight = ((second + span.offset) // DAY_S + 1) * DAY_S - span.offset
        return min(min(midnight, span.end) * SECOND_US, MAX_US + 1)

    def iterate_us(self, start_us: int, end_us: int) -> Iterator[int]:
        due = self.next_us(start_us) if start_us < end_us else None
        while due is not None and due < end_us:
            yield due
            due = self.next_us(due + 1)
