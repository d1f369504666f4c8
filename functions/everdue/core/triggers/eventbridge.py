"""EventBridge: the three schedule expressions of Amazon EventBridge, word for word as AWS documents them.

Sources: the EventBridge Scheduler User Guide, "Schedule types", and the EventBridge User Guide, "Cron expressions
reference". What these do not say is decided here and said in `EventBridge`.
"""

import re
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from everdue.core.errors import TriggerRefused
from everdue.core.triggers.at import At
from everdue.core.triggers.base import InstantBase, born, clip, living
from everdue.core.triggers.cron import BLANKS, TEXT_LIMIT, Cron
from everdue.core.triggers.cron_calendar import CronCalendar
from everdue.core.triggers.cron_days import DayRule
from everdue.core.triggers.cron_fields import FIVE_FIELDS, WEEKDAY_NAMES, Field, FieldRule, read_field
from everdue.core.triggers.interval import Interval
from everdue.core.triggers.zone import Zone, local_moment, zone
from everdue.core.triggers.zone_footer import DAY_S, UNIX_DAY
from everdue.core.triggers.zoned import ZonedTrigger

YEARS = (1970, 2199)
UNITS_S = {"minute": 60, "hour": 3600, "day": DAY_S}

_WEEKDAYS = {name: at for at, name in enumerate(WEEKDAY_NAMES, 1)}
SIX_FIELDS = (
    *(replace(rule, step_from_value=True) for rule in FIVE_FIELDS[:4]),
    FieldRule("day of week", 1, 7, _WEEKDAYS, kind="weekday", sunday=1, steps=False, bare_last=6),
    FieldRule("year", *YEARS, step_from_value=True),
)

_FORM = re.compile(r"(rate|cron|at)\((.*)\)", re.DOTALL)
_RATE = re.compile(r"([0-9]{1,9}) (minute|hour|day)(s?)")
_AT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")


class EventBridge(InstantBase):
    """Due when Amazon EventBridge Scheduler would invoke its target.

    `rate(value unit)`: minute, hour or day for 1, minutes, hours or days for more. AWS counts from the schedule's start
    date or its creation; there is neither here, so runs fall on multiples since the Unix epoch, in elapsed time.

    `cron(minutes hours day-of-month month day-of-week year)`: weekdays 1-7 from Sunday, years 1970-2199, exactly one
    day field is `?`, `5/15` means every 15 from 5 on, `L` among weekdays is Saturday, and `#` stands alone.

    `at(yyyy-mm-ddThh:mm:ss)`: once, in local time.

    Clocks that change, as AWS documents it for Scheduler: a local time that is skipped does not run, one that happens
    twice runs once, the first time. Both hold for wildcards too, so nothing repeats in an hour that is lived twice. The
    one moment of `at` is moved to the end of the gap instead: a one-shot is never dropped.

    Args:
        expression: one of the three.
        timezone: IANA name of the zone whose local time `cron` and `at` mean.

    Raises:
        TriggerRefused: the expression can't be read or never matches, or there is no such zone.
    """

    __slots__ = ("_inner", "expression", "timezone")

    expression: str
    timezone: str
    _inner: InstantBase

    def __new__(cls, expression: str, timezone: str = "UTC") -> "EventBridge":
        text = _text(expression)
        key = (cls, text, timezone)
        found = living(key)
        if isinstance(found, EventBridge):
            return found
        place = zone(timezone)
        return born(cls, key, expression=text, timezone=place.name, _inner=_read(text, place))

    @property
    def inner(self) -> InstantBase:
        """The trigger that does the work: an Interval for rate, an At for at, fields in a zone for cron."""
        return self._inner

    @property
    def fields(self) -> tuple[Field, ...]:
        """The six fields of `cron(...)`; none for the others."""
        return self._inner.fields if isinstance(self._inner, _SixFields) else ()

    @property
    def recurring(self) -> bool:
        """False for `at(...)`."""
        return self._inner.recurring

    def next_us(self, at_us: int) -> int | None:
        """The first occurrence at or after `at_us` (Unix microseconds); None when there is none."""
        return self._inner.next_us(at_us)

    def occurrences_between(self, start: datetime, end: datetime) -> list[datetime]:
        """Every occurrence in the half-open window `[start, end)`, ascending, as aware UTC datetimes.

        Raises:
            ValueError: a datetime is naive.
        """
        return self._inner.occurrences_between(start, end)

    def to_cron(self) -> Cron | None:
        """The five-field cron of the same runs until 2199; None for `rate`, `at` and a restricted year."""
        inner = self._inner
        return inner.to_cron(self.timezone) if isinstance(inner, _SixFields) else None

    def __repr__(self) -> str:
        return f"EventBridge({self.expression!r}, {self.timezone!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return EventBridge, (self.expression, self.timezone)


class _SixFields(ZonedTrigger):
    """The `cron(...)` form."""

    __slots__ = ("fields",)

    _calendar: CronCalendar
    fields: tuple[Field, ...]

    def to_cron(self, timezone: str) -> Cron | None:
        minute, hour, day, month, weekday, year = (field.text.upper() for field in self.fields)
        if year != "*":
            return None
        # A leading * would make a job of five fields follow the real passing of time, so it is written as a range.
        minute = "*" if minute == "*" and self._zone.constant else _open_step(minute, 0, 59)
        hour = "*" if hour == "*" and self._zone.constant else _open_step(hour, 0, 23)
        day, month = _open_step(day, 1, 31, "*?"), _open_step(month, 1, 12, "*")
        return Cron(f"{minute} {hour} {day} {month} {_from_sunday_0(weekday)}", timezone, gap="skip", fold="once")


def _open_step(text: str, low: int, high: int, keep: str = "") -> str:
    """The field with `*/5` and `7/5` written as the ranges they mean, and `*` too unless it may stay."""
    items = []
    for item in text.split(","):
        base, slash, step = item.partition("/")
        if base == "*" and (slash or "*" not in keep):
            base = f"{low}-{high}"
        elif slash and "-" not in base:
            base = f"{base}-{high}"
        items.append(base + slash + step)
    return ",".join(items)


def _from_sunday_0(text: str) -> str:
    """The weekday field with its numbers counted from Sunday = 0 and its bare L as Saturday."""
    days = re.sub(r"(?<!#)[1-7]", lambda match: str(int(match.group()) - 1), text)
    return ",".join("6" if item == "L" else item for item in days.split(","))


def _text(expression: object) -> str:
    if not isinstance(expression, str):
        raise TriggerRefused(f"expression {clip(expression)} is not text: write rate(...), cron(...) or at(...)")
    if len(expression) > TEXT_LIMIT:
        raise TriggerRefused(f"expression {clip(expression)} has {len(expression)} characters: at most {TEXT_LIMIT}")
    return expression.strip(" \t\r\n")


def _read(text: str, place: Zone) -> InstantBase:
    match = _FORM.fullmatch(text)
    if match is None:
        raise TriggerRefused(
            f"expression {clip(text)} is none of: rate(5 minutes), cron(0 10 ? * MON-FRI *), at(2027-01-31T09:00:00)"
        )
    form, inside = match.groups()
    if form == "rate":
        return _rate(BLANKS.sub(" ", inside.strip(" \t")))
    if form == "at":
        return _at(inside.strip(" \t"), place)
    return _cron(BLANKS.sub(" ", inside.strip(" \t")), place)


def _rate(text: str) -> Interval:
    match = _RATE.fullmatch(text)
    if match is None or int(match.group(1)) == 0:
        raise TriggerRefused(f"rate {clip(text)} can't be read: a whole number from 1, then minutes, hours or days")
    value, unit, plural = int(match.group(1)), match.group(2), match.group(3)
    if (value == 1) == bool(plural):
        raise TriggerRefused(f"rate {clip(text)} can't be read: write {value} {unit}{'' if value == 1 else 's'}")
    return Interval(value * UNITS_S[unit])


def _at(text: str, place: Zone) -> At:
    try:
        if not _AT.fullmatch(text):
            raise ValueError
        local = datetime.fromisoformat(text)
    except ValueError:
        raise TriggerRefused(f"at {clip(text)} can't be read: a local date and time, yyyy-mm-ddThh:mm:ss") from None
    return At(local_moment(local, place))


def _cron(text: str, place: Zone) -> _SixFields:
    fields, calendar = _calendar(text)
    return born(
        _SixFields,
        (_SixFields, text, place.name),
        fields=fields,
        _calendar=calendar,
        _zone=place,
        _fixed=True,
        _run_gap=False,
        _once=True,
    )


@lru_cache(maxsize=2048)
def _calendar(text: str) -> tuple[tuple[Field, ...], CronCalendar]:
    texts = text.split(" ") if text else []
    if len(texts) != len(SIX_FIELDS):
        raise TriggerRefused(
            f"cron({clip(text)[1:-1]}) has {len(texts)} fields: there are six, "
            "minutes, hours, day of month, month, day of week, year"
        )
    fields = tuple(read_field(part, rule) for part, rule in zip(texts, SIX_FIELDS, strict=True))
    minute, hour, day, month, weekday, year = fields
    if (day.text == "?") == (weekday.text == "?"):
        raise TriggerRefused(
            f"cron({clip(text)[1:-1]}): exactly one of day of month {day.text!r} and day of week {weekday.text!r} "
            "must be ?"
        )
    if weekday.nth_weekdays and "," in weekday.text:
        raise TriggerRefused(f"day of week field: {clip(weekday.text)} can't be read: # stands alone, as in 6#3")
    first, last = YEARS
    years = None if year.text == "*" else tuple(y for y in range(first, last + 1) if year.bits >> y & 1)
    days = DayRule(day, month, weekday)
    calendar = CronCalendar(minute, hour, days, years or tuple(range(first, last + 1)))
    if calendar.next_local((datetime(first, 1, 1).toordinal() - UNIX_DAY) * DAY_S) is None:  # noqa: DTZ001 - a date
        raise TriggerRefused(f"cron({clip(text)[1:-1]}) never matches: its days and years never meet")
    return fields, calendar
