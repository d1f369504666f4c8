"""Local rules in a zone: where a civil calendar meets clocks that skip an hour, or live one twice."""

from datetime import UTC, datetime
from typing import Protocol

from everdue.core.errors import TriggerRefused
from everdue.core.moment import EPOCH, SECOND_US
from everdue.core.triggers.base import InstantBase, clip, naive, utc_datetime
from everdue.core.triggers.zone import MAX_S, MIN_S, Zone
from everdue.core.triggers.zone_footer import DAY_S

CYCLE_S = 146_097 * DAY_S
"""Seconds in the 400-year cycle of the calendar. Beyond a zone's last listed change its local times repeat with it."""

from_timestamp = datetime.fromtimestamp

GAPS = ("run", "skip")
FOLDS = ("once", "twice")


class LocalCalendar(Protocol):
    """A rule in local time, without a zone.

    Attributes:
        grain: seconds that any two matches are at least apart, a divisor of each match.
    """

    @property
    def grain(self) -> int: ...

    def next_local(self, second: int) -> int | None:
        """The first match at or after this local second (since 1970-01-01T00:00 local); None when there is none."""
        ...


class ZonedTrigger(InstantBase):
    """A local calendar seen through a zone.

    `_fixed` says whose time it follows. A fixed time of day follows the clock on the wall: `gap` decides what becomes
    of a time that the clocks skip, `fold` of one that happens twice. Anything else follows the real passing of
    time: each moment whose local time matches is an occurrence, so an hour that happens twice runs twice.
    """

    __slots__ = ("_calendar", "_fixed", "_once", "_run_gap", "_zone")

    _calendar: LocalCalendar
    _zone: Zone
    _fixed: bool
    _run_gap: bool
    _once: bool

    @property
    def zone(self) -> Zone:
        """The zone whose clock it follows."""
        return self._zone

    @property
    def calendar(self) -> LocalCalendar:
        """The rule in local time."""
        return self._calendar

    @property
    def moves_gaps(self) -> bool:
        """Whether a skipped local time runs after the gap."""
        return self._fixed and self._run_gap

    @property
    def folds_once(self) -> bool:
        """Whether a repeated local time runs once."""
        return self._fixed and self._once

    def occurrences_between(self, start: datetime, end: datetime) -> list[datetime]:
        """Every occurrence in the half-open window `[start, end)`, ascending, as aware UTC datetimes.

        Due exactly at `start` belongs to this window, due exactly at `end` to the next one.

        Raises:
            ValueError: a datetime is naive.
        """
        try:
            since, until = start - EPOCH, end - EPOCH
        except TypeError:
            raise naive(start, end) from None
        # Runs fall on whole seconds, so a bound within a second may as well be the next whole one.
        second = since.days * 86_400 + since.seconds
        if since.microseconds:
            second += 1
        beyond = until.days * 86_400 + until.seconds
        if until.microseconds:
            beyond += 1
        calm, stop, offset = self._zone.calm
        if second < calm or beyond > stop:
            return [utc_datetime(due // SECOND_US) for due in self.iterate_us(second * SECOND_US, beyond * SECOND_US)]
        # The hot path, asked for every schedule every minute: one addition, one look-up.
        beyond += offset
        due = self._calendar.next_local(second + offset)
        if due is None or due >= beyond:
            return []
        found = [from_timestamp(due - offset, UTC)]
        while (due := due + self._calendar.grain) < beyond:
            due = self._calendar.next_local(due)
            if due is None or due >= beyond:
                break
            found.append(from_timestamp(due - offset, UTC))
        return found

    def next_us(self, at_us: int) -> int | None:
        """The first occurrence at or after `at_us` (Unix microseconds); None when there is none, up to year 9999."""
        second = -(-at_us // 1_000_000)
        calm, stop, offset = self._zone.calm
        if calm <= second < stop:
            local = self._calendar.next_local(second + offset)
            if local is not None and local < stop + offset:
                return (local - offset) * 1_000_000
        return self._walk_us(second)

    def _walk_us(self, second: int) -> int | None:
        """`next_us` span by span."""
        second = max(second, MIN_S)
        horizon = min(MAX_S, max(second, self._zone.settled) + CYCLE_S + 366 * DAY_S)
        next_local = self._calendar.next_local
        while second <= horizon:
            span = self._zone.span_at(second)
            start, end, offset, fresh = span
            local = second + offset
            if self._fixed:
                if fresh < start + offset and second == start:
                    if self._run_gap:
                        skipped = next_local(fresh)
                        if skipped is not None and skipped < start + offset:
                            return start * SECOND_US
                elif self._once and local < fresh:
                    local = fresh
            due = next_local(local)
            if due is not None and due - offset < end:
                return (due - offset) * SECOND_US
            if end > MAX_S:
                return None
            # Nothing matches from `local` to `due`. Two days before a span's end no later jump back can reach behind
            # `local`, so the spans up to two days before `due` hold nothing; nearer to it, take them one by one.
            if end - second > 2 * DAY_S:
                if due is None:
                    return None
                second = max(end, due - offset - 2 * DAY_S)
            else:
                second = end
        return None


def check_policy(gap: object, fold: object) -> None:
    """Refuse a daylight saving setting that is none of those there are."""
    if gap not in GAPS:
        raise TriggerRefused(f"gap {clip(gap)} is none of: 'run' (at the first moment after the gap), 'skip'")
    if fold not in FOLDS:
        raise TriggerRefused(f"fold {clip(fold)} is none of: 'once' (the first of the two), 'twice'")
