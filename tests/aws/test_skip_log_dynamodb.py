"""The skip log on DynamoDB: what only shows on the wire. The rules of the port are in `tests/contracts`."""

from datetime import UTC, datetime
from typing import Any

import pytest
from aws_stub import Answer, StubService, error

from everdue.aws.skip_log_dynamodb import DynamoSkipLog
from everdue.core.errors import SkipLogFailed
from everdue.core.skip import Skip
from everdue.testing import ManualClock

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
NOON_US = 1_796_126_400_000_000


def skips(count: int) -> list[Skip]:
    return [Skip(f"s{n}", NOON_US, NOON_US + 1, 1, "missed") for n in range(count)]


def test_the_item_says_what_was_skipped_and_why(dynamodb: Any) -> None:
    """`everdue problems` and `everdue runs` read it; its names and units are fixed, and it ends by itself."""
    log = DynamoSkipLog(dynamodb, "runs", clock=ManualClock(NOON))
    log.record([Skip("reports", NOON_US - 60_000_000, NOON_US, 59, "rejected", "InvalidMessageContents: no")])
    assert dynamodb.scan(TableName="runs")["Items"] == [
        {
            "schedule": {"S": "reports"},
            "due": {"N": "-1796126340000000"},
            "status": {"S": "skipped"},
            "reason": {"S": "rejected"},
            "count": {"N": "59"},
            "span_start": {"N": "1796126340000000"},
            "span_end": {"N": "1796126400000000"},
            "detail": {"S": "InvalidMessageContents: no"},
            "recorded_at": {"N": "1796126400000000"},
            "expires_at": {"N": "1798718400"},
        }
    ]


def test_a_skip_never_stands_where_a_run_would(dynamodb: Any) -> None:
    """A worker claims a run by inserting its item; finding one there, it would not run."""
    DynamoSkipLog(dynamodb, "runs", clock=ManualClock(NOON)).record([Skip("a", NOON_US, NOON_US + 1, 1, "deleted")])
    dynamodb.put_item(
        TableName="runs",
        Item={"schedule": {"S": "a"}, "due": {"N": str(NOON_US)}},
        ConditionExpression="attribute_not_exists(schedule)",
    )


def test_skips_that_differ_in_their_reason_alone_are_both_kept(dynamodb: Any) -> None:
    """They share a key, and DynamoDB refuses a batch that names one twice: the whole tick would fail for it."""
    log = DynamoSkipLog(dynamodb, "runs", clock=ManualClock(NOON))
    log.record([Skip("a", NOON_US, NOON_US + 9, n, reason) for n, reason in enumerate(("missed", "paused", "missed"))])
    kept = sorted((each["reason"]["S"], each["count"]["N"]) for each in dynamodb.scan(TableName="runs")["Items"])
    assert kept == [("missed", "2"), ("paused", "1")]


def test_a_long_detail_is_cut(dynamodb: Any) -> None:
    """Another's words may be of any length; an item may not."""
    DynamoSkipLog(dynamodb, "runs", clock=ManualClock(NOON)).record([Skip("a", 1, 2, 0, "failed", "é" * 500_000)])
    assert dynamodb.scan(TableName="runs")["Items"][0]["detail"]["S"] == "é" * 1_000


def test_batches_hold_twenty_five_and_what_is_left_over_is_written_again(service: StubService) -> None:
    """DynamoDB takes no more at once, and under load not even those (UnprocessedItems)."""
    clock = ManualClock(NOON)
    calls: list[int] = []
    written: set[str] = set()

    def respond(operation: str, parameters: dict[str, Any]) -> Answer:
        requests = parameters["RequestItems"]["runs"]
        calls.append(len(requests))
        taken = requests[:20]
        written.update(each["PutRequest"]["Item"]["schedule"]["S"] for each in taken)
        return Answer({"UnprocessedItems": {"runs": requests[20:]} if requests[20:] else {}})

    service.respond = respond
    DynamoSkipLog(service.client("dynamodb"), "runs", clock=clock).record(skips(60))
    assert calls == [25, 5, 25, 5, 10]
    assert len(written) == 60
    assert len(clock.slept) == 2


def test_what_is_never_processed_is_a_failure(service: StubService) -> None:
    """Coverage may not pass a skip that is not on record."""
    service.respond = lambda operation, parameters: Answer({"UnprocessedItems": parameters["RequestItems"]})
    with pytest.raises(SkipLogFailed, match="3 skips"):
        DynamoSkipLog(service.client("dynamodb"), "runs", clock=ManualClock(NOON)).record(skips(3))
    assert 2 < len(service.calls) < 20


@pytest.mark.parametrize("answer", [Answer(lost=True), error("InternalServerError", status=500)])
def test_a_failing_table_is_a_failure(service: StubService, answer: Answer) -> None:
    """As above."""
    service.script(answer)
    with pytest.raises(SkipLogFailed, match="runs"):
        DynamoSkipLog(service.client("dynamodb"), "runs", clock=ManualClock(NOON)).record(skips(1))


def test_nothing_to_record_calls_nothing(service: StubService) -> None:
    """DynamoDB refuses an empty batch."""
    DynamoSkipLog(service.client("dynamodb"), "runs").record([])
    assert service.calls == []
