"""A dispatcher that is a list, with refusals and failures on request."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from everdue.core.clock import Clock
from everdue.core.dispatcher import Dispatched, Rejection
from everdue.core.errors import DispatchFailed
from everdue.core.occurrence import Occurrence


@dataclass(frozen=True, slots=True)
class Sent:
    """An occurrence as it was accepted, and the moment by the dispatcher's clock; None without a clock."""

    occurrence: Occurrence
    moment: datetime | None


class MemoryDispatcher:
    """A `Dispatcher` that keeps what it is handed.

    Args:
        clock: stamps what is sent.
        deduplicate: accept a key that was sent before and drop it, as a FIFO queue does within five minutes (here for
            ever).

    Attributes:
        sent: what was accepted, in order.
        swallowed: what was accepted and dropped as a duplicate.
        calls: how many times `dispatch` was called.
    """

    def __init__(self, *, clock: Clock | None = None, deduplicate: bool = False) -> None:
        self.sent: list[Sent] = []
        self.swallowed: list[Occurrence] = []
        self.calls = 0
        self._clock = clock
        self._deduplicate = deduplicate
        self._keys: set[str] = set()
        self._refused: dict[str, str] = {}
        self._failing: list[tuple[int, Exception]] = []
        self.on_dispatch: Callable[[Sequence[Occurrence]], object] | None = None
        """Called before anything is accepted, for instance to crash or to move a clock."""

    def dispatch(self, occurrences: Sequence[Occurrence]) -> Dispatched:
        """Accept everything but what is refused; raise what was asked for with `fail`."""
        self.calls += 1
        if self.on_dispatch is not None:
            self.on_dispatch(occurrences)
        failing = self._failing.pop(0) if self._failing else None
        accepted = 0
        rejected: list[Rejection] = []
        for count, occurrence in enumerate(occurrences):
            if failing is not None and count == failing[0]:
                raise failing[1]
            if occurrence.id in self._refused:
                rejected.append(Rejection(occurrence, self._refused[occurrence.id]))
                continue
            self._accept(occurrence)
            accepted += 1
        if failing is not None:
            raise failing[1]
        return Dispatched(accepted, tuple(rejected))

    def refuse(self, id: str, reason: str = "refused") -> None:  # noqa: A002 - `id` is the attribute's name everywhere
        """Reject every occurrence of this schedule from now on."""
        self._refused[id] = reason

    def accept(self, id: str) -> None:  # noqa: A002
        """Undo `refuse`."""
        self._refused.pop(id, None)

    def fail(self, after: int = 0, *, error: Exception | None = None, times: int = 1) -> None:
        """Let the next calls raise `error` (a DispatchFailed) once so many occurrences are accepted or rejected."""
        self._failing.extend([(after, error or DispatchFailed("the queue is down"))] * times)

    @property
    def occurrences(self) -> list[Occurrence]:
        """What was accepted, in order."""
        return [sent.occurrence for sent in self.sent]

    @property
    def keys(self) -> list[str]:
        """The keys of what was accepted, in order."""
        return [sent.occurrence.key for sent in self.sent]

    def _accept(self, occurrence: Occurrence) -> None:
        if self._deduplicate and occurrence.key in self._keys:
            self.swallowed.append(occurrence)
            return
        self._keys.add(occurrence.key)
        self.sent.append(Sent(occurrence, None if self._clock is None else self._clock.now()))
