"""Durations: `45s`, `15m`, `1h30m`, `1d`, or a bare number of seconds."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from everdue.core.grammar.values import number_us, refuse
from everdue.core.moment import SECOND_US

WRITTEN = "seconds, or a duration such as 45s, 15m, 1h30m or 1d"
MAX_US = 36_525 * 86_400 * SECOND_US
"""A hundred years: beyond it a number is a slip, such as milliseconds for seconds."""

_UNIT_SECONDS = (7 * 86_400, 86_400, 3_600, 60, 1)
_BARE = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,6})?")
_PARTS = re.compile(
    r"([+-]?)(?=[0-9])(?:([0-9]{1,9})w)?(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?"
    r"(?:([0-9]{1,9})m)?(?:([0-9]{1,12}(?:\.[0-9]{1,6})?)s)?"
)


def duration_us(
    item: Mapping[str, Any], attribute: str, *, least_us: int, most_us: int = MAX_US, whole: bool = False
) -> int | None:
    """A duration attribute in microseconds; None when it is absent.

    Args:
        item: the item.
        attribute: which.
        least_us, most_us: the bounds, both allowed.
        whole: only whole seconds.

    Raises:
        ScheduleRefused: it is no duration, or outside the bounds.
    """
    if attribute not in item:
        return None
    value = item[attribute]
    us = _text_us(value) if isinstance(value, str) else number_us(value)
    if us is None:
        refuse(attribute, value, f"{WRITTEN}, to the microsecond")
    if whole and us % SECOND_US:
        refuse(attribute, value, f"whole seconds: {WRITTEN}")
    if not least_us <= us <= most_us:
        refuse(attribute, value, f"from {duration_text(least_us)} to {duration_text(most_us)}: {WRITTEN}")
    return us


def _text_us(text: str) -> int | None:
    text = text.strip()
    if _BARE.fullmatch(text):
        return number_us(Decimal(text))
    match = _PARTS.fullmatch(text)
    if match is None:
        return None
    sign, *numbers = match.groups()
    us = 0
    for number, size in zip(numbers, _UNIT_SECONDS, strict=True):
        us += (number_us(Decimal(number or 0)) or 0) * size
    return -us if sign == "-" else us


def duration_text(us: int) -> str:
    """Microseconds in the form that is read here: `-1h30m`, `0s`, `1.5s`."""
    if us < 0:
        return "-" + duration_text(-us)
    seconds, micros = divmod(us, SECOND_US)
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    if seconds or micros or not parts:
        parts.append(f"{seconds}{f'.{micros:06}'.rstrip('0') if micros else ''}s")
    return "".join(parts)
