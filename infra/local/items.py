"""Schedules into the table, as any writer would put them: one item each."""

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from boto3.dynamodb.types import TypeSerializer

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MICRO = 1_000_000
_BATCH = 25


def now_us() -> int:
    """Now, in Unix microseconds."""
    return time.time_ns() // 1_000


def item_of(schedule: Mapping[str, Any], active_from_us: int) -> dict[str, Any]:
    """The DynamoDB item of a schedule. It says since when it is in force, so that it is owed its runs from then on."""
    stamped = {**schedule, "active_from": Decimal(active_from_us) / MICRO}
    serialize = TypeSerializer().serialize
    return {name: serialize(_exact(value)) for name, value in stamped.items()}


def put(client: "DynamoDBClient", table: str, schedule: Mapping[str, Any]) -> int:
    """Write one schedule. Returns the moment it took effect, in Unix microseconds."""
    written_us = now_us()
    client.put_item(TableName=table, Item=item_of(schedule, written_us))
    return written_us


def put_many(client: "DynamoDBClient", table: str, schedules: Iterable[Mapping[str, Any]]) -> int:
    """Write many schedules that take effect now. Returns that moment."""
    written_us = now_us()
    requests = [{"PutRequest": {"Item": item_of(schedule, written_us)}} for schedule in schedules]
    batches = [requests[start : start + _BATCH] for start in range(0, len(requests), _BATCH)]

    def write(batch: list[Any]) -> None:
        left = client.batch_write_item(RequestItems={table: batch}).get("UnprocessedItems")
        if left:
            raise RuntimeError(f"the emulator left items unprocessed: {left}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, batches))
    return written_us


def _exact(value: Any) -> Any:
    """Floats as decimals of the same text: boto3 refuses floats."""
    if isinstance(value, float):
        return Decimal(str(value))
    if isinstance(value, dict):
        return {name: _exact(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_exact(each) for each in value]
    return value
