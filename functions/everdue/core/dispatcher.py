"""Dispatcher port: handing occurrences to the queue."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from everdue.core.occurrence import Occurrence


@dataclass(frozen=True, slots=True)
class Rejection:
    """An occurrence that the queue will never take, and why. Its loss is put on record; the others go on."""

    occurrence: Occurrence
    reason: str


@dataclass(frozen=True, slots=True)
class Dispatched:
    """What became of a hand-over: every occurrence of it was accepted, or is listed here as rejected."""

    accepted: int
    rejected: Sequence[Rejection] = field(default=())


class Dispatcher(Protocol):
    """Hands occurrences over. Delivery is at least once: the same occurrence may come again, under the same key."""

    def dispatch(self, occurrences: Sequence[Occurrence]) -> Dispatched:
        """Hand over, in the order given.

        Returns only once each occurrence is accepted for good, or rejected for good. Raises DispatchFailed when some
        are neither, so that nothing is committed and all of them come again.
        """
        ...
