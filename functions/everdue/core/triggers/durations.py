"""Durations as arguments: seconds of any number type, as exact integer microseconds."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

from everdue.core.errors import TriggerRefused
from everdue.core.moment import MAX_US, MIN_US, SECOND_US
from everdue.core.triggers.base import clip

LIMIT_S = 10**12
"""Seconds in more than the 9999 years there are."""


def duration_us(name: str, seconds: Any) -> int:
    """The duration in microseconds, rounded to the nearest.

    The arithmetic is exact, in fractions: a float product would put 0.1 s of 10^9 periods out of place.

    Raises:
        TriggerRefused: it is not a number, is not finite, or is longer than time from year 1 to 9999.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float, Decimal, Fraction)):
        raise TriggerRefused(f"{name} {clip(seconds)} is not a number of seconds")
    number: Any = seconds  # mypy finds no order that the four types share
    try:
        # Compared before it is made exact: Decimal('1e999999999') as a fraction would fill the memory.
        known = number == number and abs(number) < LIMIT_S
        us = round(Fraction(number if abs(number) > 1e-9 else 0) * SECOND_US) if known else None
    except (ArithmeticError, ValueError):  # Decimal's own ways of being no number
        us = None
    if us is None or not MIN_US - MAX_US <= us <= MAX_US - MIN_US:
        raise TriggerRefused(f"{name} {clip(seconds)} is out of range: a number of seconds within 9999 years")
    return us


def seconds_text(us: int) -> str:
    """Microseconds as seconds, exactly, for people and for repr."""
    whole, part = divmod(abs(us), SECOND_US)
    text = f"{whole}.{part:06d}".rstrip("0") if part else str(whole)
    return f"-{text}" if us < 0 else text
