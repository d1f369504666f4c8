"""Reads the queue as a worker would, and keeps what arrived and when."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError
from infra.local.items import now_us

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@dataclass(frozen=True, slots=True)
class Arrival:
    """One message.

    Attributes:
        key: the occurrence's: `<schedule>@<due>`.
        schedule: whose run it is.
        due_us: when it was due.
        sent_us: when the queue took it, by the queue's own stamp, in whole milliseconds.
        arrived_us: when it was received here.
        message_id: the queue's own.
        data: the payload.
    """

    key: str
    schedule: str
    due_us: int
    sent_us: int
    arrived_us: int
    message_id: str
    data: Any

    @property
    def lateness_seconds(self) -> float:
        """From due to accepted by the queue. How often this reader polls plays no part in it."""
        return (self.sent_us - self.due_us) / 1_000_000


@dataclass(slots=True)
class Watcher:
    """Receives and deletes in the background, from `start` to `stop`.

    Attributes:
        arrivals: everything received, in that order.
    """

    sqs: "SQSClient"
    queue_url: str
    on_arrival: Callable[[Arrival], None] = lambda arrival: None
    threads: int = 1
    arrivals: list[Arrival] = field(default_factory=list)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _running: list[threading.Thread] = field(default_factory=list)

    def start(self) -> "Watcher":
        """Begin to receive."""
        for _ in range(self.threads):
            thread = threading.Thread(target=self._loop, daemon=True)
            thread.start()
            self._running.append(thread)
        return self

    def stop(self) -> None:
        """End, after the receipt under way."""
        self._stopped.set()
        for thread in self._running:
            thread.join(10)

    def wait_for(self, count: int, seconds: float) -> bool:
        """Whether so many have arrived before time is up."""
        give_up = time.monotonic() + seconds
        while len(self.arrivals) < count and time.monotonic() < give_up:
            time.sleep(0.05)
        return len(self.arrivals) >= count

    def keys(self) -> list[str]:
        """The keys of all that arrived."""
        return [arrival.key for arrival in self.arrivals]

    def _loop(self) -> None:
        while not self._stopped.is_set():
            try:
                answer = self.sqs.receive_message(
                    QueueUrl=self.queue_url,
                    MaxNumberOfMessages=10,
                    WaitTimeSeconds=1,
                    MessageSystemAttributeNames=["SentTimestamp"],
                )
            except (ClientError, BotoCoreError):
                if self._stopped.wait(0.5):
                    return
                continue
            messages = answer.get("Messages", [])
            for message in messages:
                arrival = arrival_of(message, now_us())
                self.arrivals.append(arrival)
                self.on_arrival(arrival)
            if messages:
                self.sqs.delete_message_batch(
                    QueueUrl=self.queue_url,
                    Entries=[
                        {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"]}
                        for index, message in enumerate(messages)
                    ],
                )


def arrival_of(message: Any, arrived_us: int) -> Arrival:
    """What a received message says."""
    event = json.loads(message["Body"])
    key = event["id"]
    schedule, _, due = key.rpartition("@")
    seconds, _, micros = due.partition(".")
    return Arrival(
        key=key,
        schedule=schedule,
        due_us=int(seconds) * 1_000_000 + int(micros),
        sent_us=int(message["Attributes"]["SentTimestamp"]) * 1_000,
        arrived_us=arrived_us,
        message_id=message["MessageId"],
        data=event.get("data"),
    )


def percentile(values: list[float], share: float) -> float:
    """The smallest value that so large a share of all values does not exceed; 0 for none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 1_000) * len(ordered) // 1_000) - 1)]
