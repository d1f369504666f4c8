"""Measurements and log lines: none lost, none too long for CloudWatch, no id as a dimension."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from everdue import observe
from everdue.core.errors import ScheduleRefused, SourceFailed
from everdue.observe import EmfMetrics

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _fresh_logger(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A logger keeps the standard output that it found when it was made: each test has one of its own."""
    monkeypatch.setattr(observe, "SERVICE", f"everdue-{uuid.uuid4()}")
    observe.logger.cache_clear()
    yield
    observe.logger.cache_clear()


def lines(capsys: Capture) -> list[dict[str, Any]]:
    """What was written to standard output, parsed."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def values(blobs: list[dict[str, Any]], name: str) -> list[float]:
    """All values of a metric, over all blobs."""
    return [value for blob in blobs for value in blob.get(name, [])]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("count", [1, 99, 100, 101, 10_000, 45_000])
def test_every_delay_of_a_burst_is_written_in_arrays_that_cloudwatch_takes(capsys: Capture, count: int) -> None:
    """CloudWatch drops a blob whose array is longer than 100 values, without a word."""
    metrics = EmfMetrics("stack")
    for number in range(count):
        metrics.record("dispatch.delay", number / 1_000)
    metrics.flush()
    blobs = lines(capsys)
    assert max(len(blob["dispatch.delay"]) for blob in blobs) <= 100
    assert sorted(values(blobs, "dispatch.delay")) == pytest.approx([number / 1_000 for number in range(count)])


def test_counts_add_up_levels_keep_the_last_and_lag_the_worst(capsys: Capture) -> None:
    """One invocation measures each of these many times."""
    metrics = EmfMetrics("stack")
    for value in (3, 5, 4):
        metrics.record("dispatch.total", value)
        metrics.record("entries", value)
        metrics.record("lag", value)
    metrics.flush()
    blobs = lines(capsys)
    assert (values(blobs, "dispatch.total"), values(blobs, "entries"), values(blobs, "lag")) == ([12], [4], [5])


def test_errors_are_counted_by_stage_and_altogether(capsys: Capture) -> None:
    """An alarm can't add up the values of a dimension."""
    metrics = EmfMetrics("stack")
    metrics.record("error.total", 1, stage="claim")
    metrics.record("error.total", 1, stage="make")
    metrics.flush()
    found = {
        (frozenset(blob["_aws"]["CloudWatchMetrics"][0]["Dimensions"][0]), blob.get("stage"), blob["error.total"][0])
        for blob in lines(capsys)
    }
    alone, staged = frozenset({"service", "stack"}), frozenset({"service", "stack", "stage"})
    assert found == {(alone, None, 2.0), (staged, "claim", 1.0), (staged, "make", 1.0)}


def test_flushing_forgets(capsys: Capture) -> None:
    """The next invocation of a warm environment must not count this one's runs again."""
    metrics = EmfMetrics("stack")
    metrics.record("dispatch.total", 1)
    metrics.flush()
    metrics.flush()
    assert len(lines(capsys)) == 1


def test_every_signal_has_a_unit_and_a_dotted_name() -> None:
    """They are what dashboards and alarms are made of."""
    contract = [
        "dispatch.delay",
        "tick.duration",
        "reconcile.duration",
        "dispatch.total",
        "entries",
        "error.total",
        "lag",
        "skip.total",
    ]
    assert set(contract) <= observe.SIGNALS.keys()


def test_a_refused_schedule_is_a_warning_that_names_the_attribute(capsys: Capture) -> None:
    """It is its writer's to mend, and nobody's to be woken for."""
    observe.log_error(ScheduleRefused("cron is '61 * * * *'", attribute="cron"))
    (line,) = lines(capsys)
    assert (line["level"], line["message"], line["attribute"]) == ("WARNING", "schedule refused", "cron")


def test_a_failure_of_a_service_says_so_without_a_traceback(capsys: Capture) -> None:
    """What is raised on purpose says all there is to say."""
    observe.log_error(SourceFailed("schedules table x can't be read"))
    (line,) = lines(capsys)
    assert (line["level"], line["error_type"]) == ("ERROR", "SourceFailed")
    assert "exception" not in line


def test_a_fault_of_ours_comes_with_its_traceback(capsys: Capture) -> None:
    """Nobody could find it otherwise."""
    try:
        raise ZeroDivisionError("division by zero")
    except ZeroDivisionError as error:
        observe.log_error(error)
    (line,) = lines(capsys)
    assert "ZeroDivisionError" in line["exception"]


def test_text_from_an_item_stays_one_field_of_one_line(capsys: Capture) -> None:
    """Whoever writes a schedule must not write log lines."""
    observe.log_error(ScheduleRefused('x\n{"level": "CRITICAL"}\x1b[2J' + "y" * 5_000, attribute="id"))
    (line,) = lines(capsys)
    assert line["level"] == "WARNING"
    assert len(line["error"]) <= observe.ERROR_CHARS
