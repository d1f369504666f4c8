"""A story: a seed makes schedules, users, processes, misfortunes; the production core runs in them, and is judged."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kernel import Kernel, Killed, Task
from oracle import SECOND, Life, Oracle
from services import Faults, Host, Services, moment, us

from everdue.core.claim import Claim
from everdue.core.errors import EverdueError
from everdue.core.invocation import Invocation
from everdue.core.schedule import Entry, Row
from everdue.core.scheduler import Scheduler
from everdue.core.triggers.at import At
from everdue.core.triggers.interval import Interval

NOON_US = us(datetime.fromisoformat("2026-03-02T12:00:00+00:00"))
PERIODS = (1, 2.5, 5, 7, 10, 10, 10, 15, 20, 30, 30, 30, 60, 60, 60, 60, 120, 300)


@dataclass(frozen=True)
class Own:
    """A grid as a user would write it: the plain port only."""

    period_us: int
    phase_us: int

    recurring = True

    def occurrences_between(self, start: datetime, end: datetime) -> list[datetime]:
        """Counted up from the first at or after the start."""
        found, first = [], -(-(us(start) - self.phase_us) // self.period_us) * self.period_us + self.phase_us
        while first < us(end):
            found.append(moment(first))
            first += self.period_us
        return found


class Hostile:
    """Raises, sometimes only half-way."""

    recurring = True

    def occurrences_between(self, start: datetime, end: datetime) -> list[datetime]:
        """No."""
        raise ZeroDivisionError("hostile")

    def next_us(self, at_us: int) -> int | None:
        """Always something."""
        return at_us

    def iterate_us(self, start_us: int, end_us: int) -> Iterator[int]:
        """One, then no more."""
        yield start_us
        raise ZeroDivisionError("hostile")


@dataclass
class Plan:
    """What kind of story a seed tells. Every field can be fixed by a test."""

    mode: str = "lambda"  # or loop
    quiet: bool = False
    minutes: int = 14
    lead_seconds: int = 60
    tick_seconds: int = 60
    timeout_seconds: int = 90
    replicas: int = 2
    churn_seconds: float = 25.0
    skew: bool = False
    steps: bool = False
    outages: bool = False
    missing: float = 0.0
    late: float = 0.0
    double: float = 0.0
    lose_claim: bool = False
    hostile: bool = False
    faults: Faults = field(default_factory=Faults)


def plan_of(rng: random.Random) -> Plan:
    """Each class of misfortune on or off, and how bad."""

    def some(chance: float, low: float, high: float) -> float:
        return 10 ** rng.uniform(low, high) if rng.random() < chance else 0.0

    plan = Plan(mode=rng.choice(["lambda", "lambda", "loop"]), quiet=rng.random() < 0.1)
    plan.timeout_seconds = rng.choice([70, 90, 120, 170])
    plan.hostile = rng.random() < 0.3
    if plan.mode == "loop":
        plan.lead_seconds = rng.choice([0, 10, 60])
        plan.tick_seconds = rng.choice([1, 5, 60])
        plan.replicas = rng.choice([1, 2, 3])
    elif rng.random() < 0.15:
        plan.lead_seconds = 0
    if plan.quiet:
        return plan
    plan.churn_seconds = rng.choice([5.0, 25.0, 100.0])
    plan.skew = rng.random() < 0.3
    plan.steps = rng.random() < 0.15
    plan.outages = rng.random() < 0.4
    plan.missing, plan.late, plan.double = some(0.4, -1.5, -0.3), some(0.4, -1.5, -0.3), some(0.4, -1.5, -0.3)
    plan.lose_claim = rng.random() < 0.1
    plan.faults = Faults(
        crash=some(0.5, -3.5, -2), fail=some(0.4, -3, -1.5), lost_answer=some(0.4, -3, -1.5),
        slow=some(0.3, -3, -1.5), freeze=some(0.3, -4, -2.7),
    )  # fmt: skip
    return plan


class Story:
    """One run."""

    def __init__(self, seed: int, plan: Plan | None = None, *, trace: bool = False) -> None:
        self.seed = seed
        self.rng = random.Random(f"story {seed}")
        self.plan = plan if plan is not None else plan_of(self.rng)
        self.start_us = NOON_US + self.rng.randrange(0, 60 * SECOND)
        self.kernel = Kernel(self.start_us)
        if trace:
            self.kernel.trace = []
        self.services = Services(self.kernel)
        self.services.on_commit = self._committed
        self.oracle = Oracle(self.services, 0, 86_400 * SECOND)
        self.oracle.skewed = self.plan.skew or self.plan.steps
        self.idle: list[Host] = []
        self.hosts: list[Host] = []
        self.tasks: list[Task] = []
        self.errors: dict[str, int] = {}
        self.calm_us = self.start_us + self.plan.minutes * 60 * SECOND
        self.end_us = self.calm_us + 7 * 60 * SECOND
        self._versions = 0

    # --- users ---

    def write(self, name: str, *, period: float | None = None, at_us: int | None = None) -> None:
        """Create or edit a schedule, now."""
        rng, now_us = self.rng, self.kernel.now_us
        self._versions += 1
        version = str(self._versions)
        period_us = 0 if at_us is not None else round((period or rng.choice(PERIODS)) * SECOND)
        phase_us = at_us if at_us is not None else rng.choice([0, 0, rng.randrange(0, 60 * SECOND)])
        catch_up: Any = rng.choice(["latest", "latest", "all", "none"])
        recover = rng.choice([None, None, 30, 3600])
        trigger: Any = At(moment(phase_us)) if not period_us else Interval(period_us / SECOND, moment(phase_us))
        if period_us >= 30 * SECOND and rng.random() < 0.3:
            trigger = Own(period_us, phase_us)
        entry = Entry(trigger, version, catch_up=catch_up, recover_seconds=recover)
        self._end(name, "edited")
        self.services.rows[name] = Row(name, version, entry, True, moment(now_us))
        self.oracle.add(
            Life(name, version, period_us, phase_us, now_us, catch_up, (300 if recover is None else recover) * SECOND)
        )
        self.kernel.note(f"user writes {self.oracle.lives[-1]}")

    def remove(self, name: str) -> None:
        """Delete."""
        self._end(name, "deleted")
        self.services.rows.pop(name, None)
        self.kernel.note(f"user deletes {name}")

    def pause(self, name: str) -> None:
        """Disable."""
        self._end(name, "paused")
        self._versions += 1
        old = self.services.rows[name]
        self.services.rows[name] = Row(name, str(self._versions), old.data, False, moment(self.kernel.now_us))
        self.kernel.note(f"user pauses {name}")

    def _end(self, name: str, how: str) -> None:
        life = self.oracle.current(name)
        if life is not None:
            life.end_us, life.ended_by = self.kernel.now_us, how

    def _churn(self) -> None:
        if self.kernel.now_us >= self.calm_us:
            return
        rng = self.rng
        names = sorted(name for name in self.services.rows if self.oracle.current(name) is not None)
        kind = rng.random()
        if self.plan.quiet:
            kind *= 0.4  # nothing but new ones: an edit may double a run by design
        if kind < 0.2 or not names:
            self.write(f"n{self._versions}")
        elif kind < 0.4:
            self.write(f"o{self._versions}", at_us=self.kernel.now_us + int(rng.uniform(-60, 180) * SECOND))
        elif kind < 0.7:
            name = rng.choice(names)
            one_shot = self.oracle.by_id[name][-1].period_us == 0
            self.write(name, at_us=self.kernel.now_us + int(rng.uniform(-20, 90) * SECOND) if one_shot else None)
        elif kind < 0.85:
            self.pause(rng.choice(names))
        elif kind < 0.95:
            self.remove(rng.choice(names))
        else:
            gone = sorted(set(self.oracle.by_id) - set(names) - self.services.poison - self.oracle.hostile)
            self.write(rng.choice(gone) if gone else "n")
        self.kernel.at(self.kernel.now_us + 1 + int(rng.expovariate(1 / self.plan.churn_seconds) * SECOND), self._churn)

    # --- processes ---

    def host(self) -> Host:
        """A new process, cold."""
        offset_us = self.rng.randrange(-2 * SECOND, 2 * SECOND) if self.plan.skew else 0
        host = Host(f"h{len(self.hosts)}", self.services, random.Random(f"{self.seed} {len(self.hosts)}"), offset_us)
        options: dict[str, Any] = {"token": host.name} if self.rng.random() < 0.9 else {"token": "same"}
        host.scheduler = Scheduler(
            host, host, clock=host, skip_log=host, on_error=self._error,
            tick_seconds=self.plan.tick_seconds if self.plan.mode == "loop" else 60,
            lead_seconds=self.plan.lead_seconds, **options,
        )  # fmt: skip
        self.hosts.append(host)
        return host

    def _error(self, error: Exception) -> None:
        name = type(error).__name__
        self.errors[name] = self.errors.get(name, 0) + 1
        if not isinstance(error, EverdueError | ValueError | ZeroDivisionError):
            self.services.violations.append(f"reported {error!r}")

    def _committed(self, host: Host, old: Claim | None, new: Claim) -> None:
        assert new.covered_until is not None or self.services.violations
        covered_us = us(new.covered_until) if new.covered_until is not None else 0
        if not self.oracle.first_us:
            self.oracle.first_us = covered_us
        if old is None or old.covered_until is None or us(old.covered_until) < covered_us:
            self.oracle.committed(host, covered_us)

    def invoke(self) -> None:
        """One invocation, in a process that is idle or new, killed at its deadline."""
        rng = self.rng
        host = self.idle.pop(rng.randrange(len(self.idle))) if self.idle and rng.random() < 0.8 else self.host()
        timeout_us = self.plan.timeout_seconds * SECOND

        def body(task: Task) -> None:
            host.task = task
            deadline_us = self.kernel.now_us + timeout_us
            self.kernel.at(deadline_us + rng.randrange(0, SECOND * 7 // 10), lambda: self.kernel.kill(task))
            try:
                Invocation(
                    host.scheduler, host.dispatch, lead_seconds=self.plan.lead_seconds,
                    deadline=moment(deadline_us + host.offset_us),
                ).run()  # fmt: skip
            except EverdueError as error:
                self.kernel.note(f"{host.name} fails: {error!r}")
                self._error(error)
            if not task.killed:
                self.idle.append(host)

        self.kernel.note(f"invocation on {host.name}")
        self.tasks.append(self.kernel.spawn(host.name, body))

    def _minutes(self) -> None:
        rng, plan = self.rng, self.plan
        phase_us = rng.randrange(0, 60 * SECOND)
        minute_us = self.start_us
        while minute_us < self.end_us:
            at_us = minute_us + phase_us + rng.randrange(0, 2 * SECOND)
            faulty = at_us < self.calm_us
            minute_us += 60 * SECOND
            if faulty and rng.random() < plan.missing:
                self.services.count("missing invocation")
                continue
            if faulty and rng.random() < plan.late:
                self.services.count("late invocation")
                at_us += int(rng.uniform(5, 50) * SECOND)
            self.kernel.at(at_us, self.invoke)
            if faulty and rng.random() < plan.double:
                self.services.count("double invocation")
                self.kernel.at(at_us + int(rng.uniform(0, 10) * SECOND), self.invoke)

    def replica(self) -> None:
        """A process that runs the loop until it dies, and is replaced after a while."""
        host = self.host()

        def body(task: Task) -> None:
            host.task = task
            while True:
                try:
                    host.scheduler.run(host.dispatch)
                except EverdueError as error:
                    self.kernel.note(f"{host.name} fails: {error!r}")
                    self._error(error)
                host.sleep(1.0)

        def guarded(task: Task) -> None:
            try:
                body(task)
            except Killed:
                self.kernel.at(self.kernel.now_us + int(self.rng.uniform(1, 60) * SECOND), self.replica)
                raise

        self.tasks.append(self.kernel.spawn(host.name, guarded))

    # --- misfortunes ---

    def _misfortunes(self) -> None:
        rng, plan, services = self.rng, self.plan, self.services
        span_us = self.calm_us - self.start_us
        services.faults = plan.faults
        if plan.outages:
            for _ in range(rng.randrange(1, 5)):
                name = rng.choice(["claim", "source", "queue", "skips", "milestone"])
                from_us = self.start_us + rng.randrange(span_us)
                until_us = min(from_us + int(rng.uniform(5, 400) * SECOND), self.calm_us)
                self.kernel.at(from_us, lambda name=name, until_us=until_us: services.down.update({name: until_us}))
        if plan.steps:
            for _ in range(rng.randrange(1, 4)):
                self.kernel.at(self.start_us + rng.randrange(span_us), self._step)
        if plan.lose_claim:
            self.kernel.at(self.start_us + rng.randrange(span_us), self._lose)
        if plan.mode == "loop":
            for _ in range(rng.randrange(0, 6)):
                self.kernel.at(self.start_us + rng.randrange(span_us), self._stop)
        self.kernel.at(self.calm_us, self._calm)

    def _step(self) -> None:
        if self.hosts:
            host = self.rng.choice(self.hosts)
            self.services.count("clock step")
            host.offset_us += int(self.rng.choice([-1, 1]) * self.rng.uniform(3, 4000) * SECOND)
            host.stepped_us = self.kernel.now_us
            self.kernel.note(f"{host.name}'s clock steps to {host.offset_us / SECOND:+.1f} s")

    def _lose(self) -> None:
        self.services.count("claim lost")
        self.services.claim = None
        self.kernel.note("the claim is lost")

    def _stop(self) -> None:
        if self.hosts:
            self.services.count("stop")
            self.rng.choice(self.hosts).scheduler.stop()

    def _calm(self) -> None:
        self.services.faults = Faults()
        self.services.down.clear()
        for host in self.hosts:
            if abs(host.offset_us) > 2 * SECOND:
                host.offset_us = 0

    # --- the whole of it ---

    def populate(self) -> None:
        """What there is at the start, and who changes it."""
        for index in range(self.rng.randrange(3, 9)):
            self.write(f"s{index}")
        if self.plan.hostile:
            self.services.rows["bad-row"] = Row("bad-row", "1", ValueError("not a schedule"))
            self.services.rows["bad-trigger"] = Row("bad-trigger", "1", Entry(Hostile()))
            self.oracle.hostile |= {"bad-row", "bad-trigger"}
            self.oracle.of["bad-trigger", "1"] = Life("bad-trigger", "1", 1, 0, 0)
            self.services.poison.add("poison")
            self.write("poison", period=10)
        self.kernel.at(self.start_us + 5 * SECOND, self._churn)

    def tell(self) -> list[str]:
        """Run it; what went wrong."""
        rng, plan = self.rng, self.plan
        self.populate()
        self._misfortunes()
        if plan.mode == "lambda":
            self._minutes()
        else:
            for _ in range(plan.replicas):
                self.kernel.at(self.start_us + rng.randrange(0, 20 * SECOND), self.replica)
        self.kernel.run(self.end_us)
        wrong = [f"{task.name} raised {task.failure!r}" for task in self.tasks if task.failure is not None]
        lateness_us = None
        if plan.quiet and plan.lead_seconds:
            lateness_us = 1_500_000
        elif plan.quiet:
            lateness_us = (62 if plan.mode == "lambda" else plan.tick_seconds + 1) * SECOND + 1_000_000
        return wrong + self.oracle.judge(self.end_us, lateness_us=lateness_us, once=plan.quiet)
