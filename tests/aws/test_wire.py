"""The message: its bytes are a promise to workers in every language, so they are compared with files."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from boto3.dynamodb.types import Binary, TypeDeserializer

from everdue.aws.wire import PayloadRefused, json_text, message, plain_item
from everdue.core.occurrence import Occurrence
from everdue.core.parcel import Parcel

FIXTURES = Path(__file__).parent.parent / "fixtures"
DUE = datetime(2026, 12, 1, 4, tzinfo=UTC)


def golden(name: str) -> str:
    return (FIXTURES / name).read_text(encoding="ascii").rstrip("\n")


def test_a_plain_message_is_what_the_contract_shows() -> None:
    """Nothing more, nothing less: `staleafter` is there only when the schedule says so."""
    sent = message(Occurrence("reports", DUE, Parcel(scheduleversion="9f2c")), "prod")
    assert sent.body == golden("message_default.json")


def test_a_message_with_everything_keeps_every_digit_and_byte() -> None:
    """Money, 38-digit numbers, binary and characters that XML doesn't know arrive as they were written."""
    data = {
        "price": Decimal("1.10"),
        "big": Decimal("12345678901234567890123456789012345678"),
        "tiny": Decimal("1E-38"),
        "round": Decimal("1E+2"),
        "negative": Decimal("-0.5"),
        "yes": True,
        "no": None,
        "bytes": b"\x00\xff\x10",
        "names": {"ü", "b", "a"},
        "sizes": {Decimal("10"), Decimal("-2"), Decimal("1.5")},
        "blobs": {Binary(b"\x01"), Binary(b"\x00")},
        "list": [[], {}],
        "text": "tab\t\x0b\uffff",
    }
    due = DUE.replace(microsecond=250_000)
    sent = message(Occurrence('café ⏰\n"', due, Parcel(data, "skip", 5_400, "7")), "prod")
    assert sent.body == golden("message_full.json")
    assert sent.body.isascii()
    read = json.loads(sent.body, parse_float=Decimal)
    assert read["data"]["price"] == Decimal("1.10")
    assert read["data"]["big"] == 12345678901234567890123456789012345678


def test_the_ids_are_hex_sha256_of_the_key_and_of_the_schedule() -> None:
    """Computed here with sha256sum: SQS allows 128 characters of ASCII, an id is any Unicode."""
    sent = message(Occurrence("reports", DUE), "prod")
    assert sent.deduplication_id == "7067787ca34627e762d48d7dffa172f121c69f303ee5804e72424715065b20bf"
    assert sent.group_id == "7f26104f77a7ce477546cd1ea99b6c99b5eb079e3ec9238583314eccea00440a"


@pytest.mark.parametrize("overlap", ["skip", "allow"])
def test_runs_that_may_overlap_each_have_a_group_of_their_own(overlap: Any) -> None:
    """In one group the second run waits for the first, and there would be nothing to skip."""
    first = message(Occurrence("reports", DUE, Parcel(overlap=overlap)), "prod")
    second = message(Occurrence("reports", DUE.replace(hour=5), Parcel(overlap=overlap)), "prod")
    assert first.group_id == first.deduplication_id
    assert second.group_id != first.group_id


def test_the_ids_do_not_depend_on_the_definition() -> None:
    """The same run has the same key under whichever version it is sent: a repeat is recognised as one."""
    sent = {message(Occurrence("a", DUE, Parcel(n, "queue", None, str(n))), "prod").deduplication_id for n in range(3)}
    assert len(sent) == 1


def test_a_payload_that_is_no_parcel_travels_as_data() -> None:
    """A program's own source hands over what it likes."""
    event = json.loads(message(Occurrence("a", DUE, {"x": 1}, version="v1"), "everdue").body)
    assert (event["data"], event["overlap"], event["scheduleversion"]) == ({"x": 1}, "queue", "v1")


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (DUE, "2026-12-01T04:00:00Z"),
        (datetime(2026, 12, 1, 4, 0, 0, 1, tzinfo=UTC), "2026-12-01T04:00:00.000001Z"),
        (datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC), "1969-12-31T23:59:59.500000Z"),
    ],
)
def test_the_time_is_rfc_3339_in_utc(moment: datetime, text: str) -> None:
    """CloudEvents asks for it."""
    assert json.loads(message(Occurrence("a", moment), "s").body)["time"] == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("0"), "0"),
        (Decimal("-0"), "-0"),
        (Decimal("1E+30"), "1" + "0" * 30),
        (Decimal("1E-130"), "0." + "0" * 129 + "1"),
        (Decimal("9.9999999999999999999999999999999999999E+125"), "99999999999999999999999999999999999999" + "0" * 88),
        (Decimal("1E+999999"), "1E+999999"),
        (7, "7"),
        (True, "true"),
        (0.1, "0.1"),
        ("\ud800", '"\\ud800"'),
        ((), "[]"),
        (frozenset(), "[]"),
        (bytearray(b"x"), '"eA=="'),
    ],
)
def test_values_are_written_exactly(value: Any, text: str) -> None:
    """Each is valid JSON, and reads back as the same number."""
    assert json_text(value) == text
    json.loads(text)


def looped() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [Decimal("NaN"), Decimal("Infinity"), float("nan"), float("-inf"), {1: 2}, object(), {None}, 10**5_000, looped()],
    ids=["decimal nan", "decimal inf", "nan", "-inf", "int key", "object", "set of null", "5001 digits", "loop"],
)
def test_what_json_can_not_say_is_refused(value: Any) -> None:
    """Such a payload is rejected alone; an exception of another kind would stop a whole tick."""
    with pytest.raises(PayloadRefused):
        json_text({"x": [value]})


def test_an_item_reads_as_boto3_would_read_it() -> None:
    """The fast reader and the client library agree, for every type that DynamoDB has."""
    item = {
        "s": {"S": "x"},
        "n": {"N": "12345678901234567890123456789012345678"},
        "f": {"N": "1E-130"},
        "t": {"BOOL": True},
        "z": {"NULL": True},
        "m": {"M": {"k": {"L": [{"N": "1"}, {"M": {}}]}}},
        "ss": {"SS": ["a", "b"]},
        "ns": {"NS": ["1", "2.5"]},
        "b": {"B": b"\x00"},
        "bs": {"BS": [b"\x00", b"\x01"]},
    }
    assert plain_item(item) == {name: TypeDeserializer().deserialize(value) for name, value in item.items()}


@pytest.mark.parametrize("value", [{"X": "1"}, {}, {"S": "a", "N": "1"}, {"N": "one"}])
def test_an_item_that_is_none_is_refused(value: Any) -> None:
    """As a ValueError or ArithmeticError, which the source turns into a refused row."""
    with pytest.raises((ValueError, ArithmeticError)):
        plain_item({"a": value})
