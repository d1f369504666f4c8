"""The trigger of an item: its rule, without what is excluded, moved, and within its validity."""

import hashlib
from collections.abc import Callable, Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Literal, TypeVar, cast
from zoneinfo import ZoneInfo

from everdue.core.errors import ScheduleRefused, TriggerRefused
from everdue.core.grammar.attributes import TRIGGERS
from everdue.core.grammar.duration import duration_us
from everdue.core.grammar.moments import local_date, moment_us, value_us
from everdue.core.grammar.values import choice, refuse, shown, text
from everdue.core.moment import MIN_US, SECOND_US, from_us
from everdue.core.trigger import InstantTrigger, Trigger
from everdue.core.triggers import At, Bounded, Cron, EventBridge, Excluding, Interval, Recurrence, Shifted

MAX_EXPRESSION_BYTES = 1_024
MAX_RRULE_BYTES = 16_384
MAX_EXCLUDED = 1_000
MAX_MOVE_US = 366 * 86_400 * SECOND_US

Gap = Literal["run", "skip"]
GAP: tuple[Gap, ...] = ("run", "skip")
Fold = Literal["once", "twice"]
FOLD: tuple[Fold, ...] = ("once", "twice")

_ONLY = {"every": {"gap": "run", "fold": "once"}, "expression": {"gap": "skip", "fold": "once"}}
"""What clock changes do to rules that leave no choice: an interval knows no local time, and EventBridge has its way."""


T = TypeVar("T")


def build_trigger(id: str, item: Mapping[str, Any], zone: ZoneInfo) -> Trigger:  # noqa: A002
    """The trigger that an item states, from the inside out: rule, `exclude`, `shift` and `spread`, validity.

    `exclude` speaks of the rule's own moments and their local dates: who excludes a date or 09:00 knows nothing of the
    offset that `spread` adds. Validity speaks of the moments at which runs are due in the end: none lies outside it.

    Raises:
        ScheduleRefused: an attribute of it is wrong, or what is left can never be due.
    """
    gap = cast(Gap, choice(item, "gap", GAP, "run"))
    fold = cast(Fold, choice(item, "fold", FOLD, "once"))
    attribute = next(name for name in TRIGGERS if name in item)
    _check_belongings(item, attribute)
    trigger: Trigger = _rule(attribute, item, zone, gap, fold)
    trigger = _excluding(trigger, item, zone)
    move_us = spread_us(id, item) + (duration_us(item, "shift", least_us=-MAX_MOVE_US, most_us=MAX_MOVE_US) or 0)
    if move_us:
        trigger = Shifted(trigger, move_us / SECOND_US)
    return _bounded(trigger, item, zone)


def spread_us(id: str, item: Mapping[str, Any]) -> int:  # noqa: A002
    """The offset that `spread` gives this schedule, in `[0, spread)`, always the same for the same id and spread.

    The first 8 bytes of the SHA-256 of `spread/` and the id, big endian, modulo the spread in seconds. Whole seconds,
    so that schedules with the same offset have equal triggers and share one. Not the hash that chooses the shard: all
    schedules of one shard would then huddle in a part of the spread.
    """
    spread = duration_us(item, "spread", least_us=0, most_us=MAX_MOVE_US, whole=True)
    if not spread:
        return 0
    hashed = hashlib.sha256(b"spread/" + id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(hashed[:8], "big") % (spread // SECOND_US) * SECOND_US


def _check_belongings(item: Mapping[str, Any], attribute: str) -> None:
    """Refuse options that the trigger can't act on: ignoring one would run at moments that its writer ruled out."""
    if "anchor" in item and attribute != "every":
        raise ScheduleRefused(
            f"anchor is {shown(item['anchor'])}: it belongs to `every`, and the item has `{attribute}`; leave it out",
            attribute="anchor",
        )
    for name, only in _ONLY.get(attribute, {}).items():
        if item.get(name, only) != only:
            raise ScheduleRefused(
                f"{name} is {shown(item[name])}: with `{attribute}` it can only be {only!r}; "
                f"write the rule as `cron`, or leave {name} out",
                attribute=name,
            )


def _rule(attribute: str, item: Mapping[str, Any], zone: ZoneInfo, gap: Gap, fold: Fold) -> Trigger:
    if attribute == "every":
        return _interval(item, zone)
    if attribute == "at":
        return At(from_us(value_us(item["at"], "at", zone, gap=gap)))
    if attribute == "cron":
        right = "a string, such as '0 4 * * MON'"
        expression = text(item, "cron", right, most_bytes=MAX_EXPRESSION_BYTES)
        return _built("cron", expression, lambda: Cron(expression, zone.key, gap=gap, fold=fold))
    if attribute == "rrule":
        right = "a string, such as 'FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0'"
        rule = text(item, "rrule", right, most_bytes=MAX_RRULE_BYTES)
        return _built("rrule", rule, lambda: Recurrence(rule, zone.key, gap=gap, fold=fold))
    right = "a string, such as 'rate(5 minutes)' or 'cron(0 10 ? * MON-FRI *)'"
    expression = text(item, "expression", right, most_bytes=MAX_EXPRESSION_BYTES)
    return _built("expression", expression, lambda: EventBridge(expression, zone.key))


def _interval(item: Mapping[str, Any], zone: ZoneInfo) -> Trigger:
    every = duration_us(item, "every", least_us=SECOND_US)
    assert every is not None  # noqa: S101 - the item has `every`
    anchor = moment_us(item, "anchor", zone)
    seconds = Fraction(every, SECOND_US)  # a float would move runs by a microsecond after some centuries
    anchored = None if anchor is None else from_us(anchor)
    return _built("every", item["every"], lambda: Interval(seconds, anchored))


def _excluding(trigger: Trigger, item: Mapping[str, Any], zone: ZoneInfo) -> Trigger:
    value = item.get("exclude", [])
    right = "a list (L) or string set (SS) of local dates (2026-12-25) or moments"
    if not isinstance(value, list | set | frozenset):
        refuse("exclude", value, right)
    if len(value) > MAX_EXCLUDED:
        refuse("exclude", value, f"{right}, at most {MAX_EXCLUDED}; it has {len(value)}")
    excluded: set[date | datetime] = set()
    for each in value:
        if isinstance(value, set | frozenset) and not isinstance(each, str):
            refuse("exclude", value, f"{right}, not a set of other things")
        excluded.add(local_date(each) or from_us(value_us(each, "exclude", zone)))
    if not excluded:
        return trigger
    excluding = _built("exclude", value, lambda: Excluding(trigger, excluded, zone.key))
    return _never("exclude", value, excluding, "everything that the rule would run is excluded")


def _bounded(trigger: Trigger, item: Mapping[str, Any], zone: ZoneInfo) -> Trigger:
    starts, ends = moment_us(item, "starts_at", zone), moment_us(item, "ends_at", zone)
    if starts is None and ends is None:
        return trigger
    attribute = "starts_at" if ends is None else "ends_at"
    if starts is not None and ends is not None and starts >= ends:
        refuse("ends_at", item["ends_at"], f"after starts_at ({shown(item['starts_at'])}), which is the first moment")
    start = None if starts is None else from_us(starts)
    end = None if ends is None else from_us(ends)
    bounded = _built(attribute, item[attribute], lambda: Bounded(trigger, start, end))
    return _never(attribute, item[attribute], bounded, "the rule never runs between starts_at and ends_at")


def _never(attribute: str, value: Any, trigger: Trigger, why: str) -> Trigger:
    """The trigger, unless it can never be due, be that in the past: a schedule that is done is no fault, one that has
    no run at all is."""
    first = _built(attribute, value, lambda: trigger.next_us(MIN_US) if isinstance(trigger, InstantTrigger) else 0)
    if first is None:
        raise ScheduleRefused(f"{attribute} leaves no run: {why}", attribute=attribute)
    return trigger


def _built(attribute: str, value: Any, build: Callable[[], T]) -> T:
    """What `build` makes; its refusal in the words of the attribute."""
    try:
        return build()
    except (TriggerRefused, ArithmeticError, ValueError) as error:
        raise ScheduleRefused(
            f"{attribute} is {shown(value)}, which is refused: {error}", attribute=attribute
        ) from error
