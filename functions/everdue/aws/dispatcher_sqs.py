"""Dispatcher to SQS FIFO: batches by count and bytes, several at a time, in order within a message group."""

import heapq
from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from everdue.aws.dispatcher_batch import BatchSender, Envelope
from everdue.aws.wire import MAX_MESSAGE_BYTES, PayloadRefused, message
from everdue.core.clock import MonotonicClock, SystemClock
from everdue.core.dispatcher import Dispatched, Rejection
from everdue.core.occurrence import Occurrence

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

BATCH_ENTRIES = 10
THREADS = 4
"""Enough to hide the service's latency; more only compete for the part of a processor that a small Lambda has."""
BUDGET_SECONDS = 10.0


class SqsDispatcher:
    """Hands occurrences to one FIFO queue.

    The runs of one schedule stay in order: of each message group at most one message is on its way, and the next one
    waits until that one is accepted or rejected for good. Were two of a group in one batch, a batch that fails in part
    could take the second and leave the first to be sent after it.

    Args:
        client: an SQS client.
        queue_url: the FIFO queue.
        stack: the name that messages carry as their source.
        clock: waits between attempts, and measures the budget.
        budget_seconds: how long a hand-over goes on while not one batch is settled, not counting the call under way.
        threads: how many batches are under way at a time. None of them outlives `dispatch`: a frozen Lambda
            environment would thaw it in the middle of another invocation.
    """

    def __init__(
        self,
        client: "SQSClient",
        queue_url: str,
        *,
        stack: str,
        clock: MonotonicClock | None = None,
        budget_seconds: float = BUDGET_SECONDS,
        threads: int = THREADS,
    ) -> None:
        if threads < 1:
            raise ValueError(f"threads {threads!r} is not positive: 1 or more")
        self._client = client
        self._queue_url = queue_url
        self._stack = stack
        self._clock = clock or SystemClock()
        self._budget_seconds = budget_seconds
        self._threads = threads

    def dispatch(self, occurrences: Sequence[Occurrence]) -> Dispatched:
        """Send all, oldest first; return once each is accepted or rejected for good.

        What can never be sent is rejected without asking SQS: a payload that JSON can't say, and a body over 1 MiB.

        Raises:
            DispatchFailed: the queue could not be reached, was throttled, missing or forbidden for the whole budget.
        """
        rejected: list[Rejection] = []
        backlog = _Backlog()
        for occurrence in occurrences:
            try:
                sendable = message(occurrence, self._stack)
            except PayloadRefused as error:
                rejected.append(Rejection(occurrence, str(error)))
                continue
            if sendable.size_bytes > MAX_MESSAGE_BYTES:
                size = f"the message has {sendable.size_bytes} bytes, SQS takes {MAX_MESSAGE_BYTES}"
                rejected.append(
                    Rejection(occurrence, f"{size}: make the payload smaller, or let it name where it lies")
                )
                continue
            backlog.add(Envelope(occurrence, sendable))
        sender = BatchSender(self._client, self._queue_url, self._clock, self._budget_seconds)
        if len(backlog) <= BATCH_ENTRIES:
            while batch := backlog.take():
                rejected.extend(sender.settle(batch))
                backlog.settled(batch)
        else:
            rejected.extend(self._send_in_parallel(sender, backlog))
        return Dispatched(len(occurrences) - len(rejected), tuple(rejected))

    def _send_in_parallel(self, sender: BatchSender, backlog: "_Backlog") -> list[Rejection]:
        rejected: list[Rejection] = []
        under_way: dict[Future[list[Rejection]], list[Envelope]] = {}
        with ThreadPoolExecutor(self._threads, thread_name_prefix="everdue-dispatch") as pool:
            while True:
                while len(under_way) < self._threads and (batch := backlog.take()):
                    under_way[pool.submit(sender.settle, batch)] = batch
                if not under_way:
                    return rejected
                for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                    batch = under_way.pop(future)
                    try:
                        rejected.extend(future.result())
                    except BaseException:
                        sender.give_up()  # or leaving the pool would wait for the others' whole budget
                        raise
                    backlog.settled(batch)


class _Backlog:
    """What is still to be sent: a line for each message group, of which only the head may go."""

    def __init__(self) -> None:
        self._lines: dict[str, deque[tuple[int, Envelope]]] = {}
        self._ready: list[tuple[int, str]] = []
        self._count = 0

    def __len__(self) -> int:
        """How many were added in all."""
        return self._count

    def add(self, envelope: Envelope) -> None:
        """Put one at the end of its group's line."""
        group = envelope.message.group_id
        line = self._lines.setdefault(group, deque())
        if not line:
            heapq.heappush(self._ready, (self._count, group))
        line.append((self._count, envelope))
        self._count += 1

    def take(self) -> list[Envelope]:
        """The next batch: the oldest of the heads, as many as SQS takes at once. Empty when none is ready."""
        batch: list[Envelope] = []
        size_bytes = 0
        while self._ready and len(batch) < BATCH_ENTRIES:
            envelope = self._lines[self._ready[0][1]][0][1]
            size_bytes += envelope.message.size_bytes
            if size_bytes > MAX_MESSAGE_BYTES:
                break
            heapq.heappop(self._ready)
            batch.append(envelope)
        return batch

    def settled(self, batch: Sequence[Envelope]) -> None:
        """Let the next of each group step forward."""
        for envelope in batch:
            group = envelope.message.group_id
            line = self._lines[group]
            line.popleft()
            if line:
                heapq.heappush(self._ready, (line[0][0], group))
            else:
                del self._lines[group]
