"""Moments in an item: ISO 8601, local to the item's zone where no offset is written, or Unix seconds."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from everdue.core.grammar.values import number_us, refuse
from everdue.core.moment import MAX_US, MIN_US, SECOND_US, to_us

WRITTEN = "a moment such as 2027-01-31T09:00 (in `timezone`), 2027-01-31T09:00:00Z, or Unix seconds"

_ISO = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[Tt ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,6})?)?)"
    r"\s?([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_UNIX = re.compile(r"-?[0-9]{9,12}(\.[0-9]{1,6})?")
"""Nine digits or more, so that the basic form of a date (20270131) is never taken for a moment in 1970."""
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def moment_us(item: Mapping[str, Any], attribute: str, zone: ZoneInfo, *, gap: str = "run") -> int | None:
    """A moment attribute as Unix microseconds; None when it is absent. See `value_us`."""
    return value_us(item[attribute], attribute, zone, gap=gap) if attribute in item else None


def value_us(value: Any, attribute: str, zone: ZoneInfo, *, gap: str = "run") -> int:
    """A moment as Unix microseconds.

    A date alone is its first moment. A local time that happens twice is the first of the two. One that the clocks skip
    is the first moment after the gap, or refused where `gap` is `skip`.

    Raises:
        ScheduleRefused: it is no moment between the years 1 and 9999.
    """
    us = _text_us(value, attribute, zone, gap) if isinstance(value, str) else number_us(value)
    if us is None or not MIN_US <= us <= MAX_US:
        refuse(attribute, value, WRITTEN)
    return us


def local_date(value: Any) -> date | None:
    """The date that a string is; None when it is anything else."""
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None


def _text_us(value: str, attribute: str, zone: ZoneInfo, gap: str) -> int | None:
    text = value.strip()
    if _UNIX.fullmatch(text):
        return number_us(Decimal(text))
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    day, clock, offset = match.groups()
    try:
        local = datetime.fromisoformat(f"{day}T{(clock or '00:00').replace(',', '.')}{(offset or '').upper()}")
        if offset:
            return to_us(local)
        us = local_us(local, zone)
        if us is None:
            if gap == "skip":
                refuse(attribute, value, f"a time that exists in {zone.key}: the clocks skip it, and gap is 'skip'")
            us = after_gap_us(local, zone)
    except (ValueError, OverflowError) as error:
        if isinstance(error, OverflowError) or not hasattr(error, "attribute"):
            return None
        raise
    return us


def local_us(local: datetime, zone: ZoneInfo) -> int | None:
    """The first moment at which the zone's clocks show a naive local time; None when they skip it."""
    aware = local.replace(tzinfo=zone, fold=0)
    if aware.astimezone(UTC).astimezone(zone).replace(tzinfo=None, fold=0) != local:
        return None
    return to_us(aware)


def after_gap_us(local: datetime, zone: ZoneInfo) -> int:
    """The first moment after the gap that a skipped local time lies in.

    Read with the offset before the gap the time lies after it, with the offset after the gap before it; the change is
    in between, on a whole second, as all of the zone database is.
    """
    late = to_us(local.replace(tzinfo=zone, fold=0)) // SECOND_US
    early = to_us(local.replace(tzinfo=zone, fold=1)) // SECOND_US
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    offset = (epoch + timedelta(seconds=early)).astimezone(zone).utcoffset()
    while late - early > 1:
        middle = (early + late) // 2
        if (epoch + timedelta(seconds=middle)).astimezone(zone).utcoffset() == offset:
            early = middle
        else:
            late = middle
    return late * SECOND_US
