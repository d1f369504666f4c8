"""What people read about a trigger: the sentence, the reason, and the warnings."""

from datetime import UTC, date, datetime, timedelta

import pytest

from everdue import At, Cron, EventBridge, Interval, Recurrence, Shifted
from everdue.core.describe import describe, explain, warnings
from everdue.core.trigger import Trigger
from everdue.core.triggers import Bounded, Excluding

NOW = datetime(2026, 12, 1, tzinfo=UTC)

SENTENCES: list[tuple[Trigger, str]] = [
    (Cron("0 4 * * MON"), "At 04:00 on Monday, UTC."),
    (Cron("*/5 * * * *", "Europe/Berlin"), "Every 5 minutes, Europe/Berlin."),
    (Cron("@daily"), "At 00:00 every day, UTC."),
    (Cron("@hourly"), "At minute 0 of every hour, UTC."),
    (Cron("0 9,17 * * 1-5"), "At 09:00 and 17:00 on Monday to Friday, UTC."),
    (Cron("*/15 9-17 L * ?"), "Every 15 minutes from 09:00 to 17:59 on the last day of the month, UTC."),
    (Cron("0 0 1,15 JAN-MAR *"), "At 00:00 on day 1 and 15 of the month in January to March, UTC."),
    (Cron("0 0 13 * FRI"), "At 00:00 on day 13 of the month, or on Friday, UTC."),
    (Cron("0 0 * * FRI#3,1L"), "At 00:00 on the last Monday of the month and the 3rd Friday of the month, UTC."),
    (Interval(5400), "Every 1 hour 30 minutes, counted from 1970-01-01T00:00:00Z."),
    (At(NOW), "Once, at 2026-12-01T00:00:00Z."),
    (EventBridge("rate(1 day)"), "Every 1 day, counted from 1970-01-01T00:00:00Z."),
    (EventBridge("cron(0 10 ? * 2-6 2027)"), "At 10:00 on Monday to Friday in 2027, UTC."),
    (Shifted(Cron("@daily"), -90), "At 00:00 every day, UTC, moved 1 minute 30 seconds earlier."),
    (Bounded(Cron("@daily"), NOW), "At 00:00 every day, UTC, from 2026-12-01T00:00:00Z on."),
    (Excluding(Cron("@daily"), [date(2026, 12, 25)]), "At 00:00 every day, UTC, except on 2026-12-25."),
    (
        Recurrence("DTSTART:20261201T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;COUNT=9"),
        "Every 2 weeks on Monday and Friday at 09:00 from 2026-12-01 09:00:00 on for 9 times, UTC.",
    ),
]


@pytest.mark.parametrize(("trigger", "sentence"), SENTENCES)
def test_a_trigger_reads_as_plain_english(trigger: Trigger, sentence: str) -> None:
    """It is how a person checks that what was written is what was meant."""
    assert describe(trigger) == sentence


WHY = [
    (Cron("0 4 * * MON"), datetime(2026, 12, 1, 4, tzinfo=UTC), False, "Tuesday"),
    (Cron("0 4 * * MON"), datetime(2026, 12, 7, 5, tzinfo=UTC), False, "hour 5"),
    (Cron("0 4 * * MON"), datetime(2026, 12, 7, 4, tzinfo=UTC), True, "every field"),
    (Cron("0 4 * 11 *"), datetime(2026, 12, 7, 4, tzinfo=UTC), False, "month 12"),
    (Cron("* * * * *"), datetime(2026, 12, 7, 4, 0, 1, tzinfo=UTC), False, "whole minutes"),
    (Cron("30 2 * * *", "Europe/Berlin"), datetime(2026, 3, 29, 1, tzinfo=UTC), True, "skipped"),
    (Cron("30 2 * * *", "Europe/Berlin"), datetime(2026, 10, 25, 1, 30, tzinfo=UTC), False, "second time"),
    (Excluding(Cron("@daily"), [date(2026, 12, 25)]), datetime(2026, 12, 25, tzinfo=UTC), False, "excluded"),
    (Bounded(Cron("@daily"), NOW), datetime(2026, 11, 25, tzinfo=UTC), False, "before"),
    (Bounded(Cron("@daily"), None, NOW), NOW, False, "on"),
    (Shifted(Cron("@daily"), 60), NOW + timedelta(minutes=1), True, "moved"),
    (Interval(60), NOW + timedelta(seconds=1), False, "1 second past"),
    (EventBridge("cron(0 0 * * ? 2027)"), NOW, False, "year 2026"),
]


@pytest.mark.parametrize(("trigger", "moment", "runs", "word"), WHY)
def test_an_explanation_names_what_decides(trigger: Trigger, moment: datetime, runs: bool, word: str) -> None:
    """«Why did it not run?» is the question; «because it did not match» is no answer."""
    found = explain(trigger, moment)
    assert found.runs is runs
    assert word in " ".join(found.reasons)


SURPRISES: list[tuple[Trigger, str]] = [
    (Cron("0 0 13 * FRI"), "either"),
    (Cron("0 0 31 * *"), "months without day 31"),
    (Cron("*/25 * * * *"), "does not divide 60"),
    (Cron("0 */5 * * *"), "does not divide 24"),
    (Cron("0 0 */2 * SUN"), "both"),
    (Cron("30 2 * * *", "Europe/Berlin"), "skip 2027-03-28 02:30:00"),
    (Cron("30 2 * * *", "Europe/Berlin"), "2027-10-31 02:30:00 in Europe/Berlin twice"),
    (Recurrence("FREQ=DAILY;BYHOUR=2", "Europe/Berlin"), "runs at 03:00 instead"),
    (Recurrence("FREQ=MONTHLY;BYMONTHDAY=31"), "BYMONTHDAY=-1"),
    (EventBridge("cron(30 2 * * ? *)", "Europe/Berlin"), "does not run"),
    (EventBridge("rate(1 hour)"), "epoch"),
]


@pytest.mark.parametrize(("trigger", "word"), SURPRISES)
def test_well_known_surprises_are_told_beforehand(trigger: Trigger, word: str) -> None:
    """Each of these has surprised the users of every scheduler that has them."""
    assert word in " ".join(warnings(trigger, NOW))


def test_an_ordinary_schedule_has_no_warnings() -> None:
    """Warnings that are always there are read by nobody."""
    for trigger in (
        Cron("0 4 * * MON"),
        Cron("*/15 * * * *"),
        Cron("0 12 * * *", "Europe/Berlin"),
        Interval(60),
        At(NOW),
    ):
        assert warnings(trigger, NOW) == ()
