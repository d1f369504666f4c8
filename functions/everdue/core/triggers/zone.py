"""A time zone as spans of constant offset, so that local time is one addition instead of one search a minute."""

from bisect import bisect_right
from datetime import date, datetime
from functools import lru_cache
from typing import NamedTuple

from everdue.core.errors import TriggerRefused
from everdue.core.moment import MAX_US, MIN_US, SECOND_US, from_us
from everdue.core.triggers.base import clip
from everdue.core.triggers.zone_file import ZONE_NAME, read_zone, zone_bytes
from everdue.core.triggers.zone_footer import DAY_S, UNIX_DAY, Footer

MIN_S = MIN_US // SECOND_US
MAX_S = MAX_US // SECOND_US
FIRST_S = MIN_S - DAY_S
BEYOND_S = MAX_S + 1
"""Where the first span begins, a day before year 1 so that no jump seems near it, and where the last one ends."""


class Span(NamedTuple):
    """A stretch of time with one offset.

    Attributes:
        start, end: Unix seconds, half-open.
        offset: seconds east of UTC.
        fresh: the local second at which the span before ended. When it is later than `start + offset`, the clocks
            went back and local times before it are happening again; when it is earlier, they went forward and the
            local times from it to `start + offset` never happened.
    """

    start: int
    end: int
    offset: int
    fresh: int


class Zone:
    """One IANA time zone: `span_at` tells the offset of a moment and how long it lasts.

    Each span is longer than the jump that begins it, in every zone of the database (the shortest lasts four days,
    the largest jump is 24 hours), so looking one span back is enough to know which local times already happened.

    Attributes:
        name: the zone's IANA name.
        calm: (from, until, offset) of the span asked about last, in Unix seconds without its first day and not before
            1970: within it local time is one addition, nothing of a jump matters, and every platform knows the date.
    """

    __slots__ = ("_after", "_changes", "_moments", "_recent", "_takes_over", "calm", "name")

    def __init__(self, name: str, before: int, changes: tuple[tuple[int, int], ...], after: Footer) -> None:
        self.name = name
        merged: list[tuple[int, int]] = [(FIRST_S, before)]
        for moment, offset in changes:
            if offset != merged[-1][1]:  # a new name for the same offset is no change of the clocks
                merged.append((moment, offset))
        self._changes = merged
        self._moments = [moment for moment, _ in merged]
        self._after = after
        self._takes_over = changes[-1][0] if changes else FIRST_S
        if after.starts is None and after.standard != merged[-1][1]:
            merged.append((self._takes_over, after.standard))
            self._moments.append(self._takes_over)
        self._recent = Span(0, 0, 0, 0)
        self.calm = (0, 0, 0)
        self._recent = self.span_at(0)

    @property
    def constant(self) -> bool:
        """Whether the zone has had one offset all along and keeps it, as UTC has."""
        return len(self._moments) == 1 and self._after.starts is None

    @property
    def settled(self) -> int:
        """The Unix second of the last listed change: from then on a year's offsets follow its kind alone."""
        return self._moments[-1] if len(self._moments) > 1 else MIN_S

    def span_at(self, second: int) -> Span:
        """The span that holds this Unix second."""
        recent = self._recent
        if recent.start <= second < recent.end:
            return recent
        index = max(bisect_right(self._moments, second) - 1, 0)
        start, offset = self._changes[index]
        if index + 1 < len(self._changes):
            span = self._span(start, self._changes[index + 1][0], offset, index)
        elif self._after.starts is None:
            span = self._span(start, BEYOND_S, offset, index)
        else:
            span = self._yearly_span(second, index)
        # Each is one assignment of one tuple: threads may race here, and either answer is right.
        self._recent = span
        self.calm = (max(span.start + DAY_S, 0), span.end, span.offset)
        return span

    def first_at(self, local: int) -> int:
        """The first Unix second at which the clock shows this local second, or jumps past it: the end of its gap."""
        span = self.span_at(local - 2 * DAY_S)
        while span.end < BEYOND_S and local >= span.end + span.offset:
            span = self.span_at(span.end)
        return max(local - span.offset, span.start)

    def _span(self, start: int, end: int, offset: int, index: int) -> Span:
        return Span(start, end, offset, start + (self._changes[index - 1][1] if index else offset))

    def _yearly_span(self, second: int, index: int) -> Span:
        """The span after the last listed change: from the footer's changes in the years around it."""
        year = _utc_year(second)
        changes = [self._changes[index]]
        for near in range(max(1, year - 1), min(9999, year + 1) + 1):
            for moment, offset in _pieces(self._after, near):
                moment = max(moment, self._takes_over)
                if moment == changes[-1][0] and len(changes) > 1:
                    changes.pop()  # both began before the footer takes over: the later one is in force
                if offset != changes[-1][1]:
                    changes.append((moment, offset))
        at = bisect_right([moment for moment, _ in changes], second) - 1
        start, offset = changes[at]
        if at == 0:
            return self._span(start, changes[1][0] if len(changes) > 1 else BEYOND_S, offset, index)
        end = changes[at + 1][0] if at + 1 < len(changes) else BEYOND_S
        return Span(start, end, offset, start + changes[at - 1][1])


def local_moment(local: datetime, place: Zone) -> datetime:
    """The UTC moment of a naive local datetime: the first of two, or the end of the gap that it lies in.

    Raises:
        TriggerRefused: the moment lies outside years 1 to 9999.
    """
    second = (local.toordinal() - UNIX_DAY) * DAY_S + local.hour * 3600 + local.minute * 60 + local.second
    us = place.first_at(second) * SECOND_US + local.microsecond
    if not MIN_US <= us <= MAX_US:
        raise TriggerRefused(f"{local.isoformat()} in {place.name} lies outside years 1 to 9999 in UTC")
    return from_us(us)


def _utc_year(second: int) -> int:
    day = second // DAY_S + UNIX_DAY
    return date.fromordinal(min(max(day, 1), date.max.toordinal())).year


@lru_cache(maxsize=4096)
def _pieces(footer: Footer, year: int) -> list[tuple[int, int]]:
    return footer.pieces(year)


def zone(name: object) -> Zone:
    """The zone of this IANA name, read once.

    Raises:
        TriggerRefused: there is no such zone. `right/` zones count leap seconds and `localtime` is another zone on
            another machine, so those are refused too, though their files may exist.
    """
    found = _zone(name) if isinstance(name, str) else None
    if found is None:
        raise TriggerRefused(
            f"timezone {clip(name)} is not in the IANA time zone database: name one such as 'Europe/Berlin' or 'UTC'"
        )
    return found


@lru_cache(maxsize=1024)
def _zone(name: str) -> Zone | None:
    if not ZONE_NAME.fullmatch(name) or name.startswith(("posix", "right", "localtime")):
        return None
    try:
        data = zone_bytes(name)
        return None if data is None else Zone(name, *read_zone(data))
    except (ValueError, OSError):  # a file among the zones that is none, such as a table of leap seconds
        return None
