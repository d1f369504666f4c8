"""Source port: where schedules come from; ChangeFeed port: its optional second ability."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from everdue.core.schedule import Entry, Row


class Source(Protocol):
    """The schedules that should exist. Memory converges to whatever it states."""

    def snapshot(self) -> Iterable[Row]:
        """Every schedule, at the moment of the call: a complete, strongly consistent read, every page or nothing.

        May yield rows as pages arrive. Raising part-way discards the whole snapshot, so that a failed read never
        looks like a mass removal.
        """
        ...

    def make(self, row: Row) -> Entry:
        """The entry that a row describes. Called for new and changed rows, and again at every sync for refused ones.

        Raising refuses this row alone; its last good entry stays.
        """
        ...


@dataclass(frozen=True, slots=True)
class Changes:
    """What moved in a source between two positions.

    Attributes:
        rows: inserts, edits and hard deletes (`active=False`), in order for each id.
        position: read up to here.
    """

    rows: Sequence[Row]
    position: str


@runtime_checkable
class ChangeFeed(Protocol):
    """A source that can also say what moved, so that a sync costs what changed and not what exists.

    The port is fixed; the scheduler does not read it yet, and takes a snapshot of every source at every sync.
    """

    def position(self) -> str:
        """A position as of now. Taken before a snapshot, it misses nothing that was written during it."""
        ...

    def changes_since(self, position: str) -> Changes:
        """What moved since a position. Raises FeedLost when it can't be read any more: a snapshot is the cure."""
        ...
