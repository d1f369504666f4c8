"""What everdue says about itself: every metric, log message and field, worded once.

Metrics go out as CloudWatch embedded metric format on standard output, so that measuring calls no service. The id of a
schedule is a field of a log line, never a dimension: each value of a dimension is a metric of its own on the bill.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from everdue.core.errors import EverdueError, ScheduleRefused
from everdue.core.moment import MAX_US, from_us
from everdue.core.skip import Skip, SkipLog

NAMESPACE = "everdue"
SERVICE = "everdue"

Kind = Literal["each", "sum", "last", "most"]
"""What one invocation makes of many measurements: keeps each, adds them up, keeps the last, or the greatest."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A metric.

    Attributes:
        unit: CloudWatch's word for it.
        kind: how measurements of one invocation come together.
        also_total: measured without its dimension too. An alarm can't add up the values of a dimension.
    """

    unit: MetricUnit
    kind: Kind
    also_total: bool = False


SIGNALS = {
    "dispatch.delay": Signal(MetricUnit.Seconds, "each"),  # from due to handed over
    "dispatch.total": Signal(MetricUnit.Count, "sum"),  # occurrences that the queue accepted
    "entries": Signal(MetricUnit.Count, "last"),  # schedules loaded
    "error.total": Signal(MetricUnit.Count, "sum", also_total=True),  # failures, by stage
    "lag": Signal(MetricUnit.Seconds, "most"),  # how far the true watermark is behind
    "reconcile.duration": Signal(MetricUnit.Seconds, "each"),  # a read of the schedules
    "refused": Signal(MetricUnit.Count, "last"),  # items that can't be schedules
    "skip.total": Signal(MetricUnit.Count, "sum"),  # runs that were due and are not sent, by reason
    "tick.duration": Signal(MetricUnit.Seconds, "each"),  # selecting what is due
}
UNKNOWN = Signal(MetricUnit.NoUnit, "each")

STARTED = "tick built"
LED = "tick led"
STOOD_DOWN = "tick stood down"
FAILED = "tick failed"
REFUSED = "schedule refused"
STAGE_FAILED = "stage failed"
SKIPPED = "runs skipped"
SKIP_LINES = 100
"""How many skips of one commit are logged one by one. All of them are in the table of runs."""
ERROR_CHARS = 1_000
"""How much of an error's text a log line holds: whoever writes a schedule also writes what is wrong with it."""

VALUES_A_BLOB = 99
"""CloudWatch takes arrays of 100 values. One less, since Powertools writes out by itself at 100 and then has nothing
left to flush, which it warns about."""
PENDING_MAX = 20_000
"""Written out early past this many measurements, so that a flood of runs can't fill the function's memory."""

Key = tuple[str, tuple[tuple[str, str], ...]]


class EmfMetrics:
    """A `Metrics` that gathers the measurements of one invocation and writes them out on `flush`.

    Written one by one, 10,000 runs would be 10,000 log lines; gathered, they are 100.
    """

    def __init__(self, stack: str) -> None:
        self._stack = stack
        self._values: dict[Key, list[float]] = defaultdict(list)
        self._pending = 0

    def record(self, name: str, value: float, **dimensions: str) -> None:
        """One measurement; see the port."""
        signal = SIGNALS.get(name, UNKNOWN)
        self._add((name, tuple(sorted(dimensions.items()))), signal.kind, value)
        if dimensions and signal.also_total:
            self._add((name, ()), signal.kind, value)
        if self._pending >= PENDING_MAX:
            self.flush()

    def flush(self) -> None:
        """Write out what was gathered, and forget it."""
        values, self._values, self._pending = self._values, defaultdict(list), 0
        by_dimensions: dict[tuple[tuple[str, str], ...], dict[str, list[float]]] = defaultdict(dict)
        for (name, dimensions), measured in values.items():
            by_dimensions[dimensions][name] = measured
        for dimensions, metrics in by_dimensions.items():
            for blob in _blobs(metrics):
                self._write(dimensions, blob)

    def _add(self, key: Key, kind: Kind, value: float) -> None:
        values = self._values[key]
        if kind == "each" or not values:
            values.append(value)
            self._pending += 1
        elif kind == "sum":
            values[0] += value
        elif kind == "most":
            values[0] = max(values[0], value)
        else:
            values[0] = value

    def _write(self, dimensions: Iterable[tuple[str, str]], metrics: dict[str, list[float]]) -> None:
        blob = EphemeralMetrics(namespace=NAMESPACE, service=SERVICE)
        for dimension, text in (("stack", self._stack), *dimensions):
            blob.add_dimension(name=dimension, value=text)
        for name, values in metrics.items():
            for value in values:
                blob.add_metric(name=name, unit=SIGNALS.get(name, UNKNOWN).unit, value=round(value, 6))
        blob.flush_metrics()


def _blobs(metrics: dict[str, list[float]]) -> Iterator[dict[str, list[float]]]:
    """The same measurements in pieces, none with an array that CloudWatch would not take."""
    start = 0
    while piece := {
        name: values[start : start + VALUES_A_BLOB] for name, values in metrics.items() if len(values) > start
    }:
        yield piece
        start += VALUES_A_BLOB


@lru_cache(maxsize=1)
def logger() -> Logger:
    """The one logger: JSON lines on standard output. Made on first use, since making it reads the environment."""
    return Logger(service=SERVICE)


def log_error(error: Exception, message: str = STAGE_FAILED) -> None:
    """Log a failure.

    An error raised on purpose says all there is to say; any other one is a fault of ours and comes with its traceback.
    """
    fields: dict[str, Any] = {"error_type": type(error).__name__, "error": str(error)[:ERROR_CHARS]}
    if isinstance(error, ScheduleRefused):
        logger().warning(REFUSED, extra={"schedule": error.schedule, **fields, "attribute": error.attribute})
    elif isinstance(error, EverdueError):
        logger().error(message, extra=fields)
    else:
        logger().error(message, extra=fields, exc_info=error)


class LoggedSkips:
    """A `SkipLog` that also says on the log what another one keeps."""

    def __init__(self, skip_log: SkipLog) -> None:
        self._skip_log = skip_log

    def record(self, skips: Sequence[Skip]) -> None:
        """Put them on record, then log them. Raises SkipLogFailed as the other does."""
        self._skip_log.record(skips)
        for skip in skips[:SKIP_LINES]:
            logger().warning(
                SKIPPED,
                extra={
                    "schedule": skip.id,
                    "reason": skip.reason,
                    "count": skip.count,
                    "span_start": from_us(skip.start_us).isoformat(),
                    "span_end": from_us(min(skip.end_us, MAX_US)).isoformat(),
                    "detail": skip.detail[:ERROR_CHARS],
                },
            )
        if len(skips) > SKIP_LINES:
            logger().warning(SKIPPED, extra={"more_schedules": len(skips) - SKIP_LINES})
