"""Recurrence: RFC 5545 rules and dates, in the local time of a zone."""

from bisect import bisect_left
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Literal

from dateutil import rrule

from everdue.core.errors import TriggerRefused
from everdue.core.moment import MIN_US, SECOND_US
from everdue.core.triggers.base import InstantBase, born, clip, living
from everdue.core.triggers.recurrence_calendar import DAILY, MONTHLY, WEEKLY, YEARLY, RuleCalendar
from everdue.core.triggers.recurrence_rule import Rule, check_costs, read_rule
from everdue.core.triggers.recurrence_text import Lines, read_lines
from everdue.core.triggers.zone import Zone, zone
from everdue.core.triggers.zone_footer import DAY_S
from everdue.core.triggers.zoned import ZonedTrigger, check_policy

SKIPS = 2_000
"""Excluded moments in a row that one question may look at."""
LOCAL_STEPS = 6_000
"""Days and excluded runs that one question may look at: a minutely rule that stands still for a weekend needs 5,760."""


class Recurrence(InstantBase):
    """Due as RFC 5545 text says: RRULE, RDATE, EXRULE and EXDATE lines, DTSTART with a zone or without.

    A rule of daily or longer frequency follows the clock on the wall, by `gap` and `fold` as in `Cron`; one of
    sub-daily frequency follows the real passing of time. Work is bounded: a rule is expanded a year at a time near the
    window, never from DTSTART; a COUNT is walked once, here.

    Without DTSTART a rule begins at 1970-01-01T00:00 local time. An EXDATE without a time takes out its whole local
    day. A DTSTART in UTC (`Z`) makes it a rule in UTC, whatever `timezone` says. BYDAY may mix plain and numbered days,
    either of which runs (RFC 5545; dateutil would demand both).

    Args:
        rule: the text; a bare `FREQ=...` is an RRULE.
        timezone: IANA name of the zone of local times, unless DTSTART says otherwise.
        gap: a local time that the clocks skip: "run" at the first moment after the gap, or "skip".
        fold: a local time that happens twice runs "once", the first time, or "twice".

    Raises:
        TriggerRefused: the text can't be read, never matches or costs too much, or there is no such zone.
    """

    __slots__ = ("_excluded_us", "_moments_us", "_rules", "fold", "gap", "lines", "parts", "rule", "timezone")

    rule: str
    timezone: str
    gap: str
    fold: str
    parts: tuple[Rule, ...]
    lines: Lines
    _rules: tuple["_ZonedRules", ...]
    _moments_us: tuple[int, ...]
    _excluded_us: frozenset[int]

    def __new__(
        cls,
        rule: str,
        timezone: str = "UTC",
        *,
        gap: Literal["run", "skip"] = "run",
        fold: Literal["once", "twice"] = "once",
    ) -> "Recurrence":
        key = (cls, rule, timezone, gap, fold)
        found = living(key)
        if isinstance(found, Recurrence):
            return found
        check_policy(gap, fold)
        place = zone(timezone)
        lines = read_lines(rule, place)
        read = [read_rule(text, lines.start, lines.zone) for text in (*lines.rules, *lines.exrules)]
        check_costs(read)
        calendars = [RuleCalendar(part, _expand) for part in read]
        rules, exrules = calendars[: len(lines.rules)], calendars[len(lines.rules) :]
        excluded = (tuple(exrules), frozenset(lines.exdates), frozenset(lines.exdays))
        policy = (lines.zone, gap == "run", fold == "once")
        zoned = [
            _zoned(_Local(tuple(part), (), *excluded), fixed, *policy)
            for fixed in (True, False)
            if (part := [calendar for calendar in rules if calendar.sub_daily is not fixed])
        ]
        if lines.dates:
            zoned.append(_zoned(_Local((), tuple(sorted(lines.dates)), *excluded), True, *policy))
        trigger = born(
            cls,
            key,
            rule=rule,
            parts=tuple(read[: len(lines.rules)]),
            lines=lines,
            timezone=lines.zone.name,
            gap=gap,
            fold=fold,
            _rules=tuple(zoned),
            _moments_us=tuple(moment * SECOND_US for moment in sorted(lines.moments)),
            _excluded_us=frozenset(moment * SECOND_US for moment in lines.exmoments),
        )
        if trigger.next_us(MIN_US) is None:
            raise TriggerRefused(f"rrule {clip(rule)} never matches: no moment meets all of its parts")
        return trigger

    @property
    def zoned(self) -> tuple["_ZonedRules", ...]:
        """The rules in the zone: those that follow the clock on the wall, and those that follow real time."""
        return self._rules

    def next_us(self, at_us: int) -> int | None:
        """The first occurrence at or after `at_us` (Unix microseconds); None when there is none, up to year 9999."""
        for _ in range(SKIPS):
            due = self._any_us(at_us)
            if due is None or due not in self._excluded_us:
                return due
            at_us = due + 1
        raise TriggerRefused(f"rrule {clip(self.rule)} costs too much: {SKIPS} runs in a row are excluded")

    def _any_us(self, at_us: int) -> int | None:
        found = [due for part in self._rules if (due := part.next_us(at_us)) is not None]
        at = bisect_left(self._moments_us, at_us)
        if at < len(self._moments_us):
            found.append(self._moments_us[at])
        return min(found, default=None)

    def __repr__(self) -> str:
        policy = "" if self.gap == "run" else f", gap={self.gap!r}"
        policy += "" if self.fold == "once" else f", fold={self.fold!r}"
        return f"Recurrence({self.rule!r}, {self.timezone!r}{policy})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.rule, self.timezone, self.gap, self.fold)


def _again(rule: str, timezone: str, gap: Any, fold: Any) -> Recurrence:
    return Recurrence(rule, timezone, gap=gap, fold=fold)


class _ZonedRules(ZonedTrigger):
    """Rules of one way of following time, seen through the zone."""

    __slots__ = ()


def _zoned(calendar: "_Local", fixed: bool, place: Zone, run_gap: bool, once: bool) -> _ZonedRules:
    trigger: _ZonedRules = object.__new__(_ZonedRules)
    slots = {"_calendar": calendar, "_zone": place, "_fixed": fixed, "_run_gap": run_gap, "_once": once}
    for name, value in slots.items():
        object.__setattr__(trigger, name, value)
    return trigger


class _Local:
    """Rules and dates in local time, without those that are excluded."""

    __slots__ = ("_dates", "_exdates", "_exdays", "_exrules", "_rules")

    grain = 1

    def __init__(
        self,
        rules: tuple[RuleCalendar, ...],
        dates: tuple[int, ...],
        exrules: tuple[RuleCalendar, ...],
        exdates: frozenset[int],
        exdays: frozenset[int],
    ) -> None:
        self._rules, self._dates, self._exrules, self._exdates, self._exdays = rules, dates, exrules, exdates, exdays

    def next_local(self, second: int) -> int | None:
        """The first match at or after this local second; None when there is none.

        Raises:
            TriggerRefused: finding it would cost too much.
        """
        steps = 0
        while steps < LOCAL_STEPS:
            found, cost = self._earliest(second)
            steps += cost
            if found is None:
                return None
            if found // DAY_S in self._exdays:
                second = (found // DAY_S + 1) * DAY_S
                continue
            if found not in self._exdates:
                excluded = False
                for rule in self._exrules:
                    hit, cost = rule.search(found)
                    steps += cost
                    excluded = excluded or hit == found
                if not excluded:
                    return found
            second = found + 1
        raise TriggerRefused("rule costs too much: its exclusions leave nothing for too long")

    def _earliest(self, second: int) -> tuple[int | None, int]:
        """The first of all rules and dates at or after this local second, and what finding it cost."""
        best, steps = None, 0
        for rule in self._rules:
            found, cost = rule.search(second)
            steps += cost
            if found is not None and (best is None or found < best):
                best = found
        at = bisect_left(self._dates, second)
        if at < len(self._dates) and (best is None or self._dates[at] < best):
            best = self._dates[at]
        return best, steps


def _expand(rule: Rule, year: int) -> tuple[int, ...]:
    """The days of this year (0 is 1 January) that meet the rule's day parts, at INTERVAL=1 and before BYSETPOS."""
    frequency = min(rule.frequency, DAILY)
    start = datetime(1970, 1, 1) + timedelta(days=rule.start // DAY_S)  # noqa: DTZ001 - a local day
    months, month_days, days = rule.months, rule.month_days, rule.days
    if not (rule.weeks or rule.year_days or month_days or days):  # then DTSTART says which
        if frequency == YEARLY:
            months, month_days = months or (start.month,), (start.day,)
        elif frequency == MONTHLY:
            month_days = (start.day,)
        elif frequency == WEEKLY:
            days = ((0, start.weekday()),)
        else:
            days = tuple((0, weekday) for weekday in range(7))
    if frequency == MONTHLY:
        months = months or tuple(range(1, 13))  # with BYMONTH, 2MO is the second of the month and not of the year
    return _expand_year(year, months, month_days, rule.year_days, rule.weeks, days, rule.week_start)


@lru_cache(maxsize=1024)
def _expand_year(
    year: int,
    months: tuple[int, ...],
    month_days: tuple[int, ...],
    year_days: tuple[int, ...],
    weeks: tuple[int, ...],
    days: tuple[tuple[int, int], ...],
    week_start: int,
) -> tuple[int, ...]:
    """One step of dateutil's YEARLY: it looks at each day of the year once, whatever the frequency was.

    The interval takes the next step beyond year 9999. `until` alone would not end it: dateutil looks at `until` only
    when a day matches, and walks on for thousands of years when none does.
    """
    first = datetime(year, 1, 1)  # noqa: DTZ001 - a local day
    found: set[int] = set()
    plain = [day for nth, day in days if nth == 0]
    numbered = [rrule.weekday(day, nth) for nth, day in days if nth]
    # dateutil lets a day through only when it is among both the plain and the numbered ones; RFC 5545 means either.
    choices: list[Any] = [part for part in (plain, numbered) if part]
    for weekdays in choices or [None]:
        expanded = rrule.rrule(
            rrule.YEARLY,
            dtstart=first,
            interval=10_000,
            wkst=week_start,
            bymonth=months or None,
            bymonthday=month_days or None,
            byyearday=year_days or None,
            byweekno=weeks or None,
            byweekday=weekdays,
            byhour=0,
            byminute=0,
            bysecond=0,
        )
        found.update((moment - first).days for moment in expanded)
    return tuple(sorted(found))
