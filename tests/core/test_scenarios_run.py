"""Whole stories of `run`: what the handler gets, and when, while time passes and the source changes."""

# ruff: noqa: S105, S106 - a token is a name of a process here

from datetime import timedelta

import pytest
from cycle_kit import Crash, LimitedClock, at, build, dues, held, hms, minutes, on_record, runs, started, watermark

from everdue.core.claim import Claim
from everdue.core.dispatcher import Dispatched
from everdue.core.errors import DispatchFailed
from everdue.core.triggers.at import At
from everdue.core.triggers.cron import Cron
from everdue.core.triggers.interval import Interval
from everdue.core.triggers.shifted import Shifted
from everdue.testing import MemoryClaimStore, MemoryMetrics, MemorySkipLog, MemorySource


class Seen:
    """A handler that keeps each hand-over with the moment at which it came, and may stop the loop after so many."""

    def __init__(self, clock):
        self.clock = clock
        self.calls = []
        self.scheduler = None
        self.stop_after = None

    def __call__(self, batch):
        self.calls.append((self.clock.now(), list(batch)))
        if self.stop_after is not None and len(self.calls) >= self.stop_after:
            self.scheduler.stop()

    @property
    def all(self):
        return [one for _, batch in self.calls for one in batch]

    @property
    def lines(self):
        return [f"{one.id}@{hms(one.due)} at {hms(moment)}" for moment, batch in self.calls for one in batch]

    def lateness(self):
        return [(moment - one.due) / timedelta(seconds=1) for moment, batch in self.calls for one in batch]


def loop(source, clock, until, store=None, **options):
    """Run until that moment of the day; what was handed over."""
    scheduler = build(source, clock, store, **options)
    seen = Seen(clock)
    clock.at(at(until), scheduler.stop)
    scheduler.run(seen)
    return seen


HELD = {"tick_seconds": 60, "lead_seconds": 60}


def test_without_a_lead_each_run_goes_out_on_the_tick_after_its_moment():
    """The cheap way: no run is early, none waits longer than one tick, and the ticks keep to the clock."""
    clock = LimitedClock(at("12:00:30"))
    source = MemorySource()
    source.put("a", Interval(60))
    seen = loop(source, clock, "12:10:30", tick_seconds=1)
    assert dues(seen.all) == minutes("12:01", "12:10")
    assert all(0 <= late <= 1 for late in seen.lateness())


def test_ticks_are_anchored_to_the_clock_and_do_not_drift_with_the_work():
    """Sleeping a fixed span after each piece of work moves the phase; a slow handler must not."""
    clock = LimitedClock(at("12:00:30"))
    source = MemorySource()
    source.put("a", Interval(60))
    scheduler = build(source, clock, tick_seconds=60)
    moments = []

    def handler(batch):
        moments.append(hms(clock.now()))
        clock.advance(7.3)
        if len(moments) == 5:
            scheduler.stop()

    scheduler.run(handler)
    assert len(moments) == 5
    assert all(moment.endswith(":00") for moment in moments)


def test_a_run_selected_ahead_is_held_until_its_moment():
    """Neither early nor a tick late: the wait for the second happens inside the scheduler."""
    clock = LimitedClock(at("12:00:30"))
    source = MemorySource()
    source.put("a", Cron("* * * * *"))
    source.put("b", Interval(7))
    seen = loop(source, clock, "12:05:29", **HELD)
    assert dues(seen.all, "a") == minutes("12:01", "12:05")
    noon = 1_772_452_800  # 12:00 in Unix seconds
    sevens = [second for second in range(noon + 30, noon + 330) if second % 7 == 0]
    assert [int(one.due.timestamp()) for one in seen.all if one.id == "b"] == sevens
    assert all(0 <= late < 0.05 for late in seen.lateness())


def test_runs_that_share_a_moment_come_together_and_moments_in_order():
    """One hand-over a moment lets a queue take them in one batch, and keeps the order in which they fell due."""
    clock = LimitedClock(at("12:00:30"))
    source = MemorySource()
    source.put("b", Cron("* * * * *"))
    source.put("a", Interval(30))
    scheduler = build(source, clock, **HELD)
    seen = Seen(clock)
    seen.scheduler, seen.stop_after = scheduler, 4
    scheduler.run(seen)
    assert [runs(batch) for _, batch in seen.calls] == [
        ["a@12:00:30"],
        ["a@12:01:00", "b@12:01:00"],
        ["a@12:01:30"],
        ["a@12:02:00", "b@12:02:00"],
    ]


def test_two_thousand_runs_of_one_second_go_out_each_once_in_one_window():
    """The burst at the full hour is the usual load, not the exception."""
    clock = LimitedClock(at("12:59:50"))
    source = MemorySource()
    for k in range(2000):
        source.put(f"s{k:04}", Cron("0 * * * *"))
    seen = loop(source, clock, "13:00:20", **HELD)
    assert len(seen.all) == 2000
    assert {one.id for one in seen.all} == {f"s{k:04}" for k in range(2000)}
    assert set(seen.lateness()) == {0.0}


def test_shifted_schedules_spread_over_the_minute():
    """A spread is only worth its name if each run goes out at its own shifted moment."""
    clock = LimitedClock(at("12:00:00"))
    source = MemorySource()
    for one, shift in (("a", 0), ("b", 20), ("c", 40)):
        source.put(one, Shifted(Cron("* * * * *"), shift))
    scheduler = build(source, clock, **HELD)
    seen = Seen(clock)
    seen.scheduler, seen.stop_after = scheduler, 3
    scheduler.run(seen)
    assert seen.lines == ["a@12:00:00 at 12:00:00", "b@12:00:20 at 12:00:20", "c@12:00:40 at 12:00:40"]


def test_a_backlog_goes_out_at_once_and_oldest_first_before_what_is_held():
    """What is late already must not wait for what is not due yet, nor overtake its elders."""
    clock = LimitedClock(at("12:00:00"))
    store = MemoryClaimStore()
    source = MemorySource()
    source.put("a", Interval(60))
    started(source, clock, store, token="before")
    clock.advance(200)  # 12:03:20
    seen = loop(source, clock, "12:04:30", store, **HELD)
    assert seen.lines == [
        "a@12:00:00 at 12:03:20",
        "a@12:01:00 at 12:03:20",
        "a@12:02:00 at 12:03:20",
        "a@12:03:00 at 12:03:20",
        "a@12:04:00 at 12:04:00",
    ]


@pytest.mark.parametrize("how", ["removed", "paused"])
def test_a_run_cancelled_while_it_is_held_is_not_sent(how):
    """Selected, cancelled, and sent all the same is the defect that holding invites."""
    clock = LimitedClock(at("12:00:00"))
    source = MemorySource()
    source.put("doomed", Shifted(Cron("* * * * *"), 30))
    source.put("kept", Shifted(Cron("* * * * *"), 30))
    clock.at(at("12:00:10"), lambda: source.remove("doomed") if how == "removed" else source.pause("doomed"))
    log = MemorySkipLog()
    seen = loop(source, clock, "12:01:40", sync_seconds=5, skip_log=log, **HELD)
    assert runs(seen.all) == ["kept@12:00:30", "kept@12:01:30"]
    assert log.of("doomed") == []  # nothing was due before it was cancelled


def test_a_run_rewritten_while_it_is_held_goes_out_under_the_new_definition_only():
    """The old payload at the old moment is not what the writer asked for any more."""
    clock = LimitedClock(at("12:00:00"))
    source = MemorySource()
    source.put("a", Shifted(Cron("* * * * *"), 30), "old")
    clock.at(
        at("12:00:10"),
        lambda: source.put("a", Shifted(Cron("* * * * *"), 45), "new", active_from=at("12:00:10")),
    )
    seen = loop(source, clock, "12:02:00", sync_seconds=5, **HELD)
    assert [(hms(one.due), one.payload) for one in seen.all] == [("12:00:45", "new"), ("12:01:45", "new")]
    assert set(seen.lateness()) == {0.0}


@pytest.mark.parametrize("active_from", ["12:00:12", None])
def test_a_schedule_added_while_others_are_held_goes_out_on_time(active_from):
    """Its moment lies in a window that was opened before it existed; waiting for the next window would be a minute."""
    clock = LimitedClock(at("12:00:05"))
    source = MemorySource()
    source.put("held", At(at("12:00:50")))
    stamp = at(active_from) if active_from else None
    clock.at(at("12:00:12"), lambda: source.put("added", At(at("12:00:40")), active_from=stamp))
    seen = loop(source, clock, "12:01:30", sync_seconds=10, **HELD)
    assert seen.lines == ["added@12:00:40 at 12:00:40", "held@12:00:50 at 12:00:50"]


def test_a_schedule_added_into_an_empty_window_goes_out_on_time():
    """With nothing to hold, the window must still be watched."""
    clock = LimitedClock(at("12:00:05"))
    source = MemorySource()
    clock.at(at("12:00:12"), lambda: source.put("added", At(at("12:00:40")), active_from=at("12:00:12")))
    seen = loop(source, clock, "12:01:30", sync_seconds=10, **HELD)
    assert seen.lines == ["added@12:00:40 at 12:00:40"]


def test_a_one_shot_sooner_than_the_next_sync_goes_out_at_that_sync():
    """It can't be on time; it must not wait for the end of the window either."""
    clock = LimitedClock(at("12:00:05"))
    source = MemorySource()
    clock.at(at("12:00:16"), lambda: source.put("soon", At(at("12:00:18")), active_from=at("12:00:16")))
    seen = loop(source, clock, "12:01:30", sync_seconds=10, **HELD)
    assert dues(seen.all) == ["12:00:18"]
    assert seen.calls[0][0] <= at("12:00:25.1")  # the syncs are at 12:00:05, :15, :25


def test_the_source_is_read_on_its_cadence_while_runs_are_held():
    """Sleeping straight through a minute would leave every change of it unseen."""
    clock = LimitedClock(at("12:00:00"))
    source = MemorySource()
    source.put("a", Interval(60))
    loop(source, clock, "12:10:00", sync_seconds=10, **HELD)
    assert 58 <= source.snapshots <= 64  # ten minutes, one each ten seconds


def test_a_window_is_not_committed_before_its_held_runs_have_gone_out():
    """Committed first, a crash in the wait would lose them."""
    clock = LimitedClock(at("12:00:00"))
    store = MemoryClaimStore()
    source = MemorySource()
    source.put("a", Shifted(Cron("* * * * *"), 30))
    scheduler = build(source, clock, store, **HELD)
    at_hand_over = []

    def handler(batch):
        at_hand_over.append(watermark(store))
        if len(at_hand_over) == 3:
            scheduler.stop()

    scheduler.run(handler)
    for k, covered in enumerate(at_hand_over):
        assert covered <= at("12:00:30") + timedelta(minutes=k)
    assert watermark(store) > at("12:02:30")


def test_a_deposed_leader_sends_nothing_that_it_was_holding():
    """Its successor covers this window too; leadership is confirmed again before a held run goes out."""
    clock = LimitedClock(at("12:00:00"))
    store = MemoryClaimStore()
    source = MemorySource()
    source.put("a", Shifted(Cron("* * * * *"), 30))

    def take():
        mine = held(store)
        thief = Claim("thief", at("12:30"), covered_until=mine.covered_until, synced_until=mine.synced_until)
        assert store.swap(mine, thief)

    clock.at(at("12:00:10"), take)
    seen = loop(source, clock, "12:05:00", store, token="leader", **HELD)
    assert seen.all == []
    assert held(store).token == "thief"
    assert len(store.writes) == held(store).revision


def test_a_deposed_leader_under_the_same_token_sends_nothing_either():
    """A token is a name: the record that carries it may still be another's."""
    clock = LimitedClock(at("12:00:00"))
    store = MemoryClaimStore()
    source = MemorySource()
    source.put("a", Shifted(Cron("* * * * *"), 30))

    def take():
        mine = held(store)
        assert store.swap(mine, Claim("same", at("12:02"), at("12:00:40"), at("12:00:10")))

    clock.at(at("12:00:10"), take)
    seen = loop(source, clock, "12:01:00", store, token="same", **HELD)
    assert "12:00:30" not in dues(seen.all)
    assert watermark(store) >= at("12:00:40")


def test_a_standby_takes_over_when_the_claim_expires_and_covers_from_its_watermark():
    """The standby polls; once it leads it starts where the other's coverage ended, not where it is."""
    clock = LimitedClock(at("12:00:30"))
    store = MemoryClaimStore()
    store.swap(None, Claim("incumbent", at("12:02:30"), covered_until=at("12:00:45"), synced_until=at("12:00:20")))
    source = MemorySource()
    source.put("a", Interval(60))
    seen = loop(source, clock, "12:06:30", store, token="standby", tick_seconds=1)
    assert dues(seen.all) == minutes("12:01", "12:06")
    assert seen.calls[0][0] <= at("12:02:32")


def test_stop_commits_what_was_sent_and_releases_the_claim_in_the_same_write():
    """The next invocation must neither wait for a lease nor repeat; and one write can't be half done."""
    clock = LimitedClock(at("12:00:05"))
    store = MemoryClaimStore()
    source = MemorySource()
    source.put("a", Interval(10))
    scheduler = build(source, clock, store, **HELD)
    writes = []

    def handler(batch):
        if batch[0].due == at("12:00:30"):
            writes.append(len(store.writes))
            scheduler.stop()

    scheduler.run(handler)
    claim = held(store)
    assert clock.now() < at("12:00:31")  # it ends after this hand-over, not at the window's end
    assert claim.token == ""
    assert at("12:00:30") < claim.covered_until <= at("12:00:40")
    assert len(store.writes) == writes[0] + 1

    successor = Seen(clock)
    after = build(source, clock, store, **HELD)
    clock.at(at("12:01:05"), after.stop)
    after.run(successor)
    assert dues(successor.all) == ["12:00:40", "12:00:50", "12:01:00"]


def test_stop_in_an_idle_wait_ends_the_loop_and_releases_the_claim():
    """A process that is told to go has nothing to hand over; it must not sit out the lease."""
    clock = LimitedClock(at("12:00:05"))
    store = MemoryClaimStore()
    source = MemorySource()
    source.put("a", Cron("0 0 * * *"))
    loop(source, clock, "12:00:25", store, **HELD)
    assert held(store).token == ""
    assert clock.now() <= at("12:01:05")


def test_stop_before_the_first_tick_of_a_standby_leaves_the_others_claim_alone():
    """A process that never led has nothing to release."""
    clock = LimitedClock(at("12:00:05"))
    store = MemoryClaimStore()
    store.swap(None, Claim("incumbent", at("12:30"), at("12:00"), at("12:00")))
    source = MemorySource()
    source.put("a", Interval(10))
    seen = loop(source, clock, "12:05", store, token="standby")
    assert seen.all == []
    assert (held(store).token, held(store).revision) == ("incumbent", 1)


def test_a_scheduler_runs_again_after_it_was_stopped():
    """One process leads for short windows, lets go, and takes the claim again."""
    clock = LimitedClock(at("12:00:05"))
    store = MemoryClaimStore()
    source = MemorySource()
    source.put("a", Interval(10))
    scheduler = build(source, clock, store, **HELD)
    seen = Seen(clock)
    for k in range(1, 6):
        clock.at(at("12:00:05") + timedelta(seconds=14 * k), scheduler.stop)
        scheduler.run(seen)
    assert dues(seen.all) == ["12:00:10", "12:00:20", "12:00:30", "12:00:40", "12:00:50", "12:01:00", "12:01:10"]


def test_a_handler_that_raises_leaves_the_run_uncommitted_and_its_key_the_same():
    """Raising means "not sent": the supervisor's restart finds it again, recognisable."""
    clock = LimitedClock(at("12:00:30"))
    store = MemoryClaimStore()
    metrics = MemoryMetrics()
    source = MemorySource()
    source.put("a", Interval(60))
    scheduler = build(source, clock, store, metrics=metrics, **HELD)
    failed = []

    def failing(batch):
        failed.extend(batch)
        raise DispatchFailed("down")

    with pytest.raises(DispatchFailed, match="down"):
        scheduler.run(failing)
    assert dues(failed) == ["12:01:00"]
    assert watermark(store) <= at("12:01:00")
    assert metrics.total("error.total", stage="dispatch") == 1

    seen = Seen(clock)
    seen.scheduler, seen.stop_after = scheduler, 1
    scheduler.run(seen)
    assert [one.key for one in seen.all] == [one.key for one in failed]


def test_a_crash_between_the_hand_over_and_the_commit_repeats_the_run_under_its_key():
    """The one thing that may be doubled, and the reason why a key exists."""
    clock = LimitedClock(at("12:00:30"))
    store = MemoryClaimStore()
    source = MemorySource()
    source.put("a", Interval(60))
    first = []

    def dying(batch):
        first.extend(batch)
        raise Crash

    with pytest.raises(Crash):
        build(source, clock, store, token="one", **HELD).run(dying)
    clock.advance(400)  # the lease of 360 s has run out
    seen = loop(source, clock, "12:09:30", store, token="two", recover_seconds=900, **HELD)
    assert dues(first) == ["12:01:00"]
    assert dues(seen.all) == minutes("12:01", "12:09")
    assert seen.all[0].key == first[0].key


def test_a_crash_in_the_wait_loses_nothing_that_was_held():
    """Selected is not sent: the watermark still stands before everything that was being held."""
    clock = LimitedClock(at("12:00:05"))
    store = MemoryClaimStore()
    source = MemorySource()
    source.put("a", Interval(10))

    def die():
        raise Crash

    clock.at(at("12:00:27"), die)
    seen = Seen(clock)
    with pytest.raises(Crash):
        build(source, clock, store, token="one", **HELD).run(seen)
    assert dues(seen.all) == ["12:00:10", "12:00:20"]
    clock.advance(400)
    after = loop(source, clock, "12:08:05", store, token="two", recover_seconds=900, **HELD)
    expected = [hms(at("12:00:10") + timedelta(seconds=10 * k)) for k in range(48)]
    assert set(dues([*seen.all, *after.all])) == set(expected)


def test_numeric_ids_and_odd_ids_are_just_names():
    """An id is any Unicode: nothing may read it as a number, a path or a pattern."""
    ids = ["7", "007", "a/b", "ü", "日本", " ", "a@1", "%s", "x" * 512]
    clock = LimitedClock(at("12:00:30"))
    source = MemorySource()
    for one in ids:
        source.put(one, Interval(60))
    seen = loop(source, clock, "12:01:10", **HELD)
    assert sorted(one.id for one in seen.all) == sorted(ids)
    assert len({one.key for one in seen.all}) == len(ids)


def test_the_golden_signals_are_recorded():
    """Latency, traffic, errors and saturation: what an operator needs before anything else."""
    clock = LimitedClock(at("12:00:30"))
    metrics = MemoryMetrics()
    source = MemorySource()
    source.put("a", Interval(60))
    source.put("b", Interval(60))
    seen = loop(source, clock, "12:03:30", metrics=metrics, **HELD)
    assert len(seen.all) == 6
    assert metrics.total("dispatch.total") == 6
    assert metrics.values("dispatch.delay")
    assert all(0 <= delay < 0.05 for delay in metrics.values("dispatch.delay"))
    assert 2 in metrics.values("entries")
    assert metrics.values("lag")
    assert metrics.values("tick.duration")
    assert metrics.values("reconcile.duration")
    assert metrics.total("error.total") == 0


def test_a_failed_sync_while_runs_are_held_leaves_the_last_good_view_in_force():
    """Stale schedules beat a stopped scheduler: the failure is told, and the runs go out."""
    clock = LimitedClock(at("12:00:05"))
    source = MemorySource()
    metrics = MemoryMetrics()
    errors = []
    source.put("a", Interval(30))
    clock.at(at("12:00:12"), lambda: source.fail_snapshot(times=3))
    seen = loop(source, clock, "12:01:10", metrics=metrics, on_error=errors.append, sync_seconds=10, **HELD)
    assert dues(seen.all) == ["12:00:30", "12:01:00"]
    assert set(seen.lateness()) == {0.0}
    assert len(errors) == 3
    assert metrics.total("error.total") == 3


def test_a_handler_may_answer_none_or_what_it_dispatched():
    """A plain function is a handler; a dispatcher's method is one too."""
    clock = LimitedClock(at("12:00:30"))
    store = MemoryClaimStore()
    source = MemorySource()
    source.put("a", Interval(60))
    scheduler = build(source, clock, store, **HELD)
    count = []

    def handler(batch):
        count.append(len(batch))
        if len(count) == 2:
            scheduler.stop()
        return Dispatched(len(batch)) if len(count) % 2 else None

    scheduler.run(handler)
    assert count == [1, 1]
    assert watermark(store) > at("12:02:00")


def test_what_was_due_when_a_schedule_was_paused_is_not_sent_and_is_on_record():
    """A pause stops at once, also what is late; nobody should have to guess what it swallowed."""
    clock = LimitedClock(at("12:00:00"))
    store = MemoryClaimStore()
    log = MemorySkipLog()
    source = MemorySource()
    for one in ("paused", "removed", "kept"):
        source.put(one, Interval(60), active_from=at("11:00"))
    scheduler = started(source, clock, store, skip_log=log, lease_seconds=600, **HELD)
    clock.advance(150)  # 12:02:30, nothing was sent since 12:00 (the first window was committed to 12:01)
    source.pause("paused")
    source.remove("removed")
    seen = Seen(clock)
    clock.at(at("12:03:30"), scheduler.stop)
    scheduler.run(seen)
    assert dues(seen.all, "kept")[-2:] == ["12:02:00", "12:03:00"]
    assert {one.id for one in seen.all} == {"kept"}
    assert on_record(log, "paused", at("12:02:00"), "paused")
    assert on_record(log, "removed", at("12:02:00"), "deleted")
    assert not on_record(log, "paused", at("12:03:00"))
