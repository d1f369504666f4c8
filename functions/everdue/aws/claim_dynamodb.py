"""Claim store on DynamoDB: one item a shard in the claims table, replaced by conditional writes on its revision.

The item's name is `tick#<shard>/<count>`. The count is part of it because claims of another count divide the schedules
differently: taking over `tick#0` of two shards as `tick#0` of one would pass what `tick#1` still owes.
"""

import secrets
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import BotoCoreError, ClientError

from everdue.aws.claim_item import Item, claim_item, claim_of, milestone_item, milestone_of
from everdue.core.claim import Claim, Milestone
from everdue.core.clock import Clock, SystemClock
from everdue.core.errors import ClaimFailed
from everdue.core.moment import SECOND_US, to_us

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MILESTONE_DUE = 0
_NONCE_BYTES = 16


def claim_name(shard: int, shard_count: int) -> str:
    """The key of a shard's claim."""
    return f"tick#{shard}/{shard_count}"


class DynamoClaimStore:
    """Keeps the claim and the milestone of one shard, and measures how far this machine's clock is off.

    It is a `ClaimStore`, a `MilestoneStore` and a `ServiceClock`. The milestone lies in the runs table, under
    `schedule` = `everdue#<claim name>` and `due` = 0, so that losing the claims table does not lose both.

    Args:
        client: a low-level DynamoDB client.
        claims_table, runs_table: names of the tables.
        shard, shard_count: which claim.
        clock: read before and after each call, to compare with the answer's `Date` header.
    """

    def __init__(
        self,
        client: "DynamoDBClient",
        claims_table: str,
        runs_table: str,
        *,
        shard: int = 0,
        shard_count: int = 1,
        clock: Clock | None = None,
    ) -> None:
        if not 0 <= shard < shard_count:
            raise ValueError(f"shard {shard!r} is none of the {shard_count!r}: 0 to shard_count - 1")
        self._client = client
        self._claims_table = claims_table
        self._runs_table = runs_table
        self._clock = clock or SystemClock()
        self._skew_us: int | None = None
        self.name = claim_name(shard, shard_count)

    def load(self) -> Claim | None:
        """The claim, strongly consistent; None when there is none.

        Raises:
            ClaimFailed: the table did not answer.
            ClaimTooNew: newer code wrote the claim.
            ClaimMalformed: the item is there and is no claim; a person has to look at it.
        """
        item = self._load_item()
        return None if item is None else claim_of(item)

    def swap(self, expected: Claim | None, next: Claim) -> bool:  # noqa: A002 - the port's fixed name
        """Store `next` at the revision after `expected`'s, in one conditional write.

        An answer that got lost is resolved by the nonce of this very write: in the item that a failed condition
        returns (the client retries by itself, and the retry of a write that landed fails its own condition), or in a
        consistent read after a call that failed for good.

        Raises:
            ClaimFailed: it can't be known whether the write happened, or happened later still.
            ClaimTooNew, ClaimMalformed: what is stored was not written by code like this; it is left as it is.
        """
        read = 0 if expected is None else expected.revision
        nonce = secrets.token_hex(_NONCE_BYTES)  # drawn here, never at import: frozen environments share those
        condition: dict[str, Any] = {
            "ConditionExpression": "attribute_not_exists(#key)",
            "ExpressionAttributeNames": {"#key": "name"},
        }
        if expected is not None:
            condition = {
                "ConditionExpression": "#revision = :read",
                "ExpressionAttributeNames": {"#revision": "revision"},
                "ExpressionAttributeValues": {":read": {"N": str(read)}},
            }
        try:
            self._call(
                self._client.put_item,
                TableName=self._claims_table,
                Item=claim_item(self.name, next, revision=read + 1, nonce=nonce),
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **condition,
            )
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") == "ConditionalCheckFailedException":
                return self._is_mine(cast("Item | None", error.response.get("Item")), nonce)
            return self._resolve(read, nonce, error)
        except BotoCoreError as error:
            return self._resolve(read, nonce, error)
        return True

    def load_milestone(self) -> Milestone | None:
        """The milestone, strongly consistent; None when this shard never ran. Raises ClaimFailed, ClaimTooNew."""
        try:
            answer = self._call(
                self._client.get_item, TableName=self._runs_table, Key=self._milestone_key(), ConsistentRead=True
            )
        except (ClientError, BotoCoreError) as error:
            raise ClaimFailed(f"milestone of {self.name} in {self._runs_table} can't be read: {error}") from error
        item = answer.get("Item")
        return milestone_of(item) if item else None

    def save_milestone(self, milestone: Milestone) -> None:
        """Replace the milestone, unconditionally: one that is too old repeats runs under their own keys, at worst.

        Raises ClaimFailed when it may not have been written.
        """
        item = {**self._milestone_key(), **milestone_item(milestone)}
        try:
            self._call(self._client.put_item, TableName=self._runs_table, Item=item)
        except (ClientError, BotoCoreError) as error:
            raise ClaimFailed(f"milestone of {self.name} in {self._runs_table} was not saved: {error}") from error

    def skew_us(self) -> int | None:
        """How far this machine's clock is ahead of the service's, as far as its last answer can prove; see the port."""
        return self._skew_us

    def _milestone_key(self) -> dict[str, Any]:
        return {"schedule": {"S": f"everdue#{self.name}"}, "due": {"N": str(MILESTONE_DUE)}}

    def _load_item(self) -> Item | None:
        try:
            answer = self._call(
                self._client.get_item,
                TableName=self._claims_table,
                Key={"name": {"S": self.name}},
                ConsistentRead=True,
            )
        except (ClientError, BotoCoreError) as error:
            raise ClaimFailed(f"claim {self.name} in {self._claims_table} can't be read: {error}") from error
        item: Item | None = answer.get("Item")
        return item or None

    def _is_mine(self, item: Item | None, nonce: str) -> bool:
        """Whether the item that a failed condition returned is this very write."""
        if not item:  # `attribute_exists` failed: the claim was deleted since it was read
            return False
        if item.get("nonce") == {"S": nonce}:
            return True
        claim_of(item)  # whoever wrote it: newer code and broken records are told apart from a rival
        return False

    def _resolve(self, read: int, nonce: str, error: Exception) -> bool:
        """What became of a write that failed without saying so.

        Every failure is looked into, throttling and refusals too: the client may have tried twice, and only the last
        answer is seen here. A record that stands where it stood proves nothing, since the write may still be on its
        way; nor does one that is two revisions on, since a rival may have built on this write.
        """
        item = self._load_item()
        if item is not None:
            if item.get("nonce") == {"S": nonce}:
                return True
            if claim_of(item).revision == read + 1:
                return False
        raise ClaimFailed(f"claim {self.name}: was revision {read + 1} written? It is unknown: {error}") from error

    def _call(self, operation: Any, **arguments: Any) -> Any:
        """One call, with the service's clock read off its answer, be that an error."""
        sent = to_us(self._clock.now())
        try:
            answer = operation(**arguments)
        except ClientError as error:
            self._measure(sent, error.response)
            raise
        self._measure(sent, answer)
        return answer

    def _measure(self, sent_us: int, answer: Mapping[str, Any]) -> None:
        header = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        try:
            date_us = to_us(parsedate_to_datetime(header))
        except (TypeError, ValueError):  # none, or none that can be read: the last measurement stands
            return
        self._skew_us = least_skew_us(sent_us, to_us(self._clock.now()), date_us)


def least_skew_us(sent_us: int, received_us: int, date_us: int) -> int:
    """The least distance between two clocks that explains an answer.

    The service wrote its `Date`, cut to the second, somewhere between sending and receiving. So its clock showed
    something in `[date, date + 1 s)` while ours showed something in `[sent, received]`.
    """
    ahead_least = min(sent_us, received_us) - (date_us + SECOND_US)
    ahead_most = max(sent_us, received_us) - date_us
    if ahead_least > 0:
        return ahead_least
    return min(ahead_most, 0)
