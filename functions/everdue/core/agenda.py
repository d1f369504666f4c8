"""The agenda: an index of what is due next, so that a tick costs what is due and not what exists.

Schedules that ride the watermark under equal triggers and equal terms form one group: the trigger is asked once for
all of them. A heap holds the groups by their next due moment.
"""

import heapq
from dataclasses import dataclass, field

from everdue.core.listed import Listed
from everdue.core.registered import Registered
from everdue.core.schedule import CatchUp
from everdue.core.trigger import InstantTrigger

GroupKey = tuple[InstantTrigger | Listed, CatchUp, int | None]


@dataclass(slots=True, eq=False)
class Group:
    """Schedules that fall due together.

    Attributes:
        next_us: nothing is due before it; None: nothing is left.
        stamp: raised whenever `next_us` changes, so that older places in the heap are known to be stale.
    """

    trigger: InstantTrigger | Listed
    catch_up: CatchUp
    recover_us: int | None
    members: dict[str, Registered] = field(default_factory=dict)
    next_us: int | None = None
    stamp: int = 0


class Agenda:
    """What rides the watermark, by what is due next.

    Everything due before the cursor was sent or is on record; nothing is known before the cursor is first set.
    """

    def __init__(self) -> None:
        self._groups: dict[GroupKey, Group] = {}
        self._heap: list[tuple[int, int, int, Group]] = []
        self._serial = 0
        self._failing: dict[GroupKey, Group] = {}
        self._done: dict[str, Registered] = {}
        self._cursor_us: int | None = None

    @property
    def done(self) -> int:
        """How many one-shots have nothing left to run."""
        return len(self._done)

    def add(self, registered: Registered) -> None:
        """Let a schedule ride the watermark from the cursor on. O(log n)."""
        key = (registered.trigger, registered.catch_up, registered.recover_us)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(*key)
            self._place(key, group)
        group.members[registered.id] = registered
        if self._is_done(group):
            self._done[registered.id] = registered

    def discard(self, registered: Registered) -> bool:
        """Take a schedule out; False when it was not in. O(1)."""
        key = (registered.trigger, registered.catch_up, registered.recover_us)
        group = self._groups.get(key)
        if group is None or group.members.get(registered.id) is not registered:
            return False
        del group.members[registered.id]
        self._done.pop(registered.id, None)
        if not group.members:
            del self._groups[key]
            self._failing.pop(key, None)
            group.stamp += 1
        return True

    def next_us(self) -> int | None:
        """Nothing is due before this moment; None: nothing is left. A failing trigger does not count."""
        self._drop_stale()
        return self._heap[0][0] if self._heap else None

    def due(self, end_us: int) -> list[Group]:
        """The groups that may have something due before `end_us`, and those whose trigger fails."""
        places = []
        found = list(self._failing.values())
        while self._heap and self._heap[0][0] < end_us:
            place = heapq.heappop(self._heap)
            if place[2] == place[3].stamp:
                found.append(place[3])
                places.append(place)
        for place in places:
            heapq.heappush(self._heap, place)
        return found

    def finish(self, registered: Registered) -> None:
        """A one-shot's run went out."""
        self._done[registered.id] = registered

    def move_to(self, cursor_us: int) -> None:
        """Set the cursor. Forward costs what fell due in between; back, which a lost claim alone does, costs all."""
        if self._cursor_us is None or cursor_us < self._cursor_us:
            self._cursor_us = cursor_us
            self._heap.clear()
            self._failing.clear()
            self._done.clear()
            for key, group in self._groups.items():
                self._place(key, group)
                self._note_done(group)
            return
        self._cursor_us = cursor_us
        for key in list(self._failing):
            self._place(key, self._failing.pop(key))
        while self._heap and self._heap[0][0] < cursor_us:
            _, _, stamp, group = heapq.heappop(self._heap)
            if stamp == group.stamp:
                self._place((group.trigger, group.catch_up, group.recover_us), group)
                self._note_done(group)

    def _place(self, key: GroupKey, group: Group) -> None:
        group.stamp += 1
        if self._cursor_us is None:
            return
        try:
            group.next_us = group.trigger.next_us(self._cursor_us)
        except Exception:  # noqa: BLE001 - the user's code; its window reports the failure
            self._failing[key] = group
            return
        if (
            group.next_us is not None and group.next_us < self._cursor_us
        ):  # it does not move on: the same kind of failure
            self._failing[key] = group
            return
        if group.next_us is not None:
            self._serial += 1
            heapq.heappush(self._heap, (group.next_us, self._serial, group.stamp, group))

    def _is_done(self, group: Group) -> bool:
        return self._cursor_us is not None and group.next_us is None and not group.trigger.recurring

    def _note_done(self, group: Group) -> None:
        if self._is_done(group):
            self._done.update(group.members)

    def _drop_stale(self) -> None:
        while self._heap and self._heap[0][2] != self._heap[0][3].stamp:
            heapq.heappop(self._heap)
