"""RFC 5545 rules: dateutil's answers where it gives any, RFC 5545's where the two differ, and bounded work always."""

import random
import time
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from dateutil.rrule import rrulestr

from everdue import Recurrence
from everdue.core.errors import TriggerRefused
from everdue.core.moment import from_us, to_us

START = "DTSTART:19970902T090000"
RFC_EXAMPLES = [  # the rules of RFC 5545 section 3.8.5.3
    "FREQ=DAILY;COUNT=10",
    "FREQ=DAILY;UNTIL=19971224T000000Z",
    "FREQ=DAILY;INTERVAL=2",
    "FREQ=DAILY;INTERVAL=10;COUNT=5",
    "FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA",
    "FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1",
    "FREQ=WEEKLY;COUNT=10",
    "FREQ=WEEKLY;INTERVAL=2;WKST=SU",
    "FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH",
    "FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR",
    "FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH",
    "FREQ=MONTHLY;COUNT=10;BYDAY=1FR",
    "FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU",
    "FREQ=MONTHLY;COUNT=6;BYDAY=-2MO",
    "FREQ=MONTHLY;BYMONTHDAY=-3",
    "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15",
    "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1",
    "FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15",
    "FREQ=MONTHLY;INTERVAL=2;BYDAY=TU",
    "FREQ=YEARLY;COUNT=10;BYMONTH=6,7",
    "FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3",
    "FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200",
    "FREQ=YEARLY;BYDAY=20MO",
    "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO",
    "FREQ=YEARLY;BYMONTH=3;BYDAY=TH",
    "FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8",
    "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
    "FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13",
    "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
    "FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3",
    "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2",
    "FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T170000Z",
    "FREQ=MINUTELY;INTERVAL=15;COUNT=6",
    "FREQ=MINUTELY;INTERVAL=90;COUNT=4",
    "FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40",
    "FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16",
]
OTHERS = [
    "FREQ=HOURLY;INTERVAL=7;BYDAY=MO",
    "FREQ=SECONDLY;INTERVAL=37;BYMINUTE=3",
    "FREQ=YEARLY;BYWEEKNO=1,53",
    "FREQ=YEARLY;BYWEEKNO=-1;BYDAY=SU",
    "FREQ=MONTHLY;BYHOUR=6,18;BYMINUTE=0,30;BYSETPOS=2,-1",
    "FREQ=MONTHLY;INTERVAL=5;BYMONTHDAY=31",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=HOURLY;BYMINUTE=0,30;BYSETPOS=-1",
    "FREQ=DAILY;BYMONTH=1;BYYEARDAY=-365,5",
    "FREQ=YEARLY;BYDAY=MO,TU;BYSETPOS=1,-1",
]
FAR = datetime(2026, 12, 1, tzinfo=UTC)


def _peer(text: str) -> object:
    return rrulestr(text.replace("Z", ""))  # everything in UTC, so that dateutil may be naive


@pytest.mark.parametrize("rule", RFC_EXAMPLES + OTHERS)
def test_rules_run_when_dateutil_says(rule: str) -> None:
    """Calendars exchange these rules; the same text must mean the same runs here, from the first on."""
    text = f"{START}\nRRULE:{rule}"
    expected = [due.replace(tzinfo=UTC) for due in islice(_peer(text), 80)]  # type: ignore[call-overload]
    trigger, found, at_us = Recurrence(text), [], 0
    while len(found) < 80 and (due := trigger.next_us(at_us)) is not None:
        found.append(from_us(due))
        at_us = due + 1
    assert found == expected


@pytest.mark.parametrize(
    "rule", [rule for rule in RFC_EXAMPLES + OTHERS if "COUNT" not in rule and "SECONDLY" not in rule]
)
def test_far_windows_hold_what_a_walk_from_dtstart_finds(rule: str) -> None:
    """We jump near the window; a wrong phase would show thirty years later and nowhere else."""
    text = f"{START}\nRRULE:{rule}"
    end = FAR + timedelta(days=200 if "LY;INTERVAL=2" not in rule else 40)
    expected = _peer(text).between(FAR.replace(tzinfo=None), end.replace(tzinfo=None), inc=True)  # type: ignore[attr-defined]
    assert Recurrence(text).occurrences_between(FAR, end) == [
        due.replace(tzinfo=UTC) for due in expected if due < end.replace(tzinfo=None)
    ]


def _random_rule(rng: random.Random) -> str:
    frequency = rng.choice(("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"))
    parts = [
        f"FREQ={frequency}",
        f"INTERVAL={rng.choice((1, 1, 2, 3, 5, 11))}",
        f"WKST={rng.choice(('MO', 'SU', 'WE'))}",
    ]
    if rng.random() < 0.3:
        parts.append("BYMONTH=" + ",".join(map(str, rng.sample(range(1, 13), rng.randint(1, 4)))))
    if rng.random() < 0.3 and frequency != "WEEKLY":
        parts.append("BYMONTHDAY=" + ",".join(map(str, rng.sample([*range(1, 29), -1, -2, -5, 29, 30, 31], 4))))
    if rng.random() < 0.5:
        nth = rng.random() < 0.5 and frequency in ("YEARLY", "MONTHLY")
        days = rng.sample(("MO", "TU", "WE", "TH", "FR", "SA", "SU"), rng.randint(1, 3))
        parts.append("BYDAY=" + ",".join(f"{rng.choice((1, 2, -1))}{day}" if nth else day for day in days))
    if rng.random() < 0.4:
        parts.append("BYHOUR=" + ",".join(map(str, rng.sample(range(24), 2))))
    if rng.random() < 0.3:
        parts.append("BYMINUTE=" + ",".join(map(str, rng.sample(range(60), 2))))
    if (
        rng.random() < 0.2 and len(parts) > 3 and frequency != "WEEKLY"
    ):  # in its first week dateutil counts from DTSTART on
        parts.append(f"BYSETPOS={rng.choice((1, 2, -1))}")
    return ";".join(parts)


def test_random_rules_run_when_dateutil_says() -> None:
    """Combinations that no example has. dateutil walks a short way from DTSTART, and gets no rule without a run."""
    rng = random.Random(5545)
    compared = 0
    while compared < 200:
        start = datetime(2025, 1, 1) + timedelta(minutes=rng.randrange(525_600))  # noqa: DTZ001 - local
        text = f"DTSTART:{start:%Y%m%dT%H%M%S}\nRRULE:{_random_rule(rng)}"
        end = start + timedelta(days=4 if "MINUTELY" in text else 60 if "HOURLY" in text else 500)
        try:
            trigger = Recurrence(text)
        except TriggerRefused:  # INTERVAL and BY parts that never meet
            continue
        if from_us(trigger.next_us(to_us(start.replace(tzinfo=UTC))) or 0) > end.replace(tzinfo=UTC):
            continue
        expected = [due.replace(tzinfo=UTC) for due in rrulestr(f"{text};UNTIL={end:%Y%m%dT%H%M%S}") if due < end]
        assert trigger.occurrences_between(start.replace(tzinfo=UTC), end.replace(tzinfo=UTC)) == expected, text
        compared += 1


def test_bysetpos_of_a_week_counts_the_whole_week() -> None:
    """RFC 5545 counts within the week, dateutil counts the first one from DTSTART on. A known difference."""
    trigger = Recurrence(f"{START}\nRRULE:FREQ=WEEKLY;BYDAY=MO,WE;BYHOUR=9,17;BYSETPOS=1,-1")
    start = datetime(1997, 9, 1, tzinfo=UTC)
    # DTSTART is Tuesday 2 September: of that week's four moments the first, Monday 9:00, lies before it.
    assert [due.day for due in trigger.occurrences_between(start, start + timedelta(days=10))] == [3, 8, 10]


def test_sets_of_dates_add_and_take_away() -> None:
    """RDATE, EXDATE and EXRULE, local, in UTC, in another zone, and as whole days."""
    trigger = Recurrence(
        "DTSTART;TZID=Europe/Berlin:20261201T090000\nRRULE:FREQ=DAILY;COUNT=8\n"
        "RDATE:20261215T120000,20261216T120000Z\nRDATE;TZID=America/New_York:20261217T060000\n"
        "EXDATE:20261202T090000\nEXDATE;VALUE=DATE:20261203\nEXDATE:20261204T080000Z\n"
        "EXRULE:FREQ=WEEKLY;BYDAY=SU\n"
    )
    found = trigger.occurrences_between(FAR, FAR + timedelta(days=30))
    nine = [datetime(2026, 12, day, 8, tzinfo=UTC) for day in (1, 5, 7, 8)]  # the 6th is a Sunday
    assert found == [*nine, *(datetime(2026, 12, day, 11 if day != 16 else 12, tzinfo=UTC) for day in (15, 16, 17))]


def test_daily_rules_follow_the_wall_and_hourly_ones_real_time() -> None:
    """One rule for both would either run a daily job twice in autumn or leave an hourly one idle for an hour."""
    spring, autumn = datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC)
    daily = Recurrence("FREQ=DAILY;BYHOUR=2;BYMINUTE=30", "Europe/Berlin")
    assert daily.occurrences_between(spring, spring + timedelta(hours=12)) == [spring + timedelta(hours=1)]
    assert daily.occurrences_between(autumn, autumn + timedelta(hours=12)) == [autumn + timedelta(minutes=30)]
    skip = Recurrence("FREQ=DAILY;BYHOUR=2;BYMINUTE=30", "Europe/Berlin", gap="skip", fold="twice")
    assert skip.occurrences_between(spring, spring + timedelta(hours=12)) == []
    assert len(skip.occurrences_between(autumn, autumn + timedelta(hours=12))) == 2
    hourly = Recurrence("FREQ=HOURLY", "Europe/Berlin")
    for start in (spring, autumn):
        assert hourly.occurrences_between(start, start + timedelta(hours=4)) == [
            start + timedelta(hours=at) for at in range(4)
        ]


def test_a_rule_excluded_for_a_whole_weekend_comes_back_on_monday() -> None:
    """Two days of a minutely rule are 2,880 runs that are looked at and left out; the bound must be beyond that."""
    trigger = Recurrence("DTSTART:20260101T000000\nRRULE:FREQ=MINUTELY\nEXRULE:FREQ=MINUTELY;BYDAY=SA,SU")
    saturday = datetime(2026, 12, 5, tzinfo=UTC)
    assert trigger.next_us(to_us(saturday)) == to_us(saturday + timedelta(days=2))


def test_an_old_minutely_rule_answers_a_minute_in_well_under_a_millisecond() -> None:
    """A tick asks each schedule for a minute; walking from 1990 would take it seconds."""
    trigger = Recurrence("DTSTART:19900101T000000\nRRULE:FREQ=MINUTELY", "Europe/Berlin")
    end = FAR + timedelta(minutes=1)
    trigger.occurrences_between(FAR, end)
    began = time.perf_counter()
    for _ in range(100):
        assert trigger.occurrences_between(FAR, end) == [FAR]
    assert (time.perf_counter() - began) / 100 < 0.0005


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30", "never matches"),
        ("DTSTART:19900101T000000\nRRULE:FREQ=SECONDLY;COUNT=1000000000", "COUNT 1000000000"),
        ("DTSTART:20260101T000000\nRRULE:FREQ=SECONDLY;INTERVAL=60;BYSECOND=9", "never matches"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL '0'"),
        ("FREQ=DAILY;COUNT=3", "DTSTART"),
        ("FREQ=DAILY;BYHOUR=24", "BYHOUR '24'"),
        ("FREQ=DAILY;BYDAY=2MO", "BYDAY"),
        ("FREQ=FORTNIGHTLY", "FREQ"),
        ("FREQ=DAILY;BYEASTER=0", "BYEASTER"),
        ("FREQ=DAILY;UNTIL=tomorrow", "UNTIL"),
        ("FREQ=DAILY;FREQ=DAILY", "twice"),
        ("DTSTART;TZID=Europe/Berln:20260101T000000\nRRULE:FREQ=DAILY", "Europe/Berln"),
        ("DTSTART:20260101T000000", "neither"),
        ("DTSTART:20261301T000000\nRRULE:FREQ=DAILY", "DTSTART"),
        ("DTSTART:20260101T000000\nRRULE:FREQ=HOURLY\nEXRULE:FREQ=HOURLY", "cost"),
        ("SUMMARY:lunch\nRRULE:FREQ=DAILY", "SUMMARY"),
        ("", "empty"),
    ],
)
def test_a_rule_that_can_not_be_is_refused_with_its_reason(rule: str, said: str) -> None:
    """Three of these were still running in dateutil after twenty seconds."""
    with pytest.raises(TriggerRefused) as refusal:
        Recurrence(rule)
    assert said in str(refusal.value)
