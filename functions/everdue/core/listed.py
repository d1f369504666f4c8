"""Any trigger as an instant one, so that the cycle has one way to ask."""

from collections.abc import Iterator
from typing import cast

from everdue.core.moment import MAX_US, SECOND_US, from_us, to_us
from everdue.core.trigger import InstantTrigger, Trigger

LOOK_AHEAD_US = (60 * SECOND_US, 3_600 * SECOND_US)
"""A minute first: a trigger that is due every second would list an hour of it after each run."""


class Listed:
    """A trigger that can only list a window, asked for a minute or an hour at a time.

    Its `next_us` may name a moment at which nothing is due: it promises only that nothing is due before.
    """

    __slots__ = ("_trigger",)

    def __init__(self, trigger: Trigger) -> None:
        self._trigger = trigger

    @property
    def recurring(self) -> bool:
        return self._trigger.recurring

    def next_us(self, at_us: int) -> int | None:
        """The first occurrence within an hour, or the moment from which to ask again."""
        start_us = at_us
        for ahead_us in LOOK_AHEAD_US:
            until_us = min(at_us + ahead_us, MAX_US)
            found_us = next(self.iterate_us(start_us, until_us), None)
            if found_us is not None:
                return found_us
            start_us = until_us
        return None if at_us >= MAX_US else start_us

    def iterate_us(self, start_us: int, end_us: int) -> Iterator[int]:
        """The window's occurrences, put in order and kept inside it, whatever the trigger answered."""
        if start_us >= end_us:
            return iter(())
        listed = {to_us(due) for due in self._trigger.occurrences_between(from_us(start_us), from_us(end_us))}
        return iter(sorted(due_us for due_us in listed if start_us <= due_us < end_us))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listed) and self._trigger == other._trigger

    def __hash__(self) -> int:
        try:
            return hash(self._trigger)
        except TypeError:
            return id(self._trigger)


def as_instant(trigger: Trigger) -> InstantTrigger | Listed:
    """The trigger itself where it is instant, otherwise the same rule behind `Listed`."""
    # Not isinstance: against a protocol that costs more than everything else about a new entry together.
    instant = hasattr(trigger, "next_us") and hasattr(trigger, "iterate_us")
    return cast(InstantTrigger, trigger) if instant else Listed(trigger)
