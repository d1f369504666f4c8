"""An oracle for cron that shares nothing with the code under test: it looks at every minute, through `zoneinfo`.

Slow and plain on purpose. It takes the meaning of the fields from the written dialect, offsets from `zoneinfo`, and the
calendar from `datetime`; a gap's end is found by bisecting the offset.
"""

import calendar
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

MONTHS = {name.upper(): at for at, name in enumerate(calendar.month_abbr) if name}
WEEKDAYS = {name: at for at, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])}
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


def plain_values(text: str, low: int, high: int, names: dict[str, int]) -> set[int]:
    """The values of a field of `*`, values, ranges, lists and steps; a weekday's 7 stays 7."""
    found: set[int] = set()
    for item in text.upper().split(","):
        base, _, step = item.partition("/")
        first, _, last = base.partition("-")
        begin = low if base == "*" else names[first] if first in names else int(first)
        end = high if base == "*" else begin if not last else names[last] if last in names else int(last)
        found.update(range(begin, end + 1, int(step or 1)))
    return found


def day_of_month_matches(text: str, day: date) -> bool:
    """Whether a day of month field means this date."""
    if text == "?":
        return True
    length = calendar.monthrange(day.year, day.month)[1]
    for item in text.upper().split(","):
        if item == "LW":
            wanted = _nearest_workday(day.replace(day=length))
        elif item.startswith("L"):
            wanted = day.replace(day=length) - timedelta(days=int(item[2:] or 0))
        elif item.endswith("W"):
            if int(item[:-1]) > length:
                continue
            wanted = _nearest_workday(day.replace(day=int(item[:-1])))
        elif day.day in plain_values(item, 1, 31, {}):
            return True
        else:
            continue
        if wanted == day:
            return True
    return False


def _nearest_workday(day: date) -> date:
    """The nearest Monday to Friday in the same month: looked for one step away, then two."""
    for step in (0, -1, 1, -2, 2):
        near = day + timedelta(days=step)
        if near.month == day.month and near.isoweekday() <= 5:
            return near
    raise AssertionError("every five days in a row hold a workday")


def day_of_week_matches(text: str, day: date) -> bool:
    """Whether a day of week field means this date."""
    if text == "?":
        return True
    weekday = day.isoweekday() % 7
    for item in text.upper().split(","):
        if item.endswith("L"):
            name = item[:-1]
            if (WEEKDAYS[name] if name in WEEKDAYS else int(name) % 7) == weekday and (
                day + 7 * DAY
            ).month != day.month:
                return True
        elif "#" in item:
            name, _, nth = item.partition("#")
            if (WEEKDAYS[name] if name in WEEKDAYS else int(name) % 7) == weekday and (day.day - 1) // 7 + 1 == int(
                nth
            ):
                return True
        elif weekday in {value % 7 for value in plain_values(item, 0, 7, WEEKDAYS)}:
            return True
    return False


class CronOracle:
    """A five-field expression, asked minute by minute."""

    def __init__(self, expression: str) -> None:
        self.minute, self.hour, self.day, self.month, self.weekday = expression.split()
        self.minutes = plain_values(self.minute, 0, 59, {})
        self.hours = plain_values(self.hour, 0, 23, {})
        self.months = plain_values(self.month, 1, 12, MONTHS)
        self.times = [at for at in range(1440) if at // 60 in self.hours and at % 60 in self.minutes]
        self.fixed = not self.minute.startswith("*") and not self.hour.startswith("*")

    def day_matches(self, day: date) -> bool:
        """Vixie's rule: two restricted day fields combine with OR, else both must match."""
        if day.month not in self.months:
            return False
        by_day, by_weekday = day_of_month_matches(self.day, day), day_of_week_matches(self.weekday, day)
        either = not (self.day.startswith(("*", "?")) or self.weekday.startswith(("*", "?")))
        return by_day or by_weekday if either else by_day and by_weekday

    def local_minutes(self, first: date, last: date) -> list[datetime]:
        """Every matching local minute of these days, as naive datetimes."""
        found = []
        day = first
        while day <= last:
            if self.day_matches(day):
                midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - a local time
                found += [midnight + timedelta(minutes=minute) for minute in self.times]
            day += DAY
        return found

    def between(self, start: datetime, end: datetime, zone: ZoneInfo, gap: str, fold: str) -> list[datetime]:
        """Every run in `[start, end)` in UTC."""
        runs: set[datetime] = set()
        # Local time is at most 12 hours behind and 14 ahead, and a fixed time moves by a day at most.
        moves = 24 * HOUR if self.fixed else 0 * HOUR
        early, late = (moment.replace(tzinfo=None) for moment in (start - 13 * HOUR - moves, end + 15 * HOUR))
        for local in self.local_minutes(early.date(), late.date()):
            if not early <= local <= late:
                continue
            moments = moments_of(local, zone)
            if not self.fixed:
                runs.update(moments)
            elif moments:
                runs.update(moments if fold == "twice" else moments[:1])
            elif gap == "run":
                runs.add(gap_end(local, zone))
        return sorted(run for run in runs if start <= run < end)


def moments_of(local: datetime, zone: ZoneInfo) -> list[datetime]:
    """The UTC moments at which the zone's clock shows this naive time: none, one or two, ascending."""
    moments = {local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    return sorted(moment for moment in moments if moment.astimezone(zone).replace(tzinfo=None, fold=0) == local)


def gap_end(local: datetime, zone: ZoneInfo) -> datetime:
    """The first UTC second at which the zone's clock has jumped past this naive time that it never shows."""
    moments = [local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
    before, after = min(moments) - SECOND, max(moments) + SECOND
    while after - before > SECOND:
        middle = before + (after - before) // 2
        middle = middle.replace(microsecond=0) if middle.replace(microsecond=0) > before else before + SECOND
        if middle.astimezone(zone).replace(tzinfo=None, fold=0) > local:
            after = middle
        else:
            before = middle
    return after
