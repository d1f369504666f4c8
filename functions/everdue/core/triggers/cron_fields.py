"""The text of a cron field, read into bits: which values it means, and for day fields which rules.

One reader serves both dialects, five fields and EventBridge's six; a `FieldRule` says where they differ.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, NoReturn

from everdue.core.errors import TriggerRefused
from everdue.core.triggers.base import clip

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
MONTH_NAMES = {name: at for at, name in enumerate(_MONTHS, 1)}
WEEKDAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

_NUMBER = re.compile(r"[0-9]{1,9}")  # never \d or str.isdigit, which take digits of every script
_LAST_DAY = re.compile(r"L(?:-([0-9]{1,9}))?")
_NEAREST = re.compile(r"([0-9]{1,9})W")
_EXTENSION = re.compile(r"[0-9L#W-]*[LW#][0-9L#W-]*")


@dataclass(frozen=True, slots=True, eq=False)
class FieldRule:
    """What one field may say.

    Attributes:
        name: as messages call it.
        low, high: the numbers it takes, both included.
        names: words that stand for numbers, in upper case.
        kind: "" for a plain field, "day" or "weekday" for the two that know `?`, `L`, `W` or `#`.
        sunday: the number of Sunday in a weekday field; bits always count weekdays from Sunday = 0.
        step_from_value: whether `5/15` means from 5 on in steps of 15 (EventBridge) or is refused (five fields).
        steps: whether there are steps at all.
        bare_last: the weekday, from Sunday = 0, that `L` alone means in a weekday field, if it may stand alone.
    """

    name: str
    low: int
    high: int
    names: dict[str, int] = field(default_factory=dict)
    kind: str = ""
    sunday: int = 0
    step_from_value: bool = False
    steps: bool = True
    bare_last: int | None = None


class Field(NamedTuple):
    """A field that was read.

    Attributes:
        text: as written.
        bits: bit n is set when the value n belongs; weekdays count from Sunday = 0.
        starred: it begins with `*`, or is `?`.
        last_offsets: days of month counted back from the last one: `L` is 0, `L-3` is 3.
        last_workday: `LW`, the last Monday-to-Friday of the month.
        nearest: days of month that move to the nearest Monday-to-Friday of their month: `15W`.
        last_weekdays: weekdays whose last one in the month belongs: `5L`.
        nth_weekdays: (weekday, n) whose n-th one in the month belongs: `FRI#3`.
    """

    text: str
    bits: int
    starred: bool
    last_offsets: tuple[int, ...] = ()
    last_workday: bool = False
    nearest: tuple[int, ...] = ()
    last_weekdays: tuple[int, ...] = ()
    nth_weekdays: tuple[tuple[int, int], ...] = ()


FIVE_FIELDS = (
    FieldRule("minute", 0, 59),
    FieldRule("hour", 0, 23),
    FieldRule("day of month", 1, 31, kind="day"),
    FieldRule("month", 1, 12, MONTH_NAMES),
    FieldRule("day of week", 0, 7, {name: at for at, name in enumerate(WEEKDAY_NAMES)}, kind="weekday"),
)


@lru_cache(maxsize=1024)
def read_field(text: str, rule: FieldRule) -> Field:
    """The field that `text` says. Raises TriggerRefused naming the field, the value and what is allowed."""
    return _Reader(text, rule).read()


class _Reader:
    """Reads one field; holds what its items have said so far."""

    def __init__(self, text: str, rule: FieldRule) -> None:
        self.text, self.rule = text, rule
        self.bits = 0
        self.extended = False
        self.last_offsets: set[int] = set()
        self.last_workday = False
        self.nearest: set[int] = set()
        self.last_weekdays: set[int] = set()
        self.nth_weekdays: set[tuple[int, int]] = set()

    def read(self) -> Field:
        rule = self.rule
        if self.text == "*" or (self.text == "?" and rule.kind):
            return Field(self.text, self._span_bits(rule.low, rule.high, 1), True)
        for item in self.text.upper().split(","):
            if item.isdecimal() and item.isascii() and len(item) <= 2 and rule.low <= int(item) <= rule.high:
                bits = 1 << int(item) - rule.sunday
                self.bits |= bits if rule.kind != "weekday" else (bits | bits >> 7) & 0x7F
            else:
                self._item(item)
        if not self.extended:  # nearly always; four empty sets need no sorting
            return Field(self.text, self.bits, self.text.startswith("*"))
        return Field(
            self.text,
            self.bits,
            self.text.startswith("*"),
            tuple(sorted(self.last_offsets)),
            self.last_workday,
            tuple(sorted(self.nearest)),
            tuple(sorted(self.last_weekdays)),
            tuple(sorted(self.nth_weekdays)),
        )

    def _item(self, item: str) -> None:
        rule = self.rule
        base, slash, step_text = item.partition("/")
        if slash and not rule.steps:
            self._refuse(item, "there are no steps in this field")
        step = self._step(item, step_text) if slash else 1
        if base == "*":
            self.bits |= self._span_bits(rule.low, rule.high, step)
            return
        if not slash and rule.kind and self._extension(base):
            self.extended = True
            return
        first, dash, last = base.partition("-")
        if dash:
            low, high = self._value(first, item), self._value(last, item)
            if last == "SUN" and high < low:
                high += 7  # FRI-SUN: the week may be written as ending on Sunday
            if high < low:
                self._refuse(item, f"a range runs upwards; past the end it is {first}-{rule.high},{rule.low}-{last}")
            self.bits |= self._span_bits(low, high, step)
        elif slash:
            low = self._value(base, item) if base else self._refuse(item, "a step stands after * or a range, as in */5")
            if not rule.step_from_value:
                self._refuse(item, f"a step stands after * or a range; write {base}-{rule.high}/{step_text}")
            self.bits |= self._span_bits(low, rule.high, step)
        else:
            self.bits |= self._span_bits(value := self._value(base, item), value, 1)

    def _step(self, item: str, text: str) -> int:
        if not _NUMBER.fullmatch(text) or int(text) == 0:
            self._refuse(item, "a step is a whole number from 1, as in */5")
        return int(text)

    def _span_bits(self, low: int, high: int, step: int) -> int:
        if step == 1:
            bits = (1 << high + 1) - (1 << low)
        elif low == high:
            bits = 1 << low
        else:
            bits = sum([1 << value for value in range(low, high + 1, step)])
        if self.rule.kind == "weekday":
            bits >>= self.rule.sunday
            return (bits | bits >> 7) & 0x7F  # 7 is Sunday as well
        return bits

    def _value(self, text: str, item: str) -> int:
        value = self.rule.names.get(text)
        if value is None:
            if not _NUMBER.fullmatch(text):
                self._refuse(item, "")
            value = int(text)
            if not self.rule.low <= value <= self.rule.high:
                self._refuse(item, f"{value} is out of range")
        return value

    def _extension(self, item: str) -> bool:
        """Read an item such as L, L-3, LW, 15W, 5L or FRI#3; False when it is none."""
        if self.rule.kind == "day":
            if item == "LW":
                self.last_workday = True
            elif match := _LAST_DAY.fullmatch(item):
                back = int(match.group(1) or 0)
                if back > 30:
                    self._refuse(item, "L-n counts back from the last day of the month by 0 to 30 days")
                self.last_offsets.add(back)
            elif match := _NEAREST.fullmatch(item):
                self.nearest.add(self._value(match.group(1), item))
            else:
                return False
            return True
        day, mark, nth = item.partition("#")
        if mark:
            if nth not in ("1", "2", "3", "4", "5"):
                self._refuse(item, "after # stands which one of the month it is, from 1 to 5, as in FRI#3")
            self.nth_weekdays.add((self._weekday(day, item), int(nth)))
            return True
        if item.endswith("L") and item not in self.rule.names:
            if item == "L" and self.rule.bare_last is not None:
                self.bits |= 1 << self.rule.bare_last
                return True
            if item == "L":
                self._refuse(
                    item, "L follows a weekday here, as in FRIL; the last day of the month is L in its own field"
                )
            self.last_weekdays.add(self._weekday(item[:-1], item))
            return True
        return False

    def _weekday(self, text: str, item: str) -> int:
        return (self._value(text, item) - self.rule.sunday) % 7

    def _refuse(self, item: str, why: str) -> NoReturn:
        rule = self.rule
        where = "" if item == self.text.upper() else f" in {clip(self.text)}"
        allowed = f"numbers {rule.low}-{rule.high}"
        if rule.names:
            words = list(rule.names)
            allowed += f", names {words[0]}-{words[-1]}"
        allowed += ", *, ranges, lists"
        if rule.steps:
            allowed += f", steps over *{', a value' if rule.step_from_value else ''} or a range"
        if rule.kind == "day":
            allowed += ", ?, L, L-3, LW, 15W"
        elif rule.kind == "weekday":
            allowed += f", ?, {5 + rule.sunday}L, FRI#3"
        if not why and not rule.kind and _EXTENSION.fullmatch(item):
            why = "L, W and # belong in the day fields"
        raise TriggerRefused(
            f"{rule.name} field: {clip(item)}{where} can't be read{': ' + why if why else ''}. Allowed: {allowed}"
        )
