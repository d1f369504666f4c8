"""Whole stories of reconcile, tick and commit, each with every expected moment written out."""

# ruff: noqa: S105, S106 - a token is a name of a process here

import math
from datetime import timedelta

import pytest
from cycle_kit import at, build, cycle, dues, held, hms, minutes, on_record, runs, skipped, started, sync, watermark

from everdue.core.claim import Claim
from everdue.core.errors import SourceFailed
from everdue.core.triggers.at import At
from everdue.core.triggers.cron import Cron
from everdue.core.triggers.interval import Interval
from everdue.testing import ManualClock, MemoryClaimStore, MemoryMetrics, MemorySkipLog, MemorySource


def minutely(*ids: str) -> MemorySource:
    """Schedules that are due at second 0 of every minute."""
    source = MemorySource()
    for one in ids:
        source.put(one, Interval(60))
    return source


# --- windows tile ---


def test_a_tick_phase_that_drifts_across_a_minute_boundary_for_an_hour_drops_nothing():
    """Asking "is it due now?" loses 90 % of the runs while the phase crosses the boundary; tiled windows lose none."""
    clock = ManualClock(at("11:53:59.955"))
    source = minutely("minute")
    source.put("five", Cron("*/5 * * * *"))
    scheduler = build(source, clock, tick_seconds=60)
    scheduler.reconcile()

    sent = []
    for _ in range(61):  # from 11:53:59.955 to 12:54:00.045: the phase passes second 0 at the thirty-first tick
        sent += cycle(scheduler)
        clock.advance(60.0015)

    assert dues(sent, "minute") == minutes("11:54", "12:54")
    assert dues(sent, "five") == ["11:55:00"] + [f"12:{minute:02}:00" for minute in range(0, 55, 5)]


def test_due_exactly_at_the_start_belongs_and_due_exactly_at_the_end_does_not():
    """The one rule that puts each run into exactly one window, whatever the tick's phase."""
    clock = ManualClock(at("12:00"))
    scheduler = started(minutely("a"), clock)
    clock.advance(60)

    assert dues(cycle(scheduler)) == ["12:00:00"]  # [12:00, 12:01)
    clock.advance(0.000001)
    assert dues(cycle(scheduler)) == ["12:01:00"]  # [12:01, 12:01:00.000001)
    clock.advance(59.999999)
    assert cycle(scheduler) == []  # [12:01:00.000001, 12:02)


def test_ten_thousand_schedules_run_exactly_once_under_tick_jitter():
    """At fleet size, and with a wandering phase, the counts are what modular arithmetic says: no more, no fewer."""
    classes = [  # how many, modulus, remainder (both in seconds of the Unix epoch), trigger
        (2000, 60, 0, Interval(60)),
        (2000, 120, 0, Interval(120)),
        (2000, 300, 0, Interval(300)),
        (2000, 900, 0, Interval(900)),
        (500, 300, 0, Cron("*/5 * * * *")),
        (500, 900, 0, Cron("*/15 * * * *")),
        (500, 3600, 0, Cron("0 * * * *")),
        (500, 3600, 1800, Cron("30 * * * *")),
    ]
    source = MemorySource()
    for index, (count, _, _, trigger) in enumerate(classes):
        for k in range(count):
            source.put(f"{index}-{k}", trigger)
    clock = ManualClock(at("13:20:30.25"))
    scheduler = build(source, clock, tick_seconds=60, lease_seconds=600)
    scheduler.reconcile()

    seen: dict[str, int] = {}
    per_class = [0] * len(classes)
    first = last = clock.now().timestamp()
    for tick in range(13):
        last = clock.now().timestamp()
        for one in cycle(scheduler):
            seen[one.key] = seen.get(one.key, 0) + 1
            per_class[int(one.id.partition("-")[0])] += 1
        clock.advance(60 + (tick * 37 % 17) / 20 - 0.4)

    assert set(seen.values()) == {1}
    slots = range(math.ceil(first), math.ceil(last))  # whole seconds in [first tick, last tick)
    for (count, modulus, remainder, _), sent in zip(classes, per_class, strict=True):
        assert sent == count * sum(slot % modulus == remainder for slot in slots), (modulus, remainder)


def test_the_first_window_of_all_starts_at_now_and_owes_no_history():
    """A fresh stack over old schedules must not begin with a day of catching up."""
    clock = ManualClock(at("12:00:30"))
    source = MemorySource()
    source.put("old", Interval(60), active_from=at("08:00"))
    source.put("plain", Interval(60))
    scheduler = started(source, clock)
    clock.advance(60)
    assert runs(cycle(scheduler)) == ["old@12:01:00", "plain@12:01:00"]


def test_the_watermark_never_moves_back_when_the_clock_does():
    """A clock that steps back makes empty windows; moving coverage back would repeat what has run."""
    clock = ManualClock(at("12:02:30"))
    store = MemoryClaimStore()
    scheduler = started(minutely("a"), clock, store)
    clock.advance(60)
    assert dues(cycle(scheduler)) == ["12:03:00"]

    clock.advance(-90)  # 12:02:00
    assert cycle(scheduler) == []
    assert watermark(store) == at("12:03:30")

    clock.advance(120)  # 12:04:00
    assert cycle(scheduler) == []
    clock.advance(1)
    assert dues(cycle(scheduler)) == ["12:04:00"]


def test_a_tick_without_a_commit_selects_the_same_runs_under_the_same_keys():
    """A retry must be recognisable: the queue and the worker tell a repeat by its key alone."""
    clock = ManualClock(at("12:00:30"))
    scheduler = started(minutely("a"), clock)
    clock.advance(95)

    first = scheduler.tick()
    again = scheduler.tick()
    assert dues(first) == ["12:01:00", "12:02:00"]
    assert [one.key for one in again] == [one.key for one in first] == ["a@1772452860.000000", "a@1772452920.000000"]
    assert scheduler.commit() is True
    assert scheduler.tick() == []


def test_occurrences_come_oldest_first_and_by_id_within_a_moment():
    """A backlog is worked off in the order in which it fell due, and two processes agree on that order."""
    clock = ManualClock(at("12:00:30"))
    source = MemorySource()
    source.put("b-minutely", Cron("* * * * *"))
    source.put("a-half", Interval(30))
    scheduler = started(source, clock)
    clock.advance(90)
    assert runs(cycle(scheduler)) == [
        "a-half@12:00:30",
        "a-half@12:01:00",
        "b-minutely@12:01:00",
        "a-half@12:01:30",
    ]


def test_a_lead_selects_what_is_still_ahead():
    """Holding a run until its second begins with knowing it before."""
    clock = ManualClock(at("12:00:30"))
    source = MemorySource()
    source.put("quarter", Cron("*/15 * * * *"))
    scheduler = started(source, clock, lead_seconds=60)
    clock.advance(13 * 60)  # 12:13:30: [.., 12:14:30)
    assert cycle(scheduler) == []
    clock.advance(60)  # 12:14:30: [12:14:30, 12:15:30)
    assert dues(cycle(scheduler)) == ["12:15:00"]


# --- restarts and takeovers ---


def test_a_replacement_backfills_the_gap_that_its_predecessor_left():
    """A process that dies leaves a watermark; whoever comes next starts there and not at its own birth."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    started(minutely("a"), clock, store, token="first")
    clock.advance(185)  # 12:03:35

    replacement = build(minutely("a"), clock, store, token="second")
    assert dues(sync(replacement)) == ["12:01:00", "12:02:00", "12:03:00"]


def test_catching_up_is_capped_and_what_is_left_out_is_on_record():
    """After an hour away a minutely job must not run sixty times, and nobody may wonder where the others went."""
    clock = ManualClock(at("12:00:30"))
    log = MemorySkipLog()
    scheduler = started(minutely("a"), clock, recover_seconds=120, skip_log=log)
    clock.advance(3600)  # 13:00:30; late: due at or after 12:58:30

    assert dues(cycle(scheduler)) == ["12:59:00", "13:00:00"]
    assert skipped(log, "a", "missed") == 58  # 12:01 to 12:58
    assert all(on_record(log, "a", at("12:01") + timedelta(minutes=k), "missed") for k in range(58))


def test_a_leaderless_gap_is_recovered_exactly_once_after_a_takeover():
    """Between two leaders nobody sends; the union of their windows still has every run once."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    ids = [f"s{k}" for k in range(50)]
    options = {"tick_seconds": 60, "recover_seconds": 600, "lease_seconds": 240}
    a = build(minutely(*ids), clock, store, token="a", **options)
    b = build(minutely(*ids), clock, store, token="b", **options)
    a.reconcile()
    b.reconcile()

    sent: dict[str, int] = {}
    for _ in range(10):  # 12:00:30 to 12:09:30
        for one in cycle(a):
            sent[one.key] = sent.get(one.key, 0) + 1
        assert b.tick() == []
        clock.advance(60)
    clock.advance(240)  # 12:14:30: five minutes since a's last commit
    for _ in range(6):  # 12:14:30 to 12:19:30
        for one in sync(b):
            sent[one.key] = sent.get(one.key, 0) + 1
        assert a.tick() == []
        clock.advance(60)

    assert len(sent) == 19 * 50  # the whole minutes in [12:00:30, 12:19:30)
    assert set(sent.values()) == {1}


def test_a_deposed_leaders_commit_writes_nothing():
    """A leader that stalled past its lease wakes up and must not move the watermark of the one who took over."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    metrics = MemoryMetrics()
    leader = started(minutely("a"), clock, store, token="leader", lease_seconds=60, metrics=metrics)
    clock.advance(45)
    assert dues(leader.tick()) == ["12:01:00"]  # handed over, not yet committed

    clock.advance(120)  # 12:03:15
    standby = build(minutely("a"), clock, store, token="standby", lease_seconds=60)
    assert dues(sync(standby)) == ["12:01:00", "12:02:00", "12:03:00"]  # repeats, never losses
    before = held(store)

    assert leader.commit() is False
    assert held(store) == before
    assert leader.tick() == []
    assert metrics.total("error.total") >= 1  # losing the claim must be visible


def test_a_loop_that_retries_keeps_its_claim_while_it_retries():
    """Renewal comes with the tick, not only with the commit: a retry longer than the lease must not lose the lead."""
    clock = ManualClock(at("12:00:30"))
    store = MemoryClaimStore()
    leader = started(minutely("a"), clock, store, token="leader", lease_seconds=60)
    standby = build(minutely("a"), clock, store, token="standby", lease_seconds=60)
    standby.reconcile()
    for _ in range(4):
        clock.advance(40)
        assert leader.tick() != []
        assert standby.tick() == []
    leader.tick()
    assert leader.commit() is True
    assert held(store).token == "leader"


def test_a_successor_does_not_replay_what_its_predecessor_ran():
    """Coverage runs past the last read of the source; what was known by then must not run again because of it."""
    clock = ManualClock(at("12:05"))
    store = MemoryClaimStore()
    source = MemorySource()
    source.put("known", Cron("* * * * *"), active_from=at("12:01"))
    predecessor = started(source, clock, store, token="predecessor", tick_seconds=60)
    clock.advance(120)  # 12:07, no sync since 12:05
    assert dues(cycle(predecessor)) == ["12:05:00", "12:06:00"]

    clock.advance(190)  # 12:10:10: the claim has expired
    successor = build(source, clock, store, token="successor", tick_seconds=60)
    assert dues(sync(successor)) == ["12:07:00", "12:08:00", "12:09:00", "12:10:00"]


def test_a_successor_covers_what_its_predecessor_never_saw():
    """A schedule written after the predecessor's last read, and due before its watermark, is owed its runs."""
    clock = ManualClock(at("12:05"))
    store = MemoryClaimStore()
    source = MemorySource()
    predecessor = started(source, clock, store, token="predecessor", tick_seconds=60)
    clock.advance(120)
    cycle(predecessor)  # covered to 12:07, read at 12:05
    source.put("late", Cron("* * * * *"), active_from=at("12:05:30"))

    clock.advance(190)  # 12:10:10
    successor = build(source, clock, store, token="successor", tick_seconds=60)
    assert dues(sync(successor)) == ["12:06:00", "12:07:00", "12:08:00", "12:09:00", "12:10:00"]


def test_a_cold_start_replays_no_history():
    """A restart that reached back to each schedule's last edit would run the whole fleet again, every time."""
    clock = ManualClock(at("12:05:10"))
    store = MemoryClaimStore()
    source = MemorySource()
    source.put("a", Cron("* * * * *"), active_from=at("12:01"))
    source.put("b", Cron("* * * * *"), active_from=at("10:00"))
    source.put("c", Cron("* * * * *"))
    started(source, clock, store, token="same")

    replacement = build(source, clock, store, token="same")
    replacement.reconcile()
    clock.advance(65)  # 12:06:15
    assert runs(cycle(replacement)) == ["a@12:06:00", "b@12:06:00", "c@12:06:00"]


def test_a_sync_after_a_tick_does_not_claim_that_the_tick_saw_it():
    """Reconciling between tick and commit must not tell a successor that what it never selected is covered."""
    clock = ManualClock(at("12:05"))
    store = MemoryClaimStore()
    source = MemorySource()
    source.put("a", Cron("* * * * *"), active_from=at("12:00"))
    options = {"tick_seconds": 60, "lead_seconds": 120, "recover_seconds": 1200}
    predecessor = build(source, clock, store, token="predecessor", **options)
    predecessor.reconcile()
    predecessor.tick()  # the window reaches 12:07, from the read of 12:05
    clock.advance(20)
    source.put("a", Cron("* * * * *"), "new", active_from=at("12:05:20"))
    predecessor.reconcile()
    predecessor.commit()

    clock.advance(700)  # 12:17: the claim of 540 s has expired
    successor = build(source, clock, store, token="successor", **options)
    assert "12:06:00" in dues(sync(successor))


# --- what the source says ---


def test_a_snapshot_adds_changes_and_removes():
    """The snapshot states the whole desired set: what it leaves out is gone, what did not change costs nothing."""
    clock = ManualClock(at("12:00:30"))
    source = MemorySource()
    source.put("a", Cron("* * * * *"), version="1")
    source.put("b", Interval(60), version="1")
    scheduler = build(source, clock)
    scheduler.reconcile()
    scheduler.reconcile()
    assert source.made == ["a", "b"]
    source.put("a", Cron("*/2 * * * *"), "payload", version="2")
    source.remove("b")
    scheduler.reconcile()
    assert source.made == ["a", "b", "a"]

    cycle(scheduler)
    clock.advance(120)  # 12:02:30
    sent = cycle(scheduler)
    assert runs(sent) == ["a@12:02:00"]
    assert sent[0].payload == "payload"


def test_ten_thousand_rows_are_made_once_and_again_only_where_they_changed():
    """A sync costs one comparison a row: parsing ten thousand schedules every ten seconds would be the whole minute."""
    clock = ManualClock(at("12:00:30"))
    source = MemorySource()
    for k in range(10_000):
        source.put(f"r{k}", Interval(60), version="1")
    scheduler = build(source, clock)
    scheduler.reconcile()
    scheduler.reconcile()
    assert len(source.made) == 10_000

    for k in range(100):
        source.put(f"r{k}", Interval(60), version="2")
    for k in range(100, 150):
        source.remove(f"r{k}")
    for k in range(50):
        source.put(f"new{k}", Interval(60), version="1")
    scheduler.reconcile()
    assert len(source.made) == 10_150
    assert len(scheduler) == 10_000

    cycle(scheduler)
    clock.advance(60)
    sent = {one.id for one in cycle(scheduler)}
    assert len(sent) == 10_000
    assert {"r99", "new49"} <= sent
    assert not {"r100", "r149"} & sent


@pytest.mark.parametrize("after_rows", [0, 1, 2])
def test_a_failed_listing_changes_nothing(after_rows):
    """Half an answer must never look like a mass removal, nor may half of its news be believed."""
    clock = ManualClock(at("12:00:30"))
    source = minutely("a", "b")
    scheduler = started(source, clock)
    source.remove("b")
    source.put("c", Interval(60))
    source.fail_snapshot(after_rows)
    with pytest.raises(SourceFailed):
        scheduler.reconcile(full=True)
    assert len(scheduler) == 2
    clock.advance(60)
    assert runs(cycle(scheduler)) == ["a@12:01:00", "b@12:01:00"]


def test_a_new_schedule_is_not_run_for_the_time_before_it_took_effect():
    """An old watermark must not make a schedule run for minutes in which it did not exist."""
    clock = ManualClock(at("12:00"))
    source = MemorySource()
    scheduler = started(source, clock)
    source.put("a", Cron("* * * * *"), active_from=at("12:00:30"))
    clock.advance(40)
    scheduler.reconcile()
    clock.advance(80)  # 12:02: [12:00, 12:02), but the schedule is of 12:00:30
    assert dues(cycle(scheduler)) == ["12:01:00"]


def test_a_schedule_found_between_two_syncs_is_owed_its_runs_once():
    """The watermark passed its first run before anybody could know of it: it runs late, once."""
    clock = ManualClock(at("12:05:10"))
    source = MemorySource()
    scheduler = started(source, clock)
    clock.advance(55)  # 12:06:05
    cycle(scheduler)
    source.put("a", Cron("* * * * *"), active_from=at("12:05:30"))
    scheduler.reconcile()
    clock.advance(10)
    assert dues(cycle(scheduler)) == ["12:06:00"]
    clock.advance(60)
    assert dues(cycle(scheduler)) == ["12:07:00"]


def test_a_replacement_between_tick_and_commit_keeps_its_own_runs():
    """A commit retires what the tick selected; what replaced it meanwhile is owed its runs from its own start."""
    clock = ManualClock(at("12:05:10"))
    source = MemorySource()
    source.put("a", Interval(60), "old", active_from=at("12:00"))
    scheduler = started(source, clock)
    clock.advance(65)  # 12:06:15
    assert dues(scheduler.tick()) == ["12:06:00"]
    source.put("a", Interval(20), "new", active_from=at("12:05:45"))  # also due at 12:06:00
    scheduler.reconcile()
    scheduler.commit()

    clock.advance(60)  # 12:07:15
    sent = cycle(scheduler)
    assert {one.payload for one in sent} == {"new"}
    # 12:06:00 already went out and may come again under the same key; the others must come.
    assert [due for due in dues(sent) if due != "12:06:00"] == ["12:06:20", "12:06:40", "12:07:00"]
    clock.advance(20)
    assert dues(cycle(scheduler)) == ["12:07:20"]


# --- one-shots ---


def test_a_delivered_one_shot_stays_done_until_its_source_forgets_it():
    """The row stays listed after its run; only a new definition, or a new row after it was gone, is a new run."""
    clock = ManualClock(at("12:00"))
    source = MemorySource()
    source.put("job", At(at("12:00:30")), version="1")
    scheduler = started(source, clock)
    clock.advance(45)
    assert dues(cycle(scheduler)) == ["12:00:30"]

    scheduler.reconcile()
    clock.advance(30)  # 12:01:15
    assert cycle(scheduler) == []

    source.put("job", At(at("12:01:30")), version="2")
    scheduler.reconcile()
    clock.advance(60)  # 12:02:15
    assert dues(cycle(scheduler)) == ["12:01:30"]

    source.remove("job")
    scheduler.reconcile(full=True)
    source.put("job", At(at("12:03")), version="2")
    scheduler.reconcile()
    clock.advance(60)  # 12:03:15
    assert dues(cycle(scheduler)) == ["12:03:00"]


def test_a_delivered_one_shot_stays_done_across_a_restart():
    """A fresh process has no memory of it; coverage and the read of the source say that it ran."""
    clock = ManualClock(at("12:00"))
    store = MemoryClaimStore()
    source = MemorySource()
    source.put("stamped", At(at("12:00:30")), active_from=at("11:59"))
    source.put("plain", At(at("12:00:30")))
    scheduler = started(source, clock, store, token="one")
    clock.advance(45)
    assert runs(sync(scheduler)) == ["plain@12:00:30", "stamped@12:00:30"]
    clock.advance(60)

    replacement = build(source, clock, store, token="two")
    assert sync(replacement) == []
    clock.advance(60)
    assert sync(replacement) == []


def test_a_one_shot_due_sooner_than_the_sync_lag_runs_late_and_once():
    """ "In four seconds" is written by people and programs alike; the sync that finds it comes after."""
    clock = ManualClock(at("12:00"))
    source = MemorySource()
    scheduler = started(source, clock)
    clock.advance(10)
    cycle(scheduler)  # covered to 12:00:10
    source.put("job", At(at("12:00:04")), active_from=at("12:00:02"))
    scheduler.reconcile()
    clock.advance(1)
    assert dues(cycle(scheduler)) == ["12:00:04"]
    clock.advance(5)
    assert sync(scheduler) == []


def test_a_one_shot_replaced_between_tick_and_commit_survives():
    """The stale commit retires the old definition, never its replacement."""
    clock = ManualClock(at("12:00"))
    source = MemorySource()
    source.put("job", At(at("12:00:30")))
    scheduler = started(source, clock)
    clock.advance(45)
    assert dues(scheduler.tick()) == ["12:00:30"]
    source.put("job", At(at("12:01:30")))
    scheduler.reconcile()
    scheduler.commit()
    clock.advance(60)
    assert dues(cycle(scheduler)) == ["12:01:30"]


def test_len_counts_what_is_loaded():
    """The number that the `entries` signal reports, for a caller that wants to log it."""
    clock = ManualClock(at("12:00"))
    source = minutely("a", "b", "bad")
    source.refuse("bad", ValueError("no such zone"))
    scheduler = build(source, clock, on_error=lambda error: None)
    assert len(scheduler) == 0
    scheduler.reconcile()
    assert len(scheduler) == 2
    source.remove("b")
    scheduler.reconcile(full=True)
    assert len(scheduler) == 1


def test_a_live_claim_of_somebody_else_keeps_a_contender_out_until_it_expires():
    """One leader: the claim decides, to the microsecond, and expires at its moment and not after it."""
    clock = ManualClock(at("12:00"))
    store = MemoryClaimStore()
    store.swap(None, Claim("other", at("12:01"), covered_until=at("12:00"), synced_until=at("12:00")))
    scheduler = build(minutely("a"), clock, store, token="me")
    scheduler.reconcile()
    clock.advance(59.999999)
    assert scheduler.tick() == []
    assert held(store).token == "other"
    assert scheduler.commit() is False
    clock.advance(0.000001)
    assert hms(clock.now()) == "12:01:00"
    assert dues(sync(scheduler)) == ["12:00:00"]
    assert held(store).token == "me"
