"""One batch to SQS: sent, and then settled entry by entry, whatever SQS made of it."""

import itertools
import random
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from everdue.aws.wire import Message
from everdue.core.clock import MonotonicClock
from everdue.core.dispatcher import Rejection
from everdue.core.errors import DispatchFailed
from everdue.core.moment import seconds_to_us
from everdue.core.occurrence import Occurrence

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

FIRST_WAIT_SECONDS = 0.1
MAX_WAIT_SECONDS = 2.0

ENTRY_FAULTS = frozenset({"BatchRequestTooLong", "InvalidMessageContents", "InvalidParameterValue", "MessageTooLong"})
"""Codes of a whole call that can be one entry's doing. All but its body is made here, so it is its body."""

SERVICE_FAULTS = (
    "AccessDenied",
    "ExpiredToken",
    "InternalError",
    "InternalFailure",
    "KMS",
    "Kms",
    "NonExistentQueue",
    "OverLimit",
    "QueueDoesNotExist",
    "Security",
    "Throttl",
    "Unavailable",
    "UnrecognizedClient",
)
"""Parts of codes that are never an entry's doing, even where SQS calls them the sender's fault: a key that may not be
used is the sender's fault too, and taking that for a refusal would drop every run while the key is away."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """An occurrence and its message."""

    occurrence: Occurrence
    message: Message


@dataclass(frozen=True, slots=True)
class _Fault:
    """Why an entry was not accepted, and whether that may be its own doing."""

    own: bool
    reason: str


class _Unanswered(Exception):
    """The call as a whole failed, for a reason that is no entry's doing; what became of the entries is unknown."""


class BatchSender:
    """Settles the batches of one hand-over against one budget; several threads may use it at a time.

    Args:
        client, queue_url: where to.
        clock: waits between attempts; its monotonic reading measures the budget.
        budget_seconds: how long nothing may be settled before it fails, from now on.
    """

    def __init__(self, client: "SQSClient", queue_url: str, clock: MonotonicClock, budget_seconds: float) -> None:
        self._client = client
        self._queue_url = queue_url
        self._clock = clock
        self._budget_us = seconds_to_us(budget_seconds)
        self._deadline_us = clock.monotonic_us() + self._budget_us
        self._given_up = threading.Event()

    def give_up(self) -> None:
        """Let no further attempt begin: the hand-over has failed as a whole."""
        self._given_up.set()

    def settle(self, batch: Sequence[Envelope]) -> list[Rejection]:
        """Send a batch; return what SQS refuses for good. All the others are accepted.

        An entry that failed in the batch is sent again alone, so that what is said of it then is about it.

        Raises:
            DispatchFailed: the budget is used up and some entries are neither.
        """
        rejected: list[Rejection] = []
        for index in self._send(batch):
            reason = self._settle_alone(batch[index])
            if reason is not None:
                rejected.append(Rejection(batch[index].occurrence, reason))
        # A queue that settles batches works: one failure at the end of 10,000 runs must not undo all that went before.
        self._deadline_us = self._clock.monotonic_us() + self._budget_us
        return rejected

    def _send(self, batch: Sequence[Envelope]) -> dict[int, _Fault]:
        """Send until SQS answers for each entry; what failed, by its index."""
        for attempt in itertools.count():
            try:
                return self._attempt(batch)
            except _Unanswered as error:
                self._wait(attempt, str(error))
        raise AssertionError("unreachable")

    def _settle_alone(self, envelope: Envelope) -> str | None:
        """Send one entry until it is accepted (None) or refused (the reason)."""
        for attempt in itertools.count():
            fault = self._send([envelope]).get(0)
            if fault is None:
                return None
            if fault.own:
                return fault.reason
            self._wait(attempt, fault.reason)
        raise AssertionError("unreachable")

    def _attempt(self, batch: Sequence[Envelope]) -> dict[int, _Fault]:
        try:
            answer = self._client.send_message_batch(
                QueueUrl=self._queue_url, Entries=[_entry(index, each.message) for index, each in enumerate(batch)]
            )
        except ClientError as error:
            fault = _fault_of(error.response.get("Error", {}), sender_fault=False)
            if _code(error.response.get("Error", {})) in ENTRY_FAULTS and not _blames_queue(fault.reason):
                return dict.fromkeys(range(len(batch)), _Fault(own=True, reason=fault.reason))
            raise _Unanswered(fault.reason) from error
        except BotoCoreError as error:
            raise _Unanswered(str(error)) from error
        # HTTP 200 hides failed entries, and an entry that is in neither list is one whose fate is unknown.
        faults = dict.fromkeys(range(len(batch)), _Fault(own=False, reason="SQS did not answer for this message"))
        for failed in answer.get("Failed", []):
            faults[int(failed["Id"])] = _fault_of(failed, sender_fault=failed["SenderFault"])
        for accepted in answer.get("Successful", []):
            faults.pop(int(accepted["Id"]), None)
        return faults

    def _wait(self, attempt: int, reason: str) -> None:
        """Back off before the next attempt: doubled each time, the second half of it random, so that threads and
        shards that were throttled together do not come back together."""
        longest = min(MAX_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2.0 ** min(attempt, 16))
        seconds = longest * random.uniform(0.5, 1)  # noqa: S311 - not a secret
        if self._given_up.is_set() or self._clock.monotonic_us() + seconds_to_us(seconds) > self._deadline_us:
            raise DispatchFailed(f"queue {self._queue_url} did not take every message in time: {reason}")
        self._clock.sleep(seconds)


def _entry(index: int, message: Message) -> Any:
    return {
        "Id": str(index),
        "MessageBody": message.body,
        "MessageDeduplicationId": message.deduplication_id,
        "MessageGroupId": message.group_id,
    }


def _fault_of(error: Mapping[str, Any], *, sender_fault: bool) -> _Fault:
    reason = f"{_code(error)}: {error.get('Message', '')}"
    own = sender_fault and not any(part in _code(error) for part in SERVICE_FAULTS) and not _blames_queue(reason)
    return _Fault(own, reason)


def _code(error: Mapping[str, Any]) -> str:
    """The code without the prefix that SQS kept from its older protocol; `KMS.DisabledException` keeps its own."""
    return str(error.get("Code", "Unknown")).removeprefix("AWS.SimpleQueueService.")


def _blames_queue(reason: str) -> bool:
    """Whether SQS speaks of the queue: `not valid for this queue type` and the like would be said of every message."""
    return "queue" in reason.lower()
