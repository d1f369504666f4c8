"""What the deployed stack does with runs: each once, on time, through crashes, overlaps, bursts and refusals."""

import os
import signal
import time
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest
from infra.local.expected import MICRO, key
from infra.local.items import now_us
from infra.local.stack import LocalStack
from infra.local.watch import Watcher
from process_list import processes

TICK_TIMEOUT_US = 20 * MICRO
SKEW_US = 2 * MICRO
COLD_START_US = 30 * MICRO
"""The emulator unpacks the function for each new process, which takes long on a machine that is busy."""
BURST = 2_000

Invoke = Callable[..., Any]
Write = Callable[..., int]


def seconds_between(schedule: str, low_us: int, high_us: int) -> set[str]:
    """The keys of a schedule that is due every second, by arithmetic."""
    return {key(schedule, due_us) for due_us in range(-(-low_us // MICRO) * MICRO, high_us, MICRO)}


def windows_of(*summaries: Any) -> list[tuple[int, int]]:
    """The spans that invocations covered, in order, in Unix microseconds."""
    spans = [summary["window"] for summary in summaries if summary["window"]]
    return sorted(
        (
            round(datetime.fromisoformat(span["start"]).timestamp() * MICRO),
            round(datetime.fromisoformat(span["end"]).timestamp() * MICRO),
        )
        for span in spans
    )


def once_each(watcher: Watcher, schedule: str) -> set[str]:
    """The keys of a schedule that arrived, none of them in two messages."""
    keys = [arrival.key for arrival in watcher.arrivals if arrival.schedule == schedule]
    assert len(keys) == len(set(keys)), f"doubled: {sorted(each for each in set(keys) if keys.count(each) > 1)}"
    return set(keys)


@pytest.mark.usefixtures("trigger_off")
def test_two_invocations_of_one_minute_send_each_run_once(write: Write, invoke: Invoke, watcher: Watcher) -> None:
    """EventBridge may fire twice for one minute. One leads; the other waits until the first hands over, or stands down.

    The queue would swallow a second send of a key, so what each invocation says it sent is counted too.
    """
    written_us = write({"id": "twice-invoked", "every": 1})
    first, second = invoke(), invoke()
    summaries = [first.result(), second.result()]
    assert any(summary["leader"] for summary in summaries)
    windows = windows_of(*summaries)
    assert all(ended <= began for (_, ended), (began, _) in pairwise(windows)), windows
    assert watcher.wait_for(sum(summary["dispatched"] for summary in summaries), 5)
    keys = once_each(watcher, "twice-invoked")
    assert len(keys) == sum(summary["dispatched"] for summary in summaries)
    assert keys == seconds_between("twice-invoked", written_us, windows[-1][1])


def test_a_tick_that_is_killed_while_it_holds_runs_loses_and_repeats_none(
    stack: LocalStack, write: Write, invoke: Invoke, watcher: Watcher
) -> None:
    """The process dies with the claim in its hand and no chance to clean up. Whoever comes next waits for its lease,
    which ends 2 s past its deadline, and covers from the last commit, under the same keys: the queue keeps one of each.
    """
    written_us = write({"id": "killed", "every": 1})
    invoked_us = now_us()
    dying = invoke()
    assert watcher.wait_for(3, 60), "the first invocation sent nothing"
    kill_workers(stack)
    killed_us = now_us()
    dying.join(10)
    assert dying.failed, dying.answer
    expires_us = claim(stack, "expires_at")
    holder = claim(stack, "token")
    assert killed_us < expires_us <= invoked_us + COLD_START_US + TICK_TIMEOUT_US + SKEW_US
    time.sleep(max(0.0, (expires_us - 14 * MICRO - now_us()) / MICRO))  # as the next minute's would: while it is held
    successor = invoke()
    while claim(stack, "token") in (holder, "") and successor.is_alive():
        time.sleep(0.1)
    began_us = claim(stack, "expires_at") - SKEW_US - TICK_TIMEOUT_US
    summary = successor.result()
    assert summary["leader"], summary
    after = [arrival for arrival in watcher.arrivals if arrival.due_us > killed_us]
    takeover_us = min(arrival.sent_us for arrival in after)
    free_us = max(expires_us, began_us + MICRO)  # an emulator that was slow to start the process is not at issue
    assert takeover_us <= free_us + MICRO, "the takeover came later than the dead one's deadline plus the allowance"
    ((_, end_us),) = windows_of(summary)
    time.sleep(1)
    keys = once_each(watcher, "killed")
    assert keys == seconds_between("killed", written_us, end_us)


def test_a_burst_of_schedules_due_in_one_second_goes_out_whole(write: Write, invoke: Invoke, watcher: Watcher) -> None:
    """2,000 runs at one moment, in one window: more than a batch, a page or one thread's worth."""
    due_us = (now_us() // MICRO + 9) * MICRO
    ids = [f"burst-{number:04d}" for number in range(BURST)]
    write(*({"id": each, "at": due_us // MICRO} for each in ids))
    assert now_us() < due_us - 3 * MICRO, "writing took too long for the test to mean anything"
    running = invoke()
    assert watcher.wait_for(BURST, 40)
    summary = running.result()
    assert summary["dispatched"] == BURST
    assert sorted(watcher.keys()) == sorted(key(each, due_us) for each in ids)
    assert min(arrival.sent_us for arrival in watcher.arrivals) >= due_us, "one was sent early"
    ((start_us, end_us),) = windows_of(summary)
    assert start_us <= due_us < end_us


def test_a_payload_that_sqs_refuses_and_an_item_that_is_no_schedule_stop_no_other_run(
    stack: LocalStack, write: Write, invoke: Invoke, watcher: Watcher
) -> None:
    """One person's mistake is not everybody's outage. What SQS refuses fails for good in the batch of the others: it
    goes on record, they go out, coverage moves on.
    """
    deployment = stack.deployment
    set_size = deployment.sqs.set_queue_attributes
    set_size(QueueUrl=deployment["QueueUrl"], Attributes={"MaximumMessageSize": "4096"})
    try:
        due_us = (now_us() // MICRO + 5) * MICRO
        write(
            {"id": "refused", "at": due_us // MICRO, "payload": "x" * 8_000},
            {"id": "no-schedule", "cron": "61 * * * *"},
            *({"id": f"beside-{number}", "at": due_us // MICRO} for number in range(5)),
        )
        summary = invoke().result()
    finally:
        set_size(QueueUrl=deployment["QueueUrl"], Attributes={"MaximumMessageSize": "1048576"})
    assert sorted(watcher.keys()) == [key(f"beside-{number}", due_us) for number in range(5)]
    assert summary["skipped"] == 1
    ((_, end_us),) = windows_of(summary)
    assert claim(stack, "covered_until") >= end_us > due_us, "a refused run held coverage back"
    records = deployment.dynamodb.query(
        TableName=deployment["RunsTable"],
        KeyConditionExpression="schedule = :id",
        ExpressionAttributeValues={":id": {"S": "refused"}},
    )["Items"]
    assert [record["reason"]["S"] for record in records] == ["rejected"]


def claim(stack: LocalStack, attribute: str) -> Any:
    """An attribute of the stored claim: its token, or a moment."""
    item = stack.deployment.dynamodb.get_item(
        TableName=stack.deployment["ClaimsTable"], Key={"name": {"S": "tick#0/1"}}, ConsistentRead=True
    )["Item"]
    return item["token"]["S"] if attribute == "token" else int(item[attribute]["N"])


def kill_workers(stack: LocalStack) -> None:
    """Kill the processes that run the function, as a machine that fails would."""
    folder = str(stack.emulator.log.parent)
    pids = [pid for pid, command in processes() if folder in command and "_worker.py" in command]
    assert pids, "no worker process of the function was found"
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
