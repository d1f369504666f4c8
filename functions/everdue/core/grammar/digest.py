"""The digest of an item: different as soon as anything differs that decides when or what, and only then."""

import hashlib
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, SupportsBytes

IGNORED = frozenset({"description", "tags", "on_done", "enabled"})
"""What decides neither when nor what: words for people, what becomes of the item afterwards, and the switch, which a
row carries on its own, so that pausing and resuming is no edit. The writer's own `version` and `active_from` count: a
writer who raises them says that there is a new definition, even one that looks the same."""

DIGEST_CHARS = 32
"""128 bits in hex: two definitions of one schedule never meet by accident, and only its own writer could try."""


SWITCH = frozenset({"enabled"})
"""Alone left out where every edit must be seen, if only to refuse what it writes."""


def digest(item: Mapping[str, Any], ignored: frozenset[str] = IGNORED) -> str:
    """The digest of a plain item, in lower-case hex.

    It does not depend on the order of attributes, of maps' keys and of sets, nor on how a number is written (`1.50`
    is `1.5`): DynamoDB promises none of these, and a digest that changed between two reads would be an edit at each.

    Raises:
        TypeError: the item holds a type that DynamoDB does not know.
    """
    parts: list[bytes] = []
    for name in sorted(item):
        if name not in ignored:
            _feed(name, parts.append)
            _feed(item[name], parts.append)
    return hashlib.sha256(b"".join(parts)).hexdigest()[:DIGEST_CHARS]


def _feed(value: Any, put: Callable[[bytes], None]) -> None:
    """Feed a value in a form that says its type and its length, so that no two values feed the same bytes."""
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        put(b"S%d:%b" % (len(data), data))
    elif value is None or isinstance(value, bool):
        put(b"0" if value is None else b"+" if value else b"-")
    elif isinstance(value, int | float | Decimal):
        put(f"N{_number(value)};".encode())
    elif isinstance(value, list | tuple):
        put(b"L%d:" % len(value))
        for each in value:
            _feed(each, put)
    elif isinstance(value, Mapping):
        put(b"M%d:" % len(value))
        for name in sorted(value):
            _feed(name, put)
            _feed(value[name], put)
    elif isinstance(value, set | frozenset):
        put(b"E%d:" % len(value))
        for fed in sorted(_fed(each) for each in value):
            put(fed)
    elif isinstance(value, bytes | bytearray | SupportsBytes):
        data = bytes(value)
        put(b"B%d:%b" % (len(data), data))
    else:
        raise TypeError(f"an item can't hold a {type(value).__name__}")


def _fed(value: Any) -> bytes:
    parts: list[bytes] = []
    _feed(value, parts.append)
    return b"".join(parts)


def _number(value: int | float | Decimal) -> str:
    text = str(value)
    if text.isdecimal():  # nearly all are: this is paid for every schedule at every sync
        short = text.rstrip("0")
        return f"{short}e{len(text) - len(short)}" if short else "0"
    decimal = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    sign, digits, exponent = decimal.as_tuple()
    if not isinstance(exponent, int):  # NaN and infinity, which no table holds
        return str(decimal)
    significant = "".join(map(str, digits)).lstrip("0")
    short = significant.rstrip("0")
    return f"{'-' if sign else ''}{short}e{exponent + len(significant) - len(short)}" if short else "0"
