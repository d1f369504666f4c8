"""Trigger port: the rule that says when a schedule is due."""

from collections.abc import Iterator
from datetime import datetime
from typing import Protocol, runtime_checkable


@runtime_checkable
class Trigger(Protocol):
    """A pure rule: the same window always gives the same occurrences, whoever asks and whenever.

    Windows tile, so an occurrence must lie in exactly one of two neighbouring windows: due exactly at
    `start` belongs to `[start, end)`, due exactly at `end` does not.
    """

    @property
    def recurring(self) -> bool:
        """False for one-shots: a run of those is never dropped by age, and they end with it."""
        ...

    def occurrences_between(self, start: datetime, end: datetime) -> list[datetime]:
        """Every occurrence in the half-open window `[start, end)`, ascending, as aware UTC datetimes.

        An empty or reversed window gives an empty list. Raises ValueError for naive datetimes.
        """
        ...


@runtime_checkable
class InstantTrigger(Trigger, Protocol):
    """A trigger's optional second ability: to answer lazily, on integer Unix microseconds.

    With it a tick costs what is due: the agenda asks for the next occurrence only, and a window of a million
    runs is walked in slices. Every trigger that everdue ships has it; one that users write may not.
    Equal triggers must compare and hash equal, so that schedules can share one.
    """

    def next_us(self, at_us: int) -> int | None:
        """The first occurrence at or after `at_us`; None when there is none, up to year 9999."""
        ...

    def iterate_us(self, start_us: int, end_us: int) -> Iterator[int]:
        """The occurrences in `[start_us, end_us)`, strictly increasing, made one by one as they are asked for."""
        ...
