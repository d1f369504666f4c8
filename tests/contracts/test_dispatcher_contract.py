"""What every dispatcher promises: each occurrence is accepted or rejected for good, or it raises."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from everdue.aws.dispatcher_sqs import SqsDispatcher
from everdue.core.dispatcher import Dispatched
from everdue.core.errors import DispatchFailed
from everdue.core.occurrence import Occurrence
from everdue.core.parcel import Parcel
from everdue.testing import ManualClock, MemoryDispatcher

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


class Dock:
    """A dispatcher, and what came out behind it."""

    def __init__(self, backend: str, request: pytest.FixtureRequest) -> None:
        self.dispatcher: Any = MemoryDispatcher(deduplicate=True)
        self._fifo = None
        if backend != "memory":
            self._fifo = request.getfixturevalue("fifo")
            self.dispatcher = SqsDispatcher(self._fifo.client, self._fifo.url, stack="s", clock=ManualClock(NOON))

    def refused(self, second: int) -> Occurrence:
        """An occurrence that this queue will never take."""
        occurrence = Occurrence("refused", NOON + timedelta(seconds=second), Parcel("x" * 1_100_000))
        if self._fifo is None:
            self.dispatcher.refuse("refused", "too big")
        return occurrence

    def close(self) -> None:
        """Let the queue be gone."""
        if self._fifo is None:
            self.dispatcher.fail()
        else:
            url = self._fifo.url.replace("occurrences-", "missing-")
            self.dispatcher = SqsDispatcher(self._fifo.client, url, stack="s", clock=ManualClock(NOON))

    def arrived(self) -> list[str]:
        """The keys that a worker would get, in order within each schedule."""
        if self._fifo is None:
            return list(self.dispatcher.keys)
        keys = []
        while True:
            answer = self._fifo.client.receive_message(QueueUrl=self._fifo.url, MaxNumberOfMessages=10)
            messages = answer.get("Messages", [])
            if not messages:
                return keys
            for each in messages:
                keys.append(json.loads(each["Body"])["id"])
                self._fifo.client.delete_message(QueueUrl=self._fifo.url, ReceiptHandle=each["ReceiptHandle"])


@pytest.fixture
def dock(backend: str, request: pytest.FixtureRequest) -> Dock:
    return Dock(backend, request)


def runs(schedules: int, each: int) -> list[Occurrence]:
    return [
        Occurrence(f"s{n}", NOON + timedelta(seconds=second), Parcel({"n": n}))
        for second in range(each)
        for n in range(schedules)
    ]


def test_nothing_is_handed_over(dock: Dock) -> None:
    """An empty window is the usual one."""
    assert dock.dispatcher.dispatch([]) == Dispatched(0)
    assert dock.arrived() == []


def test_everything_arrives_once_and_each_schedule_in_order(dock: Dock) -> None:
    """More than fits into a batch, and several runs of each schedule."""
    sent = runs(schedules=12, each=4)
    assert dock.dispatcher.dispatch(sent) == Dispatched(48)
    arrived = dock.arrived()
    assert sorted(arrived) == sorted(each.key for each in sent)
    for n in range(12):
        assert [key for key in arrived if key.startswith(f"s{n}@")] == [run.key for run in sent if run.id == f"s{n}"]


def test_a_repeat_is_accepted_under_the_same_key(dock: Dock) -> None:
    """A crash before the commit hands everything over again; within five minutes it arrives once."""
    sent = runs(schedules=3, each=1)
    assert dock.dispatcher.dispatch(sent).accepted == 3
    assert dock.dispatcher.dispatch(sent).accepted == 3
    assert sorted(dock.arrived()) == sorted(each.key for each in sent)


def test_what_is_refused_is_told_and_stops_nothing(dock: Dock) -> None:
    """Rule 12, for a payload that the queue will never take."""
    good = runs(schedules=2, each=1)
    bad = dock.refused(0)
    done = dock.dispatcher.dispatch([good[0], bad, good[1]])
    assert done.accepted == 2
    assert [each.occurrence for each in done.rejected] == [bad]
    assert done.rejected[0].reason
    assert sorted(dock.arrived()) == sorted(each.key for each in good)


def test_a_queue_that_is_gone_raises_and_rejects_nothing(dock: Dock) -> None:
    """So that nothing is committed, and everything comes again once the queue is back."""
    dock.close()
    with pytest.raises(DispatchFailed):
        dock.dispatcher.dispatch(runs(schedules=2, each=2))
