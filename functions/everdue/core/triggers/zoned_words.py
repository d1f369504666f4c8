"""Why a local rule runs at a moment or not, and which of its runs meet a change of the clocks."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from everdue.core.moment import SECOND_US
from everdue.core.triggers.cron_days import DayRule
from everdue.core.triggers.cron_fields import FIVE_FIELDS, Field
from everdue.core.triggers.words import WEEKDAYS, clock
from everdue.core.triggers.zone_footer import DAY_S
from everdue.core.triggers.zoned import ZonedTrigger

AHEAD_S = 2 * 366 * DAY_S


def why_zoned(trigger: ZonedTrigger, fields: Sequence[Field], at_us: int, runs: bool) -> Iterator[str]:
    """Sentences that say which field a moment (Unix microseconds) misses, or which change of the clocks decides."""
    second, part = divmod(at_us, SECOND_US)
    span = trigger.zone.span_at(second)
    local = second + span.offset
    name = trigger.zone.name
    shown = f"{_local(local)} in {name}"
    if part or local % 60:
        yield f"it is {shown}, and runs fall on whole minutes"
        return
    matches = trigger.calendar.next_local(local) == local
    if runs and matches:
        yield f"it is {shown}, which every field matches"
    elif runs:
        yield f"a local time that the clocks skipped just before {shown} runs at the first moment after the gap"
    elif matches:
        yield f"it is {shown} for the second time, and a local time that happens twice runs once, the first time"
    else:
        yield f"it is {shown}"
        yield from _missed(fields, local)


def _missed(fields: Sequence[Field], local: int) -> Iterator[str]:
    moment = _local(local)
    numbers = (moment.minute, moment.hour, moment.day, moment.month)
    for field, rule, number in zip(fields[:4], FIVE_FIELDS[:4], numbers, strict=True):
        if rule.kind == "" and not field.bits >> number & 1:
            yield f"{rule.name} {number} is not in {field.text!r}"
    day, month, weekday = fields[2], fields[3], fields[4]
    first = datetime(moment.year, 1, 1).toordinal()  # noqa: DTZ001 - a local day
    leap = datetime(moment.year, 12, 31).toordinal() - first == 365  # noqa: DTZ001 - a local day
    if month.bits >> moment.month & 1 and not (
        DayRule(day, month, weekday).year_bits(leap, first % 7) >> moment.toordinal() - first & 1
    ):
        name = WEEKDAYS[moment.isoweekday() % 7]
        yield f"day {moment.day}, a {name}, does not match day of month {day.text!r} with day of week {weekday.text!r}"
    if len(fields) > 5 and fields[5].text != "*" and not fields[5].bits >> moment.year & 1:
        yield f"year {moment.year} is not in {fields[5].text!r}"


def clock_surprises(trigger: ZonedTrigger, second: int) -> Iterator[str]:
    """The runs that meet a change of the clocks within two years of this Unix second, one sentence each way."""
    zone = trigger.zone
    span = zone.span_at(second)
    end = second + AHEAD_S
    told = set()
    while span.end <= end:
        span = zone.span_at(span.end)
        low, high = sorted((span.fresh, span.start + span.offset))
        due = trigger.calendar.next_local(low)
        kind = "gap" if span.fresh < span.start + span.offset else "fold"
        if due is None or due >= high or kind in told:
            continue
        told.add(kind)
        what = f"{_local(due)} in {zone.name}"
        if kind == "gap":
            moved = f"runs at {clock(high % DAY_S)} instead" if trigger.moves_gaps else "does not run"
            yield f"the clocks skip {what}: it {moved}"
        else:
            often = "once, the first time" if trigger.folds_once else "both times"
            yield f"the clocks show {what} twice: it runs {often}"


def _local(second: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=second)  # noqa: DTZ001 - a local time
