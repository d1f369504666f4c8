"""An RRULE in plain English."""

from datetime import datetime, timedelta

from everdue.core.triggers.recurrence_rule import FREQUENCIES, Rule
from everdue.core.triggers.words import MONTHS, WEEKDAYS, and_list, clock, counted, every, ordinal, runs

UNITS = ("year", "month", "week", "day", "hour", "minute", "second")
CLOCKS = 8


def rule_words(rule: Rule) -> str:
    """The rule as one phrase without its zone: `every 2 weeks on Monday and Friday at 09:00`."""
    words = [every(rule.interval, UNITS[rule.frequency])]
    if rule.months:
        words.append(f"in {runs(rule.months, MONTHS, 1)}")
    if rule.weeks:
        words.append(f"in week {and_list(map(str, rule.weeks))} of the year")
    if rule.year_days:
        words.append(f"on the {and_list(map(ordinal, rule.year_days))} day of the year")
    if rule.month_days:
        words.append(f"on the {and_list(map(ordinal, rule.month_days))} of the month")
    if rule.days:
        names = [f"the {ordinal(nth)} {_day(day)}" if nth else _day(day) for nth, day in rule.days]
        words.append(f"on {and_list(names)}")
    words.extend(_times(rule))
    if rule.positions:
        words.append(f"(of these the {and_list(map(ordinal, rule.positions))})")
    words.append(f"from {_local(rule.start)} on")
    if rule.count is not None:
        words.append(f"for {counted(rule.count, 'time')}")
    if rule.until is not None:
        words.append(f"until {_local(rule.until)}")
    return " ".join(words)


def _times(rule: Rule) -> list[str]:
    start = rule.start % 86_400
    if rule.frequency <= FREQUENCIES.index("DAILY"):
        hours, minutes = rule.hours or (start // 3600,), rule.minutes or (start // 60 % 60,)
        seconds = rule.seconds or (start % 60,)
        if len(hours) * len(minutes) * len(seconds) <= CLOCKS:
            return [f"at {and_list(clock(h * 3600 + m * 60 + s) for h in hours for m in minutes for s in seconds)}"]
    parts = ((rule.hours, "hour"), (rule.minutes, "minute"), (rule.seconds, "second"))
    return [f"at {word} {runs(numbers)}" for numbers, word in parts if numbers]


def _day(weekday: int) -> str:
    return WEEKDAYS[(weekday + 1) % 7]


def _local(second: int) -> str:
    return (datetime(1970, 1, 1) + timedelta(seconds=second)).isoformat(" ")  # noqa: DTZ001 - a local time
