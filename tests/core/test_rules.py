"""The scheduler's rules, one by one, with their exact edges."""

# ruff: noqa: S105, S106 - a token is a name of a process here

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from cycle_kit import (
    Crash,
    LimitedClock,
    at,
    build,
    cycle,
    dues,
    held,
    hms,
    minutes,
    on_record,
    runs,
    skipped,
    started,
    sync,
    us,
    watermark,
)

from everdue.core.claim import Claim, Milestone
from everdue.core.dispatcher import Dispatched, Rejection
from everdue.core.errors import ClaimFailed, ClockSkewed, SkipLogFailed, SourceFailed
from everdue.core.schedule import Entry, Row
from everdue.core.scheduler import Scheduler
from everdue.core.triggers.at import At
from everdue.core.triggers.interval import Interval
from everdue.testing import ManualClock, MemoryClaimStore, MemoryMetrics, MemorySkipLog, MemorySource


def one(trigger, **options):
    """A source with one schedule, `a`."""
    source = MemorySource()
    source.put("a", trigger, **options)
    return source


# --- 1. Windows tile ---


def test_the_windows_end_is_fixed_when_the_tick_begins():
    """A clock that runs on while the tick works must not let a run slip between this window and the next."""
    clock = ManualClock(at("12:00:59.9"))

    class Slow(MemorySource):
        """Making an entry takes time."""

        def make(self, row: Row) -> Entry:
            """Slowly."""
            clock.advance(0.2)
            return super().make(row)

    source = Slow()
    source.put("a", Interval(60))
    scheduler = started(source, clock)
    sent = []
    for _ in range(5):
        clock.advance(59.95)
        sent += sync(scheduler)
    clock.advance(60)
    sent += sync(scheduler)
    got = dues(sent)
    assert got == sorted(set(got))
    assert got[-5:] == minutes("12:02", "12:06")


def test_a_missing_minute_is_part_of_the_next_window():
    """A trigger that did not fire costs lateness, never a run."""
    clock = ManualClock(at("12:00:05"))
    scheduler = started(one(Interval(60)), clock, tick_seconds=60)
    clock.advance(60)
    assert dues(cycle(scheduler)) == ["12:01:00"]
    clock.advance(180)
    assert dues(cycle(scheduler)) == ["12:02:00", "12:03:00", "12:04:00"]


@pytest.mark.parametrize("back", [0.000001, 1, 59, 86_400])
def test_coverage_does_not_follow_a_clock_that_goes_back(back):
    """By a microsecond or a day: what was covered stays covered."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    scheduler = started(one(Interval(1)), clock, store)
    clock.advance(10)
    cycle(scheduler)
    clock.advance(-back)
    assert cycle(scheduler) == []
    assert watermark(store) == at("12:00:40")


# --- 2. Commit last ---


def test_what_was_selected_and_not_committed_comes_again_from_another_process():
    """Selected, maybe sent, not committed: the next leader can't know, so it sends again."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    source = one(Interval(60))
    scheduler = started(source, clock, store, token="one")
    clock.advance(60)
    first = scheduler.tick()
    clock.advance(30)
    second = build(source, clock, store, token="two")
    assert [x.key for x in sync(second)] == [x.key for x in first]


def test_a_commit_without_a_tick_writes_nothing():
    """There is nothing to cover; a commit must not invent a window."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    scheduler = build(one(Interval(60)), clock, store)
    scheduler.reconcile()
    assert scheduler.commit() is False
    assert store.load() is None or watermark(store) == at("12:00:30")


def test_a_second_commit_of_one_tick_writes_nothing():
    """The window is spent: a doubled call may not commit what a later tick has not selected."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    scheduler = started(one(Interval(60)), clock, store)
    clock.advance(60)
    scheduler.tick()
    assert scheduler.commit() is True
    revision = held(store).revision
    assert scheduler.commit() is False
    assert held(store).revision == revision


def test_a_commit_covers_exactly_the_window_of_its_tick():
    """Not up to the moment of the commit: what fell due while the handler worked was never selected."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    scheduler = started(one(Interval(1)), clock, store, lease_seconds=60)
    clock.advance(10)
    assert len(scheduler.tick()) == 10
    clock.advance(7)
    assert scheduler.commit() is True
    assert watermark(store) == at("12:00:40")
    assert dues(cycle(scheduler))[0] == "12:00:40"


def test_a_commit_whose_write_fails_is_made_good_by_the_next():
    """Unknown is not done: coverage stands where it stood until a later commit passes the same runs."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    source = one(Interval(60))
    scheduler = started(source, clock, store, lease_seconds=60)
    clock.advance(35)  # the claim needs a renewal, or not: both are fine
    scheduler.tick()
    store.fail("swap")
    with suppress(ClaimFailed):
        assert scheduler.commit() is False
    assert watermark(store) == at("12:00:30")
    assert dues(cycle(scheduler)) in (["12:01:00"], [])  # the caller has sent it: again, or committed at the next try
    assert watermark(store) == at("12:01:05")


def test_a_commit_whose_answer_was_lost_is_not_undone_nor_repeated_for_ever():
    """The write happened and nobody said so: coverage stands, and the process goes on from there."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    scheduler = started(one(Interval(60)), clock, store, lease_seconds=60)
    clock.advance(35)
    scheduler.tick()
    store.fail("swap", written=True)
    with suppress(ClaimFailed):
        scheduler.commit()
    assert watermark(store) == at("12:01:05")
    clock.advance(120)  # if it took itself for deposed, its own old lease has run out by now
    assert dues(cycle(scheduler)) == ["12:02:00", "12:03:00"]


# --- 2. Slices ---


def test_a_moment_is_never_cut_in_two():
    """Coverage can't stand in the middle of a moment; so a slice holds whole ones, however big."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    source = MemorySource()
    shared = Interval(60)
    for k in range(55_000):
        source.put(f"s{k}", shared)
    scheduler = started(source, clock, store)
    clock.advance(60)
    sent = cycle(scheduler)
    assert len(sent) == 55_000
    assert watermark(store) > at("12:01")


def test_coverage_after_a_slice_is_the_first_unsent_moment():
    """One less and a run repeats, one more and it is lost."""
    clock = ManualClock(at("12:00:00"))
    store = MemoryClaimStore()
    source = MemorySource()
    for k in range(1000):
        source.put(f"s{k}", Interval(1))
    scheduler = started(source, clock, store)
    clock.advance(120)
    first = cycle(scheduler)
    if len(first) == 120_000:
        pytest.fail("no slice was made of 120,000 runs")
    assert watermark(store) > first[-1].due
    second = cycle(scheduler)
    assert second[0].due == first[-1].due + timedelta(seconds=1)
    assert watermark(store) > second[-1].due
    assert len(first) % 1000 == 0


def test_a_crash_between_two_slices_keeps_the_progress_of_the_first():
    """A backlog that has to start over after each crash may never be done."""
    clock = LimitedClock(at("12:00:00"))
    store = MemoryClaimStore()
    source = MemorySource()
    for k in range(1000):
        source.put(f"s{k}", Interval(1), active_from=at("11:00"))
    started(source, clock, store, token="before")
    clock.advance(180)
    handed = 0

    def handler(batch):
        nonlocal handed
        handed += len(batch)
        if handed > 150_000:
            raise Crash

    with pytest.raises(Crash):
        build(source, clock, store, token="one").run(handler)
    assert watermark(store) > at("12:00:20")
    assert watermark(store) <= at("12:02:31")


# --- 3. One leader, fenced ---


def test_each_write_raises_the_revision_by_one():
    """The revision is the fence; a gap or a repeat in it would let a stale writer through."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    scheduler = started(one(Interval(1)), clock, store)
    for _ in range(20):
        clock.advance(1)
        cycle(scheduler)
    assert [claim.revision for claim in store.writes] == list(range(1, len(store.writes) + 1))


def test_the_first_claim_write_carries_coverage_already():
    """A first claim with no watermark loses every run until its first commit, if the process dies before it."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    scheduler = build(one(Interval(1)), clock, store, token="me")
    scheduler.reconcile()
    scheduler.tick()
    assert store.writes[0].covered_until == at("12:00:30")


def test_a_claim_lives_three_ticks_of_delivery_unless_told_otherwise():
    """Long enough for a hand-over to end, short enough for a takeover; both from what the caller knows."""
    for options, seconds in (
        ({}, 3),
        ({"tick_seconds": 60}, 180),
        ({"tick_seconds": 60, "lead_seconds": 60}, 360),
        ({"lease_seconds": 77}, 77),
    ):
        clock = ManualClock(at("12:00:30"))
        store = MemoryClaimStore()
        started(MemorySource(), clock, store, **options)
        assert held(store).expires_at == at("12:00:30") + timedelta(seconds=seconds), options


def test_two_contenders_for_one_expired_claim_make_one_leader():
    """Both read it free; the swap decides."""
    clock = ManualClock(at("12:00"))
    store = MemoryClaimStore()
    store.swap(None, Claim("", at("11:00"), at("11:59:30"), at("11:59:30")))
    stale = held(store)
    a = build(one(Interval(60)), clock, store, token="a")
    clock.advance(1)
    assert dues(sync(a)) == ["12:00:00"]

    class Late(MemoryClaimStore):
        """Reads the claim as it was."""

        def load(self) -> Claim | None:
            """The stale record, once."""
            return stale

        def swap(self, expected: Claim | None, next: Claim) -> bool:  # noqa: A002
            """The real one."""
            return store.swap(expected, next)

    b = build(one(Interval(60)), clock, Late(), token="b")
    b.reconcile()
    assert b.tick() == []
    assert b.commit() is False
    assert held(store).token == "a"


def test_tokens_are_different_unless_given():
    """Two processes that were given none must not take each other for themselves."""
    stores = []
    for _ in range(2):
        store = MemoryClaimStore()
        started(MemorySource(), ManualClock(at("12:00")), store)
        stores.append(held(store).token)
    assert all(stores)
    assert stores[0] != stores[1]


# --- 4. Clocks ---


@pytest.mark.parametrize(("ahead", "leads"), [(2.0, True), (-2.0, True), (2.000001, False), (-2.000001, False)])
def test_a_process_more_than_two_seconds_off_the_services_clock_does_not_lead(ahead, leads):
    """Up to two seconds the windows absorb it; beyond, it would send early or take a lease that still lives."""
    clock, service = ManualClock(at("12:00:30")), ManualClock(at("12:00:30"))
    clock.step(ahead)
    store = MemoryClaimStore(clock=clock, service_clock=service)
    errors = []
    metrics = MemoryMetrics()
    scheduler = build(one(Interval(1)), clock, store, on_error=errors.append, metrics=metrics)
    sent = []
    for _ in range(5):
        sent += sync(scheduler)
        clock.advance(1)
        service.advance(1)
    assert bool(sent) is leads
    told = any(isinstance(error, ClockSkewed) for error in errors) or metrics.total("error.total") > 0
    assert told is not leads


def test_a_leader_whose_clock_goes_wrong_while_it_holds_stops_sending():
    """The check at the election is not enough: a window is held for a minute."""
    clock, service = LimitedClock(at("12:00:00")), ManualClock(at("12:00:00"))
    store = MemoryClaimStore(clock=clock, service_clock=service)
    source = one(Interval(600))
    source.put("b", At(at("12:00:40")), active_from=at("11:00"))
    scheduler = build(source, clock, store, tick_seconds=60, lead_seconds=60, on_error=lambda error: None)

    def both(seconds):
        service.advance(seconds)

    for k in range(1, 30):
        clock.at(at("12:00:00") + timedelta(seconds=k), lambda: both(1))
    clock.at(at("12:00:20.5"), lambda: clock.step(300))
    clock.at(at("12:30:00"), scheduler.stop)
    sent = []
    scheduler.run(lambda batch: sent.extend((clock.now(), x) for x in batch))
    assert [x for moment, x in sent if moment > at("12:01")] == []


def test_a_clock_that_steps_ahead_in_a_held_window_skips_nothing():
    """Under the wrong time everything ahead looks missed; written off before its moment, it would never run."""
    clock = LimitedClock(at("12:00:05"))
    skew = [0]

    class Dated(MemoryClaimStore):
        """Knows the difference from its answers."""

        def skew_us(self) -> int | None:
            """As of the last one."""
            return skew[0]

    log = MemorySkipLog()
    source = one(Interval(60), catch_up="none")
    source.put("latest", Interval(60))
    options = {"tick_seconds": 60, "lead_seconds": 60, "skip_log": log, "on_error": lambda error: None}
    scheduler = build(source, clock, Dated(), **options)

    def ahead():
        clock.step(1800)
        skew[0] = 1_800_000_000

    clock.at(at("12:00:20.5"), ahead)
    clock.at(at("12:32:00"), scheduler.stop)  # by the wrong clock
    sent = []
    scheduler.run(lambda batch: sent.extend(batch))
    assert sent == []
    assert log.skips == []


def test_a_read_under_a_wrong_clock_does_not_put_off_what_is_written_after_it():
    """The view was read "in an hour"; an edit made after that must not be taken for older than the view."""
    clock, service = ManualClock(at("12:00:00")), ManualClock(at("12:00:00"))
    store = MemoryClaimStore(clock=clock, service_clock=service)
    source = one(Interval(60), payload="old", active_from=at("11:00"))
    scheduler = started(source, clock, store, on_error=lambda error: None)
    clock.step(3600)
    sync(scheduler)  # does not lead, but has read
    clock.step(-3600)
    source.put("a", Interval(30), "new", active_from=at("12:00:10"))
    source.put("b", Interval(60), active_from=at("12:00:10"))
    sent = []
    for _ in range(5):  # 12:00:30 to 12:02:30
        clock.advance(30)
        service.advance(30)
        sent += sync(scheduler)
    assert [(hms(x.due), x.payload) for x in sent if x.id == "a"] == [
        ("12:00:00", "old"),
        ("12:00:30", "new"),
        ("12:01:00", "new"),
        ("12:01:30", "new"),
        ("12:02:00", "new"),
    ]
    assert dues(sent, "b") == ["12:01:00", "12:02:00"]


# --- 6. Held, not early ---


def test_tick_by_hand_never_selects_past_its_lead():
    """`end` itself is the next window's."""
    clock = ManualClock(at("12:00:00"))
    scheduler = build(one(Interval(60)), clock, lead_seconds=60)
    scheduler.reconcile()
    assert dues(cycle(scheduler)) == ["12:00:00"]  # [12:00, 12:01)
    clock.advance(0.000001)
    assert dues(cycle(scheduler)) == ["12:01:00"]


def test_is_current_follows_the_definition():
    """A handler that puts work off asks again when it comes due."""
    clock = ManualClock(at("12:00:30"))
    source = MemorySource()
    for name in ("edited", "paused", "removed", "kept"):
        source.put(name, Interval(60))
    scheduler = started(source, clock)
    clock.advance(60)
    selected = {x.id: x for x in scheduler.tick()}
    assert all(scheduler.is_current(x) for x in selected.values())
    source.put("edited", Interval(60), "new")
    source.pause("paused")
    source.remove("removed")
    scheduler.reconcile()
    assert {name for name, x in selected.items() if scheduler.is_current(x)} == {"kept"}


# --- 7. Level-based; no complete view, no commit ---


def test_a_process_that_never_read_its_source_selects_and_commits_nothing():
    """An empty memory is not an empty source."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    store.swap(None, Claim("", at("11:00"), at("12:00"), at("12:00")))
    scheduler = build(one(Interval(1)), clock, store)
    assert scheduler.tick() == []
    assert scheduler.commit() is False
    assert watermark(store) == at("12:00")


def test_a_failed_sync_after_a_good_one_does_not_stop_the_commits():
    """The view was complete once; it gets old, and the claim says how old."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    source = one(Interval(60))
    scheduler = started(source, clock, store, on_error=lambda error: None)
    source.fail_snapshot()
    clock.advance(60)
    assert dues(sync(scheduler)) == ["12:01:00"]
    claim = held(store)
    assert claim.covered_until == at("12:01:30")
    assert claim.synced_until == at("12:00:30")


def test_a_successful_sync_moves_what_the_claim_says_about_the_view():
    """Dropped or forgotten, every restart would replay or lose what was written since."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    scheduler = started(one(Interval(60)), clock, store)
    clock.advance(60)
    sync(scheduler)
    assert held(store).synced_until == at("12:01:30")


def test_synced_until_is_the_moment_before_the_read_began():
    """A row written while the read was under way may be missing from it."""
    clock = ManualClock(at("12:00:30"))

    class Slow(MemorySource):
        """A listing takes a second a row."""

        def snapshot(self) -> Iterator[Row]:
            """Slowly."""
            for row in super().snapshot():
                clock.advance(1)
                yield row

    store = MemoryClaimStore()
    source = Slow()
    for k in range(5):
        source.put(f"s{k}", Interval(60))
    started(source, clock, store)
    assert held(store).synced_until == at("12:00:30")


def test_a_refused_row_keeps_its_last_good_definition():
    """A typo in an edit must not stop what ran well before it."""
    clock = ManualClock(at("12:00:30"))
    source = one(Interval(60), payload="good")
    errors = []
    scheduler = started(source, clock, on_error=errors.append)
    source.put("a", Interval(60), "typo")
    source.refuse("a", ValueError("cron '61 * * * *'"))
    clock.advance(60)
    assert [(hms(x.due), x.payload) for x in sync(scheduler)] == [("12:01:00", "good")]
    clock.advance(60)
    assert [(hms(x.due), x.payload) for x in sync(scheduler)] == [("12:02:00", "good")]
    assert {str(error) for error in errors} == {"cron '61 * * * *'"}

    source.accept("a")
    clock.advance(60)
    sync(scheduler)
    clock.advance(60)
    assert [(hms(x.due), x.payload) for x in sync(scheduler)] == [("12:04:00", "typo")]


def test_a_refused_row_that_leaves_the_source_is_forgotten():
    """Mended by deletion: nothing may be tried or reported any more."""
    clock = ManualClock(at("12:00:30"))
    source = one(Interval(60))
    source.refuse("a", ValueError("no"))
    errors = []
    scheduler = started(source, clock, on_error=errors.append)
    source.remove("a")
    scheduler.reconcile()
    before = len(errors)
    scheduler.reconcile()
    assert len(errors) == before
    assert len(scheduler) == 0


def test_a_refused_edit_of_a_row_that_is_then_paused_stops_the_old_definition():
    """The switch must work also when the definition behind it can't be read."""
    clock = ManualClock(at("12:00:30"))
    source = one(Interval(60))
    scheduler = started(source, clock, on_error=lambda error: None)
    source.put("a", Interval(60), "typo")
    source.refuse("a", ValueError("no"))
    scheduler.reconcile()
    source.pause("a")
    scheduler.reconcile()
    clock.advance(60)
    assert cycle(scheduler) == []


def test_every_failure_of_a_sync_reaches_the_listener_or_is_raised():
    """Silence would look like an empty source."""
    clock = ManualClock(at("12:00:30"))
    source = one(Interval(60))
    errors = []
    metrics = MemoryMetrics()
    listening = started(source, clock, on_error=errors.append, metrics=metrics)
    source.fail_snapshot()
    listening.reconcile()
    assert [type(error) for error in errors] == [SourceFailed]
    assert metrics.total("error.total") == 1

    silent = started(source, clock)
    source.fail_snapshot()
    with pytest.raises(SourceFailed):
        silent.reconcile()


# --- 8. What is new, without a feed ---


@pytest.mark.parametrize(
    ("active_from", "expected"),
    [
        ("12:04:59.999999", []),
        ("12:05:00", []),  # the read began then: it was seen
        ("12:05:00.000001", ["12:05:30", "12:06:00", "12:06:30"]),
        ("12:06:00", ["12:06:00", "12:06:30"]),
        ("12:06:00.000001", ["12:06:30"]),
        (None, []),
    ],
)
def test_after_a_takeover_only_what_took_effect_after_the_last_read_is_owed(active_from, expected):
    """Exactly at the read it was known and rides the watermark; a microsecond later it was not."""
    clock = ManualClock(at("12:05"))
    store = MemoryClaimStore()
    source = MemorySource()
    first = started(source, clock, store, token="first")
    clock.advance(120)
    cycle(first)  # covered to 12:07, read at 12:05
    source.put("a", Interval(30), active_from=at(active_from) if active_from else None)
    clock.advance(10)
    second = build(source, clock, store, token="second")
    assert dues(sync(second)) == [*expected, "12:07:00"]


def test_a_successor_does_not_run_a_schedule_for_the_time_before_it_took_effect():
    """The view may be newer than the watermark (a slice, a queue that was down): known is not the same as covered."""
    clock = ManualClock(at("12:06"))
    store = MemoryClaimStore()
    store.swap(None, Claim("", at("11:00"), covered_until=at("12:00"), synced_until=at("12:05")))
    source = MemorySource()
    source.put("a", Interval(60), active_from=at("12:02:30"))
    source.put("b", Interval(60), active_from=at("11:00"))
    scheduler = build(source, clock, store, recover_seconds=900)
    sent = sync(scheduler)
    assert dues(sent, "a") == minutes("12:03", "12:05")
    assert dues(sent, "b") == minutes("12:00", "12:05")
    clock.advance(60)
    assert runs(sync(scheduler)) == ["a@12:06:00", "b@12:06:00"]


@pytest.mark.parametrize("active_from", [None, "12:01", "11:59"])
def test_a_standby_with_an_old_view_leaves_no_gap_between_the_watermark_and_the_leaders_last_read(active_from):
    """The leader read at 12:05:30 and had covered to 12:05; what only the standby finds new starts there."""
    clock = ManualClock(at("12:00"))
    store = MemoryClaimStore()
    source = MemorySource()
    standby = build(source, clock, store)
    standby.reconcile()
    source.put("a", Interval(10), active_from=at(active_from) if active_from else None)
    store.swap(None, Claim("", at("11:00"), covered_until=at("12:05"), synced_until=at("12:05:30")))
    clock.advance(360)  # 12:06
    assert dues(sync(standby)) == [hms(at("12:05") + timedelta(seconds=10 * k)) for k in range(6)]


def test_a_pause_seen_by_a_slow_read_takes_effect_at_its_own_moment():
    """The read began before the pause and saw it in its last page: the runs between are due, unsent, and on record."""
    clock = ManualClock(at("12:00"))
    log = MemorySkipLog()

    class Slow(MemorySource):
        """A listing that takes half a minute before its first row, once told to."""

        slow = False

        def snapshot(self) -> Iterator[Row]:
            """Slowly."""
            if self.slow:
                clock.advance(20)
                self.put("a", Interval(5), active=False, active_from=clock.now())
                clock.advance(10)
            yield from super().snapshot()

    source = Slow()
    source.put("a", Interval(5), active_from=at("11:00"))
    scheduler = started(source, clock, skip_log=log, lease_seconds=600)
    clock.advance(10)  # 12:00:10, nothing sent since 12:00
    source.slow = True
    assert sync(scheduler) == []
    for k in range(0, 30, 5):  # the pause is of 12:00:30
        assert on_record(log, "a", at("12:00") + timedelta(seconds=k), "paused"), k


def test_owed_runs_are_sent_once_and_then_ride_the_watermark():
    """The debt is paid with the commit; it must not come again at each tick, nor after a restart."""
    clock = ManualClock(at("12:05"))
    store = MemoryClaimStore()
    source = MemorySource()
    first = started(source, clock, store, token="first")
    clock.advance(120)
    cycle(first)
    source.put("a", Interval(30), active_from=at("12:06:15"))
    clock.advance(10)
    second = build(source, clock, store, token="second")
    assert dues(sync(second)) == ["12:06:30", "12:07:00"]
    clock.advance(30)
    assert dues(sync(second)) == ["12:07:30"]
    clock.advance(30)
    third = build(source, clock, store, token="third")
    assert dues(sync(third)) == ["12:08:00"]


def test_owed_runs_survive_a_tick_that_was_not_committed():
    """Sent or not, the debt stands until it is on the claim."""
    clock = ManualClock(at("12:05"))
    source = MemorySource()
    scheduler = started(source, clock)
    clock.advance(60)
    cycle(scheduler)
    source.put("a", At(at("12:05:45")), active_from=at("12:05:30"))
    scheduler.reconcile()
    assert dues(scheduler.tick()) == ["12:05:45"]
    scheduler.reconcile()
    clock.advance(5)
    assert dues(scheduler.tick()) == ["12:05:45"]
    scheduler.commit()
    assert scheduler.tick() == []


def test_owed_runs_survive_the_death_of_the_process_that_found_them():
    """Found, selected, not committed: the successor compares with the same claim and finds them again."""
    clock = ManualClock(at("12:05"))
    store = MemoryClaimStore()
    source = MemorySource()
    first = started(source, clock, store, token="first")
    clock.advance(60)
    cycle(first)  # covered to 12:06, read at 12:05
    source.put("a", At(at("12:05:45")), active_from=at("12:05:30"))
    first.reconcile()
    assert dues(first.tick()) == ["12:05:45"]
    clock.advance(30)
    second = build(source, clock, store, token="second")
    assert dues(sync(second)) == ["12:05:45"]


def test_an_owed_backlog_too_big_for_one_tick_survives_a_crash_between_its_slices():
    """Part of the debt is paid and committed; the successor must owe the rest, though the watermark is far ahead."""
    clock = ManualClock(at("12:00"))
    store = MemoryClaimStore()
    source = one(Interval(60))
    first = started(source, clock, store, token="first")
    clock.advance(200)
    cycle(first)  # covered to 12:03:20, read at 12:00
    source.put("big", Interval(0.008), active_from=at("12:00:30"))
    clock.advance(1)
    first.reconcile()
    part = [x for x in cycle(first) if x.id == "big"]
    assert 0 < len(part) < 21_000  # 171 s of 125 a second are 21,375
    clock.advance(30)  # it dies here

    second = build(source, clock, store, token="second")
    second.reconcile()
    sent = {x.key for x in part}
    for _ in range(10):
        sent |= {x.key for x in cycle(second) if x.id == "big"}
    assert len(sent) == 125 * 201  # 12:00:30 to 12:03:51


# --- 9. A definition owns its own life ---


def test_an_edit_takes_effect_at_its_moment_to_the_microsecond():
    """Due exactly when the edit took effect belongs to the new definition; before it, to the old."""
    clock = ManualClock(at("12:00"))
    source = one(Interval(60), payload="old", active_from=at("11:00"))
    scheduler = started(source, clock)
    clock.advance(210)  # 12:03:30, nothing sent since 12:00
    source.put("a", Interval(60), "new", active_from=at("12:02"))
    sent = sync(scheduler)
    assert [(hms(x.due), x.payload) for x in sent] == [
        ("12:00:00", "old"),
        ("12:01:00", "old"),
        ("12:02:00", "new"),
        ("12:03:00", "new"),
    ]


def test_two_edits_while_behind_leave_each_definition_its_own_runs():
    """Three definitions, one backlog: the middle one was in force, too, if this process saw it."""
    clock = ManualClock(at("12:00"))
    source = one(Interval(60), payload="one", active_from=at("11:00"))
    scheduler = started(source, clock)
    clock.advance(70)
    source.put("a", Interval(60), "two", active_from=at("12:01:05"))
    scheduler.reconcile()
    clock.advance(70)
    source.put("a", Interval(60), "three", active_from=at("12:02:05"))
    scheduler.reconcile()
    clock.advance(50)  # 12:03:10
    assert [(hms(x.due), x.payload) for x in cycle(scheduler)] == [
        ("12:00:00", "one"),
        ("12:01:00", "one"),
        ("12:02:00", "two"),
        ("12:03:00", "three"),
    ]


def test_resuming_runs_nothing_that_fell_due_while_paused():
    """A pause is a decision; its runs are not a backlog."""
    clock = ManualClock(at("12:00"))
    source = one(Interval(60), version="1")
    scheduler = started(source, clock)
    clock.advance(30)
    assert dues(sync(scheduler)) == ["12:00:00"]
    source.pause("a")
    sync(scheduler)
    clock.advance(150)  # 12:03
    sync(scheduler)
    source.resume("a")
    clock.advance(90)  # 12:04:30
    assert sync(scheduler) == []
    clock.advance(60)
    assert dues(sync(scheduler)) == ["12:05:00"]


def test_resuming_with_a_stamp_runs_from_that_moment():
    """The writer says when it was resumed; what fell due since then is owed."""
    clock = ManualClock(at("12:00"))
    source = one(Interval(60))
    scheduler = started(source, clock)
    source.pause("a")
    sync(scheduler)
    clock.advance(150)  # 12:02:30
    sync(scheduler)
    source.put("a", Interval(60), active_from=at("12:02:50"))
    clock.advance(50)  # 12:03:20
    assert dues(sync(scheduler)) == ["12:03:00"]


def test_a_paused_backlog_is_on_record_with_its_span_and_count():
    """Three runs were due before the pause and are not sent: whoever paused it can see which."""
    clock = ManualClock(at("12:00:30"))
    log = MemorySkipLog()
    metrics = MemoryMetrics()
    source = one(Interval(60))
    source.put("gone", Interval(60))
    scheduler = started(source, clock, skip_log=log, metrics=metrics)
    clock.advance(180)  # 12:03:30
    source.pause("a")
    source.remove("gone")
    assert sync(scheduler) == []
    assert skipped(log, "a", "paused") == 3
    assert skipped(log, "gone", "deleted") == 3
    for k in (1, 2, 3):
        assert on_record(log, "a", at(f"12:0{k}"), "paused")
        assert on_record(log, "gone", at(f"12:0{k}"), "deleted")
    assert metrics.total("skip.total", reason="paused") == 3
    assert metrics.total("skip.total", reason="deleted") == 3


def test_pausing_with_nothing_unsent_leaves_no_record():
    """A record of nothing would be noise in the very list that must stay believable."""
    clock = ManualClock(at("12:00:30"))
    log = MemorySkipLog()
    source = one(Interval(3600))
    scheduler = started(source, clock, skip_log=log)
    source.pause("a")
    clock.advance(60)
    sync(scheduler)
    assert log.skips == []


# --- 10. Nothing is skipped silently: catch_up, recover, horizon ---


def caught_up(catch_up, *, behind, recover=300, horizon=3600, trigger=None, **entry):
    """What one schedule, due each minute, sends and skips when the scheduler was away from 12:00 on."""
    clock = ManualClock(at("12:00"))
    log = MemorySkipLog()
    source = MemorySource()
    source.put("a", trigger or Interval(60), catch_up=catch_up, **entry)
    scheduler = started(source, clock, skip_log=log, recover_seconds=recover, horizon_seconds=horizon)
    clock.advance(behind)
    return cycle(scheduler), log


@pytest.mark.parametrize("catch_up", ["latest", "all", "none"])
def test_what_is_merely_late_is_always_sent(catch_up):
    """Within the recovery bound `catch_up` has no say: exactly at the bound is still late."""
    sent, log = caught_up(catch_up, behind=300)
    assert dues(sent) == minutes("12:00", "12:04")  # 12:00 is exactly 300 s old
    assert log.skips == []


def test_a_microsecond_past_the_recovery_bound_is_missed():
    """The edge itself, from both sides."""
    sent, log = caught_up("none", behind=300.000001)
    assert dues(sent) == minutes("12:01", "12:05")
    assert skipped(log, "a", "missed") == 1
    assert on_record(log, "a", at("12:00"), "missed")
    assert not on_record(log, "a", at("12:01"))


def test_catch_up_all_sends_every_missed_run_back_to_the_horizon():
    """Exactly at the horizon is still within it; what lies beyond is on record."""
    sent, log = caught_up("all", behind=3660)  # 13:01; horizon at 12:01
    assert dues(sent) == minutes("12:01", "13:00")
    assert skipped(log, "a", "horizon") == 1
    assert on_record(log, "a", at("12:00"), "horizon")

    sent, log = caught_up("all", behind=3600.000001)
    assert dues(sent)[0] == "12:01:00"
    assert skipped(log, "a", "horizon") == 1

    sent, log = caught_up("all", behind=3600)
    assert dues(sent)[0] == "12:00:00"
    assert log.skips == []


def test_catch_up_none_sends_no_missed_run_and_records_each():
    """Missed within the horizon and beyond it are told apart."""
    sent, log = caught_up("none", behind=3660 + 120)  # 13:03; horizon 12:03, late from 12:58
    assert dues(sent) == minutes("12:58", "13:02")
    assert skipped(log, "a", "horizon") == 3  # 12:00, 12:01, 12:02
    assert skipped(log, "a", "missed") == 55  # 12:03 to 12:57


def test_catch_up_latest_sends_no_missed_run_when_a_later_one_is_late():
    """The newer run does the work of the older."""
    sent, log = caught_up("latest", behind=600)  # 12:10; late from 12:05
    assert dues(sent) == minutes("12:05", "12:09")
    assert skipped(log, "a", "missed") == 5


def test_catch_up_latest_sends_the_newest_missed_run_when_no_later_one_is_due():
    """An hourly job that was away for twenty minutes past its hour runs once, late."""
    sent, log = caught_up("latest", behind=3600 + 1200, trigger=Interval(3600), horizon=86_400)  # 13:20
    assert dues(sent) == ["13:00:00"]
    assert skipped(log, "a", "missed") == 1
    assert on_record(log, "a", at("12:00"), "missed")
    assert not on_record(log, "a", at("13:00"))


def test_catch_up_latest_sends_nothing_that_lies_beyond_the_horizon():
    """The newest missed run is too old as well: it is on record and not sent."""
    sent, log = caught_up("latest", behind=3600.5, trigger=Interval(43_200))  # 13:00:00.5, due 12:00
    assert sent == []
    assert skipped(log, "a", "horizon") == 1

    sent, log = caught_up("latest", behind=3600, trigger=Interval(43_200))
    assert dues(sent) == ["12:00:00"]
    assert log.skips == []


def test_catch_up_latest_counts_a_run_held_in_the_lead_as_a_later_one_or_sends_the_missed_one():
    """Either way the newest of them goes out: a later run that is due now stands in for the missed one."""
    clock = ManualClock(at("12:00"))
    log = MemorySkipLog()
    source = MemorySource()
    source.put("a", Interval(600))
    scheduler = started(source, clock, skip_log=log)
    clock.advance(600 + 360)  # 12:16: 12:00 and 12:10 are missed
    assert dues(cycle(scheduler)) == ["12:10:00"]
    assert skipped(log, "a", "missed") == 1


def test_a_schedules_own_recovery_bound_overrides_the_schedulers():
    """A backup may be an hour late; a price tick is worthless after ten seconds."""
    clock = ManualClock(at("12:00"))
    log = MemorySkipLog()
    source = MemorySource()
    source.put("patient", Interval(60), catch_up="none", recover_seconds=3600)
    source.put("hasty", Interval(60), catch_up="none", recover_seconds=10)
    source.put("usual", Interval(60), catch_up="none")
    scheduler = started(source, clock, skip_log=log)
    clock.advance(605)  # 12:10:05
    sent = cycle(scheduler)
    assert dues(sent, "patient") == minutes("12:00", "12:10")
    assert dues(sent, "hasty") == ["12:10:00"]
    assert dues(sent, "usual") == minutes("12:06", "12:10")
    assert skipped(log, "hasty", "missed") == 10
    assert skipped(log, "usual", "missed") == 6


@pytest.mark.parametrize("catch_up", ["latest", "all", "none"])
@pytest.mark.parametrize("horizon", [600, 86_400])
def test_one_shots_are_sent_however_late(catch_up, horizon):
    """Neither `catch_up` nor the recovery bound nor the horizon drops a one-shot."""
    sent, log = caught_up(catch_up, behind=7200, horizon=horizon, trigger=At(at("12:00:30")))
    assert dues(sent) == ["12:00:30"]
    assert log.skips == []


def test_the_lag_is_measured_on_the_true_watermark():
    """Clamped to the recovery bound it would read 300 after an hour of outage, and nobody would wake up."""
    clock = ManualClock(at("12:00"))
    metrics = MemoryMetrics()
    scheduler = started(one(Interval(60)), clock, metrics=metrics, horizon_seconds=600)
    clock.advance(3600)
    cycle(scheduler)
    assert max(metrics.values("lag")) == 3600


def test_a_skip_is_on_record_before_coverage_passes_it():
    """The other way round, a crash between the two makes the loss silent."""
    clock = ManualClock(at("12:00"))
    store = MemoryClaimStore()
    seen = []

    class Watching(MemorySkipLog):
        """Looks at the watermark when a record comes."""

        def record(self, skips):
            """Keep both."""
            seen.append(watermark(store))
            super().record(skips)

    log = Watching()
    scheduler = started(one(Interval(60)), clock, store, skip_log=log)
    clock.advance(3600)
    cycle(scheduler)
    assert seen
    assert set(seen) == {at("12:00")}
    assert watermark(store) == at("13:00")


def test_coverage_does_not_pass_a_skip_that_could_not_be_recorded():
    """No record, no progress: the same skips are tried again, and then coverage moves."""
    clock = ManualClock(at("12:00"))
    store = MemoryClaimStore()
    log = MemorySkipLog()
    scheduler = started(one(Interval(60)), clock, store, skip_log=log, on_error=lambda error: None)
    clock.advance(3600)
    log.fail()
    scheduler.tick()
    with suppress(SkipLogFailed):
        assert scheduler.commit() is False
    assert watermark(store) == at("12:00")
    clock.advance(1)
    cycle(scheduler)
    assert watermark(store) == at("13:00:01")
    assert skipped(log, "a", "missed") == 55  # 12:00 to 12:54


def test_the_same_skips_come_again_as_the_same_records_after_a_crash_before_the_commit():
    """A log that keys on the record shows them once."""
    clock = ManualClock(at("12:00"))
    log = MemorySkipLog()
    scheduler = started(one(Interval(60)), clock, skip_log=log, lease_seconds=60)
    clock.advance(3600)
    scheduler.tick()
    again = build(one(Interval(60)), clock, skip_log=log)
    assert again is not scheduler
    scheduler.commit()
    first = log.of("a")
    assert len(first) == 1
    assert (first[0].start_us, first[0].count) == (us(at("12:00")), 55)
    assert us(at("12:54")) < first[0].end_us <= us(at("12:55"))


def test_without_a_skip_log_the_count_by_reason_still_tells():
    """The log is optional, the number is not."""
    clock = ManualClock(at("12:00"))
    metrics = MemoryMetrics()
    scheduler = started(one(Interval(60)), clock, metrics=metrics)
    clock.advance(3600)
    cycle(scheduler)
    assert metrics.total("skip.total", reason="missed") == 55


def test_a_rejected_occurrence_is_on_record_under_its_own_moment():
    """The queue's own words stand beside it, and coverage passes it only with them."""
    clock = LimitedClock(at("12:00:30"))
    store = MemoryClaimStore()
    log = MemorySkipLog()
    metrics = MemoryMetrics()
    source = one(Interval(60))
    source.put("b", Interval(60))
    scheduler = build(source, clock, store, skip_log=log, metrics=metrics, tick_seconds=60, lead_seconds=60)

    def handler(batch):
        scheduler.stop()
        return Dispatched(1, [Rejection(x, "InvalidMessageContents") for x in batch if x.id == "a"])

    scheduler.run(handler)
    assert [(s.id, s.count, s.reason, s.detail) for s in log.skips] == [("a", 1, "rejected", "InvalidMessageContents")]
    assert on_record(log, "a", at("12:01"), "rejected")
    assert not on_record(log, "a", at("12:02"))
    assert watermark(store) > at("12:01")
    assert metrics.total("dispatch.total") == 1
    assert metrics.total("skip.total", reason="rejected") == 1


# --- 11. One-shots ---


def test_a_one_shot_in_the_past_runs_at_once_when_it_is_new():
    """Written for last week: the writer wants it done, not refused."""
    clock = ManualClock(at("12:00"))
    source = MemorySource()
    log = MemorySkipLog()
    scheduler = started(source, clock, skip_log=log)
    source.put("plain", At(at("12:00") - timedelta(days=7)))
    source.put("stamped", At(at("12:00") - timedelta(days=7)), active_from=at("12:00:03"))
    clock.advance(5)
    assert {x.id for x in sync(scheduler)} == {"plain", "stamped"}
    assert log.skips == []
    clock.advance(5)
    assert sync(scheduler) == []


def test_a_one_shot_in_the_past_written_while_nobody_led_runs_at_the_takeover():
    """It took effect after the last read, so nobody can have run it."""
    clock = ManualClock(at("12:00"))
    store = MemoryClaimStore()
    source = MemorySource()
    started(source, clock, store, token="first")
    source.put("job", At(at("09:00")), active_from=at("12:01"))
    clock.advance(3600)
    second = build(source, clock, store, token="second")
    assert dues(sync(second)) == ["09:00:00"]
    clock.advance(60)
    third = build(source, clock, store, token="third")
    assert sync(third) == []


def test_an_edited_one_shot_is_a_new_run():
    """The same id with a new definition runs again: at its new moment, and at once where that has passed."""
    clock = ManualClock(at("12:00"))
    source = one(At(at("12:00:10")))
    scheduler = started(source, clock)
    clock.advance(20)
    assert dues(sync(scheduler)) == ["12:00:10"]
    source.put("a", At(at("12:00:15")), active_from=at("12:00:22"))
    clock.advance(10)
    assert dues(sync(scheduler)) == ["12:00:15"]
    clock.advance(10)
    assert sync(scheduler) == []


def test_a_paused_one_shot_runs_neither_then_nor_later():
    """It was due while paused; resuming runs nothing of that time."""
    clock = ManualClock(at("12:00"))
    source = one(At(at("12:01")), version="1")
    scheduler = started(source, clock)
    source.pause("a")
    sync(scheduler)
    clock.advance(120)
    assert sync(scheduler) == []
    source.resume("a")
    clock.advance(10)
    assert sync(scheduler) == []


# --- 12. One bad schedule hurts only itself ---


class Plain:
    """The plain port, as a user writes it."""

    recurring = True

    def __init__(self, answer):
        self.answer = answer

    def occurrences_between(self, start: datetime, end: datetime) -> list[datetime]:
        """Whatever the test wants."""
        return self.answer(start, end)


class Lazy(Plain):
    """The lazy port, answering from a generator."""

    def next_us(self, at_us: int) -> int | None:
        """The first that the generator gives."""
        return next(iter(self.answer(at_us, at_us + 10**12)), None)

    def iterate_us(self, start_us: int, end_us: int) -> Iterator[int]:
        """The generator."""
        yield from self.answer(start_us, end_us)

    def occurrences_between(self, start: datetime, end: datetime) -> list[datetime]:
        """Not used."""
        raise AssertionError("the lazy ability was not used")


def every_microsecond(start_us, end_us):
    yield from range(start_us, end_us)


def standing_still(start_us, end_us):
    while True:
        yield start_us


HOSTILE = {
    "raises": Plain(lambda start, end: 1 / 0),
    "answers None": Plain(lambda start, end: None),
    "answers text": Plain(lambda start, end: ["12:00"]),
    "answers naive moments": Plain(lambda start, end: [start.replace(tzinfo=None)]),
    "answers before the window": Plain(lambda start, end: [start - timedelta(seconds=1)] if start < end else []),
    "answers at its end": Plain(lambda start, end: [end]),
    "answers backwards": Plain(lambda start, end: [end - timedelta(microseconds=1), start] if start < end else []),
    "answers twice the same": Plain(lambda start, end: [start, start] if start < end else []),
    "a million a second": Lazy(every_microsecond),
    "never moves on": Lazy(standing_still),
    "raises lazily": Lazy(lambda start, end: iter([1 // 0])),
    "recursion": Plain(lambda start, end: HOSTILE["recursion"].occurrences_between(start, end)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_trigger_stops_nobody_else(name):
    """Other people's code runs in the middle of every tick; whatever it answers, the rest goes out on time."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    log = MemorySkipLog()
    source = MemorySource()
    source.put("a-good", Interval(10))
    source.put("bad", Entry(HOSTILE[name]))
    source.put("c-good", Plain(lambda start, end: []))
    source.put("z-good", Interval(10))
    scheduler = started(source, clock, store, skip_log=log, on_error=lambda error: None)
    good: dict[str, int] = {}
    for _ in range(3):
        clock.advance(10)
        for _ in range(5):  # slices, if it takes some
            for x in cycle(scheduler):
                if x.id != "bad":
                    good[x.key] = good.get(x.key, 0) + 1
            if watermark(store) >= clock.now():
                break
    expected = [us(at("12:00:30")) // 10**6 + 10 * k for k in range(3)]
    assert sorted(good) == sorted(f"{i}@{due}.000000" for i in ("a-good", "z-good") for due in expected)
    assert set(good.values()) == {1}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_trigger_does_not_hold_the_watermark_for_ever(name):
    """Coverage is everybody's: held back by one schedule, a restart repeats all the others from there."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    source = MemorySource()
    source.put("good", Interval(10))
    source.put("bad", Entry(HOSTILE[name]))
    scheduler = started(source, clock, store, skip_log=MemorySkipLog(), on_error=lambda error: None)
    for _ in range(45):
        clock.advance(1)
        cycle(scheduler)
    assert watermark(store) >= at("12:01:00")


@pytest.mark.parametrize("name", ["answers before the window", "answers at its end", "answers backwards"])
def test_a_trigger_that_answers_outside_its_window_sends_nothing_from_there(name):
    """An answer from the next window would be early; one from the last a repeat."""
    clock = ManualClock(at("12:00:30"))
    source = one(HOSTILE[name])
    scheduler = started(source, clock, on_error=lambda error: None)
    for _ in range(5):
        start = clock.now()
        clock.advance(10)
        for x in cycle(scheduler):
            assert start <= x.due < clock.now()


def test_a_million_runs_in_one_window_are_bounded_and_on_record():
    """One schedule may not fill the queue for everybody; what is over the bound is counted."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    log = MemorySkipLog()
    source = one(Lazy(every_microsecond))
    scheduler = started(source, clock, store, skip_log=log, on_error=lambda error: None)
    clock.advance(1)
    sent = 0
    for _ in range(30):
        sent += len(cycle(scheduler))
        if watermark(store) == clock.now():
            break
    assert watermark(store) == at("12:00:31")
    assert sent < 1_000_000
    recorded = [s for s in log.of("a") if s.reason in ("excess", "failed")]
    assert recorded
    assert sum(s.count for s in recorded) in (0, 1_000_000 - sent)  # 0: too many to be counted


def test_a_failing_trigger_is_on_record_and_runs_again_once_it_is_mended():
    """`failed` says that it can't be known what was due; mended, it goes on from there."""
    clock = ManualClock(at("12:00:30"))
    log = MemorySkipLog()
    broken = [True]

    def answer(start, end):
        if broken[0]:
            raise RuntimeError("out of order")
        first = -(-us(start) // 10_000_000)
        return [datetime.fromtimestamp(10 * k, UTC) for k in range(first, -(-us(end) // 10_000_000))]

    errors = []
    source = one(Plain(answer))
    scheduler = started(source, clock, skip_log=log, on_error=errors.append)
    clock.advance(10)
    assert sync(scheduler) == []
    records = [s for s in log.of("a") if s.reason == "failed"]
    assert records
    assert records[0].count == 0
    assert "out of order" in records[0].detail
    broken[0] = False
    clock.advance(10)
    sync(scheduler)
    clock.advance(10)
    assert "12:00:50" in dues(sync(scheduler))


# --- 13. Deterministic ---


def test_two_schedulers_over_the_same_rows_select_the_same():
    """Selection is a function of definitions and window: not of the order of rows, nor of who asks."""
    rows = [(f"s{k}", Interval(7 + k % 5)) for k in range(60)]
    results = []
    for order in (rows, rows[::-1]):
        clock = ManualClock(at("12:00:30"))
        source = MemorySource()
        for name, trigger in order:
            source.put(name, trigger, version="1")
        scheduler = started(source, clock)
        clock.advance(97.123456)
        results.append([x.key for x in cycle(scheduler)])
    assert results[0] == results[1]
    assert len(results[0]) > 500


# --- 14. A lost claim is noticed ---


def test_a_milestone_is_written_rarely_and_read_only_when_the_claim_is_gone():
    """Written at each commit it would double the cost of every tick."""
    clock = ManualClock(at("12:00"))
    saves = []

    class Counting(MemoryClaimStore):
        """Counts."""

        def save_milestone(self, milestone: Milestone) -> None:
            """Keep it."""
            saves.append(milestone)
            super().save_milestone(milestone)

    store = Counting()
    scheduler = started(one(Interval(60)), clock, store)
    for _ in range(1200):
        clock.advance(1)
        cycle(scheduler)
    assert 2 <= len(saves) <= 20  # twenty minutes, 1,200 commits
    covered = [milestone.covered_until for milestone in saves]
    assert covered == sorted(covered)
    assert all(milestone.covered_until <= watermark(store) for milestone in saves)


def test_a_first_run_ever_is_no_alarm_and_leaves_a_milestone_behind():
    """Only a shard that has run can have lost its claim."""
    clock = ManualClock(at("12:00"))
    store = MemoryClaimStore()
    errors = []
    metrics = MemoryMetrics()
    scheduler = started(one(Interval(60)), clock, store, on_error=errors.append, metrics=metrics)
    assert errors == []
    assert metrics.total("error.total") == 0
    for _ in range(700):
        clock.advance(1)
        cycle(scheduler)
    assert store.load_milestone() is not None


def test_a_claim_lost_soon_after_the_very_first_window_is_noticed_too():
    """The milestone must exist from the first coverage on, or an early loss looks like a first run again."""
    clock = ManualClock(at("12:00"))
    store = MemoryClaimStore()
    source = one(Interval(10))
    first = started(source, clock, store, token="first")
    clock.advance(20)
    sent = sync(first)
    store.lose()
    clock.advance(60)
    second = build(source, clock, store, token="second", on_error=lambda error: None)
    sent += sync(second)
    assert set(dues(sent)) == {hms(at("12:00") + timedelta(seconds=10 * k)) for k in range(8)}


# --- Construction ---


@pytest.mark.parametrize(
    "options",
    [
        {"tick_seconds": 0},
        {"tick_seconds": -1},
        {"sync_seconds": 0},
        {"sync_seconds": -10},
        {"lead_seconds": -1},
        {"snapshot_seconds": -1},
        {"recover_seconds": -1},
        {"horizon_seconds": -1},
        {"lease_seconds": 0},
        {"lease_seconds": 1.9},
        {"tick_seconds": 30, "lease_seconds": 45},
        {"tick_seconds": 60, "lead_seconds": 60, "lease_seconds": 239},
    ],
)
def test_senseless_numbers_are_refused_at_construction(options):
    """Found at the first tick, or never, they would be found by lost runs."""
    with pytest.raises(ValueError, match=next(reversed(options)).partition("_")[0]):
        Scheduler(MemorySource(), MemoryClaimStore(), clock=ManualClock(at("12:00")), **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"snapshot_seconds": 0},
        {"recover_seconds": 0},
        {"lead_seconds": 0},
        {"tick_seconds": 30, "lease_seconds": 60},
        {"tick_seconds": 0.5},
        {"tick_seconds": 60, "lead_seconds": 60, "lease_seconds": 240},
    ],
)
def test_the_edges_of_what_makes_sense_are_accepted(options):
    """Zero is a wish, where it can be one; two ticks of lease are enough."""
    Scheduler(MemorySource(), MemoryClaimStore(), clock=ManualClock(at("12:00")), **options)


def test_options_are_named_and_only_the_source_and_the_store_are_not():
    """A call that reads `Scheduler(source, store, 60, 10)` says nothing."""
    with pytest.raises(TypeError):
        Scheduler(MemorySource(), MemoryClaimStore(), 60)


def test_a_store_is_optional():
    """A single process with nothing to fail over to starts with one line; it keeps its claim in memory."""
    clock = ManualClock(at("12:00"))
    scheduler = Scheduler(one(Interval(60)), clock=clock)
    scheduler.reconcile()
    cycle(scheduler)
    clock.advance(30)
    assert dues(cycle(scheduler)) == ["12:00:00"]


def test_the_order_of_a_moment_is_the_same_for_every_process():
    """Ids that sort alike everywhere: by their code points, not by the order of a dictionary."""
    clock = ManualClock(at("12:00:30"))
    source = MemorySource()
    for name in ("b", "B", "a", "ä", "aa", "10", "9"):
        source.put(name, Interval(60))
    scheduler = started(source, clock)
    clock.advance(60)
    assert [x.partition("@")[0] for x in runs(cycle(scheduler))] == ["10", "9", "B", "a", "aa", "b", "ä"]
