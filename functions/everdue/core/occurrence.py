"""An occurrence: one run of one schedule, and the key that makes every re-delivery of it recognisable."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from everdue.core.moment import SECOND_US, to_us


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One run: the schedule's id and the moment it is due.

    Attributes:
        id: the schedule's identity.
        due: the moment this run belongs to, as an aware UTC datetime. It may be sent later, never earlier.
        payload: what the schedule hands to its worker.
        version: the definition this run was selected under; see `Scheduler.is_current`.
    """

    id: str
    due: datetime
    payload: Any = None
    version: str = ""

    def __post_init__(self) -> None:
        if self.due.tzinfo is not UTC:
            to_us(self.due)  # refuses a naive datetime
            object.__setattr__(self, "due", self.due.astimezone(UTC))

    @property
    def key(self) -> str:
        """`<id>@<due, Unix seconds, six decimals>`: the same run has the same key whoever sends it, however often."""
        return occurrence_key(self.id, to_us(self.due))


def occurrence_key(id: str, due_us: int) -> str:  # noqa: A002 - `id` is the attribute's name everywhere
    """The key of the run of schedule `id` due at `due_us` (Unix microseconds)."""
    sign = "-" if due_us < 0 else ""
    seconds, micros = divmod(abs(due_us), SECOND_US)
    return f"{id}@{sign}{seconds}.{micros:06d}"
