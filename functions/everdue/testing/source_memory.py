"""A source that is a dictionary, with failures on request."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from everdue.core.errors import SourceFailed
from everdue.core.schedule import CatchUp, Entry, Row
from everdue.core.trigger import Trigger


class MemorySource:
    """A `Source` without a change feed: every snapshot lists what was put, in the order of its ids' first put.

    Attributes:
        snapshots: how many were begun.
        made: the id of every call of `make`, in order.
    """

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._versions = 0
        self._failing: list[tuple[int, Exception]] = []
        self._refused: dict[str, Exception] = {}
        self.snapshots = 0
        self.made: list[str] = []

    def put(
        self,
        id: str,  # noqa: A002 - `id` is the attribute's name everywhere
        trigger: Trigger | Entry,
        payload: Any = None,
        *,
        version: str | None = None,
        active: bool = True,
        active_from: datetime | None = None,
        catch_up: CatchUp = "latest",
        recover_seconds: float | None = None,
    ) -> Row:
        """Create or replace a schedule, from a trigger and its options or from an entry as it is.

        Without `version` each put gets a new one; giving the one before says that nothing was edited.
        """
        entry = trigger
        if not isinstance(entry, Entry):
            entry = Entry(entry, payload, catch_up=catch_up, recover_seconds=recover_seconds)
        row = Row(id, self._next_version() if version is None else version, entry, active, active_from)
        self._rows[id] = row
        return row

    def remove(self, id: str) -> None:  # noqa: A002
        """Delete a schedule; one that is not there is no error."""
        self._rows.pop(id, None)

    def pause(self, id: str) -> None:  # noqa: A002
        """Disable a schedule, as `enabled: false` does: the row stays and its version too."""
        self._rows[id] = replace(self._rows[id], active=False)

    def resume(self, id: str) -> None:  # noqa: A002
        """Enable a schedule again."""
        self._rows[id] = replace(self._rows[id], active=True)

    def fail_snapshot(self, after_rows: int = 0, *, error: Exception | None = None, times: int = 1) -> None:
        """Let the next snapshots raise `error` (a SourceFailed) after so many rows."""
        self._failing.extend([(after_rows, error or SourceFailed("the source is down"))] * times)

    def refuse(self, id: str, error: Exception) -> None:  # noqa: A002
        """Let `make` raise `error` for this schedule, until `accept`."""
        self._refused[id] = error

    def accept(self, id: str) -> None:  # noqa: A002
        """Undo `refuse`."""
        self._refused.pop(id, None)

    def snapshot(self) -> Iterator[Row]:
        """Every row, as of now, one by one."""
        self.snapshots += 1
        failing = self._failing.pop(0) if self._failing else None
        return self._list(list(self._rows.values()), failing)

    def make(self, row: Row) -> Entry:
        """The entry that was put."""
        self.made.append(row.id)
        if row.id in self._refused:
            raise self._refused[row.id]
        assert isinstance(row.data, Entry)  # noqa: S101 - `put` stores nothing else
        return row.data

    def _list(self, rows: list[Row], failing: tuple[int, Exception] | None) -> Iterator[Row]:
        for count, row in enumerate(rows):
            if failing is not None and count == failing[0]:
                raise failing[1]
            yield row
        if failing is not None:
            raise failing[1]

    def _next_version(self) -> str:
        self._versions += 1
        return str(self._versions)

    def __len__(self) -> int:
        return len(self._rows)
