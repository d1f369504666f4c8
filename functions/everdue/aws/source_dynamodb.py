"""Source on DynamoDB: the schedules table, read whole and consistently."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from everdue.aws.wire import plain_item
from everdue.core.errors import ScheduleRefused, SourceFailed
from everdue.core.grammar import active_from, digest, parse
from everdue.core.grammar.digest import SWITCH
from everdue.core.moment import from_us
from everdue.core.schedule import Entry, Row
from everdue.core.shard import shard_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoSource:
    """The schedules of one shard.

    Args:
        client: a low-level DynamoDB client.
        schedules_table: name of the table.
        shard, shard_count: which part of the schedules; see `shard_of`.
        recover_seconds_min: the least that a schedule's own `recover` counts for: a run that merely waits for its
            tick must not be missed for it.
    """

    def __init__(
        self,
        client: "DynamoDBClient",
        schedules_table: str,
        *,
        shard: int = 0,
        shard_count: int = 1,
        recover_seconds_min: float = 0,
    ) -> None:
        if not 0 <= shard < shard_count:
            raise ValueError(f"shard {shard!r} is none of the {shard_count!r}: 0 to shard_count - 1")
        self._client = client
        self._schedules_table = schedules_table
        self._shard = shard
        self._shard_count = shard_count
        self._recover_seconds_min = recover_seconds_min

    def snapshot(self) -> Iterator[Row]:
        """Every schedule of the shard, as the pages of one strongly consistent scan arrive.

        An empty page is no end: DynamoDB says so by leaving out the key to go on from, and by nothing else.

        Raises:
            SourceFailed: a page could not be read; the rows before it are no snapshot.
        """
        start: dict[str, Any] = {}
        while True:
            try:
                page = self._client.scan(TableName=self._schedules_table, ConsistentRead=True, **start)
            except (ClientError, BotoCoreError) as error:
                raise SourceFailed(f"schedules table {self._schedules_table} can't be read: {error}") from error
            for item in page["Items"]:
                id = item["id"]["S"]  # noqa: A001 - `id` is the attribute's name everywhere
                if shard_of(id, self._shard_count) == self._shard:
                    yield row_of(id, item)
            key = page.get("LastEvaluatedKey")
            if not key:
                return
            start = {"ExclusiveStartKey": key}

    def make(self, row: Row) -> Entry:
        """The entry that a row's item describes.

        Raises:
            ScheduleRefused: the item can't be a schedule; the message names attribute, value and what would be right.
        """
        if isinstance(row.data, ScheduleRefused):
            row.data.schedule = row.id
            raise row.data
        try:
            entry = parse(row.data).entry()
        except ScheduleRefused as refused:
            refused.schedule = row.id
            raise
        if entry.recover_seconds is not None and entry.recover_seconds < self._recover_seconds_min:
            return replace(entry, recover_seconds=self._recover_seconds_min)
        return entry


def row_of(id: str, item: Any) -> Row:  # noqa: A002
    """The row of a low-level item: what can be told without parsing it.

    Never raises for what the item says: a row that is wrong is refused by `make`, alone. The version is the digest of
    the whole item, so an edit is seen even where the writer left its own `version` as it was, and one of `tags` is
    checked too; an edit that decides neither when nor what makes an equal entry, and that moves nothing.
    """
    try:
        plain = plain_item(item)
        version = digest(plain, SWITCH)
    except (ArithmeticError, ValueError, TypeError, AttributeError) as error:
        refused = ScheduleRefused(f"the item of schedule {id[:80]!r} can't be read: {error}")
        return Row(id, version="unreadable", data=refused)
    return Row(id, version, plain, active=plain.get("enabled") is not False, active_from=_moment_of(plain))


def _moment_of(plain: dict[str, Any]) -> datetime | None:
    try:
        us = active_from(plain)
        return None if us is None else from_us(us)
    except (ScheduleRefused, OverflowError):
        return None  # `make` refuses it, in words
