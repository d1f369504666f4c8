"""A cron expression without its zone: the next local minute that matches, by table and bit arithmetic."""

from collections.abc import Sequence
from datetime import date
from functools import lru_cache

from everdue.core.triggers.cron_days import DayRule
from everdue.core.triggers.cron_fields import Field
from everdue.core.triggers.zone_footer import UNIX_DAY

FIRST_DAY = 1 - UNIX_DAY
LAST_DAY = date.max.toordinal() - UNIX_DAY
CYCLE_YEARS = 400


class CronCalendar:
    """Matching minutes of the civil calendar, counted in seconds since 1970-01-01T00:00 local time.

    Attributes:
        days: the day fields.
        minute, hour: the other two, as read.
        years: the years that are allowed, ascending, or None for all (only EventBridge has a year field).
    """

    __slots__ = (
        "_ahead",
        "_first_minute_s",
        "_first_s",
        "_hours",
        "_kinds",
        "_last_s",
        "_minutes",
        "_today",
        "_year",
        "days",
        "hour",
        "minute",
        "years",
    )

    grain = 60

    def __init__(self, minute: Field, hour: Field, days: DayRule, years: Sequence[int] | None = None) -> None:
        self.minute, self.hour, self.days, self.years = minute, hour, days, years
        self._minutes = _next_table(minute.bits, 60)
        self._hours = _next_table(hour.bits, 24)
        self._first_minute_s = self._minutes[0] * 60
        self._first_s = self._hours[0] * 3600 + self._first_minute_s
        self._last_s = (hour.bits.bit_length() - 1) * 3600 + (minute.bits.bit_length() - 1) * 60
        self._today = (0, 0)  # the day that matched last, as local seconds: most questions are about the same day
        self._kinds: dict[tuple[bool, int], int] = {}
        self._ahead = (0, -1)  # first day asked about, and its answer, which is that of all days between
        self._year = (0, 0, 0)  # first day, day after the last, matching days: of the year asked about last

    def next_local(self, second: int) -> int | None:
        """The first matching local second at or after this one; None when there is none up to year 9999."""
        start, beyond = self._today
        if start <= second < beyond:
            hour, minute = divmod((second - start + 59) // 60, 60)
            later = self._hours[hour]
            if later == hour:
                minute = self._minutes[minute]
                if minute < 60:
                    return start + hour * 3600 + minute * 60
                later = self._hours[hour + 1]
            if later < 24:
                return start + later * 3600 + self._first_minute_s
            second = beyond
        day, late = divmod(second, 86_400)
        if late > self._last_s:
            day += 1
        found = self._next_day(day)
        if found is None:
            return None
        start = found * 86_400
        self._today = (start, start + 86_400)
        return start + self._first_s if second <= start else self.next_local(second)

    def _next_day(self, day: int) -> int | None:
        """The first matching day at or after this one: at most one calendar cycle of years is looked through."""
        asked, answer = self._ahead
        if asked <= day <= answer:
            return answer
        first, beyond, bits = self._year
        if first <= day < beyond and (rest := bits >> day - first):
            return day + (rest & -rest).bit_length() - 1
        day = max(day, FIRST_DAY)
        if day > LAST_DAY:
            return None
        year = date.fromordinal(day + UNIX_DAY).year
        for candidate in self._candidates(year):
            first = date(candidate, 1, 1).toordinal()
            leap = candidate % 4 == 0 and (candidate % 100 != 0 or candidate % 400 == 0)
            kind = (leap, first % 7)  # ordinal 7 was a Sunday, so Sunday is 0
            if kind not in self._kinds:
                self._kinds[kind] = self.days.year_bits(*kind)
            bits = self._kinds[kind]
            first -= UNIX_DAY
            rest = bits >> day - first if day > first else bits
            if rest:
                self._year = (first, first + 365 + leap, bits)
                found = max(day, first) + (rest & -rest).bit_length() - 1
                self._ahead = (day, found)
                return found
        return None

    def _candidates(self, year: int) -> Sequence[int]:
        if self.years is None:
            return range(year, min(year + CYCLE_YEARS, 9999) + 1)
        return [allowed for allowed in self.years if allowed >= year]


@lru_cache(maxsize=1024)
def _next_table(bits: int, size: int) -> tuple[int, ...]:
    """For each number up to `size`: the first set bit at or after it, or more than `size` when there is none."""
    if bits == (1 << size) - 1:
        return (*range(size), size + 1)
    table: list[int] = []
    while bits:
        at = (bits & -bits).bit_length() - 1
        table += [at] * (at + 1 - len(table))
        bits &= bits - 1
    table += [size + 1] * (size + 1 - len(table))
    return tuple(table)
