"""Reading single values, and saying what is wrong with one: attribute, value, and what would be right."""

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any, NoReturn, SupportsBytes

from everdue.core.errors import ScheduleRefused
from everdue.core.moment import SECOND_US

SHOWN_CHARS = 60
_MAX_EXPONENT = 30


def shown(value: Any) -> str:
    """A value for a message: short, on one line, control characters escaped.

    Containers are named and not printed: they may be large, or hold what does not belong in a log.
    """
    if isinstance(value, str):
        return repr(value if len(value) <= SHOWN_CHARS else value[:SHOWN_CHARS] + "…")
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | Decimal):
        text = str(value) if not isinstance(value, int) or abs(value) < 10**SHOWN_CHARS else "of too many digits"
        return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "…"
    return kind(value)


def kind(value: Any) -> str:
    """What a value is, in DynamoDB's terms."""
    if isinstance(value, bool):
        return "a boolean (BOOL)"
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (type(None), "null (NULL)"),
        (str, "a string (S)"),
        ((int, float, Decimal), "a number (N)"),
        (list, "a list (L)"),
        ((set, frozenset), "a set"),
        (Mapping, "a map (M)"),
        ((bytes, bytearray), "binary (B)"),
        (SupportsBytes, "binary (B)"),
    )
    return next((words for types, words in kinds if isinstance(value, types)), f"a {type(value).__name__}")


def refuse(attribute: str, value: Any, right: str) -> NoReturn:
    """Raise the refusal of a value: `right` completes "it must be …"."""
    raise ScheduleRefused(f"{attribute} is {shown(value)}: it must be {right}", attribute=attribute)


def text(item: Mapping[str, Any], attribute: str, right: str, *, most_bytes: int) -> str:
    """A string attribute that is there, not blank and not longer than `most_bytes` of UTF-8."""
    value = item[attribute]
    if not isinstance(value, str) or not value.strip():
        refuse(attribute, value, right)
    if byte_length(value) > most_bytes:
        refuse(attribute, value, f"{right}, of at most {most_bytes} bytes; it has {byte_length(value)}")
    return value


def choice(item: Mapping[str, Any], attribute: str, choices: Collection[str], default: str) -> str:
    """One of a few words."""
    if attribute not in item:
        return default
    value = item[attribute]
    if not isinstance(value, str) or value not in choices:
        refuse(attribute, value, f"one of {', '.join(choices)}")
    return value


def byte_length(value: str) -> int:
    """Its length in bytes of UTF-8."""
    return len(value.encode("utf-8", "surrogatepass"))


def number_us(value: Any) -> int | None:
    """A number of seconds as integer microseconds, exactly; None when it is no number, has more than six decimals or
    is far beyond any moment."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    # A float (from a program; a table holds none) stands for the shortest decimal that reads back as it.
    decimal = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not decimal.is_finite():
        return None
    # The bounds come before the arithmetic: 1E+999999 would be written out for minutes.
    if not decimal or not -_MAX_EXPONENT < decimal.adjusted() < _MAX_EXPONENT:
        return None if decimal else 0
    numerator, denominator = decimal.as_integer_ratio()
    us, rest = divmod(numerator * SECOND_US, denominator)
    return None if rest else us
