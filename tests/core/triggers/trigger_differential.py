"""Random cron questions, asked of `Cron` and of somebody else. Seeded: the same number is the same question."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from trigger_oracle import CronOracle

from everdue import Cron
from everdue.core.errors import TriggerRefused
from everdue.core.moment import from_us, to_us

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",  # half an hour
    "Pacific/Apia",  # skipped a day in 2011
    "Africa/Casablanca",  # Ramadan
    "Antarctica/Troll",  # two hours
    "Asia/Kathmandu",  # 5:45
    "Europe/Dublin",  # negative daylight saving
    "America/Santiago",
    "Africa/Cairo",
    "Asia/Tehran",
    "Pacific/Chatham",
    "America/St_Johns",
)
TICKS = 50_000
"""Steps of cronsim's that one question may take; the longest that ended had some thousands."""
FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
MONTHS = ("JAN", "feb", "Mar", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "nov", "DEC")
WEEKDAYS = ("SUN", "mon", "Tue", "WED", "THU", "FRI", "SAT")


@dataclass(frozen=True)
class Question:
    """One comparison."""

    kind: str
    expression: str
    zone: str
    start: datetime
    gap: str = "run"
    fold: str = "once"


def question(seed: int) -> Question:
    """The question of this number: one in eight for the oracle, which is slow, the others for cronsim."""
    rng = random.Random(seed)
    shared = seed % 8 != 0
    expression = _expression(rng, shared)
    zone = rng.choice(ZONES)
    start = _start(rng, zone)
    if shared:
        return Question("cronsim", expression, zone, start)
    return Question("oracle", expression, zone, start, rng.choice(("run", "skip")), rng.choice(("once", "twice")))


LISTED = {
    "before its start": (
        "cronsim answers with a moment before its start: it drops the fold of the start, so a fixed-time job asked "
        "from the second pass of a repeated hour answers from the first, and it walks back where the clocks go back "
        "across midnight (St John's until 2011)"
    ),
    "odd change": (
        "cronsim walks hours in steps of 3600 s from minute 0, and loses its way where the clocks change by half an "
        "hour (Lord Howe) or at a quarter to (Chatham): minutes after the change that match are left out"
    ),
    "never returns": (
        "cronsim walks in a circle where the clocks go back across the beginning of its hour or day, as at 00:01 in "
        "St John's until 2011 and at 3:45 on the Chatham Islands; the oracle is asked instead"
    ),
    "midnight gap": (
        "cronsim sets a new day to 00:00 without looking whether the clocks skip it, and lets a wildcard job run in "
        "the first hour that exists though its hour field does not name it, or leaves that day out"
    ),
}
"""The disagreements with cronsim that are known, each with its reason. In each the oracle sides with `Cron`."""


def disagreement(asked: Question) -> tuple[str, str] | None:
    """What `Cron` and the other one answer, if it is not the same: the reason, a key of LISTED or "", and the text."""
    try:
        trigger = Cron(asked.expression, asked.zone, gap=asked.gap, fold=asked.fold)  # type: ignore[arg-type]
    except TriggerRefused as refused:
        text = _refusal(asked, str(refused))
        return None if text is None else ("", text)
    if asked.kind == "cronsim":
        return _against_cronsim(asked, trigger)
    end = asked.start + timedelta(hours=10)
    expected = CronOracle(asked.expression).between(asked.start, end, ZoneInfo(asked.zone), asked.gap, asked.fold)
    found = trigger.occurrences_between(asked.start, end)
    return None if found == expected else ("", f"{asked}: {found[:5]} instead of {expected[:5]}")


def _against_cronsim(asked: Question, trigger: Cron) -> tuple[str, str] | None:
    peer = BoundedCronSim(asked.expression, asked.start.astimezone(ZoneInfo(asked.zone)))
    after = asked.start  # cronsim looks strictly after
    for _ in range(4):
        try:
            answer = next(peer, None)
        except WentInCircles:
            return _instead_of_cronsim(asked, trigger)
        expected = None if answer is None else answer.astimezone(UTC)
        due_us = trigger.next_us(to_us(after) + 1)
        due = None if due_us is None else from_us(due_us)
        if expected is None:  # cronsim gives up after 50 years
            return None if due is None or due.year - asked.start.year > 49 else ("", f"{asked}: {due} instead of none")
        if due != expected:
            text = f"{asked}: {due} instead of {expected}"
            return (_reason(asked, after, due, expected), text)
        after = due
    return None


def _instead_of_cronsim(asked: Question, trigger: Cron) -> tuple[str, str]:
    end = asked.start + timedelta(hours=24)
    expected = CronOracle(asked.expression).between(asked.start, end, ZoneInfo(asked.zone), "run", "once")
    found = trigger.occurrences_between(asked.start, end)
    return ("never returns" if found == expected else "", f"{asked}: {found[:5]} instead of {expected[:5]}")


class WentInCircles(Exception):
    """The peer made more steps than any answer needs."""


class BoundedCronSim(CronSim):
    """cronsim with a bound on its steps."""

    ticks = 0

    def tick(self, seconds: int = 1) -> None:
        self.ticks += 1
        if self.ticks > TICKS:
            raise WentInCircles
        super().tick(seconds)


def _reason(asked: Question, after: datetime, due: datetime | None, expected: datetime) -> str:
    """The key in LISTED of a disagreement with cronsim, or "" for none."""
    zone, oracle = ZoneInfo(asked.zone), CronOracle(asked.expression)
    if due is None or abs(due - expected) > timedelta(days=400):
        return ""
    begin = after + timedelta(microseconds=1)
    if oracle.between(begin, max(due, expected) + timedelta(minutes=1), zone, "run", "once")[:1] != [due]:
        return ""
    if expected < asked.start:
        return "before its start"
    jumps = _jumps(after - timedelta(days=2), max(due, expected) + timedelta(days=2), zone)
    if not oracle.fixed and any(size % 3600 or local.minute for size, local in jumps):
        return "odd change"
    if not oracle.fixed and any(size > 0 and local.hour == 0 for size, local in jumps):
        return "midnight gap"
    return ""


def _jumps(start: datetime, end: datetime, zone: ZoneInfo) -> list[tuple[int, datetime]]:
    """The changes of the clocks between the two: seconds forward, and the local time at which each happens."""
    jumps = []
    while start < end:
        later = start + timedelta(hours=6)
        before, after = (int(moment.astimezone(zone).utcoffset().total_seconds()) for moment in (start, later))  # type: ignore[union-attr]
        if before != after:
            low = start
            while later - low > timedelta(minutes=1):
                middle = low + (later - low) // 2
                if int(middle.astimezone(zone).utcoffset().total_seconds()) == before:  # type: ignore[union-attr]
                    low = middle
                else:
                    later = middle
            minute = (low + timedelta(seconds=59)).replace(second=0, microsecond=0)
            jumps.append((after - before, (minute + timedelta(seconds=before)).replace(tzinfo=None)))
            later = start + timedelta(hours=6)
        start = later
    return jumps


def _refusal(asked: Question, message: str) -> str | None:
    """A refused expression must be one that never matches: 28 years without a skipped leap year hold every kind."""
    if "never matches" not in message:
        return f"{asked}: {message}"
    if asked.kind == "cronsim":
        try:
            return None if next(CronSim(asked.expression, asked.start), None) is None else f"{asked}: {message}"
        except CronSimError:
            return None
    oracle = CronOracle(asked.expression)
    day = datetime(2000, 1, 1, tzinfo=UTC).date()
    while day.year < 2028:
        if oracle.day_matches(day):
            return f"{asked}: refused, and {day} matches"
        day += timedelta(days=1)
    return None


def _start(rng: random.Random, zone: str) -> datetime:
    """A start on a whole second; half of them shortly before a change of the zone's clocks."""
    start = datetime(rng.randrange(2005, 2036), 1, 1, tzinfo=UTC) + timedelta(minutes=rng.randrange(525_600))
    if rng.random() < 0.5:
        info, day = ZoneInfo(zone), timedelta(days=1)
        for _ in range(200):
            if start.astimezone(info).utcoffset() != (start + day).astimezone(info).utcoffset():
                break
            start += day
        start += timedelta(minutes=rng.randrange(-600, 1200))
    return start + timedelta(seconds=rng.choice((0, 0, 1, 59)))


def _expression(rng: random.Random, shared: bool) -> str:
    minute, hour, day, month, weekday = (_field(rng, at, shared) for at in range(5))
    if not shared:
        if rng.random() < 0.3:
            day = ",".join(_day_item(rng) for _ in range(rng.choice((1, 1, 2))))
        if rng.random() < 0.3:
            weekday = ",".join(_weekday_item(rng) for _ in range(rng.choice((1, 1, 2))))
        if rng.random() < 0.1:
            day = "?"
        elif rng.random() < 0.1:
            weekday = "?"
    elif rng.random() < 0.2:
        day = rng.choice(("L", "LW"))
    elif rng.random() < 0.2:
        weekday = f"{rng.randrange(8)}{rng.choice(('L', '#1', '#3', '#5'))}"
    return f"{minute} {hour} {day} {month} {weekday}"


def _field(rng: random.Random, at: int, shared: bool) -> str:
    low, high = FIELDS[at]
    if rng.random() < (0.25, 0.25, 0.5, 0.6, 0.5)[at]:
        return "*"
    return ",".join(_item(rng, at, low, high, shared) for _ in range(rng.choice((1, 1, 1, 2, 3))))


def _item(rng: random.Random, at: int, low: int, high: int, shared: bool) -> str:
    kind = rng.random()
    first = rng.randint(low, high)
    if at == 1 and rng.random() < 0.4:
        first = rng.randint(0, 4)  # where clocks change
    if kind < 0.5:
        if at == 3 and rng.random() < 0.3:
            return rng.choice(MONTHS)
        return rng.choice(WEEKDAYS) if at == 4 and rng.random() < 0.3 else str(first)
    last = rng.randint(first, high)
    step = rng.randint(1, 20)
    if kind < 0.7:
        return f"{first}-{last}"
    # Over a range of one value cronsim steps on to the field's end, and over 0-7 it counts Sunday twice.
    if kind < 0.85 or (shared and (first == last or at == 4)):
        return f"*/{step}" if not (shared and at == 4) else "*"
    return f"{first}-{last}/{step}"


def _day_item(rng: random.Random) -> str:
    return rng.choice(("L", "LW", "l", f"L-{rng.randint(1, 30)}", f"{rng.randint(1, 31)}W", str(rng.randint(1, 31))))


def _weekday_item(rng: random.Random) -> str:
    name = rng.choice((*WEEKDAYS, *map(str, range(8))))
    return f"{name}{rng.choice(('L', f'#{rng.randint(1, 5)}', ''))}"
