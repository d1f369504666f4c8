"""Coverage: what is selected from where, what was sent, and how far the watermark may therefore move."""

from everdue.core.lane import Bounds, Lane
from everdue.core.moment import MIN_US
from everdue.core.registered import Past, Registered
from everdue.core.roster import Roster
from everdue.core.selection import Limits, Selection, select


class Coverage:
    """A roster and a cursor: everything that rides the watermark is covered up to the cursor.

    The cursor may be ahead of the committed watermark; a crash then repeats what lies between, under the same keys.

    Attributes:
        cursor_us: None until this process led.
        cut_us, position: the read of the source that fed everything up to the cursor.
    """

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self.cursor_us: int | None = None
        self.cut_us: int | None = None
        self.position: str | None = None

    def lead(self, covered_us: int, known_us: int | None, position: str | None) -> None:
        """Start from a claim that somebody else wrote last."""
        self.cursor_us = covered_us
        self.cut_us = known_us
        self.position = position
        self._roster.lead(covered_us, known_us)

    def next_us(self) -> int | None:
        """Nothing is due before this moment, as far as the view shows; None: nothing is left."""
        assert self.cursor_us is not None  # noqa: S101 - callers lead; mypy needs to know it
        moments = [self._roster.agenda.next_us()]
        moments += [self._next_of(stray, None) for stray in self._roster.strays.values() if not stray.failing]
        moments += [self._next_of(past.registered, past.until_us) for past in self._roster.pasts if past.fate is None]
        return min((moment for moment in moments if moment is not None), default=None)

    def select(self, end_us: int, bounds: Bounds, limits: Limits) -> Selection:
        """What is due before `end_us` and not yet sent: of riders from the cursor, of others from their own coverage.

        Changes nothing: the same call gives the same selection, until `advance`.
        """
        selection = select(self._lanes(end_us), end_us, bounds, limits)
        selection.cut_us = self._roster.cut_us
        return selection

    def advance(self, selection: Selection) -> None:
        """The selection was sent, and its skips are on record or will be before the commit."""
        assert self.cursor_us is not None  # noqa: S101 - as above
        self.cursor_us = max(self.cursor_us, selection.end_us)
        self._roster.agenda.move_to(self.cursor_us)
        for lane in selection.lanes:
            if lane.past is not None:
                self._advance_past(lane.past, lane, selection.end_us)
            else:
                for member in lane.members:
                    self._advance_member(member, lane, selection.end_us)
        self.cut_us = selection.cut_us
        self.position = selection.position

    def committable_us(self, covered_us: int) -> tuple[int, bool]:
        """How far the watermark may move from `covered_us`, and whether some owed run lies behind even that.

        It stops at the first unsent moment of anything that has a coverage of its own. Runs owed behind the watermark
        itself can't be told by it: while there are any, the claim must go on naming the older read of the source, so
        that a successor owes them too.
        """
        assert self.cursor_us is not None  # noqa: S101 - as above
        reach_us = self.cursor_us
        behind = False
        # A failing trigger holds nobody up: its loss is on record.
        owed = [stray.owed_from_us for stray in self._roster.strays.values() if not stray.failing]
        owed += [past.registered.owed_from_us for past in self._roster.pasts if past.owes()]
        for owed_from_us in owed:
            if owed_from_us is None:
                continue
            reach_us = min(reach_us, owed_from_us)
            behind = behind or owed_from_us < covered_us
        return max(reach_us, covered_us), behind

    def committed(self, covered_us: int) -> None:
        """The watermark is there now."""
        self._roster.forget(covered_us)

    def _lanes(self, end_us: int) -> list[Lane]:
        cursor_us = self.cursor_us
        if cursor_us is None:
            return []
        lanes = []
        if cursor_us < end_us:
            for group in self._roster.agenda.due(end_us):
                members = list(group.members.values())
                lanes.append(Lane(group.trigger, cursor_us, end_us, members, group.catch_up, group.recover_us))
        for stray in self._roster.strays.values():
            lanes += self._own_lane(stray, end_us, None)
        for past in self._roster.pasts:
            lanes += self._own_lane(past.registered, min(end_us, past.until_us), past)
        return lanes

    def _own_lane(self, registered: Registered, end_us: int, past: Past | None) -> list[Lane]:
        start_us = self._start_us(registered)
        if start_us >= end_us:
            return []
        return [Lane(registered.trigger, start_us, end_us, (registered,), registered.catch_up, registered.recover_us,
                     past, registered.sent)]  # fmt: skip

    def _start_us(self, registered: Registered) -> int:
        if registered.reaches_back:
            return MIN_US
        if registered.owed_from_us is not None:
            return registered.owed_from_us
        assert self.cursor_us is not None  # noqa: S101 - as above
        return self.cursor_us

    def _next_of(self, registered: Registered, until_us: int | None) -> int | None:
        try:
            next_us = registered.trigger.next_us(self._start_us(registered))
        except Exception:  # noqa: BLE001 - the user's code; its window reports the failure
            return None
        return None if next_us is None or (until_us is not None and next_us >= until_us) else next_us

    def _advance_member(self, member: Registered, lane: Lane, end_us: int) -> None:
        roster = self._roster
        if roster.entries.get(member.id) is not member:
            return  # replaced since it was selected: what replaced it has its own coverage
        stray = roster.strays.get(member.id) is member
        member.failing = lane.failure is not None
        left_us = lane.failed_from_us if member.failing else lane.rest_us
        assert self.cursor_us is not None  # noqa: S101 - as above
        if left_us is None and stray and (end_us < self.cursor_us or end_us < lane.start_us):
            left_us = max(end_us, lane.start_us)  # the window ended while it catches up, or before it begins
        if left_us is not None:
            if not stray:
                roster.agenda.discard(member)
                roster.strays[member.id] = member
            member.owed_from_us = left_us
            member.reaches_back = False
        elif stray:
            del roster.strays[member.id]
            member.ride()
            roster.agenda.add(member)
        if lane.took and left_us is None and not member.trigger.recurring:
            roster.agenda.finish(member)

    def _advance_past(self, past: Past, lane: Lane, end_us: int) -> None:
        registered = past.registered
        if lane.failure is not None:
            registered.owed_from_us = past.until_us  # it is over, and its failure is on record
        else:
            registered.owed_from_us = (
                max(min(lane.end_us, end_us), lane.start_us) if lane.rest_us is None else lane.rest_us
            )
        registered.reaches_back = False
