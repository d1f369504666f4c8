"""What the grammar refuses, and in which words: the attribute, its value, and what would be right."""

import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everdue.core.errors import ScheduleRefused
from everdue.core.grammar import ATTRIBUTES, parse

LOOPED: list[Any] = []
LOOPED.append(LOOPED)


def refusal(**attributes: Any) -> ScheduleRefused:
    with pytest.raises(ScheduleRefused) as caught:
        parse({"id": "reports", **attributes})
    return caught.value


@pytest.mark.parametrize(
    ("attributes", "attribute", "words"),
    [
        # which rule
        ({}, None, "no trigger: it must have exactly one of cron, every, at, rrule, expression"),
        ({"every": 60, "cron": "* * * * *"}, "every", "cron and every: it must have exactly one"),
        ({"every": 60, "at": None}, "at", "every and at"),
        # unknown names
        ({"every": 60, "cronn": ""}, "cronn", "'cronn' is unknown: did you mean cron?"),
        ({"evry": 60}, "evry", "did you mean every?"),
        ({"every": 60, "startsAt": 1}, "startsAt", "did you mean starts_at?"),
        ({"every": 60, "time_zone": "UTC"}, "time_zone", "did you mean timezone?"),
        ({"every": 60, "tz": "UTC"}, "tz", "did you mean timezone?"),
        ({"every": 60, "data": 1}, "data", "did you mean payload?"),
        ({"every": 60, "Enabled": True}, "Enabled", "did you mean enabled?"),
        ({"every": 60, "disabled": True}, "disabled", "did you mean enabled?"),
        ({"every": 60, "zzzzzz": 1}, "zzzzzz", "an item may have id, cron"),
        # cron and expressions
        ({"cron": "61 * * * *"}, "cron", "cron is '61 * * * *', which is refused: "),
        ({"cron": "0 0 30 2 *"}, "cron", "0 0 30 2 *"),
        ({"cron": ""}, "cron", "a string, such as '0 4 * * MON'"),
        ({"cron": Decimal(5)}, "cron", "cron is 5: it must be a string"),
        ({"cron": None}, "cron", "cron is null"),
        ({"cron": ["0 4 * * *"]}, "cron", "cron is a list (L)"),
        ({"cron": "* " * 600}, "cron", "at most 1024 bytes; it has 1200"),
        ({"rrule": {}}, "rrule", "rrule is a map (M)"),
        ({"rrule": "x" * 16_385}, "rrule", "at most 16384 bytes"),
        ({"expression": b"rate"}, "expression", "expression is binary (B)"),
        # durations
        ({"every": Decimal(0)}, "every", "every is 0: it must be from 1s to 36525d"),
        ({"every": Decimal("0.999999")}, "every", "from 1s"),
        ({"every": "-5m"}, "every", "every is '-5m': it must be from 1s"),
        ({"every": "often"}, "every", "seconds, or a duration such as 45s, 15m, 1h30m or 1d"),
        ({"every": "15 m"}, "every", "a duration such as"),
        ({"every": "30m1h"}, "every", "a duration such as"),
        ({"every": "1h1h"}, "every", "a duration such as"),
        ({"every": ""}, "every", "every is ''"),
        ({"every": "٣s"}, "every", "a duration such as"),
        ({"every": Decimal("NaN")}, "every", "every is NaN"),
        ({"every": Decimal("Infinity")}, "every", "every is Infinity"),
        ({"every": Decimal("1E+999999")}, "every", "every is 1E+999999"),
        ({"every": Decimal("1.0000001")}, "every", "to the microsecond"),
        ({"every": True}, "every", "every is true"),
        ({"every": "P1D"}, "every", "a duration such as"),
        ({"every": 10**12}, "every", "to 36525d"),
        ({"every": 60, "spread": "-1s"}, "spread", "from 0s to 366d"),
        ({"every": 60, "spread": Decimal("1.5")}, "spread", "whole seconds"),
        ({"every": 60, "shift": "367d"}, "shift", "from -366d to 366d"),
        ({"every": 60, "shift": "soon"}, "shift", "shift is 'soon'"),
        ({"every": 60, "stale_after": 0}, "stale_after", "from 1s"),
        ({"every": 60, "stale_after": "1.5s"}, "stale_after", "whole seconds"),
        ({"every": 60, "recover": -1}, "recover", "from 0s"),
        # moments and zones
        ({"at": "tomorrow"}, "at", "at is 'tomorrow': it must be a moment such as 2027-01-31T09:00"),
        ({"at": "2026-02-30T09:00"}, "at", "a moment such as"),
        ({"at": "2026-12-01T25:00"}, "at", "a moment such as"),
        ({"at": "2026-12-01T09:00:00.1234567"}, "at", "a moment such as"),
        ({"at": "20261201"}, "at", "a moment such as"),
        ({"at": "2026-W49-2"}, "at", "a moment such as"),
        ({"at": "2026-12-01T09:00+25:00"}, "at", "a moment such as"),
        ({"at": Decimal("1E+20")}, "at", "Unix seconds"),
        ({"at": Decimal("0.0000001")}, "at", "Unix seconds"),
        ({"at": True}, "at", "at is true"),
        ({"at": "0001-01-01T00:00", "timezone": "Asia/Tokyo"}, "at", "a moment such as"),
        ({"at": "2026-03-29T02:30", "timezone": "Europe/Berlin", "gap": "skip"}, "at", "the clocks skip it"),
        ({"every": 60, "timezone": "Europe/Berln"}, "timezone", "did you mean Europe/Berlin?"),
        ({"every": 60, "timezone": "America"}, "timezone", "timezone is 'America'"),
        ({"every": 60, "timezone": "../../etc/passwd"}, "timezone", "timezone is "),
        ({"every": 60, "timezone": "localtime"}, "timezone", "an IANA time zone"),
        ({"every": 60, "timezone": "right/UTC"}, "timezone", "an IANA time zone"),
        ({"every": 60, "timezone": ""}, "timezone", "an IANA time zone"),
        ({"every": 60, "timezone": "x" * 65}, "timezone", "an IANA time zone"),
        ({"every": 60, "timezone": "a\x00b"}, "timezone", "timezone is 'a\\x00b'"),
        ({"every": 60, "timezone": Decimal(1)}, "timezone", "timezone is 1"),
        ({"every": 60, "anchor": "noon"}, "anchor", "a moment such as"),
        ({"cron": "@daily", "anchor": 0}, "anchor", "belongs to `every`, and the item has `cron`"),
        ({"every": 60, "starts_at": {}}, "starts_at", "starts_at is a map (M)"),
        ({"every": 60, "starts_at": "2027-01-01", "ends_at": "2027-01-01"}, "ends_at", "after starts_at"),
        ({"at": "2027-01-01", "ends_at": "2026-01-01"}, "ends_at", "never runs between"),
        ({"at": "2027-01-01", "starts_at": "2027-01-02"}, "starts_at", "never runs between"),
        ({"every": 60, "active_from": "now"}, "active_from", "a moment such as"),
        # choices
        ({"cron": "@daily", "gap": "hop"}, "gap", "gap is 'hop': it must be one of run, skip"),
        ({"cron": "@daily", "fold": True}, "fold", "one of once, twice"),
        ({"every": 60, "gap": "skip"}, "gap", "with `every` it can only be 'run'"),
        ({"every": 60, "fold": "twice"}, "fold", "with `every` it can only be 'once'"),
        ({"expression": "rate(1 day)", "gap": "run"}, "gap", "with `expression` it can only be 'skip'"),
        ({"expression": "rate(1 day)", "fold": "twice"}, "fold", "with `expression` it can only be 'once'"),
        ({"expression": "rate(5 minute)"}, "expression", "which is refused: "),
        ({"rrule": "FREQ=SOMETIMES"}, "rrule", "which is refused: "),
        ({"rrule": "FREQ=DAILY;COUNT=0"}, "rrule", "which is refused: "),
        ({"every": 60, "overlap": "kill"}, "overlap", "one of queue, skip, allow"),
        ({"every": 60, "catch_up": "LATEST"}, "catch_up", "one of latest, all, none"),
        ({"every": 60, "on_done": "archive"}, "on_done", "one of keep, delete"),
        ({"every": 60, "on_done": "delete"}, "on_done", "not acted on yet"),
        ({"every": 60, "enabled": "false"}, "enabled", "enabled is 'false': it must be a boolean (BOOL)"),
        ({"every": 60, "enabled": Decimal(0)}, "enabled", "a boolean (BOOL), not a number (N)"),
        # exclusions
        ({"every": 60, "exclude": "2026-12-25"}, "exclude", "a list (L) or string set (SS)"),
        ({"every": 60, "exclude": ["2026-13-01"]}, "exclude", "exclude is '2026-13-01'"),
        ({"every": 60, "exclude": [["2026-12-25"]]}, "exclude", "exclude is a list (L)"),
        ({"every": 60, "exclude": {Decimal(1)}}, "exclude", "not a set of other things"),
        ({"every": 60, "exclude": ["2026-12-25"] * 1_001}, "exclude", "at most 1000; it has 1001"),
        ({"at": "2026-12-25T09:00", "exclude": ["2026-12-25"]}, "exclude", "leaves no run"),
        # payload and words for people
        ({"every": 60, "payload": {"n": Decimal("NaN")}}, "payload", "finite numbers"),
        ({"every": 60, "payload": [float("inf")]}, "payload", "finite numbers"),
        ({"every": 60, "payload": Decimal("1" * 39)}, "payload", "at most 38 digits"),
        ({"every": 60, "payload": 10**39 + 1}, "payload", "at most 38 digits"),
        ({"every": 60, "payload": {1: 2}}, "payload", "string keys"),
        ({"every": 60, "payload": object()}, "payload", "a object"),
        ({"every": 60, "payload": LOOPED}, "payload", "at most 32 levels"),
        ({"every": 60, "description": Decimal(1)}, "description", "a string"),
        ({"every": 60, "description": "x" * 4_097}, "description", "at most 4096 bytes"),
        ({"every": 60, "tags": ["a"]}, "tags", "a map (M)"),
        ({"every": 60, "tags": {str(n): "" for n in range(51)}}, "tags", "at most 50"),
        ({"every": 60, "version": ""}, "version", "a string of 1 to 256 bytes of UTF-8, or a number"),
        ({"every": 60, "version": "x" * 257}, "version", "1 to 256 bytes"),
        ({"every": 60, "version": True}, "version", "version is true"),
        ({"every": 60, "version": []}, "version", "version is a list (L)"),
        ({"every": 60, "version": Decimal("1E+9999")}, "version", "or a number"),
    ],
    ids=lambda value: None,
)
def test_a_refusal_names_the_attribute_and_what_would_be_right(
    attributes: dict[str, Any], attribute: str | None, words: str
) -> None:
    """Whoever wrote the item mends it from the message alone, without a look at the code."""
    error = refusal(**attributes)
    assert words in str(error)
    assert error.attribute == attribute


@pytest.mark.parametrize("id", [None, "", "x" * 513, "ä" * 257, Decimal(1), b"a", "\ud800"], ids=repr)
def test_an_id_that_is_none_is_refused(id: Any) -> None:  # noqa: A002
    """Its messages and its records could not be told from another's."""
    with pytest.raises(ScheduleRefused, match="id is ") as caught:
        parse({"id": id, "every": 60})
    assert caught.value.attribute == "id"


def test_an_item_without_an_id_is_refused() -> None:
    """The command line asks before the table would."""
    with pytest.raises(ScheduleRefused, match="id is null"):
        parse({"every": 60})


@pytest.mark.parametrize("attribute", [name for name in ATTRIBUTES if name not in ("id", "payload")])
def test_null_is_no_value_of_any_attribute_but_the_payload(attribute: str) -> None:
    """Silently taking it for absent would hide the slip of a writer's program."""
    rule = {} if attribute in ("cron", "every", "at", "rrule", "expression") else {"cron": "@daily"}
    rule = {"every": 60} if attribute == "anchor" else rule
    assert refusal(**rule, **{attribute: None}).attribute == attribute


def test_a_payload_may_nest_as_deeply_as_a_table_allows() -> None:
    """DynamoDB takes 32 levels; what a table holds is a payload."""
    payload: Any = "leaf"
    for _ in range(32):
        payload = [payload]
    parse({"id": "a", "every": 60, "payload": payload})
    assert refusal(every=60, payload=[payload]).attribute == "payload"


def test_a_message_stays_short_and_on_one_line() -> None:
    """It goes to logs and terminals: no control characters, no megabytes, no forged second line."""
    error = str(refusal(every="1\n2026-12-01 ERROR \x1b[31m\u202e" + "x" * 10_000))
    assert len(error) < 300
    assert error.isprintable()


def test_a_payload_never_shows_in_a_message() -> None:
    """It may hold what does not belong in a log."""
    error = str(refusal(every=60, payload={"password": "hunter2", "n": [Decimal("NaN")]}))
    assert "hunter2" not in error


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=20),
    st.decimals(allow_nan=True, allow_infinity=True),
    st.integers(),
    st.binary(max_size=4),
    st.sampled_from(["", "0", "-1", "1h", "2026-12-01", "2026-12-01T00:00", "UTC", "* * * * *", "queue", "keep"]),
    st.sampled_from(["rate(5 minutes)", "cron(0 10 ? * MON-FRI *)", "at(2027-01-31T09:00:00)", "RRULE:FREQ=DAILY"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=5), inner, max_size=3),
        st.sets(st.text(max_size=9)),
    ),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.one_of(st.sampled_from(ATTRIBUTES), st.text(max_size=8)),
        VALUES,
        max_size=6,
    )
)
def test_whatever_an_item_holds_it_is_a_schedule_or_refused_in_words(item: dict[str, Any]) -> None:
    """Any other exception would be a fault of the scheduler, told to its operator and not to the item's writer."""
    words = ""
    try:
        parse(item)
    except ScheduleRefused as error:
        words = str(error)
    assert words.isprintable()
    assert not words or re.search(r": |no run", words)
