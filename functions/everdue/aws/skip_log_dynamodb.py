"""Skip log on DynamoDB: one item a skip in the runs table, beside the runs that did happen."""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from everdue.core.clock import Clock, SystemClock
from everdue.core.errors import SkipLogFailed
from everdue.core.moment import SECOND_US, to_us
from everdue.core.skip import Skip

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

BATCH_ITEMS = 25
KEPT_SECONDS = 30 * 86_400
MAX_DETAIL_CHARS = 1_000
_ATTEMPTS = 6
_FIRST_WAIT_SECONDS = 0.05


class DynamoSkipLog:
    """A `SkipLog` in the runs table.

    Keys: `schedule` is the schedule's id, `due` is minus the span's start. A run's own item has its moment there, so a
    skip never stands where a worker's conditional insert would look, and never makes a run seem to have happened.

    Args:
        client: a low-level DynamoDB client.
        runs_table: name of the table.
        clock: stamps the records and waits between attempts.
    """

    def __init__(self, client: "DynamoDBClient", runs_table: str, *, clock: Clock | None = None) -> None:
        self._client = client
        self._runs_table = runs_table
        self._clock = clock or SystemClock()

    def record(self, skips: Sequence[Skip]) -> None:
        """Write the skips; the same one again replaces its record. Raises SkipLogFailed when some may be missing."""
        recorded_at = to_us(self._clock.now())
        requests = [{"PutRequest": {"Item": item}} for item in _items(skips, recorded_at)]
        for start in range(0, len(requests), BATCH_ITEMS):
            self._write(requests[start : start + BATCH_ITEMS])

    def _write(self, requests: list[dict[str, Any]]) -> None:
        left: list[Any] = requests
        for attempt in range(_ATTEMPTS):
            if attempt:
                # Full jitter: several shards that were throttled together would otherwise come back together.
                self._clock.sleep(random.uniform(0, _FIRST_WAIT_SECONDS * 2**attempt))  # noqa: S311 - not a secret
            try:
                answer = self._client.batch_write_item(RequestItems={self._runs_table: left})
            except (ClientError, BotoCoreError) as error:
                raise SkipLogFailed(f"{len(left)} skips may not be on record in {self._runs_table}: {error}") from error
            left = [each for requests in answer.get("UnprocessedItems", {}).values() for each in requests]
            if not left:
                return
        raise SkipLogFailed(
            f"{len(left)} skips are not on record in {self._runs_table}: DynamoDB left them unprocessed"
        )


def _items(skips: Sequence[Skip], recorded_at: int) -> list[dict[str, Any]]:
    """One item a skip. A batch may not name a key twice, so of equal skips the last one stays, and one that differs
    in its reason alone takes the next free microsecond: it must not be lost for standing at the same start."""
    by_key: dict[tuple[str, int], Skip] = {}
    for skip in skips:
        due = -skip.start_us
        while (skip.id, due) in by_key and by_key[skip.id, due].reason != skip.reason:
            due -= 1
        by_key[skip.id, due] = skip
    return [_item(skip, due, recorded_at) for (_, due), skip in by_key.items()]


def _item(skip: Skip, due: int, recorded_at: int) -> dict[str, Any]:
    item = {
        "schedule": {"S": skip.id},
        "due": {"N": str(due)},
        "status": {"S": "skipped"},
        "reason": {"S": skip.reason},
        "count": {"N": str(skip.count)},
        "span_start": {"N": str(skip.start_us)},
        "span_end": {"N": str(skip.end_us)},
        "recorded_at": {"N": str(recorded_at)},
        "expires_at": {"N": str(recorded_at // SECOND_US + KEPT_SECONDS)},
    }
    if skip.detail:
        item["detail"] = {"S": skip.detail[:MAX_DETAIL_CHARS]}
    return item
