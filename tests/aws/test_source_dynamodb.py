"""The source on DynamoDB: what only shows on the wire. The rules of the port are in `tests/contracts`."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from aws_stub import Answer, StubService, error

from everdue.aws.source_dynamodb import DynamoSource, row_of
from everdue.core.errors import ScheduleRefused, SourceFailed
from everdue.core.parcel import Parcel
from everdue.core.shard import shard_of
from everdue.core.triggers import Cron


def raw(id: str, **attributes: Any) -> dict[str, Any]:  # noqa: A002
    """An item as the API gives it."""
    return {"id": {"S": id}, "cron": {"S": "0 4 * * MON"}, **attributes}


class Pages:
    """A schedules table behind the stub service, page by page."""

    def __init__(self, service: StubService, *pages: list[dict[str, Any]], fail_at: int | None = None) -> None:
        self.pages = pages
        self.fail_at = fail_at
        self.answer = error("InternalServerError", status=500)
        service.respond = self.respond

    def respond(self, operation: str, parameters: dict[str, Any]) -> Answer:
        assert operation == "Scan"
        assert parameters["ConsistentRead"] is True
        number = int(parameters.get("ExclusiveStartKey", {"id": {"S": "0"}})["id"]["S"])
        if number == self.fail_at:
            return self.answer
        body: dict[str, Any] = {"Items": self.pages[number]}
        if number + 1 < len(self.pages):
            body["LastEvaluatedKey"] = {"id": {"S": str(number + 1)}}
        return Answer(body)


def test_every_page_is_read_also_past_empty_ones(service: StubService) -> None:
    """An empty page in the middle is normal (D3); stopping at it would delete everything behind it."""
    Pages(service, [raw("a")], [], [], [raw("b"), raw("c")], [])
    source = DynamoSource(service.client("dynamodb"), "schedules")
    assert [row.id for row in source.snapshot()] == ["a", "b", "c"]
    assert len(service.calls) == 5


def test_rows_are_yielded_as_pages_arrive(service: StubService) -> None:
    """A hundred thousand items do not have to lie in memory at once."""
    Pages(service, [raw("a")], [raw("b")])
    rows = iter(DynamoSource(service.client("dynamodb"), "schedules").snapshot())
    assert next(rows).id == "a"
    assert len(service.calls) == 1


@pytest.mark.parametrize("page", [0, 1, 2])
@pytest.mark.parametrize(
    "answer",
    [
        Answer(lost=True),
        error("InternalServerError", status=500),
        error("ProvisionedThroughputExceededException"),
        error("ResourceNotFoundException"),
        error("AccessDeniedException"),
    ],
    ids=lambda answer: answer.body.get("__type", "lost"),
)
def test_a_page_that_can_not_be_read_fails_the_snapshot(service: StubService, page: int, answer: Answer) -> None:
    """Half a list looks like a mass removal; a throttled scan is no empty view (D7, W1)."""
    pages = Pages(service, [raw("a")], [raw("b")], [raw("c")], fail_at=page)
    pages.answer = answer
    source = DynamoSource(service.client("dynamodb"), "schedules")
    seen = []
    rows = iter(source.snapshot())
    with pytest.raises(SourceFailed, match="schedules"):
        seen.extend(row.id for row in rows)
    assert "c" not in seen


def test_a_page_is_tried_again_before_the_snapshot_fails(service: StubService) -> None:
    """The client's own few attempts are worth more than a whole new scan."""
    failed: list[int] = []
    pages = Pages(service, [raw("a")], [raw("b")])

    def flaky(operation: str, parameters: dict[str, Any]) -> Answer:
        if len(service.calls) == 2:
            failed.append(1)
            return error("InternalServerError", status=500)
        return pages.respond(operation, parameters)

    service.respond = flaky
    source = DynamoSource(service.client("dynamodb", attempts=3), "schedules")
    assert [row.id for row in source.snapshot()] == ["a", "b"]
    assert failed


def test_the_shards_divide_the_schedules_between_them(service: StubService) -> None:
    """Each schedule has exactly one, in whatever process."""
    ids = [f"s{n} ⏰" for n in range(200)]
    Pages(service, [raw(id) for id in ids])  # noqa: A001
    parts = [
        [row.id for row in DynamoSource(service.client("dynamodb"), "t", shard=n, shard_count=3).snapshot()]
        for n in range(3)
    ]
    assert sorted(id for part in parts for id in part) == sorted(ids)  # noqa: A001
    assert all(len(part) > 40 for part in parts)


def test_the_shard_of_a_schedule_never_changes() -> None:
    """int.from_bytes(sha256(id).digest()[:8], "big") % count, by hand: a version that hashed otherwise would run some
    schedules twice and some never, while both are deployed."""
    assert shard_of("reports", 7) == int("7f26104f77a7ce47", 16) % 7
    assert shard_of("café ⏰", 1000) == int("1077c30c00e36622", 16) % 1000
    assert {shard_of(f"s{n}", 1) for n in range(9)} == {0}
    with pytest.raises(ValueError, match="shard_count"):
        shard_of("a", 0)


@pytest.mark.parametrize(("shard", "count"), [(1, 1), (-1, 1), (0, 0)])
def test_a_shard_outside_its_count_is_refused(shard: int, count: int) -> None:
    """No schedule would belong to it."""
    with pytest.raises(ValueError, match="shard"):
        DynamoSource(None, "t", shard=shard, shard_count=count)  # type: ignore[arg-type]


def test_an_item_becomes_rule_and_parcel() -> None:
    """As the grammar says, with the numbers exact."""
    source = DynamoSource(None, "t")  # type: ignore[arg-type]
    row = row_of("a", raw("a", payload={"M": {"n": {"N": "1.10"}}}, overlap={"S": "skip"}, version={"N": "7"}))
    entry = source.make(row)
    assert entry.trigger == Cron("0 4 * * MON")
    assert entry.payload == Parcel({"n": Decimal("1.10")}, "skip", None, "7")


def test_messages_of_an_item_without_a_version_carry_the_version_of_its_row() -> None:
    """One digest, wherever it is read."""
    source = DynamoSource(None, "t")  # type: ignore[arg-type]
    row = row_of("a", raw("a"))
    assert source.make(row).payload.scheduleversion == row.version


def test_an_edit_is_seen_where_the_writers_version_stayed() -> None:
    """W14b: the second of two edits within one tick of the writer's clock was ignored for ever."""
    before = row_of("a", raw("a", version={"N": "1"}))
    after = row_of("a", raw("a", version={"N": "1"}, cron={"S": "0 5 * * MON"}))
    assert before.version != after.version


def test_the_order_in_which_dynamodb_gives_maps_and_sets_is_no_edit() -> None:
    """It promises none; each sync would move every such schedule's start."""
    one = raw(
        "a", payload={"M": {"x": {"N": "1"}, "y": {"SS": ["p", "q"]}}}, exclude={"SS": ["2026-12-25", "2026-12-26"]}
    )
    other = json.loads(json.dumps(one))
    other["payload"]["M"] = {"y": {"SS": ["q", "p"]}, "x": {"N": "1"}}
    other["exclude"]["SS"].reverse()
    assert row_of("a", one).version == row_of("a", dict(reversed(other.items()))).version


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"enabled": {"S": "no"}}, "enabled is 'no'"),
        ({"active_from": {"S": "yesterday"}}, "active_from is 'yesterday'"),
        ({"active_from": {"N": "1"}, "timezone": {"S": "Mars/Olympus"}}, "timezone is 'Mars/Olympus'"),
        ({"every": {"N": "5"}}, "cron and every"),
        ({"cron": {"N": "5"}}, "cron is 5"),
        ({"payload": {"X": "?"}}, "can't be read"),
        ({"payload": {"N": "one"}}, "can't be read"),
        ({"nonsense": {"S": ""}}, "nonsense"),
    ],
)
def test_a_malformed_item_is_a_refused_row_and_no_failed_snapshot(
    service: StubService, attributes: dict[str, Any], words: str
) -> None:
    """Rule 12: one writer's slip must not stop the others' schedules."""
    Pages(service, [raw("before"), raw("bad", **attributes), raw("after")])
    source = DynamoSource(service.client("dynamodb"), "schedules")
    rows = {row.id: row for row in source.snapshot()}
    assert list(rows) == ["before", "bad", "after"]
    with pytest.raises(ScheduleRefused, match=words):
        source.make(rows["bad"])
    assert rows["bad"].active is True


def test_a_paused_item_is_known_as_such_without_being_parsed() -> None:
    """Stopping must work for an item that is wrong in other ways."""
    row = row_of("a", raw("a", cron={"S": "broken"}, enabled={"BOOL": False}))
    assert row.active is False


def test_pausing_is_no_edit() -> None:
    """The version stays; the row says that it is inactive."""
    assert row_of("a", raw("a")).version == row_of("a", raw("a", enabled={"BOOL": False})).version


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ({"N": "1796126400.5"}, datetime(2026, 12, 1, 12, 0, 0, 500_000, tzinfo=UTC)),
        ({"S": "2026-12-01T13:00"}, datetime(2026, 12, 1, 12, tzinfo=UTC)),
        ({"S": "nonsense"}, None),
    ],
)
def test_active_from_is_read_from_the_item(value: dict[str, Any], moment: datetime | None) -> None:
    """In the item's zone, to the microsecond; one that is wrong is for `make` to refuse."""
    assert row_of("a", raw("a", active_from=value, timezone={"S": "Europe/Berlin"})).active_from == moment
