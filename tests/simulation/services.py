"""The services under the ports, and a process's unreliable way to them.

A service acts in one instant. The way there may fail before it acts, act and lose the answer, be slow, or be where the
process dies. Nothing here decides what is due.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from kernel import Kernel, Killed, Task

from everdue.core.claim import Claim, Milestone
from everdue.core.dispatcher import Dispatched, Rejection
from everdue.core.errors import ClaimFailed, DispatchFailed, SkipLogFailed, SourceFailed
from everdue.core.occurrence import Occurrence
from everdue.core.schedule import Entry, Row
from everdue.core.skip import Skip

T = TypeVar("T")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def us(moment: datetime) -> int:
    """Unix microseconds."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def moment(micros: int) -> datetime:
    """The moment of Unix microseconds."""
    return EPOCH + timedelta(microseconds=micros)


@dataclass(frozen=True)
class Sent:
    """What the queue accepted."""

    at_us: int
    host: Host
    viewed_us: int  # when the sender's last complete read of the source began
    id: str
    due_us: int
    version: str


@dataclass(frozen=True)
class Recorded:
    """What the skip log was told."""

    at_us: int
    host: Host
    skip: Skip


@dataclass
class Faults:
    """How likely each call meets each misfortune; zero everywhere is a quiet world."""

    crash: float = 0.0
    fail: float = 0.0
    lost_answer: float = 0.0
    slow: float = 0.0
    freeze: float = 0.0


class Services:
    """Everything that outlives a process."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.claim: Claim | None = None
        self.milestone: Milestone | None = None
        self.rows: dict[str, Row] = {}
        self.sent: list[Sent] = []
        self.recorded: list[Recorded] = []
        self.down: dict[str, int] = {}  # service: until when
        self.poison: set[str] = set()
        self.violations: list[str] = []
        self.on_commit: Callable[[Host, Claim | None, Claim], None] | None = None
        self.on_call: Callable[[Host, str, str], None] | None = None
        self.faults = Faults()
        self.calls: dict[str, int] = {}
        self.met: dict[str, int] = {}

    def count(self, what: str) -> None:
        """One more of a misfortune: a simulation that never meets a case proves nothing about it."""
        self.met[what] = self.met.get(what, 0) + 1


class Host:
    """One process: its clock, its way to the services, and what it was shown. It is all of the ports at once."""

    def __init__(self, name: str, services: Services, rng: random.Random, offset_us: int = 0) -> None:
        self.name = name
        self.services = services
        self.kernel = services.kernel
        self.offset_us = offset_us
        self.stepped_us = -(10**18)
        self.known: set[tuple[str, str]] = set()
        self.viewed_us = -1
        self.task: Task = Task(name)
        self.scheduler: Any = None
        self._rng = rng
        self._skew_us: int | None = None

    # --- the clock ---

    def now(self) -> datetime:
        """This machine's wall clock."""
        return moment(self.kernel.now_us + self.offset_us)

    def monotonic_us(self) -> int:
        """Time that passed, whatever the wall clock did."""
        return self.kernel.now_us

    def sleep(self, seconds: float) -> None:
        """Wait."""
        if self.task.killed:
            raise Killed
        if seconds > 0:
            self.kernel.pause(self.task, max(1, round(seconds * 1_000_000)))

    # --- the way to a service ---

    def call(self, service: str, error: type[Exception], act: Callable[[], T]) -> T:
        """One request and its answer."""
        services, rng, faults = self.services, self._rng, self.services.faults
        if self.task.killed:
            raise Killed
        if services.on_call is not None:
            services.on_call(self, service, "before")
        self._die(rng.random() < faults.crash, "crash before a call")
        delay_us = 2_000 + int(rng.random() * 15_000)
        if rng.random() < faults.slow:
            services.count("slow call")
            delay_us += int(rng.random() * 4_000_000)
        if rng.random() < faults.freeze:
            services.count("freeze")
            delay_us += int(rng.uniform(5_000_000, 200_000_000))
        self.kernel.pause(self.task, delay_us)
        if services.down.get(service, 0) > self.kernel.now_us:
            services.count(f"{service} down")
            raise error(f"{service} is down")
        if rng.random() < faults.fail:
            services.count("call failed")
            raise error(f"{service} did not answer")
        services.calls[service] = services.calls.get(service, 0) + 1
        result = act()
        if rng.random() < faults.lost_answer:
            services.count("answer lost")
            raise error(f"{service} acted and its answer was lost")
        self._die(rng.random() < faults.crash, "crash after a call")
        if services.on_call is not None:
            services.on_call(self, service, "after")
        return result

    def _die(self, now: bool, how: str) -> None:
        if now:
            self.services.count(how)
            self.kernel.note(f"{self.name} dies: {how}")
            self.task.killed = True
            raise Killed

    # --- claim store, milestone store, service clock ---

    def load(self) -> Claim | None:
        """Strongly consistent."""
        return self.call("claim", ClaimFailed, self._load)

    def _load(self) -> Claim | None:
        self._see_date()
        return self.services.claim

    def swap(self, expected: Claim | None, next: Claim) -> bool:  # noqa: A002
        """Compare and swap on the revision. A lost answer is told apart, as the nonce would: by looking."""
        return self.call("claim", ClaimFailed, lambda: self._swap(expected, next))

    def _swap(self, expected: Claim | None, following: Claim) -> bool:
        self._see_date()
        services = self.services
        stored = services.claim
        if (None if stored is None else stored.revision) != (None if expected is None else expected.revision):
            services.count("swap refused")
            return False
        services.claim = replace(following, revision=(0 if expected is None else expected.revision) + 1)
        self.kernel.note(f"{self.name} writes {services.claim.token or '(released)'} covered {following.covered_until}")
        if following.covered_until is None:
            services.violations.append("a claim without coverage was written")
        elif stored is not None and stored.covered_until is not None and following.covered_until < stored.covered_until:
            services.violations.append(f"{self.name} moved coverage back: {stored} -> {following}")
        if services.on_commit is not None:
            services.on_commit(self, stored, services.claim)
        return True

    def _see_date(self) -> None:
        date_us = self.kernel.now_us // 1_000_000 * 1_000_000
        local_us = self.kernel.now_us + self.offset_us
        self._skew_us = min(0, local_us - date_us) or max(0, local_us - date_us - 1_000_000)

    def skew_us(self) -> int | None:
        """What the last answer's date says."""
        return self._skew_us

    def load_milestone(self) -> Milestone | None:
        """Strongly consistent."""
        return self.call("milestone", ClaimFailed, lambda: self.services.milestone)

    def save_milestone(self, milestone: Milestone) -> None:
        """Replace it."""
        self.call("milestone", ClaimFailed, lambda: self._save(milestone))

    def _save(self, milestone: Milestone) -> None:
        old = self.services.milestone
        self.services.milestone = milestone
        if old is not None and milestone.covered_until < old.covered_until:
            self.services.count("milestone moved back")

    # --- source ---

    def snapshot(self) -> Iterator[Row]:
        """A paged, consistent scan: each page as of its own moment, in the order of keys."""
        began_us = self.kernel.now_us
        after = ""
        shown: set[tuple[str, str]] = set()
        while True:
            page: list[Row] = self.call("source", SourceFailed, partial(self._page, after))
            shown |= {(row.id, row.version) for row in page if row.active}
            yield from page
            if len(page) < 5:
                break
            after = page[-1].id
        self.known |= shown
        self.viewed_us = began_us

    def _page(self, after: str) -> list[Row]:
        return [self.services.rows[id] for id in sorted(self.services.rows) if id > after][:5]  # noqa: A001

    def make(self, row: Row) -> Entry:
        """What was written, or why it can't be a schedule."""
        if isinstance(row.data, Exception):
            raise row.data
        assert isinstance(row.data, Entry)
        return row.data

    # --- queue and skip log ---

    def dispatch(self, occurrences: Sequence[Occurrence]) -> Dispatched:
        """One batch: taken as a whole, but for what is refused."""
        return self.call("queue", DispatchFailed, lambda: self._dispatch(occurrences))

    def _dispatch(self, occurrences: Sequence[Occurrence]) -> Dispatched:
        rejected = []
        for one in occurrences:
            if one.id in self.services.poison:
                rejected.append(Rejection(one, "poison"))
                continue
            due_us = us(one.due)
            self.kernel.note(f"{self.name} sends {one.id}@{one.due} {one.version}")
            self.services.sent.append(Sent(self.kernel.now_us, self, self.viewed_us, one.id, due_us, one.version))
        return Dispatched(len(occurrences) - len(rejected), rejected)

    def record(self, skips: Sequence[Skip]) -> None:
        """Keep the skips."""
        self.call("skips", SkipLogFailed, lambda: self._record(skips))

    def _record(self, skips: Sequence[Skip]) -> None:
        for skip in skips:
            self.kernel.note(f"{self.name} records {skip}")
            self.services.recorded.append(Recorded(self.kernel.now_us, self, skip))
