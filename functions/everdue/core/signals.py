"""Metrics port: what the core measures about itself. The words for each signal stand in `everdue.observe`."""

from typing import Protocol


class Metrics(Protocol):
    """A sink for measurements."""

    def record(self, name: str, value: float, **dimensions: str) -> None:
        """One measurement. Names: `dispatch.delay`, `tick.duration`, `reconcile.duration`, `lag` (seconds);
        `dispatch.total`, `error.total` (by `stage`), `skip.total` (by `reason`) (counts); `entries` (level)."""
        ...


class NoMetrics:
    """Measures nothing."""

    def record(self, name: str, value: float, **dimensions: str) -> None:
        """Drop the measurement."""
