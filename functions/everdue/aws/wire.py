"""The message on the queue: one CloudEvents 1.0 event in JSON, byte for byte the same for the same occurrence."""

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from json.encoder import encode_basestring_ascii
from typing import Any, SupportsBytes

from everdue.core.moment import from_us, to_us
from everdue.core.occurrence import Occurrence
from everdue.core.parcel import Parcel

MAX_MESSAGE_BYTES = 1_048_576
"""What SQS takes, for one message and for a whole batch."""
EVENT_TYPE = "everdue.occurrence"
_WRITTEN_OUT_DIGITS = 200
_ENCODER = json.JSONEncoder(separators=(",", ":"))


class PayloadRefused(ValueError):
    """A payload holds something that JSON can't say."""


@dataclass(frozen=True, slots=True)
class Message:
    """An occurrence as SQS takes it: body, and the two ids in lower-case hex, which any id and any Unicode allows."""

    body: str
    deduplication_id: str
    group_id: str

    @property
    def size_bytes(self) -> int:
        """What counts against the limits of SQS. The body is ASCII, so characters are bytes."""
        return len(self.body)


def message(occurrence: Occurrence, stack: str) -> Message:
    """The message of an occurrence.

    A payload that is no `Parcel` (an entry that a program made) travels as `data`, with the defaults of an item.

    Raises:
        PayloadRefused: the payload holds what JSON can't say.
    """
    payload = occurrence.payload
    parcel = payload if isinstance(payload, Parcel) else Parcel(data=payload)
    key = occurrence.key
    # Written in two parts: all but the payload has strings only, which the standard library writes many times faster.
    event: dict[str, Any] = {
        "specversion": "1.0",
        "type": EVENT_TYPE,
        "source": f"everdue/{stack}",
        "id": key,
        "subject": occurrence.id,
        "time": moment_text(to_us(occurrence.due)),
        "datacontenttype": "application/json",
        "scheduleversion": parcel.scheduleversion or occurrence.version,
        "overlap": parcel.overlap,
    }
    if parcel.stale_after_seconds is not None:
        event["staleafter"] = parcel.stale_after_seconds
    head = _ENCODER.encode(event)
    # One FIFO group runs one at a time: right for `queue`, while `skip` and `allow` need the second run to arrive.
    deduplication_id = _hex(key)
    group_id = _hex(occurrence.id) if parcel.overlap == "queue" else deduplication_id
    return Message(f'{head[:-1]},"data":{json_text(parcel.data)}}}', deduplication_id, group_id)


def moment_text(us: int) -> str:
    """Unix microseconds as RFC 3339 in UTC: with six decimals of a second, or none where they are all zero."""
    return from_us(us).isoformat().replace("+00:00", "Z")


def json_text(value: Any) -> str:
    """A value as compact ASCII JSON.

    Numbers are exact: a Decimal's digits are written as they are, where `json.dumps` would need a float. Binary
    becomes base64 and a set a sorted array, so that the same item always gives the same bytes. ASCII, because SQS
    refuses characters that XML 1.0 does not know, and a body of ASCII has as many bytes as characters.

    Raises:
        PayloadRefused: NaN, infinity, a key that is no string, or a type that JSON does not know.
    """
    parts: list[str] = []
    try:
        _write(value, parts.append)
    except RecursionError:
        raise PayloadRefused("the payload is nested too deeply, or holds itself") from None
    except PayloadRefused:
        raise
    except (ArithmeticError, TypeError, ValueError) as error:  # such as an integer of more digits than Python writes
        raise PayloadRefused(f"the payload can't be written as JSON: {error}") from error
    return "".join(parts)


def _write(value: Any, put: Any) -> None:
    if value is None or value is True or value is False:
        put("null" if value is None else "true" if value else "false")
    elif isinstance(value, str):
        put(encode_basestring_ascii(value))
    elif isinstance(value, int | float | Decimal):
        put(_number(value))
    elif isinstance(value, Mapping):
        separator = "{"
        for key, item in value.items():
            if not isinstance(key, str):
                raise PayloadRefused(f"a key of the payload is {type(key).__name__}: JSON has string keys only")
            put(f"{separator}{encode_basestring_ascii(key)}:")
            _write(item, put)
            separator = ","
        put("}" if value else "{}")
    elif isinstance(value, list | tuple | set | frozenset):
        items: Iterable[Any] = value if isinstance(value, list | tuple) else sorted(value, key=_sort_key)
        separator = "["
        for item in items:
            put(separator)
            _write(item, put)
            separator = ","
        put("]" if value else "[]")
    elif isinstance(value, bytes | bytearray | SupportsBytes):
        put(f'"{base64.b64encode(bytes(value)).decode("ascii")}"')
    else:
        raise PayloadRefused(f"the payload holds a {type(value).__name__}: JSON does not know it")


def _number(value: int | float | Decimal) -> str:
    if isinstance(value, int):
        return str(int(value))
    if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
        raise PayloadRefused(f"the payload holds {value}: JSON has finite numbers only")
    if isinstance(value, float):
        return repr(value)
    # 1E+2 is a float to most readers and 100 is not, so a number is written out where that stays reasonable; DynamoDB
    # holds up to 126 digits before the point and 130 after it.
    return format(value, "f") if abs(value.adjusted()) < _WRITTEN_OUT_DIGITS else str(value)


def _sort_key(value: Any) -> tuple[int, Any]:
    """Numbers by value, then strings by code point, then binary by byte: DynamoDB's sets hold one type each."""
    if isinstance(value, int | float | Decimal):
        return 0, value
    if isinstance(value, str):
        return 1, value
    if isinstance(value, bytes | bytearray | SupportsBytes):
        return 2, bytes(value)
    raise PayloadRefused(f"a set in the payload holds a {type(value).__name__}: strings, numbers or binary only")


def _hex(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def plain_item(item: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A low-level DynamoDB item as plain Python values: str, Decimal, bool, None, list, set, dict and bytes.

    As boto3's TypeDeserializer, but cheaper, since it is paid for every schedule at every sync; and binary is bytes.

    Raises:
        ValueError: the item holds a type that DynamoDB does not know today, or no number where one should be.
    """
    return {name: _plain(value) for name, value in item.items()}


def _plain(value: Mapping[str, Any]) -> Any:
    ((tag, content),) = value.items()
    if tag in ("S", "BOOL", "B"):
        return content
    if tag == "N":
        return Decimal(content)
    if tag == "NULL":
        return None
    if tag == "M":
        return {name: _plain(each) for name, each in content.items()}
    if tag == "L":
        return [_plain(each) for each in content]
    if tag in ("SS", "BS"):
        return set(content)
    if tag == "NS":
        return {Decimal(each) for each in content}
    raise ValueError(f"type {tag!r} is unknown: one of S, N, BOOL, NULL, M, L, SS, NS, B, BS")
