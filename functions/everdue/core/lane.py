"""A lane: one trigger over one span, each of its runs judged to go out or to be left out, and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from everdue.core.listed import Listed
from everdue.core.registered import Past, Registered
from everdue.core.schedule import CatchUp
from everdue.core.skip import Reason
from everdue.core.trigger import InstantTrigger

EXCESS_RUNS = 100_000
"""More than this in one window is excess: one run a second, the most that an item can ask for, has less in a day."""

Judged = tuple[int, Reason | None]
"""A due moment in Unix microseconds, and why it is left out; None: it goes out."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What decides between late, missed and beyond the horizon, in Unix microseconds and microseconds.

    A run due before `now_us - recover` is missed; one due before `now_us - horizon_us` is not caught up at all.
    """

    now_us: int
    recover_us: int
    horizon_us: int


@dataclass(slots=True, eq=False)
class Lane:
    """One trigger's runs in `[start_us, end_us)`, for every schedule that shares it.

    Attributes:
        members: whose runs they are.
        past: the superseded or ended definition, where the lane belongs to one.
        rest_us: set once the lane was cut short: its first run that was not taken.
        excess_from_us: set once it turned out to have too much: from here on its runs are left out.
        failure: set once the trigger raised.
        failed_from_us: from where on it is unknown what was due.
    """

    trigger: InstantTrigger | Listed
    start_us: int
    end_us: int
    members: Sequence[Registered]
    catch_up: CatchUp
    recover_us: int | None
    past: Past | None = None
    sent: tuple[Registered, int] | None = None
    rest_us: int | None = None
    excess_from_us: int | None = None
    failure: Exception | None = None
    failed_from_us: int = 0
    took: int = field(default=0)


def judge(lane: Lane, bounds: Bounds) -> Iterator[Judged]:
    """Every run of the lane in order, each with its verdict."""
    dues = lane.trigger.iterate_us(lane.start_us, lane.end_us)
    if lane.past is not None and lane.past.fate is not None:
        for due_us in dues:
            yield due_us, lane.past.fate
        return
    if not lane.trigger.recurring:  # never dropped by age
        for due_us in dues:
            yield due_us, None
        return
    recover_us = bounds.recover_us if lane.recover_us is None else lane.recover_us
    late_from_us = bounds.now_us - recover_us
    if lane.start_us >= late_from_us:
        for due_us in dues:
            yield due_us, None
        return
    yield from _judge_backlog(lane, dues, bounds, late_from_us)


def _judge_backlog(lane: Lane, dues: Iterator[int], bounds: Bounds, late_from_us: int) -> Iterator[Judged]:
    horizon_from_us = bounds.now_us - bounds.horizon_us
    newest_us: int | None = None  # a missed run, held until it is known whether a later one is due or late
    for due_us in dues:
        if newest_us is not None:
            yield newest_us, "missed" if due_us <= bounds.now_us else None
            newest_us = None
        if due_us >= late_from_us:
            yield due_us, None
        elif due_us < horizon_from_us:
            yield due_us, "horizon"
        elif lane.catch_up == "all":
            yield due_us, None
        elif lane.catch_up == "none":
            yield due_us, "missed"
        else:
            newest_us = due_us
    if newest_us is not None:
        until_us = bounds.now_us + 1 if lane.past is None else min(bounds.now_us + 1, lane.past.until_us)
        later = next(lane.trigger.iterate_us(newest_us + 1, until_us), None)
        yield newest_us, None if later is None else "missed"


def walk(lane: Lane, index: int, bounds: Bounds, at_most: int) -> Iterator[tuple[int, int, Reason | None]]:
    """The lane's judged runs as `(due_us, index, reason)`, so that lanes can be merged by moment.

    Ends early, and says so on the lane, after `at_most` runs that go out, or where the trigger raises or does not move
    on: one bad schedule hurts only itself.
    """
    already = _already_sent(lane)
    from_us = lane.start_us
    try:
        for due_us, reason in judge(lane, bounds):
            if not from_us <= due_us < lane.end_us:
                raise ValueError(f"the trigger answered {due_us} where something in [{from_us}, {lane.end_us}) is next")
            from_us = due_us + 1
            if due_us in already:
                continue
            if reason is None and lane.took >= at_most:
                if _is_excess(lane, due_us):
                    lane.excess_from_us = due_us
                else:
                    lane.rest_us = due_us
                return
            yield due_us, index, reason
            lane.took += reason is None  # counted once it was taken: a merge asks for one more than it may take
    except Exception as error:  # noqa: BLE001 - a trigger is the user's code; whatever it raises is this schedule's alone
        lane.failure = error
        lane.failed_from_us = from_us


def _is_excess(lane: Lane, rest_us: int) -> bool:
    """Whether more is left than any schedule may have in one window.

    Counting is left for when the pace so far says that it may be so: a long catch-up is cut many times.
    """
    pace_us = max(1, (rest_us - lane.start_us) // max(1, lane.took))
    if (lane.end_us - rest_us) // pace_us < EXCESS_RUNS:
        return False
    return sum(1 for _ in islice(lane.trigger.iterate_us(rest_us, lane.end_us), EXCESS_RUNS + 1)) > EXCESS_RUNS


def _already_sent(lane: Lane) -> frozenset[int]:
    """The moments that the definition before this one was sent for: the same key is the same run."""
    if lane.sent is None:
        return frozenset()
    before, until_us = lane.sent
    start_us = before.rode_from_us
    if start_us is None or start_us >= until_us:
        return frozenset()
    try:
        first_us = start_us if not before.trigger.recurring else max(start_us, lane.start_us)
        return frozenset(before.trigger.iterate_us(first_us, until_us))
    except Exception:  # noqa: BLE001 - the older trigger fails: then nothing of it is known to be sent, and keys may repeat
        return frozenset()
