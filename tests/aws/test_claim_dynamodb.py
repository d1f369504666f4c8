"""The claim store on DynamoDB: what only shows on the wire. The rules of the port are in `tests/contracts`."""

import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from aws_stub import Answer, StubService, error

from everdue.aws.claim_dynamodb import DynamoClaimStore, claim_name, least_skew_us
from everdue.core.claim import Claim, Milestone
from everdue.core.errors import ClaimFailed, ClaimMalformed, ClaimTooNew
from everdue.testing import ManualClock

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
NOON_US = 1_796_126_400_000_000
NAME = "tick#0/1"
FIXTURES = Path(__file__).parent.parent / "fixtures"
CLAIM = Claim("a", NOON + timedelta(seconds=62), NOON, NOON - timedelta(microseconds=1), position="shard-7:42")


def stored(revision: int = 3, nonce: str = "other", **more: Any) -> dict[str, Any]:
    """A claim item as DynamoDB holds it."""
    item = {
        "name": {"S": NAME},
        "token": {"S": "b"},
        "expires_at": {"N": str(NOON_US)},
        "covered_until": {"N": str(NOON_US)},
        "revision": {"N": str(revision)},
        "nonce": {"S": nonce},
        "schema": {"N": "1"},
    }
    item.update(more)
    return {name: value for name, value in item.items() if value is not None}


@pytest.fixture
def store(dynamodb: Any) -> DynamoClaimStore:
    return DynamoClaimStore(dynamodb, "claims", "runs", clock=ManualClock(NOON))


@pytest.fixture
def remote(service: StubService) -> DynamoClaimStore:
    """A store over the stub service, one attempt a call."""
    return DynamoClaimStore(service.client("dynamodb"), "claims", "runs", clock=ManualClock(NOON))


def test_the_item_has_the_attributes_of_the_contract(store: DynamoClaimStore, dynamodb: Any) -> None:
    """Operators and later versions read this record; its names and units are fixed."""
    assert store.swap(None, CLAIM)
    item = dynamodb.get_item(TableName="claims", Key={"name": {"S": NAME}})["Item"]
    nonce = item.pop("nonce")["S"]
    assert len(nonce) == 32
    assert int(nonce, 16) >= 0
    assert item == {
        "name": {"S": "tick#0/1"},
        "token": {"S": "a"},
        "expires_at": {"N": str(NOON_US + 62_000_000)},
        "covered_until": {"N": str(NOON_US)},
        "synced_until": {"N": str(NOON_US - 1)},
        "revision": {"N": "1"},
        "position": {"S": "shard-7:42"},
        "schema": {"N": "1"},
    }


def test_every_write_draws_a_new_nonce(store: DynamoClaimStore, dynamodb: Any) -> None:
    """Two processes woken from one snapshot of memory must not take each other's write for their own."""
    nonces = set()
    for _ in range(5):
        assert store.swap(store.load(), CLAIM)
        nonces.add(dynamodb.get_item(TableName="claims", Key={"name": {"S": NAME}})["Item"]["nonce"]["S"])
    assert len(nonces) == 5


def test_a_shard_of_another_count_is_another_claim() -> None:
    """Shard 0 of two covers other schedules than shard 0 of one: taking its watermark over would lose runs."""
    assert len({claim_name(0, 1), claim_name(0, 2), claim_name(1, 2), claim_name(11, 12)}) == 4


@pytest.mark.parametrize(("shard", "count"), [(1, 1), (-1, 1), (0, 0)])
def test_a_shard_outside_its_count_is_refused(shard: int, count: int) -> None:
    """It would be a claim that no schedule belongs to."""
    with pytest.raises(ValueError, match="shard"):
        DynamoClaimStore(None, "claims", "runs", shard=shard, shard_count=count)  # type: ignore[arg-type]


def test_each_swap_is_one_conditional_write_on_the_revision(remote: DynamoClaimStore, service: StubService) -> None:
    """A write conditional on the holder's name would let a released claim be rewound (W11)."""
    assert remote.swap(replace(CLAIM, revision=3), CLAIM)
    ((operation, parameters),) = service.calls
    assert operation == "PutItem"
    assert parameters["Item"]["revision"] == {"N": "4"}
    assert parameters["ConditionExpression"] == "#revision = :read"
    assert parameters["ExpressionAttributeValues"] == {":read": {"N": "3"}}
    assert parameters["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


def test_the_load_is_consistent(remote: DynamoClaimStore, service: StubService) -> None:
    """An eventually consistent read may show a watermark that has already moved on (D1)."""
    assert remote.load() is None
    assert service.calls[0][1]["ConsistentRead"] is True


class Ledger:
    """A claims table behind the stub service, that follows a script of what to do with each write."""

    def __init__(self, service: StubService, *script: str, item: dict[str, Any] | None = None) -> None:
        self.item = item
        self._script = itertools.chain(script, itertools.repeat("ok"))
        service.respond = self.respond

    def respond(self, operation: str, parameters: dict[str, Any]) -> Answer:
        if operation == "GetItem":
            return Answer({"Item": self.item} if self.item else {})
        fate = next(self._script)
        if fate == "down":
            return error("InternalServerError", status=500)
        read = parameters.get("ExpressionAttributeValues", {}).get(":read")
        if read != (self.item or {}).get("revision"):
            more = {"Item": self.item} if self.item else {}
            return error("ConditionalCheckFailedException", "The conditional request failed", **more)
        self.item = parameters["Item"]
        if fate == "written, then a rival":
            self.item = stored(int(self.item["revision"]["N"]) + 1)
            return Answer(lost=True)
        return Answer(lost=fate == "written, answer lost")


@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.parametrize("first", [True, False])
def test_a_write_whose_answer_is_lost_is_known_to_have_happened(
    service: StubService, attempts: int, first: bool
) -> None:
    """Otherwise a leader believes itself deposed by its own write, and the runs it just sent are sent again (D5).

    With one attempt a read resolves it; with three, the client's own retry fails the condition of the write that
    landed, and the item which that failure returns carries the nonce.
    """
    ledger = Ledger(service, "written, answer lost", item=None if first else stored(3))
    store = DynamoClaimStore(service.client("dynamodb", attempts=attempts), "claims", "runs")
    assert store.swap(None if first else replace(CLAIM, revision=3), CLAIM) is True
    assert ledger.item is not None
    assert ledger.item["token"] == {"S": "a"}
    assert ledger.item["revision"] == {"N": "1" if first else "4"}
    assert service.operations() == (["PutItem", "GetItem"] if attempts == 1 else ["PutItem", "PutItem"])


def test_a_rival_is_told_apart_from_a_lost_answer(service: StubService) -> None:
    """The same failure, another nonce: a deposed leader must not believe that it leads."""
    Ledger(service, item=stored(4))
    store = DynamoClaimStore(service.client("dynamodb"), "claims", "runs")
    assert store.swap(replace(CLAIM, revision=3), CLAIM) is False
    assert service.operations() == ["PutItem"]


def test_a_claim_that_was_deleted_meanwhile_is_not_written(service: StubService) -> None:
    """A deleted claim resumes from the milestone, never from what a process still remembers."""
    Ledger(service, item=None)
    store = DynamoClaimStore(service.client("dynamodb"), "claims", "runs")
    assert store.swap(replace(CLAIM, revision=3), CLAIM) is False


def test_an_error_before_a_rivals_write_is_a_clean_loss(service: StubService) -> None:
    """The next revision is another's, so this write can't have happened, nor ever will."""
    Ledger(service, "down", item=stored(4))
    store = DynamoClaimStore(service.client("dynamodb"), "claims", "runs")
    assert store.swap(replace(CLAIM, revision=3), CLAIM) is False


def test_an_error_with_the_record_unmoved_is_unknown(service: StubService) -> None:
    """The write may still be on its way. Neither True nor False would be true for long."""
    Ledger(service, "down", item=stored(3))
    store = DynamoClaimStore(service.client("dynamodb"), "claims", "runs")
    with pytest.raises(ClaimFailed, match="unknown"):
        store.swap(replace(CLAIM, revision=3), CLAIM)


def test_an_error_with_the_record_two_revisions_on_is_unknown(service: StubService) -> None:
    """A rival may have built on this very write."""
    Ledger(service, "written, then a rival", item=stored(3))
    store = DynamoClaimStore(service.client("dynamodb"), "claims", "runs")
    with pytest.raises(ClaimFailed, match="unknown"):
        store.swap(replace(CLAIM, revision=3), CLAIM)


def test_an_error_that_can_not_be_looked_into_is_unknown(remote: DynamoClaimStore, service: StubService) -> None:
    """Both the write and the read that would resolve it fail."""
    service.script(error("InternalServerError", status=500))
    with pytest.raises(ClaimFailed):
        remote.swap(None, CLAIM)
    service.script(Answer(lost=True))
    with pytest.raises(ClaimFailed):
        remote.swap(None, CLAIM)


@pytest.mark.parametrize("answer", [Answer(lost=True), error("ProvisionedThroughputExceededException")])
def test_what_can_not_be_read_is_not_absent(remote: DynamoClaimStore, service: StubService, answer: Answer) -> None:
    """An absent claim starts a first run ever; a throttled one must not."""
    service.script(answer)
    with pytest.raises(ClaimFailed):
        remote.load()
    with pytest.raises(ClaimFailed):
        remote.load_milestone()
    with pytest.raises(ClaimFailed):
        remote.save_milestone(Milestone(NOON))


def test_a_newer_schema_stops_this_code(dynamodb: Any, store: DynamoClaimStore) -> None:
    """During a deployment old code runs beside new; "repairing" the new record would be a loss (F9)."""
    newer = stored(3, schema={"N": "2"})
    dynamodb.put_item(TableName="claims", Item=newer)
    with pytest.raises(ClaimTooNew, match="schema 2"):
        store.load()
    with pytest.raises(ClaimTooNew):
        store.swap(None, CLAIM)
    with pytest.raises(ClaimTooNew):
        store.swap(replace(CLAIM, revision=2), CLAIM)
    assert dynamodb.get_item(TableName="claims", Key={"name": {"S": NAME}})["Item"] == newer


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("token", None),
        ("token", {"N": "1"}),
        ("expires_at", None),
        ("expires_at", {"S": "2026-12-01T12:00:00Z"}),
        ("expires_at", {"N": "1.5"}),
        ("expires_at", {"N": "9" * 30}),
        ("covered_until", {"S": "soon"}),
        ("synced_until", {"NULL": True}),
        ("revision", None),
        ("revision", {"N": "0"}),
        ("position", {"N": "7"}),
        ("schema", None),
        ("schema", {"N": "0"}),
    ],
)
def test_a_malformed_claim_is_left_alone(
    dynamodb: Any, store: DynamoClaimStore, attribute: str, value: dict[str, Any] | None
) -> None:
    """Guessing a watermark loses or repeats runs; a person has to see it."""
    item = {name: each for name, each in {**stored(3), attribute: value}.items() if each is not None}
    dynamodb.put_item(TableName="claims", Item=item)
    with pytest.raises(ClaimMalformed, match=attribute):
        store.load()
    with pytest.raises(ClaimMalformed):
        store.swap(None, CLAIM)
    assert dynamodb.get_item(TableName="claims", Key={"name": {"S": NAME}})["Item"] == item


def test_a_claim_of_the_first_schema_stays_readable(dynamodb: Any, store: DynamoClaimStore) -> None:
    """A deployment finds the record that the version before it wrote; the file is never edited, only added to."""
    dynamodb.put_item(TableName="claims", Item=json.loads((FIXTURES / "claim_schema_1.json").read_text()))
    half_a_second = timedelta(milliseconds=500)
    assert store.load() == Claim("a1b2", NOON + timedelta(seconds=62), NOON, NOON - half_a_second, 41, "p")


def test_an_attribute_of_a_later_version_is_no_fault(dynamodb: Any, store: DynamoClaimStore) -> None:
    """The schema number says what may be misread; anything else may be added."""
    dynamodb.put_item(TableName="claims", Item=stored(3, note={"S": "by hand"}))
    claim = store.load()
    assert claim is not None
    assert claim.revision == 3


def test_the_milestone_outlives_the_claims_table(dynamodb: Any, store: DynamoClaimStore) -> None:
    """Rule 14: kept in another table, without a TTL, so that one replaced table does not lose both."""
    store.save_milestone(Milestone(NOON, NOON - timedelta(seconds=1)))
    dynamodb.delete_table(TableName="claims")
    assert dynamodb.scan(TableName="runs")["Items"] == [
        {
            "schedule": {"S": "everdue#tick#0/1"},
            "due": {"N": "0"},
            "schema": {"N": "1"},
            "covered_until": {"N": str(NOON_US)},
            "synced_until": {"N": str(NOON_US - 1_000_000)},
        }
    ]
    assert store.load_milestone() == Milestone(NOON, NOON - timedelta(seconds=1))


def test_a_malformed_milestone_is_no_first_run(dynamodb: Any, store: DynamoClaimStore) -> None:
    """Taking it for absent would start at now, and lose the gap."""
    dynamodb.put_item(
        TableName="runs", Item={"schedule": {"S": "everdue#tick#0/1"}, "due": {"N": "0"}, "schema": {"N": "1"}}
    )
    with pytest.raises(ClaimMalformed, match="covered_until"):
        store.load_milestone()


@pytest.mark.parametrize(
    ("sent", "received", "date", "skew"),
    [
        (10.0, 10.1, 10, 0),  # agrees
        (10.9, 11.1, 10, 0),  # the header is cut to the second
        (11.0, 11.1, 10, 0),  # at the edge of that second
        (11.5, 11.6, 10, 500_000),  # ahead by at least half a second
        (15.0, 15.2, 10, 4_000_000),
        (9.0, 9.9, 10, -100_000),  # answered "in the future": behind
        (5.0, 5.5, 10, -4_500_000),
        (5.0, 15.0, 10, 0),  # a slow answer explains much
        (15.0, 5.0, 10, 0),  # the clock was set back during the call
    ],
)
def test_the_skew_is_the_least_that_explains_the_answer(sent: float, received: float, date: int, skew: int) -> None:
    """Rule 4: more would stop a leader whose clock is right, less would let a wrong one send early."""
    assert least_skew_us(round(sent * 1e6), round(received * 1e6), date * 1_000_000) == skew


@pytest.mark.parametrize("failing", [False, True])
def test_every_answer_measures_the_clock(remote: DynamoClaimStore, service: StubService, failing: bool) -> None:
    """Errors carry the service's time as well, and a skewed clock is often the reason for them."""
    assert remote.skew_us() is None
    service.date = format_datetime(NOON - timedelta(seconds=10), usegmt=True)
    if failing:
        service.script(error("InternalServerError", status=500))
        with pytest.raises(ClaimFailed):
            remote.load()
    else:
        remote.load()
    assert remote.skew_us() == 9_000_000


def test_an_unreadable_date_measures_nothing(remote: DynamoClaimStore, service: StubService) -> None:
    """A proxy's nonsense must not depose a leader."""
    service.date = "yesterday"
    remote.load()
    assert remote.skew_us() is None
