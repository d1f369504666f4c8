"""The grammar of an item: what may be written, and what it then means."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from everdue.core.errors import ScheduleRefused
from everdue.core.grammar import ATTRIBUTES, TRIGGERS, Definition, parse
from everdue.core.parcel import Parcel
from everdue.core.triggers import At, Cron, EventBridge, Interval, Recurrence, Shifted

DEC_1 = datetime(2026, 12, 1, tzinfo=UTC)
DEC_1_US = 1_796_083_200_000_000


def item(**attributes: Any) -> dict[str, Any]:
    return {"id": "reports", **attributes}


def due(definition: Definition, days: float = 1, start: datetime = DEC_1) -> list[datetime]:
    """When it is due from `start` on."""
    return definition.trigger.occurrences_between(start, start + timedelta(days=days))


def test_a_person_writes_an_id_and_a_rule_and_nothing_else() -> None:
    """Every default of the contract, in one place."""
    assert parse({"id": "reports", "cron": "0 4 * * MON"}) == Definition(
        id="reports",
        trigger=Cron("0 4 * * MON"),
        data=None,
        timezone="UTC",
        overlap="queue",
        stale_after_seconds=None,
        recover_seconds=None,
        catch_up="latest",
        enabled=True,
        version=None,
        active_from=None,
        digest=parse({"id": "reports", "cron": "0 4 * * MON"}).digest,
        description="",
        tags={},
    )


def test_everything_at_once_reaches_its_place() -> None:
    """All that §1 names, but for the other triggers."""
    definition = parse(
        item(
            every="1h",
            anchor="2026-12-01T00:30",
            timezone="Europe/Berlin",
            payload={"n": Decimal("1.10")},
            enabled=False,
            starts_at="2026-12-01",
            ends_at=Decimal(1_796_170_000),
            spread=Decimal(0),
            shift="-10m",
            gap="run",
            fold="once",
            exclude=["2026-12-25"],
            overlap="skip",
            stale_after="2h",
            recover="10m",
            catch_up="all",
            on_done="keep",
            description="Hourly",
            tags={"team": "billing"},
            version=Decimal(7),
            active_from="2026-11-30T12:00:00Z",
        )
    )
    assert definition.data == {"n": Decimal("1.10")}
    assert (definition.timezone, definition.overlap, definition.catch_up) == ("Europe/Berlin", "skip", "all")
    assert (definition.stale_after_seconds, definition.recover_seconds) == (7200, 600)
    assert (definition.enabled, definition.version, definition.scheduleversion) == (False, "7", "7")
    assert definition.active_from == datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert (definition.description, definition.tags) == ("Hourly", {"team": "billing"})
    entry = definition.entry()
    assert entry.payload == Parcel({"n": Decimal("1.10")}, "skip", 7200, "7")
    assert (entry.catch_up, entry.recover_seconds) == ("all", 600)
    # Half past each hour in Berlin, ten minutes early; from local midnight on (23:00 UTC).
    first = definition.trigger.occurrences_between(DEC_1 - timedelta(hours=2), DEC_1 + timedelta(hours=2))
    assert [each.strftime("%H:%M") for each in first] == ["23:20", "00:20", "01:20"]


def test_without_a_version_messages_carry_the_digest() -> None:
    """A worker can tell two definitions apart either way."""
    definition = parse(item(every=60))
    assert definition.entry().payload.scheduleversion == definition.digest


@pytest.mark.parametrize(
    ("attributes", "trigger"),
    [
        ({"cron": "@daily"}, Cron("@daily")),
        ({"cron": "30 2 * * *", "timezone": "Europe/Berlin"}, Cron("30 2 * * *", "Europe/Berlin")),
        (
            {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "gap": "skip", "fold": "twice"},
            Cron("30 2 * * *", "Europe/Berlin", gap="skip", fold="twice"),
        ),
        (
            {"rrule": "FREQ=DAILY;BYHOUR=2", "timezone": "Europe/Berlin", "gap": "skip", "fold": "twice"},
            Recurrence("FREQ=DAILY;BYHOUR=2", "Europe/Berlin", gap="skip", fold="twice"),
        ),
        ({"expression": "rate(5 minutes)", "gap": "skip"}, EventBridge("rate(5 minutes)")),
        ({"every": Decimal("1.5")}, Interval(1.5)),
        ({"every": "90"}, Interval(90)),
        ({"every": "1d", "anchor": Decimal(60)}, Interval(86_400, datetime(1970, 1, 1, 0, 1, tzinfo=UTC))),
        ({"at": "2026-12-01T09:00:00Z"}, At(datetime(2026, 12, 1, 9, tzinfo=UTC))),
        ({"at": Decimal("1796083200.000001")}, At(DEC_1 + timedelta(microseconds=1))),
        ({"every": 60, "shift": "-90s"}, Shifted(Interval(60), -90)),
    ],
)
def test_each_attribute_becomes_its_trigger(attributes: dict[str, Any], trigger: Any) -> None:
    """The five names of a rule, with the options that belong to them."""
    assert parse(item(**attributes)).trigger == trigger


@pytest.mark.parametrize(
    ("attributes", "first"),
    [
        ({"rrule": "DTSTART:20261201T090000\nRRULE:FREQ=DAILY", "timezone": "Europe/Berlin"}, "08:00"),
        ({"expression": "cron(0 10 ? * MON-FRI *)"}, "10:00"),
        ({"expression": "at(2026-12-01T09:00:00)", "timezone": "America/New_York"}, "14:00"),
        ({"expression": "rate(1 day)"}, "00:00"),
    ],
)
def test_recurrences_and_eventbridge_expressions_are_read_in_the_items_zone(
    attributes: dict[str, Any], first: str
) -> None:
    """Whoever moves here brings them along verbatim."""
    assert due(parse(item(**attributes)))[0].strftime("%H:%M") == first


def test_validity_is_half_open_and_speaks_of_the_moments_that_run() -> None:
    """Due exactly at `starts_at` runs, due exactly at `ends_at` does not; also after `shift` moved them."""
    bounds = {"starts_at": "2026-12-01T01:00:00Z", "ends_at": "2026-12-01T04:00:00Z"}
    assert [each.hour for each in due(parse(item(every="1h", **bounds)))] == [1, 2, 3]
    shifted = due(parse(item(every="1h", shift="-1m", **bounds)))
    assert [each.strftime("%H:%M") for each in shifted] == ["01:59", "02:59", "03:59"]


@pytest.mark.parametrize("container", [list, set])
def test_excluded_are_local_dates_and_moments_of_the_rule(container: Any) -> None:
    """Berlin's 2nd of December begins at 23:00 UTC on the 1st. The offsets of `shift` and `spread` are no matter:
    who writes 09:00 means the run of 09:00."""
    exclude = container(["2026-12-02", "2026-12-01T09:00", "2026-12-01T11:00:00Z"])
    definition = parse(item(every="1h", timezone="Europe/Berlin", exclude=exclude, shift="5m"))
    hours = [each.hour for each in due(definition, days=2)]
    assert hours == [hour for hour in range(23) if hour not in (8, 11)] + [23]


def test_a_unix_moment_can_be_excluded() -> None:
    """In a list; a string set holds strings only."""
    definition = parse(item(every="1h", exclude=[Decimal(DEC_1_US // 1_000_000), "1796086800"]))
    assert [each.hour for each in due(definition, days=0.2)] == [2, 3, 4]


def test_a_spread_is_fixed_whole_seconds_and_below_its_bound() -> None:
    """Every schedule keeps its own offset, across restarts and machines; and the offsets are spread out."""
    offsets = []
    for n in range(300):
        (first,) = parse({"id": f"s{n}", "cron": "0 0 * * *", "spread": "1m"}).trigger.occurrences_between(
            DEC_1, DEC_1 + timedelta(days=1)
        )
        offsets.append((first - DEC_1).total_seconds())
    assert all(offset.is_integer() and 0 <= offset < 60 for offset in offsets)
    assert len(set(offsets)) > 50
    # int.from_bytes(sha256(b"spread/reports").digest()[:8], "big") % 3600, by hand: it may never change.
    (first,) = due(parse(item(cron="0 0 * * *", spread="1h")), days=0.5)
    assert (first - DEC_1).total_seconds() == 337


def test_equal_offsets_share_one_trigger() -> None:
    """A hundred thousand schedules hold some thousands of rules."""
    triggers = {parse({"id": f"s{n}", "every": 60, "spread": 10}).trigger for n in range(500)}
    assert len(triggers) == 10


def test_a_spread_of_zero_moves_nothing() -> None:
    """The default, written out."""
    assert parse(item(every=60, spread=0, shift=0)).trigger == Interval(60)


def test_spread_and_shift_add_up() -> None:
    """Both move; neither replaces the other."""
    spread = due(parse(item(cron="0 0 * * *", spread="1h")))[0]
    both = due(parse(item(cron="0 0 * * *", spread="1h", shift="1h")))[0]
    assert both - spread == timedelta(hours=1)


@pytest.mark.parametrize(
    ("version", "text"),
    [("v1", "v1"), (Decimal(12), "12"), (Decimal("1.50"), "1.50"), (Decimal("1E+2"), "100"), (3, "3")],
)
def test_a_version_is_a_string_or_a_number(version: Any, text: str) -> None:
    """Counters, dates and hashes are all in use."""
    assert parse(item(every=60, version=version)).version == text


@pytest.mark.parametrize("id", ["a", "ä" * 256, "x" * 512, "⏰\n", " ", "日本語/☃?=&#", "a@1796083200.000000", "\x00"])
def test_an_id_is_any_unicode_of_1_to_512_bytes(id: str) -> None:  # noqa: A002
    """It is hashed where a service is choosier."""
    assert parse({"id": id, "every": 60}).id == id


@pytest.mark.parametrize(
    "payload",
    [
        None,
        "",
        True,
        Decimal("-0.5"),
        Decimal("9" * 38),
        Decimal("1E+125"),
        b"\x00",
        {"a": [{"b": {Decimal(1), Decimal(2)}}, None]},
        [],
        {},
        1,
        1.5,
    ],
    ids=repr,
)
def test_a_payload_is_anything_a_table_holds(payload: Any) -> None:
    """And stays what it is."""
    assert parse(item(every=60, payload=payload)).data == payload


def test_a_payload_that_only_sqs_would_refuse_is_a_schedule() -> None:
    """It is rejected when it is due, alone and on record; that it does not fit is known only then."""
    parse(item(every=60, payload="é" * 190_000))


def test_the_lists_of_names_agree_with_the_contract() -> None:
    """Documentation, `everdue put` and the refusal of unknown names read them."""
    assert TRIGGERS == ("cron", "every", "at", "rrule", "expression")
    assert " ".join(sorted(ATTRIBUTES)) == (
        "active_from anchor at catch_up cron description enabled ends_at every exclude expression fold gap id on_done "
        "overlap payload recover rrule shift spread stale_after starts_at tags timezone version"
    )


@pytest.mark.parametrize("number", [True, 60])
def test_a_boolean_is_no_number(number: Any) -> None:
    """Python's True is 1; a table's is not."""
    if number is True:
        with pytest.raises(ScheduleRefused, match="every is true"):
            parse(item(every=number))
    else:
        parse(item(every=number))
