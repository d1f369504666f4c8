"""Where failures go: counted by stage, told to whoever listens, raised where nobody does and nothing can go on."""

from collections.abc import Callable

from everdue.core.signals import Metrics


class Reporter:
    """Where failures go: counted by stage, handed to whoever listens, raised where nobody does and nothing goes on."""

    def __init__(self, metrics: Metrics, on_error: Callable[[Exception], None] | None) -> None:
        self._metrics = metrics
        self._on_error = on_error

    def count(self, stage: str) -> None:
        """Count a failure that is raised, not reported."""
        self._metrics.record("error.total", 1, stage=stage)

    def warn(self, error: Exception, stage: str) -> None:
        """Report a failure that must not stop anything."""
        self.count(stage)
        if self._on_error is not None:
            self._on_error(error)

    def report(self, error: Exception, stage: str) -> None:
        """Report a failure, or raise it where nobody listens."""
        self.warn(error, stage)
        if self._on_error is None:
            raise error
