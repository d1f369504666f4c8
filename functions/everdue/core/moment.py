"""Moments: aware datetimes at the edges, integer Unix microseconds inside.

Floats would lose an occurrence that lies exactly on a window's edge; integers cannot.
"""

from datetime import UTC, datetime, timedelta

SECOND_US = 1_000_000
"""Microseconds in a second: the one factor between public durations and the integers inside."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MIN_US = (datetime.min.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
MAX_US = (datetime.max.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


def to_us(moment: datetime) -> int:
    """The moment as integer Unix microseconds.

    Raises:
        ValueError: the datetime is naive; it would mean another moment on another machine.
    """
    if moment.utcoffset() is None:
        raise ValueError(f"moment {moment.isoformat()!r} has no time zone: pass an aware datetime, such as one in UTC")
    return (moment - EPOCH) // timedelta(microseconds=1)


def from_us(us: int) -> datetime:
    """The aware UTC datetime of integer Unix microseconds. Raises OverflowError outside years 1 to 9999."""
    return EPOCH + timedelta(microseconds=us)


def seconds_to_us(seconds: float) -> int:
    """A duration in seconds as integer microseconds, rounded to the nearest."""
    return round(seconds * SECOND_US)


def us_to_seconds(us: int) -> float:
    """A duration in microseconds as seconds, for metrics and sleeping; never for deciding."""
    return us / SECOND_US
