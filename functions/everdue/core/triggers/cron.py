"""Cron: five fields, in the wall-clock time of one zone."""

import re
from functools import lru_cache
from typing import Any, Literal

from everdue.core.errors import TriggerRefused
from everdue.core.triggers.base import born, clip, living
from everdue.core.triggers.cron_calendar import CronCalendar
from everdue.core.triggers.cron_days import DayRule
from everdue.core.triggers.cron_fields import FIVE_FIELDS, Field, read_field
from everdue.core.triggers.zone import zone
from everdue.core.triggers.zoned import ZonedTrigger, check_policy

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
TEXT_LIMIT = 1000
"""Characters. All sixty minutes in a list are 170; a longer expression is a mistake or an attack."""

BLANKS = re.compile(r"[ \t]+")


class Cron(ZonedTrigger):
    """Due at every minute that a five-field cron expression names, in one IANA zone.

    `*`, values, ranges, lists, and steps over `*` or a range; names `JAN`-`DEC` and `SUN`-`SAT` in any case; 0 and 7
    are Sunday; `@yearly @annually @monthly @weekly @daily @midnight @hourly`. Day of month also takes `?`, `L`, `L-3`,
    `LW` and `15W`, day of week `?`, `5L` and `FRI#3`, in lists too. A day field that begins with `*` or is `?` is
    unrestricted; of two restricted ones either may match.

    Args:
        expression: the five fields, or a macro.
        timezone: IANA name of the zone whose wall clock the fields mean.
        gap: what becomes of a local time that the clocks skip: "run" at the first moment after the gap, or "skip".
        fold: a local time that happens twice runs "once", the first time, or "twice".

    `gap` and `fold` apply where both minute and hour are fixed. With `*` at the beginning of either, the job follows
    the real passing of time, as in Vixie cron: nothing moves out of a gap, and an hour lived twice runs twice. Two
    runs that a gap moves to the same moment are one run.

    Raises:
        TriggerRefused: the expression can't be read or never matches, there is no such zone, or no such setting.
    """

    __slots__ = ("expression", "fold", "gap", "timezone")

    expression: str
    timezone: str
    gap: str
    fold: str
    _calendar: CronCalendar

    def __new__(
        cls,
        expression: str,
        timezone: str = "UTC",
        *,
        gap: Literal["run", "skip"] = "run",
        fold: Literal["once", "twice"] = "once",
    ) -> "Cron":
        key = (cls, expression, timezone, gap, fold)
        found = living(key)
        if isinstance(found, Cron):
            return found
        check_policy(gap, fold)
        text, calendar = _read(expression)
        key = (cls, text, timezone, gap, fold)
        found = living(key)
        if isinstance(found, Cron):
            return found
        place = zone(timezone)
        return born(
            cls,
            key,
            expression=text,
            timezone=place.name,
            gap=gap,
            fold=fold,
            _calendar=calendar,
            _zone=place,
            _fixed=not calendar.minute.starred and not calendar.hour.starred,
            _run_gap=gap == "run",
            _once=fold == "once",
        )

    def __repr__(self) -> str:
        policy = "" if self.gap == "run" else f", gap={self.gap!r}"
        policy += "" if self.fold == "once" else f", fold={self.fold!r}"
        return f"Cron({self.expression!r}, {self.timezone!r}{policy})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.expression, self.timezone, self.gap, self.fold)


def _again(expression: str, timezone: str, gap: Any, fold: Any) -> Cron:
    return Cron(expression, timezone, gap=gap, fold=fold)


def cron_fields(expression: str) -> tuple[Field, ...]:
    """The five fields of an expression or macro, read. Raises TriggerRefused."""
    return _fields(_text(expression))


def _read(expression: object) -> tuple[str, CronCalendar]:
    text = _text(expression)
    return text, _calendar(text)


def _text(expression: object) -> str:
    """The expression with single blanks, or TriggerRefused for what is no text of a sane length."""
    if not isinstance(expression, str):
        raise TriggerRefused(f"cron {clip(expression)} is not text: write five fields, such as '0 4 * * MON'")
    if len(expression) > TEXT_LIMIT:
        raise TriggerRefused(f"cron {clip(expression)} has {len(expression)} characters: at most {TEXT_LIMIT}")
    return BLANKS.sub(" ", expression.strip(" \t\r\n"))


def _fields(text: str) -> tuple[Field, ...]:
    if text.startswith("@"):
        macro = MACROS.get(text.lower())
        if macro is None:
            raise TriggerRefused(f"cron {clip(text)} is no macro. Allowed: {', '.join(MACROS)}, or five fields")
        texts = macro.split(" ")
    else:
        texts = text.split(" ")
    if len(texts) != len(FIVE_FIELDS) or not text:
        raise TriggerRefused(
            f"cron {clip(text)} has {len(texts) if text else 0} fields: there are five (seconds: `every` or `rrule`; "
            "EventBridge's six: `expression`), "
            "minute, hour, day of month, month, day of week"
        )
    return tuple(read_field(part, rule) for part, rule in zip(texts, FIVE_FIELDS, strict=True))


@lru_cache(maxsize=2048)
def _calendar(text: str) -> CronCalendar:
    """The expression's calendar, shared by zones and settings."""
    minute, hour, day, month, weekday = _fields(text)
    days = DayRule(day, month, weekday)
    if not days.ever_matches():
        raise TriggerRefused(
            f"cron {clip(text)} never matches: day of month {day.text!r}, month {month.text!r} and day of week "
            f"{weekday.text!r} meet on no day of the 400-year calendar cycle"
        )
    return CronCalendar(minute, hour, days)
