"""The rule at the end of a zone file: what the clocks do in the years after its last listed change.

Source: RFC 9636 section 3.3 and POSIX `TZ`, with RFC 9636's hours from -167 to 167.
"""

import re
from dataclasses import dataclass
from datetime import date

DAY_S = 86_400
UNIX_DAY = date(1970, 1, 1).toordinal()

_NAME = r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]+>)"
_OFFSET = r"[+-]?\d{1,3}(?::\d{2}){0,2}"
_DATE = r"(?:M\d{1,2}\.\d\.\d|J\d{1,3}|\d{1,3})(?:/[+-]?\d{1,3}(?::\d{2}){0,2})?"
_TZ = re.compile(rf"{_NAME}({_OFFSET})(?:{_NAME}({_OFFSET})?(?:,({_DATE}),({_DATE}))?)?")


@dataclass(frozen=True, slots=True)
class ChangeDay:
    """One of the two days a year on which the clocks change.

    Attributes:
        form: `M` month.week.weekday, `J` day of year without 29 February from 1, `D` day of year from 0.
        numbers: the numbers that follow it.
        second: seconds after that day's midnight on the clock in force before the change; may exceed a day.
    """

    form: str
    numbers: tuple[int, ...]
    second: int

    def wall_second(self, year: int) -> int:
        """The change in this year, as seconds since 1970-01-01T00:00 on the clock in force before it."""
        if self.form == "M":
            month, week, weekday = self.numbers
            first = date(year, month, 1).toordinal()
            day = first + (weekday - first % 7) % 7 + 7 * (week - 1)
            length = (date(year, month + 1, 1).toordinal() if month < 12 else first + 31) - first
            if day >= first + length:
                day -= 7
        elif self.form == "J":
            leap = date(year, 3, 1).toordinal() - date(year, 2, 1).toordinal() == 29
            day = date(year, 1, 1).toordinal() + self.numbers[0] - 1 + (leap and self.numbers[0] >= 60)
        else:
            day = date(year, 1, 1).toordinal() + self.numbers[0]
        return (day - UNIX_DAY) * DAY_S + self.second


@dataclass(frozen=True, slots=True)
class Footer:
    """Offsets east of UTC in seconds, and the two changes a year, if the zone still changes."""

    standard: int
    summer: int = 0
    starts: ChangeDay | None = None
    ends: ChangeDay | None = None

    def pieces(self, year: int) -> list[tuple[int, int]]:
        """The UTC year as (start, offset) pairs in seconds, ascending; the first starts with the year."""
        first = (date(year, 1, 1).toordinal() - UNIX_DAY) * DAY_S
        if self.starts is None or self.ends is None:
            return [(first, self.standard)]
        beyond = first + (366 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 365) * DAY_S
        on = self.starts.wall_second(year) - self.standard
        off = self.ends.wall_second(year) - self.summer
        cuts = sorted({first, *(cut for cut in (on, off) if first < cut < beyond)})
        pieces: list[tuple[int, int]] = []
        for cut in cuts:
            summer = on <= cut < off if on < off else not off <= cut < on
            offset = self.summer if summer else self.standard
            if not pieces or pieces[-1][1] != offset:
                pieces.append((cut, offset))
        return pieces


def parse_footer(text: str) -> Footer:
    """The footer line of a zone file. Raises ValueError when it is none."""
    match = _TZ.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:40]!r} is not a POSIX time zone rule")
    standard, summer, starts, ends = match.groups()
    offset = -_seconds(standard)
    if starts is None:
        return Footer(offset)
    return Footer(offset, offset + 3600 if summer is None else -_seconds(summer), _change(starts), _change(ends))


def _change(text: str) -> ChangeDay:
    day, _, clock = text.partition("/")
    second = _seconds(clock) if clock else 2 * 3600
    if day[0] == "M":
        return ChangeDay("M", tuple(int(number) for number in day[1:].split(".")), second)
    return ChangeDay("J", (int(day[1:]),), second) if day[0] == "J" else ChangeDay("D", (int(day),), second)


def _seconds(text: str) -> int:
    parts = [int(part) for part in text.lstrip("+-").split(":")] + [0, 0]
    seconds = parts[0] * 3600 + parts[1] * 60 + parts[2]
    return -seconds if text[0] == "-" else seconds
