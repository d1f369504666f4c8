"""One RRULE, read and checked: its parts, with those that it leaves out taken from DTSTART."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from everdue.core.errors import TriggerRefused
from everdue.core.triggers.base import clip
from everdue.core.triggers.recurrence_text import date_second
from everdue.core.triggers.zone import Zone
from everdue.core.triggers.zone_footer import DAY_S

FREQUENCIES = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY")
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
INTERVAL_LIMIT = 1_000_000_000
COUNT_LIMIT = 5_000
"""A COUNT is walked once, when the rule is read; so many occurrences take some tens of milliseconds."""
RULES_LIMIT = 4
"""RRULE and EXRULE lines. RFC 5545 advises against more than one."""
TIMES_LIMIT = 2_000
"""Times a day that BYSETPOS may choose from."""

_WHOLE = re.compile(r"[0-9]{1,10}")
_SIGNED = re.compile(r"[+-]?[0-9]{1,4}")
_DAY = re.compile(rf"([+-]?[0-9]{{1,2}})?({'|'.join(WEEKDAYS)})")

_LISTS = {  # part: (lowest, highest, whether it may count from the end)
    "BYMONTH": (1, 12, False),
    "BYMONTHDAY": (1, 31, True),
    "BYYEARDAY": (1, 366, True),
    "BYWEEKNO": (1, 53, True),
    "BYHOUR": (0, 23, False),
    "BYMINUTE": (0, 59, False),
    "BYSECOND": (0, 59, False),
    "BYSETPOS": (1, 366, True),
}
_ALLOWED = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", *_LISTS)


@dataclass(frozen=True, slots=True)
class Rule:
    """An RRULE. Lists are ascending and without repeats; an empty one does not restrict.

    Attributes:
        frequency: an index into FREQUENCIES.
        start: DTSTART as a local second: nothing runs before it, and it gives what the rule leaves out.
        until: the last local second, or None.
        week_start: weekday from Monday = 0.
        days: (n, weekday from Monday = 0); n is 0 for every one, 2 for the second, -1 for the last of month or year.
    """

    frequency: int
    interval: int
    start: int
    count: int | None
    until: int | None
    week_start: int
    months: tuple[int, ...]
    month_days: tuple[int, ...]
    year_days: tuple[int, ...]
    weeks: tuple[int, ...]
    days: tuple[tuple[int, int], ...]
    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    seconds: tuple[int, ...]
    positions: tuple[int, ...]

    @property
    def sub_daily(self) -> bool:
        """Whether the frequency is hourly, minutely or secondly."""
        return self.frequency > FREQUENCIES.index("DAILY")


def read_rule(text: str, start: int | None, place: Zone) -> Rule:
    """The rule, with DTSTART `start` (a local second). Raises TriggerRefused naming the part and what is allowed.

    Without DTSTART a rule begins at 1970-01-01T00:00 local time. (dateutil would take the moment of parsing, so
    the same text would mean other runs after every restart.) A COUNT then counts from nowhere and is refused.
    """
    parts: dict[str, str] = {}
    for part in text.upper().strip(";").split(";"):
        name, equals, value = part.partition("=")
        if name not in _ALLOWED or not equals:
            raise TriggerRefused(f"rule part {clip(part)} is unknown. Allowed: {', '.join(_ALLOWED)}")
        if name in parts:
            raise TriggerRefused(f"rule part {name} stands twice: list its values, as in BYHOUR=9,17")
        parts[name] = value
    if parts.get("FREQ") not in FREQUENCIES:
        raise TriggerRefused(f"FREQ {clip(parts.get('FREQ', ''))} is none of {', '.join(FREQUENCIES)}")
    if "COUNT" in parts and ("UNTIL" in parts or start is None):
        why = "stands beside UNTIL: leave one out" if "UNTIL" in parts else "needs a DTSTART to count from"
        raise TriggerRefused(f"COUNT {clip(parts['COUNT'])} {why}")
    count = _whole(parts, "COUNT", INTERVAL_LIMIT) if "COUNT" in parts else None
    lists = {name: _list(parts, name) for name in _LISTS}
    week_start = parts.get("WKST", "MO")
    if week_start not in WEEKDAYS:
        raise TriggerRefused(f"WKST {clip(week_start)} is none of {', '.join(WEEKDAYS)}")
    rule = Rule(
        FREQUENCIES.index(parts["FREQ"]),
        _whole(parts, "INTERVAL", INTERVAL_LIMIT) if "INTERVAL" in parts else 1,
        0 if start is None else start,
        count,
        _until(parts["UNTIL"], place) if "UNTIL" in parts else None,
        WEEKDAYS.index(week_start),
        lists["BYMONTH"],
        lists["BYMONTHDAY"],
        lists["BYYEARDAY"],
        lists["BYWEEKNO"],
        _days(parts.get("BYDAY", "")) if "BYDAY" in parts else (),
        lists["BYHOUR"],
        lists["BYMINUTE"],
        lists["BYSECOND"],
        lists["BYSETPOS"],
    )
    _check_together(rule, parts["FREQ"])
    return rule


def _check_together(rule: Rule, frequency: str) -> None:
    """Refuse the combinations that RFC 5545 section 3.3.10 excludes."""
    if rule.weeks and frequency != "YEARLY":
        raise TriggerRefused(f"BYWEEKNO stands only with FREQ=YEARLY, not {frequency}")
    if any(nth for nth, _ in rule.days) and (frequency not in ("YEARLY", "MONTHLY") or rule.weeks):
        raise TriggerRefused(
            "BYDAY with a number, as in 2MO, stands only with FREQ=MONTHLY or YEARLY, without BYWEEKNO"
        )
    if rule.positions and not any(
        (rule.months, rule.month_days, rule.year_days, rule.weeks, rule.days, rule.hours, rule.minutes, rule.seconds)
    ):
        raise TriggerRefused("BYSETPOS chooses from what another BY part lists, and there is none")
    if rule.positions and len(rule.hours or (0,)) * len(rule.minutes or (0,)) * len(rule.seconds or (0,)) > TIMES_LIMIT:
        raise TriggerRefused(f"BYSETPOS may choose from at most {TIMES_LIMIT} times a day, so this costs too much")


def _whole(parts: dict[str, str], name: str, limit: int) -> int:
    value = parts[name]
    if not _WHOLE.fullmatch(value) or not 1 <= int(value) <= limit:
        raise TriggerRefused(f"{name} {clip(value)} is not a whole number from 1 to {limit}")
    return int(value)


def _list(parts: dict[str, str], name: str) -> tuple[int, ...]:
    if name not in parts:
        return ()
    low, high, signed = _LISTS[name]
    form: Callable[[str], object] = _SIGNED.fullmatch if signed else _WHOLE.fullmatch
    values = set()
    for text in parts[name].split(","):
        if not form(text) or not low <= abs(int(text)) <= high:
            counted = f" or -{high} to -{low}" if signed else ""
            raise TriggerRefused(f"{name} {clip(text)} is not a whole number from {low} to {high}{counted}")
        values.add(int(text))
    return tuple(sorted(values))


def _days(text: str) -> tuple[tuple[int, int], ...]:
    days = set()
    for item in text.split(","):
        match = _DAY.fullmatch(item)
        nth = int(match.group(1) or 0) if match else 0
        if match is None or (match.group(1) and not 1 <= abs(nth) <= 53):
            raise TriggerRefused(f"BYDAY {clip(item)} is none of {', '.join(WEEKDAYS)}, or such as -1FR")
        days.add((nth, WEEKDAYS.index(match.group(2))))
    return tuple(sorted(days))


def _until(text: str, place: Zone) -> int:
    second, _, in_utc = date_second("UNTIL", text)
    return second + place.span_at(second).offset if in_utc else second


def check_costs(rules: list[Rule]) -> None:
    """Refuse a set of rules that together take too long to read. Raises TriggerRefused."""
    if len(rules) > RULES_LIMIT:
        raise TriggerRefused(f"{len(rules)} RRULE and EXRULE lines cost too much: at most {RULES_LIMIT}")
    if (walked := sum(rule.count or 0 for rule in rules)) > COUNT_LIMIT:
        raise TriggerRefused(
            f"COUNT {walked} in all costs too much to walk: at most {COUNT_LIMIT}; UNTIL costs nothing"
        )


def time_of_day(second: int) -> tuple[int, int, int]:
    """Hour, minute and second of a local second."""
    left = second % DAY_S
    return left // 3600, left // 60 % 60, left % 60
