"""One heap of moments, one baton: tasks that block like production code, in an order that a seed decides.

Each task is a thread, and exactly one of them runs at a time, so that the code under test needs no change and the same
seed gives the same run. A task that is killed sees `Killed` from whatever it waits for, and from every call after it.
"""

import heapq
import threading
from collections.abc import Callable


class Killed(BaseException):
    """The process is dead. Not an Exception: nothing under test may catch it and go on."""


class Task:
    """Something that runs and waits."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.killed = False
        self.done = False
        self.turn = threading.Semaphore(0)
        self.wake = 0  # which of its wake-ups counts: an older one is stale
        self.failure: BaseException | None = None


class Kernel:
    """The time, and whose turn it is."""

    def __init__(self, start_us: int) -> None:
        self.now_us = start_us
        self.trace: list[str] | None = None
        self._heap: list[tuple[int, int, Callable[[], object] | None, Task | None, int]] = []
        self._serial = 0
        self._main = Task("main")
        self._tasks: list[Task] = []
        self._closing = False

    def note(self, text: str) -> None:
        """A line of the trace, if one is kept."""
        if self.trace is not None:
            self.trace.append(f"{self.now_us / 1e6:.6f} {text}")

    def at(self, moment_us: int, callback: Callable[[], object]) -> None:
        """Call that at that moment. It must not wait."""
        self._push(moment_us, callback, None, 0)

    def spawn(self, name: str, body: Callable[[Task], object]) -> Task:
        """A new task, whose turn comes now."""
        task = Task(name)

        def run() -> None:
            task.turn.acquire()
            try:
                if not task.killed:
                    body(task)
            except Killed:
                pass
            except BaseException as failure:  # noqa: BLE001 - the run reports it
                task.failure = failure
            task.done = True
            if self._closing:
                self._main.turn.release()
            else:
                following = self._next(None)
                assert following is not None
                following.turn.release()

        threading.Thread(target=run, daemon=True, name=name).start()
        self._tasks = [other for other in self._tasks if not other.done]
        self._tasks.append(task)
        self._push(self.now_us, None, task, task.wake)
        return task

    def pause(self, task: Task, duration_us: int) -> None:
        """Let time pass for this task."""
        if task.killed:
            raise Killed
        self._push(self.now_us + max(0, duration_us), None, task, task.wake)
        following = self._next(task)
        if following is not task:
            assert following is not None
            following.turn.release()
            task.turn.acquire()
        if task.killed:
            raise Killed

    def kill(self, task: Task) -> None:
        """The task dies now: it wakes only to find that out."""
        if task.done or task.killed:
            return
        task.killed = True
        task.wake += 1
        self._push(self.now_us, None, task, task.wake)

    def run(self, until_us: int) -> None:
        """Let everything run until that moment, then end every task."""
        self._push(until_us, None, self._main, self._main.wake)
        following = self._next(self._main)
        if following is not self._main:
            assert following is not None
            following.turn.release()
            self._main.turn.acquire()
        self._closing = True
        for task in self._tasks:
            if not task.done:
                task.killed = True
                task.turn.release()
                self._main.turn.acquire()

    def _push(self, moment_us: int, callback: Callable[[], object] | None, task: Task | None, wake: int) -> None:
        self._serial += 1
        heapq.heappush(self._heap, (moment_us, self._serial, callback, task, wake))

    def _next(self, current: Task | None) -> Task | None:
        while True:
            moment_us, _, callback, task, wake = heapq.heappop(self._heap)
            self.now_us = max(self.now_us, moment_us)
            if callback is not None:
                callback()
            elif task is not None and not task.done and wake == task.wake:
                task.wake += 1
                return task
