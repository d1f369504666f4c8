"""What every clock promises."""

from datetime import UTC, timedelta
from typing import Any

import pytest

from everdue.core.clock import MonotonicClock, SystemClock
from everdue.testing import ManualClock


@pytest.fixture(params=["manual", "system"])
def clock(request: pytest.FixtureRequest) -> Any:
    return ManualClock() if request.param == "manual" else SystemClock()


def test_now_is_aware_and_in_utc(clock: MonotonicClock) -> None:
    """A naive moment means another one on the next machine."""
    assert clock.now().tzinfo is UTC


def test_sleeping_moves_both_clocks(clock: MonotonicClock) -> None:
    """By at least what was asked for: waking early would send a run before its moment."""
    wall, steady = clock.now(), clock.monotonic_us()
    clock.sleep(0.02)
    assert clock.now() - wall >= timedelta(seconds=0.02)
    assert clock.monotonic_us() - steady >= 20_000


@pytest.mark.parametrize("seconds", [0, -1, -0.001])
def test_a_wait_that_is_over_returns_at_once(clock: MonotonicClock, seconds: float) -> None:
    """A moment that has passed meanwhile is no error."""
    clock.sleep(seconds)


def test_a_clock_that_can_be_measured_on_says_so(clock: Any) -> None:
    """Cadences need it, and the core asks."""
    assert isinstance(clock, MonotonicClock)
