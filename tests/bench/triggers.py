"""Triggers against their peers: same work, same run, one core. `python tests/bench/triggers.py`.

Best of several rounds each, the peers' rounds between ours, so that a busy machine troubles all alike. Exits with 1
when a target is missed.
"""

import gc
import random
import sys
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from croniter import croniter
from cronsim import CronSim
from dateutil.rrule import rrulestr

from everdue import Cron, Recurrence
from everdue.core.triggers import cron as cron_module
from everdue.core.triggers import cron_calendar, cron_fields
from everdue.core.triggers.zone_file import zone_database

BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(2026, 12, 1, 10, 3, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
ROUNDS = 9
FAILED: list[str] = []


def best_us(works: dict[str, Callable[[], object]], number: int) -> dict[str, float]:
    """The best microseconds of one call of each work, its rounds taken in turns."""
    best = dict.fromkeys(works, float("inf"))
    gc.disable()
    for _ in range(ROUNDS):
        for name, work in works.items():
            began = time.perf_counter_ns()
            for _ in range(number):
                work()
            best[name] = min(best[name], (time.perf_counter_ns() - began) / number / 1000)
    gc.enable()
    return best


def table(title: str, figures: dict[str, float], target: str = "", holds: bool | None = None) -> None:
    """Print one comparison, with the ratio of each to ours."""
    print(f"\n{title}")
    own = figures["everdue"]
    for name, us in figures.items():
        print(f"  {name:<42}{us:>14.3f} us{us / own:>11.1f} x")
    if holds is not None:
        print(f"  target: {target}: {'met' if holds else 'MISSED'}")
        if not holds:
            FAILED.append(f"{title}: {target}")


def minute_window() -> None:
    """Five windows of a minute, one of which holds a run, against the next occurrence of the peers."""
    trigger = Cron("*/5 * * * *", "Europe/Berlin")
    edges = [START + at * MINUTE for at in range(6)]
    local = START.astimezone(BERLIN)
    warm = CronSim("*/5 * * * *", local)
    peer = CronTrigger.from_crontab("*/5 * * * *", timezone=BERLIN)
    iterator = croniter("*/5 * * * *", local)

    def five() -> None:
        for at in range(5):
            trigger.occurrences_between(edges[at], edges[at + 1])

    found = best_us(
        {
            "everdue": five,
            "hit": lambda: trigger.occurrences_between(edges[2], edges[3]),
            "cronsim, next of an iterator": lambda: next(warm),
            "cronsim, made and asked": lambda: next(CronSim("*/5 * * * *", local)),
            "croniter, next of an iterator": lambda: iterator.get_next(datetime),
            "APScheduler, get_next_fire_time": lambda: peer.get_next_fire_time(None, local),
        },
        500,
    )
    found["everdue"] /= 5
    found["everdue, the window that holds the run"] = found.pop("hit")
    holds = found["everdue"] * 10 <= found["cronsim, next of an iterator"]
    table("one-minute window of */5 * * * * in Europe/Berlin", found, "a tenth of cronsim's next occurrence", holds)


def year_of_days() -> None:
    """A year of daily runs."""
    start, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
    trigger = Cron("0 12 * * *", "Europe/Berlin")
    first = start.astimezone(BERLIN)

    def by_cronsim() -> int:
        peer, count = CronSim("0 12 * * *", first), 0
        while next(peer) < end:
            count += 1
        return count

    def by_croniter() -> int:
        peer, count = croniter("0 12 * * *", first), 0
        while peer.get_next(datetime) < end:
            count += 1
        return count

    def by_apscheduler() -> int:
        peer, count = CronTrigger.from_crontab("0 12 * * *", timezone=BERLIN), 0
        due = peer.get_next_fire_time(None, first)
        while due < end:
            due = peer.get_next_fire_time(due, due)
            count += 1
        return count

    assert len(trigger.occurrences_between(start, end)) == by_cronsim() == by_croniter() == by_apscheduler() == 365
    found = best_us(
        {
            "everdue": lambda: trigger.occurrences_between(start, end),
            "cronsim": by_cronsim,
            "croniter": by_croniter,
            "APScheduler": by_apscheduler,
        },
        1,
    )
    table(
        "a year of 0 12 * * * in Europe/Berlin",
        found,
        "a tenth of croniter",
        found["everdue"] * 10 <= found["croniter"],
    )


def leap_day() -> None:
    """A minute's window of a schedule that is due once in four years."""
    trigger = Cron("0 12 29 2 *", "Europe/Berlin")
    local = START.astimezone(BERLIN)
    found = best_us(
        {
            "everdue": lambda: trigger.occurrences_between(START, START + MINUTE),
            "cronsim, made and asked": lambda: next(CronSim("0 12 29 2 *", local)),
            "croniter, made and asked": lambda: croniter("0 12 29 2 *", local).get_next(datetime),
        },
        100,
    )
    table("one-minute window of 0 12 29 2 *", found, "under 5 us", found["everdue"] < 5)


def parsing() -> None:
    """Reading an expression for the first time, with every cache of ours emptied before each."""
    rng = random.Random(1)
    local = START.astimezone(BERLIN)
    expressions = expressions_of(rng, 400)
    made = iter(expressions * 1_000)

    def read() -> None:
        cron_module._calendar.cache_clear()
        cron_fields.read_field.cache_clear()
        cron_calendar._next_table.cache_clear()
        Cron(next(made), "Europe/Berlin")

    def read_anew() -> None:
        cron_module._calendar.cache_clear()
        Cron(next(made), "Europe/Berlin")

    found = best_us(
        {
            "everdue": read,
            "everdue, its fields seen before": read_anew,
            "cronsim": lambda: CronSim(next(made), local),
            "croniter": lambda: croniter(next(made), local),
            "APScheduler": lambda: CronTrigger.from_crontab("*/5 9-17 1,15 * 1-5", timezone=BERLIN),
        },
        400,
    )
    table("reading an expression, nothing cached", found, "under 50 us", found["everdue"] < 50)


def old_rule() -> None:
    """A rule that began long ago, asked about one minute now; the peer walks from its start."""
    text = "DTSTART:19900101T000000\nRRULE:FREQ=HOURLY"
    rule = Recurrence(text)
    peer = rrulestr(text)
    naive = START.replace(tzinfo=None)
    rule.occurrences_between(START, START + MINUTE)
    own = best_us({"everdue": lambda: rule.occurrences_between(START, START + MINUTE)}, 200)
    began = time.perf_counter()
    peer.between(naive, naive + MINUTE, inc=True)
    own["dateutil, once"] = (time.perf_counter() - began) * 1e6
    table("one-minute window of an hourly rule since 1990", own, "under 1000 us", own["everdue"] < 1_000)


def expressions_of(rng: random.Random, number: int) -> list[str]:
    """Distinct expressions that every peer reads."""
    found: set[str] = set()
    while len(found) < number:
        hour = rng.choice(["*", f"{rng.randrange(12)}-{rng.randrange(12, 24)}", str(rng.randrange(24))])
        day, weekday = rng.choice([("*", "*"), (f"{rng.randrange(1, 28)}", "*"), ("*", "1-5"), ("1,15", "*")])
        minute = rng.choice([str(rng.randrange(60)), f"*/{rng.choice([5, 10, 15])}", "0,30"])
        found.add(f"{minute} {hour} {day} {rng.choice(['*', '1-6', '3,9'])} {weekday}")
    return sorted(found)


def memory() -> None:
    """100,000 schedules over 500 expressions, their texts made anew as a table scan would."""
    expressions = expressions_of(random.Random(2), 500)
    Cron("0 0 * * *", "Europe/Berlin").occurrences_between(START, START + MINUTE)
    gc.collect()
    held: list[object] = [None] * 100_000
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for at in range(len(held)):
        held[at] = Cron("".join(list(expressions[at % 500])), "Europe/Berlin")
    for trigger in held[:500]:
        trigger.occurrences_between(START, START + MINUTE)  # type: ignore[attr-defined]
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    each = (after - before) / len(held)
    print(f"\nmemory: 100,000 schedules over 500 expressions\n  everdue {each:>42.1f} bytes of trigger each")
    print(f"  {len({id(trigger) for trigger in held})} trigger objects")
    print(f"  target: under 100 bytes: {'met' if each < 100 else 'MISSED'}")
    if each >= 100:
        FAILED.append("memory")


def main() -> int:
    """Run all, print the tables, and return 1 when a target was missed."""
    peers = ", ".join(f"{name} {version(name)}" for name in ("cronsim", "croniter", "APScheduler", "python-dateutil"))
    print(f"Python {sys.version.split()[0]}, {peers}, time zones {zone_database()}")
    for bench in (minute_window, year_of_days, leap_day, parsing, old_rule, memory):
        bench()
    print(f"\n{'all targets met' if not FAILED else 'missed: ' + '; '.join(FAILED)}")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
