"""Whatever is written, an answer or a refusal comes in under 50 ms: one bad item must not hold up a tick."""

import random
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from everdue import At, Cron, EventBridge, Interval, Recurrence, Shifted
from everdue.core.describe import describe, explain
from everdue.core.errors import TriggerRefused
from everdue.core.trigger import InstantTrigger, Trigger
from everdue.core.triggers import Excluding

LIMIT_S = 0.05
NOW = datetime(2026, 12, 1, tzinfo=UTC)
ALPHABET = "0123456789*,-/?LW# @ABCDEFMONTUE\t\n\x00\x1c\u0663\uff15\u00b2\u2003é🕐=;:TZ()"
Maker = Callable[[], Trigger]


def _cases() -> list[Maker]:
    rng = random.Random(300)
    cases: list[Maker] = []

    def add(text: Any, *makers: Callable[[Any], Trigger]) -> None:
        cases.extend(partial(make, text) for make in makers)

    texts = (Cron, EventBridge, Recurrence)
    for _ in range(40):
        add("".join(rng.choice(ALPHABET) for _ in range(rng.randint(0, 60))), *texts)
    for _ in range(40):
        fields = ["".join(rng.choice("0123456789*,-/?LW#") for _ in range(rng.randint(1, 6))) for _ in range(5)]
        add(" ".join(fields), Cron)
    parts = (
        "FREQ=SECONDLY",
        "FREQ=YEARLY",
        "FREQ=MINUTELY",
        "FREQ=DAILY",
        "INTERVAL=999999999",
        "INTERVAL=86399",
        "COUNT=9999",
    )
    parts += (
        "BYHOUR=3",
        "BYMINUTE=7",
        "BYSECOND=59",
        "BYMONTH=2",
        "BYMONTHDAY=30",
        "BYMONTHDAY=29",
        "BYDAY=MO",
        "BYSETPOS=-1",
    )
    parts += (
        "BYYEARDAY=366",
        "BYWEEKNO=53",
        "UNTIL=99991231T235959Z",
        "WKST=SU",
        "INTERVAL=7",
        "BYDAY=53MO",
        "BYSETPOS=366",
    )
    for _ in range(70):
        chosen = ";".join(rng.sample(parts, rng.randint(1, 6)))
        add(f"DTSTART:{rng.choice(('00010101', '19900101', '99991231'))}T000000\nRRULE:{chosen}", Recurrence)
    for huge in (
        "9" * 10_000,
        "1," * 5_000 + "1",
        "*/" + "9" * 5_000,
        "* " * 5_000,
        "(" * 10_000,
        "[" * 10_000,
        "\x00" * 9_999,
    ):
        add(huge, *texts)
        add(f"{huge} * * * *", Cron)
        add(f"cron({huge} * * ? * *)", EventBridge)
        add(f"RRULE:FREQ=DAILY;BYHOUR={huge}", Recurrence)
    for digits in ("\u0665", "\u0967", "\uff15", "\U0001d7f3", "\u00b2"):
        add(f"{digits} * * * *", Cron)
        add(f"rate({digits} minutes)", EventBridge)
        add(f"FREQ=DAILY;INTERVAL={digits}", Recurrence)
    dates = ",".join(["20260101T000000"] * 1_000_000)
    add(f"RDATE:{dates}", Recurrence)
    add(f"DTSTART:19700101T000000\nRRULE:FREQ=DAILY\nEXDATE:{dates}", Recurrence)
    add("RRULE:FREQ=SECONDLY\n" * 1_500, Recurrence)
    add("DTSTART:19700101T000000\n" + "RRULE:FREQ=SECONDLY;COUNT=2500\n" * 4, Recurrence)
    add("FREQ=SECONDLY", Recurrence)
    add("FREQ=YEARLY;INTERVAL=7919;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO", Recurrence)
    nested: object = []
    for _ in range(500):
        nested = [nested]
    for thing in (nested, {}, None, 5, 1.5, b"* * * * *", float("nan"), 10**5_000, "", " ", "\ud800"):
        add(thing, *texts, Interval, At)
        add(thing, lambda text: Cron("0 4 * * *", text), lambda text: Shifted(Interval(60), text))
        add(thing, lambda text: Shifted(text, 5), lambda text: Excluding(Interval(60), text))
    add([date.min, date.max], lambda dates: Excluding(Interval(1), dates))
    return cases


CASES = _cases()


def test_there_are_three_hundred() -> None:
    """The number that was promised."""
    assert len(CASES) >= 300


@pytest.mark.parametrize("make", CASES, ids=range(len(CASES)))
def test_every_hostile_input_is_answered_or_refused_at_once(make: Callable[[], Trigger]) -> None:
    """Made, asked for its next run and for a minute: each in under 50 ms, and nothing but a refusal is raised."""
    # The later tries forgive a pause of a busy machine; what is refused is not cached, and is as dear each time.
    seconds = min(_seconds(make) for _ in range(3))
    assert seconds < LIMIT_S


def _seconds(make: Callable[[], Trigger]) -> float:
    worst = 0.0
    began = time.perf_counter()
    try:
        trigger = make()
    except TriggerRefused:
        return time.perf_counter() - began
    worst = time.perf_counter() - began
    for ask in (
        lambda: trigger.next_us(1_796_083_200_000_000) if isinstance(trigger, InstantTrigger) else None,
        lambda: trigger.occurrences_between(NOW, NOW + timedelta(minutes=1)),
        lambda: describe(trigger),
        lambda: explain(trigger, NOW),
    ):
        began = time.perf_counter()
        ask()
        worst = max(worst, time.perf_counter() - began)
    return worst
