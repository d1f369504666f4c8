"""A rule as a local calendar: it jumps to the year, the day and the time it is asked about, however old DTSTART is.

Days come from `expand`, which is given a year and tells the days that meet the rule's day parts. They depend on the
kind of year alone, so some thirty expansions serve for ever; INTERVAL, BYSETPOS and the time of day are arithmetic.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from datetime import date
from functools import lru_cache
from itertools import product
from math import gcd

from everdue.core.errors import TriggerRefused
from everdue.core.triggers.cron_calendar import FIRST_DAY, LAST_DAY
from everdue.core.triggers.cron_days import LENGTHS
from everdue.core.triggers.recurrence_rule import FREQUENCIES, Rule, time_of_day
from everdue.core.triggers.zone_footer import DAY_S, UNIX_DAY

YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY, MINUTELY, SECONDLY = range(len(FREQUENCIES))
UNIT_S = {HOURLY: 3600, MINUTELY: 60, SECONDLY: 1}
STEPS = 366
"""Days without a run that one question may look at. An hourly rule with such pauses is better said as a daily one."""
COUNT_STEPS = 3_000
"""Days without a run that a COUNT may walk over in all."""
YEARS = 500
"""Years that one question may look at: more than the cycle of the calendar, which is 400."""

Expand = Callable[[Rule, int], tuple[int, ...]]
"""The matching days of a year, from 0 for 1 January, ascending."""


class RuleCalendar:
    """The occurrences of one RRULE in local time. See `LocalCalendar`."""

    __slots__ = ("_expand", "_first_day", "_inside", "_jumps", "_kinds", "_recent", "_rule", "_times", "_until")

    grain = 1

    def __init__(self, rule: Rule, expand: Expand) -> None:
        self._rule = rule
        self._expand = expand
        self._kinds: dict[tuple[bool, bool, bool, int], tuple[int, dict[int, tuple[int, ...]]]] = {}
        self._recent: tuple[int, tuple[int, ...]] | None = None  # the day that matched last, and its times
        self._first_day = rule.start // DAY_S
        hour, minute, second = time_of_day(rule.start)
        hours = rule.hours or (hour,)
        minutes = rule.minutes or (minute,)
        seconds = rule.seconds or (second,)
        self._times = _clock(hours, minutes, seconds) if rule.frequency <= DAILY else ()
        self._inside: tuple[int, ...] = (0,)
        if rule.frequency == HOURLY:
            self._inside = tuple(m * 60 + s for m, s in product(minutes, seconds))
        elif rule.frequency == MINUTELY:
            self._inside = seconds
        if rule.positions and rule.frequency == DAILY:
            self._times = choose(self._times, rule.positions)
        elif rule.positions and rule.sub_daily:
            self._inside = choose(self._inside, rule.positions)
        self._jumps: tuple[int, ...] = ()
        if rule.sub_daily:
            self._check_meets()
            self._jumps = _jump_table(rule)
        self._until = rule.until
        if rule.count is not None:
            self._until = self._last_counted(rule.count)

    @property
    def sub_daily(self) -> bool:
        """Whether the rule follows the real passing of time."""
        return self._rule.sub_daily

    def next_local(self, second: int) -> int | None:
        """The first match at or after this local second; None when there is none.

        Raises:
            TriggerRefused: finding it would cost too much.
        """
        return self.search(second)[0]

    def search(self, second: int) -> tuple[int | None, int]:
        """`next_local`, and how many days it had to look at."""
        second = max(second, self._rule.start)
        recent = self._recent
        if recent is not None and recent[0] == second // DAY_S:
            found = self._within(*recent, second)
            if found is not None:
                return found if self._until is None or found <= self._until else None, 1
        steps = 0
        for steps, (day, times) in enumerate(self._days(second // DAY_S), 1):
            if self._until is not None and day * DAY_S > self._until:
                break
            found = self._within(day, times, second)
            if found is not None:
                self._recent = (day, times)
                return found if self._until is None or found <= self._until else None, steps
            if steps > STEPS:
                raise self._too_costly(STEPS)
        return None, steps

    def _within(self, day: int, times: tuple[int, ...], second: int) -> int | None:
        """The first match at or after this local second on this matching day."""
        start = day * DAY_S
        found = self._sub_daily(start, second) if self._rule.sub_daily else _at_or_after(times, second - start)
        return None if found is None else start + found

    def _last_counted(self, count: int) -> int | None:
        """The local second of the COUNT-th occurrence, or of the last one there is."""
        last, idle = None, 0
        for day, times in self._days(self._first_day):
            start = day * DAY_S
            found = self._within(day, times, self._rule.start)
            if found is None:
                idle += 1
                if idle > COUNT_STEPS:
                    raise self._too_costly(COUNT_STEPS)
            elif self._rule.sub_daily:
                at: int | None = found - start
                while at is not None:
                    last, count = start + at, count - 1
                    if not count:
                        return last
                    at = self._sub_daily(start, start + at + 1)
            else:
                usable = [time for time in times if start + time >= found]
                last = start + usable[: max(count, 1)][-1]
                count -= len(usable)
                if count <= 0:
                    return last
        return last

    def _too_costly(self, days: int) -> TriggerRefused:
        return TriggerRefused(
            f"rule with INTERVAL={self._rule.interval} costs too much: {days} of its days have no run"
        )

    def _check_meets(self) -> None:
        """Refuse an INTERVAL whose times of day never meet the BY parts, such as every 60th second and BYSECOND=9.

        From one start, steps of `size` reach the times of day that are equal modulo gcd(size, one day), and no others.
        """
        rule = self._rule
        unit = UNIT_S[rule.frequency]
        reach = gcd(unit * rule.interval, DAY_S)
        origin = rule.start // unit * unit
        minutes = rule.minutes or range(60) if rule.frequency >= MINUTELY else (0,)
        seconds = rule.seconds or range(60) if rule.frequency == SECONDLY else (0,)
        times = product(rule.hours or range(24), minutes, seconds)
        if not any((h * 3600 + m * 60 + s - origin) % reach == 0 for h, m, s in times):
            raise TriggerRefused(
                f"rule with INTERVAL={rule.interval} never matches: from DTSTART it meets none of its BY parts"
            )

    def _days(self, day: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The matching days at or after this one, each with its times."""
        day = max(day, FIRST_DAY, self._first_day)
        if day > LAST_DAY:
            return
        rule = self._rule
        year = date.fromordinal(day + UNIX_DAY).year
        step = 1
        if rule.frequency == YEARLY:
            step = rule.interval
            year += (date.fromordinal(max(self._first_day, FIRST_DAY) + UNIX_DAY).year - year) % step
        for candidate in range(year, min(year + YEARS * step, 10_000), step):
            first = date(candidate, 1, 1).toordinal() - UNIX_DAY
            bits, times = self._year(candidate, first)
            bits &= self._interval_bits(candidate, first)
            bits = bits >> day - first << day - first if day > first else bits
            while bits:
                low = bits & -bits
                at = low.bit_length() - 1
                yield first + at, times.get(at) or self._times
                bits ^= low

    def _year(self, year: int, first: int) -> tuple[int, dict[int, tuple[int, ...]]]:
        """The year's matching days as bits, and the times of those on which BYSETPOS picked some of them."""
        # Week 1 and weeks across New Year look at the neighbouring years too.
        kind = (_leap(year - 1), _leap(year), _leap(year + 1), (first + UNIX_DAY) % 7)
        if kind not in self._kinds:
            days: dict[int, tuple[int, ...]] = dict.fromkeys(self._expand(self._rule, year), ())
            if self._rule.positions and self._rule.frequency <= WEEKLY:
                days = self._chosen(year, first)
            self._kinds[kind] = sum(1 << day for day in days), {day: times for day, times in days.items() if times}
        return self._kinds[kind]

    def _chosen(self, year: int, first: int) -> dict[int, tuple[int, ...]]:
        """BYSETPOS: of each year's, month's or week's matching moments the n-th. Returns the days of this year."""
        groups: dict[int, list[int]] = {}
        weekly = self._rule.frequency == WEEKLY
        for near in range(max(year - weekly, 1), min(year + weekly, 9999) + 1):
            start = date(near, 1, 1).toordinal() - UNIX_DAY
            for day in self._expand(self._rule, near):
                groups.setdefault(self._group(start + day), []).append(start + day)
        picked: dict[int, tuple[int, ...]] = {}
        for days in groups.values():
            moments = len(days) * len(self._times)
            places = {at - 1 if at > 0 else moments + at for at in self._rule.positions}
            for place in sorted(at for at in places if 0 <= at < moments):
                day, time = divmod(place, len(self._times))
                at = days[day] - first
                picked[at] = (*picked.get(at, ()), self._times[time])
        return {at: times for at, times in picked.items() if 0 <= at < 365 + _leap(year)}

    def _group(self, day: int) -> int:
        """The period that a day belongs to, as BYSETPOS sees it."""
        if self._rule.frequency == WEEKLY:
            return (day - _week_origin(self._rule.week_start)) // 7
        return date.fromordinal(day + UNIX_DAY).month if self._rule.frequency == MONTHLY else 0

    def _interval_bits(self, year: int, first: int) -> int:
        """The days of this year that INTERVAL lets through, as bits from 1 January."""
        rule = self._rule
        every = rule.interval
        if every == 1 or rule.frequency == YEARLY or rule.sub_daily:
            return -1
        if rule.frequency == DAILY:
            return _every(366, (self._first_day - first) % every, every, 1)
        if rule.frequency == WEEKLY:
            week = (first - _week_origin(rule.week_start)) // 7
            own = (self._first_day - _week_origin(rule.week_start)) // 7
            into = (first - _week_origin(rule.week_start)) % 7
            return _every(378, (own - week) % every * 7, every * 7, 7) >> into
        start = date.fromordinal(max(self._first_day, FIRST_DAY) + UNIX_DAY)
        bits = at = 0
        for month, length in enumerate(LENGTHS, 1):
            length += _leap(year) and month == 2
            if (year * 12 + month - start.year * 12 - start.month) % every == 0:
                bits |= (1 << length) - 1 << at
            at += length
        return bits

    def _sub_daily(self, start: int, second: int) -> int | None:
        """The first second of the day that begins at `start` which matches an hourly, minutely or secondly rule."""
        rule = self._rule
        unit = UNIT_S[rule.frequency]
        size = unit * rule.interval
        origin = rule.start // unit * unit
        after = max(second, start)
        period = after // unit * unit
        period += (origin - period) % size
        while period < start + DAY_S:
            skip = self._skip(period - start)
            if skip:
                period += skip
                period += (origin - period) % size
                continue
            for inside in self._inside:
                if period + inside >= after:
                    return period + inside - start
            period += size
        return None

    def _skip(self, at: int) -> int:
        """Seconds from this period of the day to one worth looking at when its own part rules it out; else 0.

        A jump to another hour or minute may land between periods. A jump over periods of the own unit never does.
        """
        rule = self._rule
        hour, minute, second = at // 3600, at // 60 % 60, at % 60
        if rule.hours and hour not in rule.hours:
            return self._jumps[hour] * 3600 if rule.frequency == HOURLY else 3600 - at % 3600
        if rule.frequency >= MINUTELY and rule.minutes and minute not in rule.minutes:
            return self._jumps[minute] * 60 if rule.frequency == MINUTELY else 60 - at % 60
        if rule.frequency == SECONDLY and rule.seconds and second not in rule.seconds:
            return self._jumps[second]
        return 0


def _jump_table(rule: Rule) -> tuple[int, ...]:
    """For each hour, minute or second, by frequency: how many units on its steps reach the next one that is allowed."""
    size = 24 if rule.frequency == HOURLY else 60
    allowed = (rule.hours, rule.minutes, rule.seconds)[rule.frequency - HOURLY] or tuple(range(size))
    step = rule.interval
    return tuple(
        step * next((k for k in range(1, size + 1) if (at + k * step) % size in allowed), size) for at in range(size)
    )


def choose(values: tuple[int, ...], positions: tuple[int, ...]) -> tuple[int, ...]:
    """What BYSETPOS picks from an ascending list: 1 is its first, -1 its last."""
    size = len(values)
    picked = {p - 1 if p > 0 else size + p for p in positions}
    return tuple(values[at] for at in sorted(picked) if 0 <= at < size)


def _clock(hours: tuple[int, ...], minutes: tuple[int, ...], seconds: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(h * 3600 + m * 60 + s for h, m, s in product(hours, minutes, seconds))


def _at_or_after(times: tuple[int, ...], second: int) -> int | None:
    at = bisect_left(times, second)
    return times[at] if at < len(times) else None


@lru_cache(maxsize=1024)
def _every(size: int, offset: int, step: int, width: int) -> int:
    """Blocks of `width` bits, one each `step` bits from `offset` on, up to `size`."""
    return sum(((1 << width) - 1) << at for at in range(offset, size, step))


def _week_origin(week_start: int) -> int:
    """A day (since 1970-01-01, a Thursday) on which a week begins that starts on this weekday from Monday = 0."""
    return week_start - 3


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
