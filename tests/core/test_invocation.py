"""One invocation a minute, each as long as it needs to be: nobody may be missed at the seams between them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from stage import Killed, Process, Stage, StageClock

from everdue import Interval, Occurrence, Scheduler
from everdue.core.invocation import Invocation, Summary
from everdue.testing import MemoryClaimStore, MemorySkipLog, MemorySource

START = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)
TIMEOUT_SECONDS = 125
"""The stack's: a trigger may come at second 0 of one minute and at second 59 of the next."""


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


class FrozenClock(StageClock):
    """A clock whose monotonic reading stands still, as a frozen process's may."""

    def monotonic_us(self) -> int:
        return 0


class World:
    """A claim table, a schedule table, a queue, and a trigger that starts invocations; each in its own process."""

    def __init__(self, *, lead_seconds: float = 60, read_seconds: float = 0.05) -> None:
        self.stage = Stage(START)
        self.store = MemoryClaimStore()
        self.source = MemorySource()
        self.skip_log = MemorySkipLog()
        self.sent: list[tuple[str, float, float]] = []
        self.errors: list[Exception] = []
        self.lead_seconds = lead_seconds
        self.read_seconds = read_seconds
        self.warm: Scheduler | None = None

    def scheduler(self, clock: StageClock) -> Scheduler:
        world = self

        class Slow:
            """The table, which takes its time to be read."""

            def snapshot(self) -> list[Any]:
                clock.sleep(world.read_seconds)
                return list(world.source.snapshot())

            def make(self, row: Any) -> Any:
                return world.source.make(row)

        return Scheduler(Slow(), self.store, tick_seconds=60, lead_seconds=self.lead_seconds, clock=clock,
                         skip_log=self.skip_log, on_error=self.errors.append)  # fmt: skip

    def handler(self, clock: StageClock) -> Callable[[list[Occurrence]], None]:
        def handler(occurrences: list[Occurrence]) -> None:
            for one in occurrences:
                self.sent.append((one.id, (one.due - START).total_seconds(), (clock.now() - START).total_seconds()))

        return handler

    def invoke(self, seconds: float, *, timeout_seconds: float = TIMEOUT_SECONDS) -> Process:
        """An invocation that starts so many seconds after twelve, in a cold process of its own."""

        def work() -> Summary:
            clock = StageClock(self.stage)
            deadline = clock.now() + timedelta(seconds=timeout_seconds)
            handler = self.handler(clock)
            return Invocation(self.scheduler(clock), handler, lead_seconds=self.lead_seconds, deadline=deadline).run()

        process = self.stage.at(at(seconds), work)
        assert process is not None
        self.stage.at(at(seconds + timeout_seconds), lambda: self.stage.kill(process), process=False)
        return process

    def dues(self, schedule: str) -> list[float]:
        return [due for one, due, _ in self.sent if one == schedule]

    def lateness(self, after: float = 0) -> list[float]:
        return [moment - due for _, due, moment in self.sent if due >= after]


def test_every_second_of_ten_minutes_is_sent_once_and_on_time_whatever_second_the_trigger_fires_at() -> None:
    """The trigger fires anywhere inside its minute. Runs must not wait for it, nor be lost or doubled at the seams."""
    world = World()
    world.source.put("every-second", Interval(1))
    for minute in range(10):
        world.invoke(60 * minute + [3, 11, 0.2, 59, 17, 58.9, 0, 30, 5, 41][minute])
    world.stage.run(at(600))
    dues = world.dues("every-second")
    assert dues == [float(k) for k in range(3, int(dues[-1]) + 1)]  # coverage starts with the first claim, at :03
    assert dues[-1] >= 595
    late = sorted(world.lateness(after=60))
    assert late[0] >= 0, "never early"
    assert late[int(len(late) * 0.99)] < 0.25
    assert not world.errors


def test_a_run_due_on_the_minute_is_sent_by_a_process_that_is_already_awake() -> None:
    """The one second at which most schedules are due is the one at which the next invocation is not there yet."""
    world = World()
    world.source.put("minutely", Interval(60))
    world.invoke(8)
    world.invoke(72)
    world.stage.run(at(170))
    assert [(due, moment) for _, due, moment in world.sent] == [(60.0, 60.0), (120.0, 120.0)]


def test_an_invocation_without_a_successor_covers_until_its_own_deadline_nears() -> None:
    """A trigger that fires late or not at all must not open a gap while somebody is still alive."""
    world = World()
    world.source.put("every-second", Interval(1))
    world.invoke(5)
    world.stage.run(at(300))
    assert world.dues("every-second") == [float(k) for k in range(5, 128)]  # 5 + 125 - 3 s of reserve
    assert max(world.lateness(after=6)) <= 0.5


def test_the_gap_of_a_missing_trigger_is_covered_by_the_next_invocation() -> None:
    """Late, never lost: what fell due while nobody was alive is sent as soon as somebody is."""
    world = World()
    world.source.put("every-ten", Interval(10))
    world.invoke(5)
    world.invoke(245)
    world.stage.run(at(300))
    assert world.dues("every-ten") == [float(k) for k in range(10, 301, 10)]


def test_two_invocations_of_one_minute_lead_one_after_the_other() -> None:
    """A trigger may fire twice: one leads, the other waits, and the queue gets each key once."""
    world = World()
    world.source.put("every-second", Interval(1))
    first, second = world.invoke(2), world.invoke(2.01)
    world.stage.run(at(200))
    dues = world.dues("every-second")
    assert dues == [float(k) for k in range(2, int(dues[-1]) + 1)]
    assert first.result.handed_over
    assert second.result.leader
    assert second.result.waited_seconds > 50


def test_a_killed_invocation_is_taken_over_at_its_deadline_plus_two_seconds_and_nothing_is_lost() -> None:
    """The lease reaches to the dead one's own deadline plus the skew allowance: no later, and not a moment before."""
    world = World()
    world.source.put("every-second", Interval(1))
    first = world.invoke(1)
    second = world.invoke(61)
    world.stage.at(at(30.5), lambda: world.stage.kill(first), process=False)
    world.stage.run(at(200))
    assert isinstance(first.error, Killed)
    assert second.result.leader
    took_over = 61 + second.result.waited_seconds
    assert 1 + TIMEOUT_SECONDS + 2 <= took_over <= 1 + TIMEOUT_SECONDS + 2 + 0.5
    keys = set(world.dues("every-second"))
    assert keys == {float(k) for k in range(1, int(max(keys)) + 1)}


def test_a_kill_repeats_no_more_than_a_quarter_of_a_minute() -> None:
    """A crash costs repeats under the same key: of some seconds, not of everything since the window opened."""
    world = World()
    world.source.put("every-second", Interval(1))
    first = world.invoke(1)
    world.invoke(61)
    world.stage.at(at(30.5), lambda: world.stage.kill(first), process=False)
    world.stage.run(at(200))
    dues = world.dues("every-second")
    repeated = [due for due in set(dues) if dues.count(due) > 1]
    assert 30.5 - 17 <= min(repeated) <= max(repeated) <= 30.5


def test_a_schedule_written_two_seconds_ahead_goes_out_within_one_sync() -> None:
    """People write a schedule and watch; without a stamp it is owed its runs since the sync before."""
    world = World()
    world.invoke(1)
    world.stage.at(at(23), lambda: world.source.put("new", Interval(25)), process=False)
    world.stage.run(at(50))
    assert world.dues("new") == [25.0, 50.0]
    assert world.lateness()[0] <= 10.1


def test_cheap_mode_sends_what_is_due_and_ends() -> None:
    """`LeadSeconds=0` pays for a moment a minute, not for a minute a minute."""
    world = World(lead_seconds=0)
    world.source.put("every-ten", Interval(10))
    first, second = world.invoke(5, timeout_seconds=30), world.invoke(65, timeout_seconds=30)
    world.stage.run(at(120))
    assert world.dues("every-ten") == [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
    assert first.ended_us is not None
    assert second.ended_us is not None
    assert second.ended_us / 1e6 - at(65).timestamp() < 0.5


def test_a_source_that_cannot_be_read_commits_nothing_and_frees_the_claim() -> None:
    """No complete view, no commit: the next invocation covers the same window, and need not wait out a lease."""
    world = World()
    world.source.put("every-ten", Interval(10))
    world.invoke(1)
    world.stage.run(at(130))
    covered = world.store.claim.covered_until if world.store.claim else None
    sent = len(world.sent)
    world.source.fail_snapshot(times=100)
    world.invoke(181)
    world.stage.run(at(350))
    assert world.store.claim is not None
    assert world.store.claim.covered_until == covered
    assert world.store.claim.token == ""
    assert len(world.sent) == sent
    assert world.errors


@pytest.mark.parametrize("lead_seconds", [0, 60])
def test_a_failing_dispatcher_ends_the_invocation_with_its_error_and_frees_the_claim(lead_seconds: float) -> None:
    """An invocation that failed must be seen to have failed, and must not block the one that would do better."""
    world = World(lead_seconds=lead_seconds)
    world.source.put("every-ten", Interval(10))
    world.invoke(1)
    world.stage.run(at(130))

    def work() -> Summary:
        clock = StageClock(world.stage)

        def handler(occurrences: list[Occurrence]) -> None:
            raise ConnectionError("the queue is down")

        deadline = clock.now() + timedelta(seconds=TIMEOUT_SECONDS)
        return Invocation(world.scheduler(clock), handler, lead_seconds=lead_seconds, deadline=deadline).run()

    failed = world.stage.at(at(131), work)
    world.stage.run(at(170))
    assert failed is not None
    assert isinstance(failed.error, ConnectionError)
    assert world.store.claim is not None
    assert world.store.claim.token == ""
    before = set(world.dues("every-ten"))
    world.invoke(181)
    world.stage.run(at(240))
    expected = {float(k) for k in range(10, 181, 10)}
    assert expected <= before | set(world.dues("every-ten"))


def test_a_claim_that_cannot_be_read_for_seconds_is_waited_for() -> None:
    """A throttled table must not cost the minute: the invocation that is awake tries again."""
    world = World()
    world.source.put("every-ten", Interval(10))
    for _ in range(30):
        world.store.fail("load")
    world.invoke(1)
    world.stage.run(at(40))
    assert world.dues("every-ten") == [10.0, 20.0, 30.0, 40.0]
    assert len(world.errors) == 1, "said once, not ten times a second"


def test_a_run_added_while_the_window_is_held_goes_out_on_time() -> None:
    """A list made when the window opened would know nothing of it until the next one."""
    world = World()
    world.invoke(1)
    world.stage.at(at(23), lambda: world.source.put("new", Interval(45), active_from=at(23)), process=False)
    world.stage.run(at(50))
    assert [(due, moment) for _, due, moment in world.sent] == [(45.0, 45.0)]


def test_a_run_deleted_while_it_is_held_is_not_sent() -> None:
    """Cancelled is cancelled, although the window that holds it opened before."""
    world = World()
    world.source.put("gone", Interval(45))
    world.source.put("kept", Interval(45))
    world.invoke(1)
    world.stage.at(at(23), lambda: world.source.remove("gone"), process=False)
    world.stage.run(at(50))
    assert [(one, due) for one, due, _ in world.sent] == [("kept", 45.0)]


def test_a_view_from_before_a_freeze_is_read_again_before_anything_is_sent() -> None:
    """Between invocations the process is frozen, its monotonic clock perhaps too: a cadence on it may not be due."""
    world = World(lead_seconds=0)
    world.source.put("gone", Interval(10))
    clock = FrozenClock(world.stage)
    scheduler = world.scheduler(clock)

    def work() -> Summary:
        deadline = clock.now() + timedelta(seconds=30)
        return Invocation(scheduler, world.handler(clock), lead_seconds=0, deadline=deadline).run()

    world.stage.at(at(5), work)
    world.stage.at(at(30), lambda: world.source.remove("gone"), process=False)
    world.stage.at(at(65), work)
    world.stage.run(at(90))
    assert world.sent == []


def test_a_read_that_fails_for_a_while_is_tried_again_in_the_same_invocation() -> None:
    """A throttled table must not cost the minute, and nothing is committed before it was read."""
    world = World()
    world.source.put("every-ten", Interval(10))
    world.source.fail_snapshot(times=3)  # at once, then after 1 and 2 seconds
    world.invoke(1)
    world.stage.run(at(30))
    assert world.dues("every-ten") == [10.0, 20.0, 30.0]
    assert world.lateness() == [0.0, 0.0, 0.0]
