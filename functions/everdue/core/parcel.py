"""A parcel: what one occurrence hands to its worker, beside its moment."""

from dataclasses import dataclass
from typing import Any, Literal

Overlap = Literal["queue", "skip", "allow"]
OVERLAP: tuple[Overlap, ...] = ("queue", "skip", "allow")


@dataclass(frozen=True, slots=True)
class Parcel:
    """The payload of an `Entry` that was made from an item: all that the message says beyond schedule and moment.

    Attributes:
        data: the schedule's payload, any JSON-like value; Decimal stays exact, bytes and sets are allowed.
        overlap: what becomes of a run while the previous one is still going.
        stale_after_seconds: a run older than this is dead, in whole seconds; None leaves it to the worker's default.
        scheduleversion: the writer's `version`, or the digest of the item where it keeps none.
    """

    data: Any = None
    overlap: Overlap = "queue"
    stale_after_seconds: int | None = None
    scheduleversion: str = ""
