"""Random windows, ticks, crashes, takeovers, clock steps and edits, against modular arithmetic over interval schedules.

The oracle knows a schedule as (period, phase) and a life; it shares no code with selection.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cycle_kit import EPOCH, at, build, us, watermark
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everdue.core.schedule import CatchUp
from everdue.core.triggers.at import At
from everdue.core.triggers.interval import Interval
from everdue.testing import ManualClock, MemoryClaimStore, MemorySkipLog, MemorySource

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LONG = 10_000_000  # seconds: nothing in these stories is that late
START = at("12:00")


def moment(micros: int) -> datetime:
    """The moment of Unix microseconds."""
    return EPOCH + timedelta(microseconds=micros)


def grid(period_us: int, phase_us: int, start_us: int, end_us: int) -> range:
    """Every phase + k * period in [start, end)."""
    return range(start_us + (phase_us - start_us) % period_us, end_us, period_us)


# Steps that like to land on edges: whole seconds, and now and then anything.
STEP_US = st.one_of(
    st.integers(0, 90).map(lambda s: s * 1_000_000),
    st.integers(0, 90_000_000),
    st.sampled_from([1, 999_999, 1_000_001, 60_000_000]),
)
PERIOD_US = st.sampled_from([1_000_000, 7_000_000, 10_000_000, 60_000_000, 2_500_000, 333_333])
PHASE_US = st.integers(0, 60_000_000)


@QUICK
@given(st.lists(STEP_US, min_size=1, max_size=25), PERIOD_US, PHASE_US, st.integers(0, 70))
def test_whatever_the_ticks_each_run_comes_exactly_once(steps, period_us, phase_us, lead):
    """Windows tile for every rhythm of ticks, every phase and every lead: the union of them is the span, once."""
    clock = ManualClock(START)
    source = MemorySource()
    source.put("a", Interval(period_us / 1_000_000, moment(phase_us)))
    scheduler = build(source, clock, lead_seconds=lead, recover_seconds=LONG)
    scheduler.reconcile()
    sent = []
    end_us = us(START)
    for step_us in [0, *steps]:
        clock.advance(step_us / 1_000_000)
        end_us = max(end_us, us(clock.now()) + lead * 1_000_000)
        sent += [us(one.due) for one in scheduler.tick()]
        scheduler.commit()
    assert sent == list(grid(period_us, phase_us, us(START), end_us))


@QUICK
@given(st.lists(st.integers(-200_000_000, 200_000_000), min_size=1, max_size=20), PERIOD_US, PHASE_US)
def test_whatever_the_clock_does_coverage_moves_forward_and_each_run_comes_once(steps, period_us, phase_us):
    """A wall clock that jumps there and back makes windows of any shape; none repeats and none is left out."""
    clock = ManualClock(START)
    store = MemoryClaimStore()
    source = MemorySource()
    source.put("a", Interval(period_us / 1_000_000, moment(phase_us)))
    scheduler = build(source, clock, store, recover_seconds=LONG)
    scheduler.reconcile()
    sent = []
    furthest_us = us(START)
    for step_us in [0, *steps]:
        clock.advance(0.5)
        clock.step(step_us / 1_000_000)
        furthest_us = max(furthest_us, us(clock.now()))
        dues = [us(one.due) for one in scheduler.tick()]
        assert all(due_us < us(clock.now()) for due_us in dues)  # never early
        scheduler.commit()
        sent += dues
    covered = [claim.covered_until for claim in store.writes]
    assert covered == sorted(covered)
    start_us = us(covered[0])
    assert sent == list(grid(period_us, phase_us, start_us, furthest_us))


@QUICK
@given(
    st.lists(st.integers(1, 400_000_000), min_size=1, max_size=12),
    PERIOD_US.filter(lambda period_us: period_us >= 7_000_000),
    PHASE_US,
    st.sampled_from(["latest", "all", "none"]),
    st.integers(2, 200),
    st.integers(0, 600),
)
def test_what_is_sent_late_and_what_is_skipped_is_what_the_bounds_say(steps, period_us, phase_us, catch_up, late, far):
    """Late, missed and beyond the horizon, for every catch-up: each run is on one side, and counted there."""
    clock = ManualClock(START)
    log = MemorySkipLog()
    source = MemorySource()
    choice: CatchUp = catch_up
    source.put("a", Interval(period_us / 1_000_000, moment(phase_us)), catch_up=choice, recover_seconds=late)
    scheduler = build(source, clock, recover_seconds=2, horizon_seconds=far, skip_log=log)
    scheduler.reconcile()
    scheduler.tick()
    scheduler.commit()
    start_us = us(START)
    for step_us in steps:
        clock.advance(step_us / 1_000_000)
        now_us = us(clock.now())
        due = list(grid(period_us, phase_us, start_us, now_us))
        is_late = [d for d in due if now_us - d <= late * 1_000_000]
        older = [d for d in due if now_us - d > late * 1_000_000]
        missed = [d for d in older if now_us - d <= max(far, 2) * 1_000_000]
        beyond = [d for d in older if now_us - d > max(far, 2) * 1_000_000]
        if catch_up == "all":
            caught = missed
        elif catch_up == "latest" and missed and not is_late and (now_us - phase_us) % period_us:  # none is due now
            caught = missed[-1:]
        else:
            caught = []
        before = {reason: sum(s.count for s in log.skips if s.reason == reason) for reason in ("missed", "horizon")}
        assert [us(one.due) for one in scheduler.tick()] == sorted(caught + is_late)
        scheduler.commit()
        after = {reason: sum(s.count for s in log.skips if s.reason == reason) for reason in ("missed", "horizon")}
        assert after["missed"] - before["missed"] == len(missed) - len(caught)
        assert after["horizon"] - before["horizon"] == len(beyond)
        for d in [*beyond, *(d for d in missed if d not in caught)]:
            assert any(s.start_us <= d < s.end_us for s in log.skips)
        start_us = now_us


@dataclass
class Life:
    """One definition: its grid, from when to when it was in force, and what became of its runs."""

    name: str
    version: str
    period_us: int  # 0: a one-shot at phase_us
    phase_us: int
    from_us: int
    end_us: int | None = None
    resumed: bool = False  # it was paused before: what fell due until then need not run

    def due(self, until_us: int) -> list[int]:
        """Its runs before that moment; a one-shot of the past is due when it took effect, under its own moment."""
        end_us = until_us if self.end_us is None else min(self.end_us, until_us)
        if self.period_us == 0:
            if self.resumed and self.phase_us < self.from_us:
                return []
            return [self.phase_us] if max(self.phase_us, self.from_us) < end_us else []
        return list(grid(self.period_us, self.phase_us, self.from_us, end_us))


@dataclass
class World:
    """Processes over one store and one source, and the book of what they did."""

    clock: ManualClock = field(default_factory=lambda: ManualClock(START))
    store: MemoryClaimStore = field(default_factory=MemoryClaimStore)
    source: MemorySource = field(default_factory=MemorySource)
    log: MemorySkipLog = field(default_factory=MemorySkipLog)
    lives: list[Life] = field(default_factory=list)
    sent: list[tuple[str, int, str]] = field(default_factory=list)
    excused: set[tuple[str, int, str]] = field(default_factory=set)
    processes: dict[int, "Process"] = field(default_factory=dict)
    born: int = 0
    paused: set[str] = field(default_factory=set)

    def now_us(self) -> int:
        """The time."""
        return us(self.clock.now())

    def write(self, name: str, period_us: int, phase_us: int) -> None:
        """A new definition takes effect now."""
        self.end(name)
        trigger = Interval(period_us / 1_000_000, moment(phase_us)) if period_us else At(moment(phase_us))
        row = self.source.put(name, trigger, len(self.lives), active_from=self.clock.now())
        self.lives.append(Life(name, row.version, period_us, phase_us, self.now_us(), resumed=name in self.paused))

    def end(self, name: str) -> None:
        """Whatever is in force under that name ends now."""
        for life in self.lives:
            if life.name == name and life.end_us is None:
                life.end_us = self.now_us()

    def process(self, index: int) -> "Process":
        """The process in that place, born if need be."""
        if index not in self.processes:
            self.born += 1
            self.processes[index] = Process(self, f"p{self.born}")
        return self.processes[index]


class Process:
    """One scheduler, and what it was shown."""

    def __init__(self, world: World, token: str) -> None:
        self.world = world
        self.scheduler = build(
            world.source, world.clock, world.store, token=token, lease_seconds=30, recover_seconds=LONG,
            horizon_seconds=LONG, skip_log=world.log,
        )  # fmt: skip
        self.known: set[tuple[str, str]] = set()
        self.synced_us: int | None = None

    def sync(self) -> None:
        """Read the source."""
        self.synced_us = self.world.now_us()
        self.scheduler.reconcile()
        self.known |= {(life.name, life.version) for life in self.world.lives if life.end_us is None}

    def version_at(self, name: str, from_us: int) -> str:
        """The version of the definition of that name that took effect then."""
        return next(x.version for x in self.world.lives if (x.name, x.from_us) == (name, from_us))

    def tick(self, *, commit: bool) -> None:
        """Select, send, and maybe commit."""
        world = self.world
        for one in self.scheduler.tick():
            due_us = us(one.due)
            life = next(x for x in world.lives if (x.name, x.version) == (one.id, one.version))
            assert due_us < world.now_us(), "early"
            assert (due_us - life.phase_us) % life.period_us == 0 if life.period_us else due_us == life.phase_us
            assert due_us >= life.from_us or not life.period_us, "before its life"
            if life.end_us is not None and self.synced_us is not None and self.synced_us > life.end_us:
                # It is known to be over: its runs go out up to the start of what took its place, as far as seen.
                after = [x.from_us for x in world.lives if x.name == life.name and x.from_us >= life.end_us]
                seen = [x for x in after if (life.name, self.version_at(life.name, x)) in self.known]
                assert seen, "sent although it was deleted"
                assert due_us < min(seen), "after its life"
            world.sent.append((one.id, due_us, one.version))
        before = world.store.claim
        if commit and self.scheduler.commit():
            # What this process was never shown, and is gone, it can neither send nor report.
            covered_us = us(watermark(world.store))
            for life in world.lives:
                if life.end_us is not None and (life.name, life.version) not in self.known:
                    world.excused |= {(life.name, due, life.version) for due in life.due(covered_us)}
        after = world.store.claim
        if before is not None:
            assert after is not None
            assert after.covered_until >= before.covered_until
            assert after.revision >= before.revision


NAMES = st.sampled_from(["a", "b", "c"])
OPERATIONS = st.one_of(
    st.tuples(st.just("pass"), st.integers(1, 45_000_000)),
    st.tuples(st.just("sync"), st.integers(0, 1)),
    st.tuples(st.just("cycle"), st.integers(0, 1)),
    st.tuples(st.just("cycle"), st.integers(0, 1)),
    st.tuples(st.just("tick"), st.integers(0, 1)),
    st.tuples(st.just("crash"), st.integers(0, 1)),
    st.tuples(st.just("write"), NAMES, PERIOD_US.filter(lambda period_us: period_us >= 1_000_000), PHASE_US),
    st.tuples(st.just("once"), NAMES, st.integers(-30_000_000, 60_000_000)),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("pause"), NAMES),
)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(OPERATIONS, max_size=40))
def test_every_due_run_is_sent_or_on_record_whatever_happens_between(operations):
    """Two processes, crashes, takeovers, edits, deletions, pauses: no run is lost, early, or out of its life."""
    world = World()
    world.process(0).sync()
    world.process(0).tick(commit=True)
    for operation, *rest in operations:
        if operation == "pass":
            world.clock.advance(rest[0] / 1_000_000)
        elif operation == "sync":
            world.process(rest[0]).sync()
        elif operation == "cycle":
            world.process(rest[0]).sync()
            world.process(rest[0]).tick(commit=True)
        elif operation == "tick":
            if world.process(rest[0]).synced_us is not None:
                world.process(rest[0]).tick(commit=False)
        elif operation == "crash":
            world.processes.pop(rest[0], None)
        elif operation == "write":
            world.clock.advance(0.001)
            world.write(*rest)
            world.clock.advance(0.001)
        elif operation == "once":
            world.clock.advance(0.001)
            world.write(rest[0], 0, world.now_us() + rest[1])
            world.clock.advance(0.001)
        elif rest[0] in {life.name for life in world.lives if life.end_us is None}:
            world.clock.advance(0.001)
            world.end(rest[0])
            if operation == "remove":
                world.source.remove(rest[0])
            else:
                world.paused.add(rest[0])
                world.source.pause(rest[0])
            world.clock.advance(0.001)
    world.clock.advance(61)  # every lease has run out
    last = world.process(0)
    last.sync()
    last.tick(commit=True)

    covered_us = us(watermark(world.store))
    sent = set(world.sent)
    keys = {(name, due_us) for name, due_us, _ in sent}
    for life in world.lives:
        for due_us in life.due(covered_us):
            run = (life.name, due_us, life.version)
            recorded = any(s.start_us <= due_us < s.end_us for s in world.log.of(life.name))
            assert (life.name, due_us) in keys or recorded or run in world.excused, (life, moment(due_us))
    for life in world.lives:
        if life.end_us is None and life.period_us:  # still in force: nothing of it may be on record as skipped
            own = {due_us for name, due_us, version in sent if (name, version) == (life.name, life.version)}
            other = {due_us for name, due_us, _ in sent if name == life.name}
            assert set(life.due(covered_us)) <= own | other
