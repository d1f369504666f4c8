"""A skip: runs that were due and are not sent, with the reason. SkipLog port: where that is put on record."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Reason = Literal["missed", "horizon", "deleted", "paused", "rejected", "excess", "failed"]
"""`missed`: left out by `catch_up`. `horizon`: older than the horizon. `deleted`, `paused`: unsent when that happened.
`rejected`: the queue refuses it. `excess`: more in one window than a schedule may have. `failed`: its
trigger raised."""


@dataclass(frozen=True, slots=True)
class Skip:
    """Runs of one schedule that are not sent.

    Attributes:
        id: the schedule.
        start_us, end_us: the half-open span, in Unix microseconds, that holds their moments.
        count: how many; 0 when that is not known (`failed`) or too many to count (`excess`).
        reason: why.
        detail: the queue's or the trigger's own words, where there are any.
    """

    id: str
    start_us: int
    end_us: int
    count: int
    reason: Reason
    detail: str = ""


class SkipLog(Protocol):
    """Keeps skips where people look for them. Coverage passes a skipped run only after this returned."""

    def record(self, skips: Sequence[Skip]) -> None:
        """Put skips on record, durably. The same skip may come again and is then one record.

        Raises SkipLogFailed when some may not be on record.
        """
        ...
