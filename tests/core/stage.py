"""Several processes in one virtual time: each runs alone until it sleeps, and the one that wakes first goes next."""

import heapq
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Killed(BaseException):
    """The process ends here, as a kill does: no handler of the code under test may run on."""


class StageClock:
    """One process's clock: its wall may be off the stage's time by `offset_us`."""

    def __init__(self, stage: "Stage", offset_us: int = 0) -> None:
        self._stage = stage
        self.offset_us = offset_us

    def now(self) -> datetime:
        return EPOCH + timedelta(microseconds=self._stage.time_us + self.offset_us)

    def monotonic_us(self) -> int:
        return self._stage.time_us

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            self._stage.sleep(round(seconds * 1_000_000))


class Process:
    """One thread of the stage, its result or what ended it."""

    def __init__(self, stage: "Stage", work: Callable[[], Any]) -> None:
        self.baton = threading.Event()
        self.killed = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.ended_us: int | None = None
        self._stage = stage
        self._work = work
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        self.baton.wait()
        try:
            if not self.killed:
                self.result = self._work()
        except BaseException as error:  # noqa: BLE001 - whatever ends it is the result
            self.error = error
        self.ended_us = self._stage.time_us
        self._stage.current = None
        self._stage.idle.set()


class Stage:
    """Virtual time, and whose turn it is."""

    def __init__(self, start: datetime) -> None:
        self.time_us = (start - EPOCH) // timedelta(microseconds=1)
        self.current: Process | None = None
        self.idle = threading.Event()
        self._heap: list[tuple[int, int, Process | Callable[[], Any]]] = []
        self._count = 0

    def at(self, moment: datetime, work: Callable[[], Any], *, process: bool = True) -> Process | None:
        """Begin `work` at a moment: as a process of its own, or as a thing that happens at once."""
        us = (moment - EPOCH) // timedelta(microseconds=1)
        one = Process(self, work) if process else None
        if one is not None:
            one.thread.start()
        self._push(us, one if one is not None else work)
        return one

    def kill(self, process: Process) -> None:
        """End a process that sleeps, where it sleeps, now."""
        process.killed = True
        self._push(self.time_us, process)

    def sleep(self, us: int) -> None:
        """Called on a process's thread: give way until so much time passed."""
        me = self.current
        assert me is not None
        self._push(self.time_us + us, me)
        self.current = None
        me.baton.clear()
        self.idle.set()
        me.baton.wait()
        if me.killed:
            raise Killed

    def run(self, until: datetime) -> None:
        """Let everything happen up to a moment."""
        end_us = (until - EPOCH) // timedelta(microseconds=1)
        while self._heap and self._heap[0][0] <= end_us:
            us, _, what = heapq.heappop(self._heap)
            self.time_us = max(self.time_us, us)
            if not isinstance(what, Process):
                what()
                continue
            if what.ended_us is not None:
                continue
            self.idle.clear()
            self.current = what
            what.baton.set()
            assert self.idle.wait(60), "a process neither sleeps nor ends"
        self.time_us = max(self.time_us, end_us)

    def _push(self, us: int, what: Process | Callable[[], Any]) -> None:
        self._count += 1
        heapq.heappush(self._heap, (us, self._count, what))
