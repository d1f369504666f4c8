"""Which days of a year the three day fields of a cron expression mean, for each of the fourteen kinds of year.

Two things tell years apart: whether it is a leap year, and the weekday of its 1 January. All fourteen kinds occur
in every 400-year cycle of the calendar, so what matches in none of them never matches. Looking ahead a fixed number
of years instead would be wrong: MON#5 in February needs a leap year that begins on a Friday, 40 years apart at worst.
"""

from collections.abc import Iterator

from everdue.core.triggers.cron_fields import Field

LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_WEEKLY = sum(1 << day for day in range(0, 36, 7))
_SUNDAY, _SATURDAY = 0, 6


class DayRule:
    """The day of month, month and day of week fields together.

    Both day fields restricted: a day that matches either is meant (Vixie's rule). Else it must match both,
    of which an unrestricted one, `?` or `*`, matches every day, and `*/2` every second day of the month.
    """

    __slots__ = ("_day", "_either", "_month", "_weekday")

    def __init__(self, day: Field, month: Field, weekday: Field) -> None:
        self._day, self._month, self._weekday = day, month, weekday
        self._either = not day.starred and not weekday.starred

    def year_bits(self, leap: bool, first_weekday: int) -> int:
        """The matching days of such a year: bit 0 is 1 January."""
        bits = start = 0
        for month, length in enumerate(LENGTHS, 1):
            length += leap and month == 2
            if self._month.bits >> month & 1:
                bits |= self._month_bits(length, (first_weekday + start) % 7) >> 1 << start
            start += length
        return bits

    def ever_matches(self) -> bool:
        """Whether any day of the 400-year cycle matches: some month of some length that begins on some weekday."""
        return any(
            self._month_bits(length + longer, first_weekday)
            for month, length in enumerate(LENGTHS, 1)
            if self._month.bits >> month & 1
            for longer in range(1 + (month == 2))
            for first_weekday in range(7)
        )

    def _month_bits(self, length: int, first_weekday: int) -> int:
        """The matching days of a month of this length whose day 1 is this weekday: bit 1 is day 1."""
        month = (2 << length) - 2
        day_bits = self._day.bits
        for day in self._moved_days(length, first_weekday):
            day_bits |= 1 << day
        weekday_bits = month
        if self._weekday.bits != 0x7F:
            weekday_bits = 0
            for weekday in range(7):
                if self._weekday.bits >> weekday & 1:
                    weekday_bits |= _WEEKLY << 1 + (weekday - first_weekday) % 7
            for weekday, nth in self._weekday.nth_weekdays:
                weekday_bits |= 1 << 1 + (weekday - first_weekday) % 7 + 7 * (nth - 1)
            for weekday in self._weekday.last_weekdays:
                first = 1 + (weekday - first_weekday) % 7
                weekday_bits |= 1 << first + (length - first) // 7 * 7
        return (day_bits | weekday_bits if self._either else day_bits & weekday_bits) & month

    def _moved_days(self, length: int, first_weekday: int) -> Iterator[int]:
        """The days that L, L-3, LW and 15W mean in such a month. `nearest` never leaves its month."""
        for back in self._day.last_offsets:
            if back < length:
                yield length - back
        wanted = [day for day in self._day.nearest if day <= length]
        if self._day.last_workday:
            wanted.append(length)  # the workday nearest to the last day, without leaving the month, is the last workday
        for day in wanted:
            weekday = (first_weekday + day - 1) % 7
            if weekday == _SATURDAY:
                day += -1 if day > 1 else 2
            elif weekday == _SUNDAY:
                day += 1 if day < length else -2
            yield day
