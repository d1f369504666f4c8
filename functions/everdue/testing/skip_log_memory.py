"""A skip log that is a list."""

from collections.abc import Sequence

from everdue.core.errors import SkipLogFailed
from everdue.core.skip import Skip


class MemorySkipLog:
    """A `SkipLog` in memory. The same skip twice is one record."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, int, str], Skip] = {}
        self._failing: list[Exception] = []

    def record(self, skips: Sequence[Skip]) -> None:
        """Keep the skips; one of the same schedule, start and reason replaces the one before."""
        if self._failing:
            raise self._failing.pop(0)
        for skip in skips:
            self._records[skip.id, skip.start_us, skip.reason] = skip

    def fail(self, *, error: Exception | None = None, times: int = 1) -> None:
        """Let the next calls raise `error` (a SkipLogFailed) and keep nothing."""
        self._failing.extend([error or SkipLogFailed("the skip log is down")] * times)

    @property
    def skips(self) -> list[Skip]:
        """What is on record, in the order of its first record."""
        return list(self._records.values())

    def of(self, id: str) -> list[Skip]:  # noqa: A002 - `id` is the attribute's name everywhere
        """What is on record for one schedule."""
        return [skip for skip in self._records.values() if skip.id == id]
