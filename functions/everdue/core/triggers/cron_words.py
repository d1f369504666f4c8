"""A cron expression in plain English, and the surprises that people meet in one."""

from collections.abc import Iterator, Sequence

from everdue.core.triggers.cron_fields import Field
from everdue.core.triggers.words import MONTHS, WEEKDAYS, and_list, clock, every, ordinal, runs

CLOCKS = 8
"""Up to so many clock times are listed one by one; more are told as minutes and hours."""


def values(field: Field, low: int, high: int) -> list[int]:
    """The plain values of a field, ascending."""
    return [value for value in range(low, high + 1) if field.bits >> value & 1]


def cron_words(fields: Sequence[Field]) -> str:
    """The five fields as one phrase without its zone: `at 04:00 on Monday`."""
    minute, hour, day, month, weekday = fields[:5]
    phrase = _time_words(minute, hour)
    days = _day_words(day, month, weekday)
    if phrase.startswith("at") and not phrase.endswith("every hour") and not days.startswith("on"):
        phrase += " every day"
    return f"{phrase} {days}" if days else phrase


def _time_words(minute: Field, hour: Field) -> str:
    minutes, hours = values(minute, 0, 59), values(hour, 0, 23)
    if len(hours) < 24 and len(minutes) * len(hours) <= CLOCKS:
        return f"at {and_list(clock(h * 3600 + m * 60) for h in hours for m in minutes)}"
    step = minutes[1] - minutes[0] if len(minutes) > 1 else 60
    if minutes == list(range(0, 60, step)) and 60 % step == 0 and len(minutes) > 1:
        phrase = every(step, "minute")
    else:
        phrase = f"at minute {runs(minutes)}"
    if len(hours) == 24:
        return phrase if phrase.startswith("every") else f"{phrase} of every hour"
    if len(hours) > 1 and hours == list(range(hours[0], hours[-1] + 1)):
        return f"{phrase} from {hours[0]:02d}:00 to {hours[-1]:02d}:59"
    return f"{phrase} of the hours {runs(hours)}"


def _day_words(day: Field, month: Field, weekday: Field) -> str:
    months = values(month, 1, 12)
    parts = []
    if len(months) < 12:
        parts.append(f"in {runs(months, MONTHS, 1)}")
    all_days = day.text == "?" or len(values(day, 1, 31)) == 31
    all_weekdays = weekday.text == "?" or weekday.bits == 0x7F
    day_text = f"on {and_list(_month_days(day))} of the month"
    weekday_text = f"on {and_list(_weekdays(weekday))}"
    if not all_days and not all_weekdays:
        either = not day.starred and not weekday.starred
        parts.insert(0, f"{day_text}, {'or' if either else 'if it is also'} {weekday_text}")
    elif not all_days:
        parts.insert(0, day_text)
    elif not all_weekdays:
        parts.insert(0, weekday_text)
    return " ".join(parts)


def _month_days(field: Field) -> Iterator[str]:
    if days := values(field, 1, 31):
        yield f"day {runs(days)}"
    for back in field.last_offsets:
        yield "the last day" if back == 0 else f"the day {back} before the last"
    if field.last_workday:
        yield "the last weekday (Monday to Friday)"
    for near in field.nearest:
        yield f"the weekday (Monday to Friday) nearest to the {ordinal(near)}"


def _weekdays(field: Field) -> Iterator[str]:
    plain = values(field, 0, 6)
    if plain and plain[0] == 0 and plain != [0, 1, 2, 3, 4, 5, 6]:
        plain = [*plain[1:], 7]  # a week is read from Monday on
    if plain:
        yield runs(plain, (*WEEKDAYS, "Sunday"))
    for weekday in field.last_weekdays:
        yield f"the last {WEEKDAYS[weekday]} of the month"
    for weekday, nth in field.nth_weekdays:
        yield f"the {ordinal(nth)} {WEEKDAYS[weekday]} of the month"


def cron_surprises(fields: Sequence[Field]) -> Iterator[str]:
    """What people do not expect of such fields, one sentence each."""
    minute, hour, day, _, weekday = fields[:5]
    restricted = not day.starred and not weekday.starred
    if restricted:
        yield (
            f"day of month {day.text!r} and day of week {weekday.text!r} are both restricted: "
            "it runs on days that match either, not both"
        )
    elif day.text.startswith("*/") and weekday.text not in ("*", "?"):
        yield f"day of month {day.text!r} begins with *, so a day must match it and day of week {weekday.text!r} both"
    latest = max((*values(day, 1, 31), *day.nearest), default=0)
    shortest = min(values(day, 1, 31) or day.nearest or (0,))
    if not day.starred and not restricted and not day.last_offsets and not day.last_workday and shortest > 28:
        yield f"months without day {shortest} are left out; L is the last day of every month"
    elif not day.starred and latest > 28 and shortest <= 28 and not day.last_offsets and len(values(day, 1, 31)) < 5:
        yield f"months without day {latest} do not run on it; L is the last day of every month"
    for field, size, word in ((minute, 60, "hour"), (hour, 24, "day")):
        for item in field.text.split(","):
            base, slash, step = item.partition("/")
            if slash and base == "*" and size % int(step):
                yield f"the step in {item!r} does not divide {size}: it starts over each {word}, with a shorter pause"
    if "/" in day.text and day.text.startswith("*"):
        yield f"the step in {day.text!r} starts over on the 1st, so the pause at the end of a month is shorter"
    if any(nth == 5 for _, nth in weekday.nth_weekdays):
        yield "a month has a fifth such weekday only now and then; 5L is the last Friday of every month"
