"""What shifting, bounding and excluding share: a trigger around a trigger, which may be a user's own.

A user's trigger may have only `occurrences_between`. The one around it then has no more: an instant answer would have
to be searched for in ever wider windows, and a rule that walks minute by minute would walk to year 9999 for it.
So each kind comes as two classes, and the one with `next_us` and `iterate_us` is made around an instant trigger.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import TypeVar

from everdue.core.errors import TriggerRefused
from everdue.core.moment import MAX_US, MIN_US, from_us, to_us
from everdue.core.trigger import InstantTrigger, Trigger
from everdue.core.triggers.base import BaseTrigger, clip

T = TypeVar("T", bound="Wrapped")


class Wrapped(BaseTrigger):
    """A trigger around another one, `trigger`."""

    __slots__ = ("trigger",)

    trigger: Trigger

    @property
    def recurring(self) -> bool:
        """As the trigger inside."""
        return self.trigger.recurring

    def occurrences_between(self, start: datetime, end: datetime) -> list[datetime]:
        """Every occurrence in the half-open window `[start, end)`, ascending, as aware UTC datetimes.

        Raises:
            ValueError: a datetime is naive.
        """
        return [from_us(due) for due in self._window_us(to_us(start), to_us(end))]

    def _window_us(self, start_us: int, end_us: int) -> Iterator[int]:
        """The occurrences in `[start_us, end_us)` (Unix microseconds), ascending."""
        raise NotImplementedError

    def _inner_us(self, start_us: int, end_us: int) -> Iterator[int]:
        """What the trigger inside says for this window, cut to the years there are."""
        start_us, end_us = max(start_us, MIN_US), min(end_us, MAX_US + 1)
        if start_us >= end_us:
            return
        if isinstance(self.trigger, InstantTrigger):
            yield from self.trigger.iterate_us(start_us, end_us)
        else:
            for due in self.trigger.occurrences_between(from_us(start_us), from_us(min(end_us, MAX_US))):
                yield to_us(due)


class InstantWrapped(Wrapped):
    """The same around an instant trigger."""

    __slots__ = ()

    trigger: InstantTrigger

    def next_us(self, at_us: int) -> int | None:
        """The first occurrence at or after `at_us` (Unix microseconds); None when there is none, up to year 9999."""
        raise NotImplementedError

    def iterate_us(self, start_us: int, end_us: int) -> Iterator[int]:
        """The occurrences in `[start_us, end_us)` (Unix microseconds), made as they are asked for."""
        return self._window_us(start_us, end_us)


def pick(plain: type[T], instant: type[T], trigger: object) -> type[T]:
    """The class to make around this trigger. Raises TriggerRefused when it is no trigger."""
    if not isinstance(trigger, Trigger) or isinstance(trigger, type):
        raise TriggerRefused(f"trigger {clip(trigger)} is not a trigger: it needs occurrences_between and recurring")
    return instant if isinstance(trigger, InstantTrigger) else plain
