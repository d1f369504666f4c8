"""Payloads: anything that DynamoDB holds, within bounds that keep every reader of it safe."""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, SupportsBytes

from everdue.core.grammar.values import kind, refuse

MAX_LEVELS = 32
"""DynamoDB's own bound on nesting; here so that no walk over a payload can exhaust the stack."""
MAX_DIGITS = 38


def check_payload(payload: Any) -> None:
    """Check a payload, without copying it.

    Its size is DynamoDB's to bound (400 KB for an item). That it still fits into a message is only known once it is
    written as JSON, where it may grow sixfold; a message over 1 MiB is rejected at dispatch, and put on record.

    Raises:
        ScheduleRefused: it holds what JSON can't say exactly, or nests too deeply.
    """
    level = [payload]
    for _ in range(MAX_LEVELS + 1):
        deeper: list[Any] = []
        for value in level:
            deeper.extend(_inside(value))
        if not deeper:
            return
        level = deeper
    refuse("payload", payload, f"nested at most {MAX_LEVELS} levels deep")


def _inside(value: Any) -> list[Any]:
    """What a container holds; nothing for a value. Refuses what is neither."""
    if value is None or isinstance(value, bool | str | bytes | bytearray):
        return []
    if isinstance(value, int | float | Decimal):
        _check_number(value)
        return []
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                refuse("payload", value, f"made of maps with string keys; one key is {kind(key)}")
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, SupportsBytes):
        return []
    refuse(
        "payload", value, f"made of strings, numbers, booleans, null, lists, maps, sets and binary, not {kind(value)}"
    )


def _check_number(value: int | float | Decimal) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            refuse("payload", value, "made of finite numbers: JSON has no others")
        return
    decimal = Decimal(value)
    if not decimal.is_finite():
        refuse("payload", value, "made of finite numbers: JSON has no others")
    if len("".join(map(str, decimal.as_tuple().digits)).strip("0")) > MAX_DIGITS:
        refuse("payload", value, f"made of numbers of at most {MAX_DIGITS} digits, as DynamoDB holds them")
