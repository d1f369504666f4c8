"""RFC 5545 text taken apart: its lines, their parameters, its dates. What the rules mean is `recurrence_rule`'s."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from everdue.core.errors import TriggerRefused
from everdue.core.triggers.base import clip
from everdue.core.triggers.zone import Zone, zone
from everdue.core.triggers.zone_footer import DAY_S, UNIX_DAY

TEXT_LIMIT = 32_768
"""Characters, some 2,000 dates. A longer list belongs into a table of its own, as one-shots."""

_DATE = re.compile(r"([0-9]{8})(?:T([0-9]{6})(Z?))?")


@dataclass(slots=True)
class Lines:
    """What the text says.

    Attributes:
        zone: where the local times are meant: DTSTART's TZID, or UTC for a DTSTART in UTC, else the one given.
        start: DTSTART as a local second, or None.
        rules, exrules: the values of RRULE and EXRULE.
        dates, exdates: RDATE and EXDATE as local seconds in `zone`.
        exdays: EXDATEs without a time, as local days.
        moments, exmoments: RDATE and EXDATE in UTC or in another zone, as Unix seconds.
    """

    zone: Zone
    start: int | None = None
    rules: list[str] = field(default_factory=list)
    exrules: list[str] = field(default_factory=list)
    dates: set[int] = field(default_factory=set)
    exdates: set[int] = field(default_factory=set)
    exdays: set[int] = field(default_factory=set)
    moments: set[int] = field(default_factory=set)
    exmoments: set[int] = field(default_factory=set)


def read_lines(text: object, place: Zone) -> Lines:
    """Take the text apart. Raises TriggerRefused naming the line and what is allowed."""
    if not isinstance(text, str):
        raise TriggerRefused(f"rrule {clip(text)} is not text: write RFC 5545, such as 'FREQ=DAILY;BYHOUR=9'")
    if len(text) > TEXT_LIMIT:
        raise TriggerRefused(f"rrule {clip(text)} has {len(text)} characters: at most {TEXT_LIMIT}")
    parsed = [_line(line) for line in _unfold(text)]
    if not parsed:
        raise TriggerRefused("rrule '' is empty: write RFC 5545, such as 'FREQ=DAILY;BYHOUR=9'")
    lines = Lines(place)
    starts = [(parameters, value) for name, parameters, value in parsed if name == "DTSTART"]
    if len(starts) > 1:
        raise TriggerRefused(f"DTSTART {clip(starts[1][1])} is the second one: there is one first moment")
    for parameters, value in starts:
        second, has_time, in_utc = date_second("DTSTART", value)
        _check_value_type("DTSTART", parameters, has_time)
        if in_utc and "TZID" in parameters:
            raise TriggerRefused(f"DTSTART {clip(value)} is in UTC and in {clip(parameters['TZID'])}: leave one out")
        lines.zone = zone("UTC") if in_utc else zone(parameters["TZID"]) if "TZID" in parameters else place
        lines.start = second
    for name, parameters, value in parsed:
        if name in ("RRULE", "EXRULE"):
            (lines.rules if name == "RRULE" else lines.exrules).append(value)
        elif name in ("RDATE", "EXDATE"):
            _dates(lines, name, parameters, value)
    if not lines.rules and not lines.dates and not lines.moments:
        raise TriggerRefused(f"rrule {clip(text)} has neither an RRULE nor an RDATE, so it never runs")
    return lines


def date_second(name: str, text: str) -> tuple[int, bool, bool]:
    """A date or date-time as (local second, has a time, is in UTC). Raises TriggerRefused."""
    match = _DATE.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        day, clock, mark = match.groups()
        moment = datetime.strptime(day + (clock or "000000"), "%Y%m%d%H%M%S")  # noqa: DTZ007 - a local time
    except ValueError:
        raise TriggerRefused(
            f"{name} {clip(text)} can't be read: a date-time such as 20270131T090000, with Z for UTC, or a date"
        ) from None
    second = (moment.toordinal() - UNIX_DAY) * DAY_S + moment.hour * 3600 + moment.minute * 60 + moment.second
    return second, clock is not None, bool(mark)


def _unfold(text: str) -> Iterator[str]:
    """The lines, with those that RFC 5545 folded (they go on after a line break and a blank) joined again."""
    for line in re.sub(r"\r?\n[ \t]", "", text).replace("\r\n", "\n").split("\n"):
        if line.strip(" \t\r"):
            yield line.strip(" \t\r")


def _line(line: str) -> tuple[str, dict[str, str], str]:
    head, colon, value = line.partition(":")
    if not colon:
        head, value = "RRULE", line
    name, *parts = head.upper().split(";") if colon else [head]
    if name not in ("DTSTART", "RRULE", "EXRULE", "RDATE", "EXDATE"):
        raise TriggerRefused(f"line {clip(line)} is none of DTSTART, RRULE, EXRULE, RDATE, EXDATE")
    parameters = {}
    for part, original in zip(parts, head.split(";")[1:], strict=True):
        key = part.partition("=")[0]
        if key not in ("TZID", "VALUE") or name in ("RRULE", "EXRULE"):
            raise TriggerRefused(f"{name} parameter {clip(part)} is unknown: TZID and VALUE, and none for rules")
        parameters[key] = original.partition("=")[2].strip('"')
    return name, parameters, value.strip(" \t")


def _check_value_type(name: str, parameters: dict[str, str], has_time: bool) -> None:
    wanted = parameters.get("VALUE", "DATE-TIME" if has_time else "DATE").upper()
    if wanted != ("DATE-TIME" if has_time else "DATE"):
        raise TriggerRefused(f"{name} VALUE {clip(wanted)} does not fit its value: DATE or DATE-TIME")


def _dates(lines: Lines, name: str, parameters: dict[str, str], value: str) -> None:
    other = zone(parameters["TZID"]) if "TZID" in parameters else lines.zone
    adds = name == "RDATE"
    for text in value.split(","):
        second, has_time, in_utc = date_second(name, text.strip(" \t"))
        _check_value_type(name, parameters, has_time)
        if in_utc:
            (lines.moments if adds else lines.exmoments).add(second)
        elif other is not lines.zone:
            (lines.moments if adds else lines.exmoments).add(other.first_at(second))
        elif not has_time and not adds:
            lines.exdays.add(second // DAY_S)
        else:
            (lines.dates if adds else lines.exdates).add(second)
