"""Selection: which occurrences a window holds, oldest first, and which runs are left out."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from everdue.core.lane import EXCESS_RUNS, Bounds, Lane, walk
from everdue.core.moment import from_us
from everdue.core.occurrence import Occurrence
from everdue.core.skip import Reason, Skip

RUNS_AT_ONCE = 50_000
"""A window holds about so many runs, sent or skipped, times ten for the skipped ones; a larger one is cut at a moment
into slices, each committed before the next, so that memory stays bounded and progress survives a crash."""

SKIPS_AT_ONCE = 10 * RUNS_AT_ONCE

RUNS_OF_ONE_AT_ONCE = 10_000
"""What one schedule may have in one selection; its rest comes with the next, so that others do not wait behind it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one selection may hold."""

    runs: int = RUNS_AT_ONCE
    skips: int = SKIPS_AT_ONCE
    runs_of_one: int = RUNS_OF_ONE_AT_ONCE


@dataclass(slots=True, eq=False)
class Selection:
    """What one look at a window found.

    Attributes:
        end_us: where the window ends: where it was asked to, or at the first moment that was not taken.
        occurrences: to send, by due moment, then id.
        skips: not to send, with the reason.
        lanes: what was looked at, each with what it left over.
        more: something was left for the next selection, at once.
        cut_us: when the source was read for the view that this was selected from.
        position: how far the change feed was read for it.
    """

    end_us: int
    occurrences: list[Occurrence] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    lanes: list[Lane] = field(default_factory=list)
    more: bool = False
    cut_us: int | None = None
    position: str | None = None


def select(lanes: Sequence[Lane], end_us: int, bounds: Bounds, limits: Limits) -> Selection:
    """Every run of the lanes before `end_us`, cut to the limits at a moment: runs that share one stay together."""
    selection = Selection(end_us, lanes=list(lanes))
    taken: list[tuple[int, Lane]] = []
    skipped: dict[tuple[int, Reason], list[int]] = {}
    runs = skips = 0
    last_us: int | None = None
    walks = [walk(lane, index, bounds, limits.runs_of_one) for index, lane in enumerate(lanes)]
    for due_us, index, reason in heapq.merge(*walks, key=_moment) if len(walks) > 1 else walks[0] if walks else ():
        if due_us != last_us:
            if runs >= limits.runs or skips >= limits.skips:
                selection.end_us = due_us
                selection.more = True
                break
            last_us = due_us
        lane = selection.lanes[index]
        if reason is None:
            taken.append((due_us, lane))
            runs += len(lane.members)
        else:
            span = skipped.setdefault((index, reason), [due_us, due_us, 0])
            span[1] = due_us
            span[2] += 1
            skips += 1
    selection.occurrences = _occurrences(taken)
    for (index, reason), (first_us, last_skipped_us, count) in skipped.items():
        skip = Skip("", first_us, last_skipped_us + 1, count, reason)
        selection.skips.extend(replace(skip, id=member.id) for member in selection.lanes[index].members)
    for lane in selection.lanes:
        _close_lane(lane, selection)
    return selection


def _close_lane(lane: Lane, selection: Selection) -> None:
    """Say what the lane leaves: to the next selection, or on record for good."""
    end_us = selection.end_us
    if lane.rest_us is not None and lane.rest_us >= end_us:
        lane.rest_us = None  # the window was cut before it
    selection.more = selection.more or lane.rest_us is not None
    ended: list[tuple[int, int, Reason, str]] = []
    if lane.excess_from_us is not None and lane.excess_from_us < end_us:
        ended.append((lane.excess_from_us, 0, "excess", f"more than {EXCESS_RUNS} runs in one window"))
    if lane.failure is not None and lane.failed_from_us < end_us:
        ended.append((lane.failed_from_us, 0, "failed", f"{type(lane.failure).__name__}: {lane.failure}"))
    for first_us, count, reason, detail in ended:
        until_us = max(first_us + 1, min(lane.end_us, end_us))
        selection.skips.extend(Skip(member.id, first_us, until_us, count, reason, detail) for member in lane.members)


def _moment(item: tuple[int, int, Reason | None]) -> int:
    return item[0]


def _occurrences(taken: list[tuple[int, Lane]]) -> list[Occurrence]:
    occurrences: list[Occurrence] = []
    start = 0
    last_us: int | None = None
    for due_us, lane in taken:  # ascending: each moment's runs are put in order by id as the next moment begins
        if due_us != last_us:
            _order_by_id(occurrences, start)
            start = len(occurrences)
            last_us = due_us
            due = from_us(due_us)
        occurrences.extend(Occurrence(m.id, due, m.entry.payload, m.version) for m in lane.members)
    _order_by_id(occurrences, start)
    return occurrences


def _order_by_id(occurrences: list[Occurrence], start: int) -> None:
    if len(occurrences) - start > 1:
        occurrences[start:] = sorted(occurrences[start:], key=_id)


def _id(occurrence: Occurrence) -> str:
    return occurrence.id
