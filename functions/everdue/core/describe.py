"""Triggers for people: what one means in plain English, why it runs at a moment or not, and what may surprise."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from everdue.core.moment import MAX_US, SECOND_US, from_us, to_us
from everdue.core.trigger import InstantTrigger, Trigger
from everdue.core.triggers import At, Bounded, Cron, EventBridge, Excluding, Interval, Recurrence, Shifted
from everdue.core.triggers.cron import cron_fields
from everdue.core.triggers.cron_words import cron_surprises, cron_words
from everdue.core.triggers.recurrence_words import rule_words
from everdue.core.triggers.words import and_list, span
from everdue.core.triggers.zoned import ZonedTrigger
from everdue.core.triggers.zoned_words import clock_surprises, why_zoned

LISTED = 5
"""So many exclusions are named; of the others the number is told."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a trigger runs at a moment or does not.

    Attributes:
        runs: whether it runs exactly then.
        reasons: sentences; at least one.
        warnings: what surprises people about this trigger, as of that moment.
        next: the first run at or after the moment, in UTC; None without one, or where the trigger can't tell.
    """

    runs: bool
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    next: datetime | None


def describe(trigger: Trigger) -> str:
    """The trigger as one English sentence, such as `At 04:00 on Monday, UTC.`"""
    text = _phrase(trigger)
    return f"{text[0].upper()}{text[1:]}."


def explain(trigger: Trigger, moment: datetime) -> Explanation:
    """Why the trigger runs at this moment or does not, and what may surprise about it.

    Raises:
        ValueError: the moment is naive.
    """
    at_us = to_us(moment)
    end_us = min(at_us + 1, MAX_US)
    runs = (
        trigger.next_us(at_us) == at_us
        if isinstance(trigger, InstantTrigger)
        else bool(trigger.occurrences_between(from_us(at_us), from_us(end_us)))
    )
    due = trigger.next_us(at_us) if isinstance(trigger, InstantTrigger) else None
    reasons = tuple(_reasons(trigger, at_us, runs))
    return Explanation(runs, reasons, warnings(trigger, moment), None if due is None else from_us(due))


def warnings(trigger: Trigger, moment: datetime) -> tuple[str, ...]:
    """What surprises people about such a trigger. Runs inside a gap or fold count within two years from `moment`.

    Raises:
        ValueError: the moment is naive.
    """
    return tuple(dict.fromkeys(_surprises(trigger, to_us(moment) // SECOND_US)))


def _phrase(trigger: Trigger) -> str:
    if isinstance(trigger, Cron):
        return f"{cron_words(cron_fields(trigger.expression))}, {trigger.timezone}{_policy(trigger)}"
    if isinstance(trigger, EventBridge):
        return _eventbridge_phrase(trigger)
    if isinstance(trigger, Interval):
        return f"every {span(trigger.period_us)}, counted from {_moment(trigger.phase_us)}"
    if isinstance(trigger, At):
        return f"once, at {_moment(to_us(trigger.moment))}"
    if isinstance(trigger, Recurrence):
        return _recurrence_phrase(trigger)
    if isinstance(trigger, Shifted):
        way = "earlier" if trigger.shift_us < 0 else "later"
        inner = _phrase(trigger.trigger)
        return f"{inner}, moved {span(abs(trigger.shift_us))} {way}" if trigger.shift_us else inner
    if isinstance(trigger, Bounded):
        bounds = [f"from {_moment(to_us(trigger.starts_at))} on"] if trigger.starts_at else []
        bounds += [f"before {_moment(to_us(trigger.ends_at))}"] if trigger.ends_at else []
        return ", ".join([_phrase(trigger.trigger), *bounds])
    if isinstance(trigger, Excluding):
        names = [_moment(to_us(e)) if isinstance(e, datetime) else e.isoformat() for e in trigger.exclude]
        more = [f"{len(names) - LISTED} more"] if len(names) > LISTED else []
        text = _phrase(trigger.trigger)
        return f"{text}, except on {and_list([*names[:LISTED], *more])}" if names else text
    return f"when {trigger!r} says"


def _policy(trigger: Cron | Recurrence) -> str:
    text = "" if trigger.gap == "run" else ", a skipped local time does not run"
    return text if trigger.fold == "once" else f"{text}, a repeated local time runs twice"


def _eventbridge_phrase(trigger: EventBridge) -> str:
    inner = trigger.inner
    if isinstance(inner, ZonedTrigger):
        year = trigger.fields[5].text
        years = "" if year == "*" else f" in {year}"
        return f"{cron_words(trigger.fields)}{years}, {trigger.timezone}"
    return _phrase(inner)


def _recurrence_phrase(trigger: Recurrence) -> str:
    lines = trigger.lines
    phrases = [rule_words(rule) for rule in trigger.parts]
    if dates := len(lines.dates) + len(lines.moments):
        phrases.append(f"on {dates} listed date{'' if dates == 1 else 's'}")
    text = f"{'; and '.join(phrases)}, {trigger.timezone}{_policy(trigger)}"
    excluded = len(lines.exdates) + len(lines.exdays) + len(lines.exmoments)
    if excluded:
        text += f", except on {excluded} listed date{'' if excluded == 1 else 's'}"
    return f"{text}, except by rule" if lines.exrules else text


def _moment(us: int) -> str:
    return from_us(us).astimezone(UTC).isoformat().replace("+00:00", "Z")


def _reasons(trigger: Trigger, at_us: int, runs: bool) -> Iterator[str]:
    if isinstance(trigger, Shifted):
        inner_us = at_us - trigger.shift_us
        yield f"it is moved by {span(abs(trigger.shift_us))}, so what counts is {_moment(inner_us)}"
        yield from _reasons(trigger.trigger, inner_us, runs)
    elif isinstance(trigger, Bounded):
        if trigger.starts_at and at_us < to_us(trigger.starts_at):
            yield f"it does not run before {_moment(to_us(trigger.starts_at))}"
        elif trigger.ends_at and at_us >= to_us(trigger.ends_at):
            yield f"it does not run from {_moment(to_us(trigger.ends_at))} on"
        else:
            yield from _reasons(trigger.trigger, at_us, runs)
    elif isinstance(trigger, Excluding):
        if trigger.excluded(at_us):
            yield "this moment, or its local day, is excluded"
        else:
            yield from _reasons(trigger.trigger, at_us, runs)
    elif isinstance(trigger, EventBridge) and not isinstance(trigger.inner, ZonedTrigger):
        yield from _reasons(trigger.inner, at_us, runs)
    elif isinstance(trigger, Cron):
        yield from why_zoned(trigger, cron_fields(trigger.expression), at_us, runs)
    elif isinstance(trigger, EventBridge) and isinstance(trigger.inner, ZonedTrigger):
        yield from why_zoned(trigger.inner, trigger.fields, at_us, runs)
    elif isinstance(trigger, Interval):
        over = (at_us - trigger.phase_us) % trigger.period_us
        yield f"it is {span(over)} past a run" if over else "it is a whole number of periods from the anchor"
    elif runs:
        yield f"it is one of the moments that {trigger!r} names"
    else:
        yield f"it is none of the moments that {trigger!r} names"


def _surprises(trigger: Trigger, second: int) -> Iterator[str]:
    if isinstance(trigger, Shifted | Bounded | Excluding):
        yield from _surprises(trigger.trigger, second)
    elif isinstance(trigger, Cron):
        yield from cron_surprises(cron_fields(trigger.expression))
        yield from clock_surprises(trigger, second)
    elif isinstance(trigger, EventBridge) and isinstance(trigger.inner, ZonedTrigger):
        yield from cron_surprises(trigger.fields)
        yield from clock_surprises(trigger.inner, second)
    elif isinstance(trigger, EventBridge) and isinstance(trigger.inner, Interval):
        yield "rate counts from the Unix epoch here; AWS counts from the schedule's start date or creation"
    elif isinstance(trigger, Recurrence):
        for rule in trigger.parts:
            if rule.month_days and min(rule.month_days) > 28:
                day = min(rule.month_days)
                yield f"months without day {day} are left out; BYMONTHDAY=-1 is the last day of every month"
        for zoned in trigger.zoned:
            yield from clock_surprises(zoned, second)
